//! The probes against the simulated engine, straight and through real relays.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use intriage_case::{Bytes, Family, PathProbe, Route, Seconds};
use intriage_simulate::serve::{self, Running, ServeConfig, proxy};
use intriage_simulate::{Path, Setup};

use super::{PathPlan, probe, probe_all};
use crate::http::Access;
use crate::url::Address;

fn any() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

fn engine() -> Running<serve::Lag> {
    serve::start(ServeConfig::of(&Setup::healthy(1), 1), any()).unwrap()
}

fn relay(to: &Running<serve::Lag>, path: Path) -> Running<()> {
    proxy::start(path, to.url().parse().unwrap(), any()).unwrap()
}

fn at(url: &str) -> Address {
    url.parse().unwrap()
}

fn quick() -> PathPlan {
    PathPlan { rounds: 3, held: 2, ..PathPlan::default() }
}

fn good(probe: &PathProbe) {
    assert_eq!(probe.error, None);
    assert!(probe.streams.iter().chain(&probe.held).all(|s| s.error.is_none()), "{probe:#?}");
}

#[test]
fn a_relay_that_holds_answers_back_shows_in_reads_and_a_late_first_text() {
    let engine = engine();
    let relay = relay(&engine, Path { delay: Seconds(0.0), buffer: Some(Bytes(65_536.0)) });
    let probes = probe_all(&at(&engine.url()), &[at(&relay.url())], &Access::default(), &quick());
    let [direct, via] = probes.as_slice() else { panic!("{probes:?}") };
    good(direct);
    good(via);
    assert_eq!((direct.route, via.route), (Route::Direct, Route::Via));
    assert_eq!((direct.streams.len(), via.streams.len(), via.held.len()), (3, 3, 2));
    for stream in &via.streams {
        // All of it waited for the end: nothing but the size of a read parts it.
        assert_eq!(stream.chunks, 32, "{via:#?}");
        assert!(stream.reads <= 3 && stream.gap_p50 == Some(Seconds(0.0)), "{via:#?}");
    }
    assert!(direct.streams.iter().all(|s| s.chunks == 32 && s.headers <= s.first), "{direct:#?}");
    assert_eq!(direct.streams[0].tokens.map(|t| t.0), Some(32.0));
}

/// A relay that serves one connection at a time; others wait in its backlog.
fn one_at_a_time(to: SocketAddr) -> Address {
    let listener = TcpListener::bind(any()).unwrap();
    let address = at(&format!("http://{}", listener.local_addr().unwrap()));
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, mut server) = (client.unwrap(), TcpStream::connect(to).unwrap());
            let (mut asks, mut onward) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            let asking = std::thread::spawn(move || {
                let _ = std::io::copy(&mut asks, &mut onward);
                let _ = onward.shutdown(Shutdown::Both);
            });
            let _ = std::io::copy(&mut server, &mut client);
            let _ = client.shutdown(Shutdown::Both);
            let _ = asking.join();
        }
    });
    address
}

#[test]
fn through_a_hop_of_one_connection_streams_wait_for_their_turn() {
    let engine = engine();
    let hop = one_at_a_time(engine.address());
    let plan = PathPlan { rounds: 1, held: 4, ..PathPlan::default() };
    let probes = probe_all(&at(&engine.url()), &[hop], &Access::default(), &plan);
    good(&probes[0]);
    good(&probes[1]);
    let mut turns: Vec<(f64, f64)> =
        probes[1].held.iter().map(|s| (s.first.unwrap().0, s.last.unwrap().0)).collect();
    turns.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert_eq!(turns.len(), 4);
    // Each is timed from its own start, and a busy machine starts them apart: the last waited for most of three others.
    let shortest = turns.iter().map(|(first, last)| last - first).fold(f64::INFINITY, f64::min);
    assert!(turns[3].0 >= 2.0 * shortest, "{turns:?}");
}

#[test]
fn a_long_way_shows_in_the_head_of_a_small_answer() {
    let engine = engine();
    let relay = relay(&engine, Path { delay: Seconds(0.15), buffer: None });
    let plan = PathPlan { rounds: 1, held: 0, ..PathPlan::default() };
    let probes = probe_all(&at(&engine.url()), &[at(&relay.url())], &Access::default(), &plan);
    let head = |probe: &PathProbe| probe.first_byte.unwrap().0;
    assert!(head(&probes[1]) >= 0.3, "{probes:#?}");
    assert!(probes[1].streams[0].first.unwrap().0 >= 0.3, "{probes:#?}");
    assert!(probes.iter().all(|p| p.held.is_empty()));
}

#[test]
fn every_address_of_a_name_is_connected_to_on_its_own() {
    let engine = engine();
    let probe = probe(&at(&engine.url()), &Access::default(), &quick());
    good(&probe);
    assert_eq!((probe.resolved.a, probe.resolved.aaaa), (1, 0));
    let address = &probe.addresses[0];
    assert_eq!((address.family, address.address.as_str()), (Family::V4, "127.0.0.1"));
    assert!(address.connect.is_some() && address.failed.is_none());
}

#[test]
fn a_hop_where_nobody_listens_is_evidence_and_the_rest_goes_on() {
    let engine = engine();
    let closed = TcpListener::bind(any()).unwrap().local_addr().unwrap();
    let hop = at(&format!("http://{closed}"));
    let probes = probe_all(&at(&engine.url()), &[hop], &Access::default(), &quick());
    good(&probes[0]);
    assert_eq!(probes[1].error.as_deref(), Some("no connection"));
    assert!(probes[1].addresses[0].error.is_some() && probes[1].addresses[0].failed.is_some());
}

#[test]
fn a_hop_that_never_answers_is_given_up() {
    let engine = engine();
    let deaf = TcpListener::bind(any()).unwrap();
    let hop = at(&format!("http://{}", deaf.local_addr().unwrap()));
    let plan = PathPlan { stream: Duration::from_millis(300), rounds: 1, held: 0, ..PathPlan::default() };
    let seen = probe(&hop, &Access::default(), &plan);
    assert!(seen.error.as_deref().unwrap().contains("within 0.3 s"), "{seen:?}");
    drop(engine);
}

/// Answers every request with these bytes and closes.
fn answering(answer: &'static [u8]) -> Address {
    let listener = TcpListener::bind(any()).unwrap();
    let address = at(&format!("http://{}", listener.local_addr().unwrap()));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(answer);
        }
    });
    address
}

#[test]
fn what_is_no_engine_is_said_and_brings_nothing_down() {
    for answer in [
        b"HTTP/1.1 200 OK\r\ncontent-length: 15\r\n\r\n<html>no</html>".as_slice(),
        b"HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\ncut",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"",
    ] {
        let seen = probe(&answering(answer), &Access::default(), &quick());
        assert!(seen.error.is_some() && seen.streams.is_empty(), "{seen:?}");
    }
}

#[test]
fn a_name_nobody_knows_is_an_error_of_the_resolver() {
    let seen = probe(&at("http://nobody.invalid:8000"), &Access::default(), &quick());
    assert!(seen.resolved.error.is_some() && seen.addresses.is_empty(), "{seen:?}");
    assert_eq!((seen.resolved.a, seen.resolved.aaaa), (0, 0));
}
