//! `check --via`: probes of the ways to a server, beside the watch.
#![allow(clippy::unwrap_used)]

mod support;

use intriage_case::{Bytes, Route, Seconds, file};
use intriage_simulate::serve::{ServeConfig, proxy, start};
use intriage_simulate::{Path, Setup};
use support::{code, intriage, json, root, stderr};

#[test]
fn both_ways_are_probed_beside_the_watch_and_saved() {
    let any = ([127, 0, 0, 1], 0).into();
    let server = start(ServeConfig::of(&Setup::healthy(1), 1), any).unwrap();
    let path = Path { delay: Seconds(0.0), buffer: Some(Bytes(65_536.0)) };
    let hop = proxy::start(path, server.url().parse().unwrap(), any).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("way.case");
    let (url, via, name) = (server.url(), hop.url(), saved.to_str().unwrap());
    let window = ["--window", "3s", "--interval", "500ms", "--format", "json"];
    let output = intriage(&[["check", &url, "--via", &via, "--save", name].as_slice(), &window].concat());
    assert!([0, 1, 3].contains(&code(&output)), "{}", stderr(&output));
    assert!(stderr(&output).contains(&format!("straight and through {via}")), "{}", stderr(&output));

    let case = file::read(&std::fs::read(&saved).unwrap()).unwrap();
    let routes: Vec<Route> = case.paths.iter().map(|p| p.route).collect();
    assert_eq!(routes, [Route::Direct, Route::Via]);
    for probe in &case.paths {
        assert_eq!((probe.streams.len(), probe.held.len(), &probe.error), (5, 4, &None));
        assert!(probe.streams.iter().all(|s| s.chunks == 32 && s.error.is_none()), "{probe:#?}");
    }
    // The saved case is judged as the live one was.
    let again = json(&intriage(&["check", name, "--format", "json"]));
    assert_eq!(again["verdict"], json(&output)["verdict"]);
}

#[test]
fn a_hop_needs_a_live_server_and_an_address() {
    let recording = root().join("fixtures/recordings/vllm-h200-healthy");
    let output = intriage(&["check", recording.to_str().unwrap(), "--via", "http://127.0.0.1:1"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("live server"), "{}", stderr(&output));
    let output = intriage(&["check", "http://127.0.0.1:1", "--via", "http://me:secret@host"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("--via") && !stderr(&output).contains("secret"), "{}", stderr(&output));
}
