//! The client and the relay against the server: what one sent and the other counted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use intriage_case::{Bytes, PerSecond, Ratio, Requests, Seconds, Tokens};
use intriage_simulate::serve::drive::{self, Drive};
use intriage_simulate::serve::proxy;
use intriage_simulate::workload::SharedPrefix;
use intriage_simulate::{Arrivals, Class, Lengths, Path, Stop, Workload};
use serde_json::{Value, json};
use support::{Reply, Site, local, serve};

const COMPLETE: &str = "/v1/completions";

fn workload(arrivals: Arrivals) -> Workload {
    let mut class = Class::plain(Lengths::Fixed(64), Lengths::Uniform(5, 15), 12);
    class.prefix = Some(SharedPrefix { groups: 1, tokens: 48 });
    Workload { arrivals, classes: vec![class] }
}

fn clients(clients: u32) -> Workload {
    workload(Arrivals::Closed { clients, think: Seconds(0.0) })
}

fn drive_at(url: &str, requests: u64) -> Drive {
    Drive { to: url.parse().unwrap(), model: "sim".into(), seed: 3, stop: Stop::after_requests(requests) }
}

#[test]
fn a_driven_workload_is_seen_alike_by_client_and_server() {
    let site = serve();
    let open = Arrivals::Rate { rate: PerSecond(Requests(100.0)), variation: Ratio(1.0) };
    let records = drive::run(&drive_at(&site.url(), 40), &workload(open)).unwrap();
    assert_eq!(records.len(), 40);
    let tokens: f64 = records.iter().map(|r| r.tokens.0).sum();
    assert_eq!(tokens, site.metric("vllm:generation_tokens_total", ""));
    assert_eq!(site.metric("vllm:prompt_tokens_total", ""), 40.0 * 64.0);
    let stopped = site.metric("vllm:request_success_total", "stop");
    let cut = site.metric("vllm:request_success_total", "length");
    assert_eq!(stopped + cut, 40.0);
    assert!(stopped > 0.0 && cut > 0.0, "natural ends and limits both occur");
    let hits = site.metric("vllm:prefix_cache_hits_total", "");
    assert!(hits > 0.0 && hits % 48.0 == 0.0, "the 48 shared tokens are three blocks: {hits}");
    for record in &records {
        assert_eq!((record.status, &record.error), (Some(200), &None));
        assert_eq!(record.prompt_tokens, Tokens(64.0));
        assert!(record.headers <= record.first && record.first <= record.last);
        assert!(record.gap_p50 <= record.gap_max);
        assert_eq!(record.tokens.0, f64::from(record.chunks));
    }
    assert!(records.iter().any(|r| r.connect.is_none()), "connections are used again");
}

#[test]
fn a_closed_loop_keeps_its_clients_busy_and_impatient_ones_leave() {
    let site = serve();
    let records = drive::run(&drive_at(&site.url(), 12), &clients(3)).unwrap();
    assert_eq!(records.iter().filter(|r| r.error.is_none()).count(), 12);
    let mut impatient = clients(3);
    let class = &mut impatient.classes[0];
    (class.answer, class.max_tokens) = (Lengths::Fixed(4000), 4000);
    class.patience = Some(Seconds(0.2));
    let records = drive::run(&drive_at(&site.url(), 6), &impatient).unwrap();
    assert_eq!(records.len(), 6);
    let left = |r: &drive::ClientRequest| r.error.as_deref() == Some("the client gave up") && r.chunks > 0;
    assert!(records.iter().all(left), "{records:?}");
    site.wait_for("vllm:num_requests_running", 0.0);
}

#[test]
fn refusals_and_dead_ends_are_written_down() {
    let site = serve();
    let mut too_long = clients(1);
    too_long.classes[0].prompt = Lengths::Fixed(9000);
    let records = drive::run(&drive_at(&site.url(), 1), &too_long).unwrap();
    assert_eq!(records[0].status, Some(400));
    assert!(records[0].error.as_deref().unwrap().contains("4096"));
    let url = site.url();
    site.stop();
    let records = drive::run(&drive_at(&url, 1), &too_long).unwrap();
    assert_eq!(records[0].status, None);
    assert!(records[0].error.as_deref().unwrap().starts_with("cannot connect"));
}

#[test]
fn a_buffering_relay_holds_tokens_back_and_changes_none() {
    let site = serve();
    let body = json!({"prompt": "x", "max_tokens": 100, "ignore_eos": true, "stream": true});
    let direct = site.post(COMPLETE, &body);
    let path = Path { delay: Seconds(0.0), buffer: Some(Bytes(4096.0)) };
    let relay = proxy::start(path, site.url().parse().unwrap(), local()).unwrap();
    let through = Site::at(relay.address()).post(COMPLETE, &body);
    let words = |reply: &Reply| {
        reply.events().iter().map(|e| e["choices"][0]["text"].clone()).collect::<Vec<Value>>()
    };
    assert_eq!(words(&direct), words(&through));
    assert!(through.chunks.len() < direct.chunks.len() / 4, "{:?} {:?}", direct.chunks, through.chunks);
    let last = through.chunks.len() - 1;
    assert!(through.chunks[..last].iter().all(|size| *size >= 4096), "{:?}", through.chunks);
}

#[test]
fn a_long_path_delays_both_ways() {
    let site = serve();
    let path = Path { delay: Seconds(0.2), buffer: None };
    let relay = proxy::start(path, site.url().parse().unwrap(), local()).unwrap();
    let records = drive::run(&drive_at(&relay.url(), 2), &clients(2)).unwrap();
    for record in records {
        assert_eq!(record.error, None);
        assert!(record.headers.unwrap().0 >= 0.4, "{record:?}");
    }
}

#[test]
fn a_relay_passes_hang_ups_on_and_says_when_nobody_is_behind_it() {
    let site = serve();
    let relay = proxy::start(Path::default(), site.url().parse().unwrap(), local()).unwrap();
    let through = Site::at(relay.address());
    let body = json!({"prompt": "x", "max_tokens": 4000, "ignore_eos": true, "stream": true});
    let open = through.open(COMPLETE, &body);
    site.wait_for("vllm:num_requests_running", 1.0);
    drop(open);
    site.wait_for("vllm:num_requests_running", 0.0);
    site.stop();
    assert_eq!(through.get("/health").status, 502);
}
