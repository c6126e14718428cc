//! A server that fails in every way it can: each request is accounted for, and called by its name.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod known;

use intriage_case::Nanos;
use intriage_record::{Finished, Outcome};
use known::{Came, run, spec, truth};

/// Every second request fails in this way; the others are answered.
fn half(fault: &str) -> Came {
    let server = truth(&format!("ttft_ms=2,itl_ms=1,fault={fault},fault_every=2"));
    let mut spec = spec(&server);
    spec.sessions = Some(12);
    let came = run(&spec);
    assert_eq!(came.finished.len(), 12, "{fault}: every request is accounted for");
    came
}

fn failed(came: &Came) -> Vec<&Finished> {
    came.finished.iter().filter(|f| f.request.outcome != Outcome::Ok).collect()
}

#[test]
fn every_failure_is_named() {
    for (fault, outcome, words) in [
        ("die", Outcome::CutOff, "before the answer was complete"),
        ("reset", Outcome::Reset, "reset"),
        ("garbage", Outcome::NotHttp, "does not begin as HTTP"),
        ("garbage_event", Outcome::Garbage, ""),
        ("half_utf8", Outcome::CutOff, "inside an event"),
        ("http500", Outcome::Status, "HTTP 500"),
        ("http429", Outcome::Refused, "Retry-After 1"),
        ("http503", Outcome::Status, "HTTP 503"),
        ("endless_line", Outcome::TooLong, "does not end"),
        ("no_tokens", Outcome::NoTokens, "no token"),
        ("empty", Outcome::NoTokens, ""),
        ("truncated", Outcome::CutOff, "before the answer was complete"),
        ("error_event", Outcome::ErrorEvent, ""),
        ("bad_status", Outcome::NotHttp, ""),
        ("huge_header", Outcome::TooLong, "head"),
        ("close_before", Outcome::CutOff, "without an answer"),
    ] {
        let came = half(fault);
        let failed = failed(&came);
        assert_eq!(failed.len(), 6, "{fault}");
        for each in failed {
            assert_eq!(each.request.outcome, outcome, "{fault}: {}", each.request.error);
            assert!(each.request.error.contains(words), "{fault}: {}", each.request.error);
        }
        assert_eq!((came.summary.all.requests.ok, came.summary.all.requests.failed), (6, 6), "{fault}");
        let answered = came.finished.iter().filter(|f| f.request.outcome == Outcome::Ok);
        assert!(answered.clone().all(|f| f.request.completion_tokens == Some(8)), "{fault}");
    }
}

#[test]
fn an_end_without_its_marker_is_an_end_if_the_server_gave_its_reason() {
    let came = half("no_done");
    assert_eq!(came.summary.all.requests.ok, 12);
    assert!(came.finished.iter().any(|f| f.request.completion_tokens.is_none()), "the counts were missing");
}

#[test]
fn a_server_that_stalls_is_given_up_on_time() {
    let server = truth("ttft_ms=2,itl_ms=1,fault=stall,fault_every=2");
    let mut spec = spec(&server);
    spec.timeout = Nanos(300_000_000);
    let came = run(&spec);
    let failed = failed(&came);
    assert_eq!(failed.len(), 4);
    assert!(failed.iter().all(|f| f.request.outcome == Outcome::TimedOut && f.chunks.iter().any(|c| c.kind.is_generated())));
}

#[test]
fn failures_count_against_goodput_and_not_for_speed() {
    let server = truth("ttft_ms=2,itl_ms=1,fault=http503,fault_every=2");
    let mut spec = spec(&server);
    spec.objectives = vec!["ttft.p99=10s".parse().unwrap()];
    let all = run(&spec).summary.all;
    let goodput = all.goodput.unwrap();
    assert_eq!((goodput.good, goodput.of), (4, 8));
    assert_eq!(all.ttft.n, 4, "a refusal has no first token");
    assert_eq!(all.throughput.output_tokens, 32);
}

#[test]
fn a_run_of_failures_alone_says_so() {
    let server = truth("fault=http500,fault_every=1");
    let summary = run(&spec(&server)).summary;
    assert_eq!((summary.all.requests.ok, summary.all.requests.failed), (0, 8));
    assert_eq!(summary.errors[0].count, 8);
    assert_eq!(summary.certificate.ttft_error, None);
    assert!(
        summary.certificate.reasons.iter().any(|r| r.contains("0 of 8")),
        "{:?}",
        summary.certificate.reasons
    );
}

#[test]
fn a_server_that_goes_away_fails_the_rest() {
    let server = truth("ttft_ms=1,itl_ms=1");
    let mut spec = spec(&server);
    spec.sessions = Some(200);
    spec.keep_alive = false;
    let handle = intriage_load::Handle::default();
    let ready = spec.prepare(intriage_load::Clock::start(), &handle).unwrap();
    let stop = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(60));
        server.stop().unwrap();
    });
    let (_, ran) = ready.run(None, Vec::new(), &handle).unwrap();
    stop.join().unwrap();
    assert_eq!(ran.tally.ended(), 200, "every request is accounted for");
}
