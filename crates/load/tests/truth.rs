//! What the client says against what the server knows.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod known;

use std::io::{Read as _, Seek as _};

use intriage_case::{Nanos, PerSecond, Ratio, Requests, Seconds};
use intriage_load::api::Api;
use intriage_load::arrivals::Shape;
use intriage_load::prompts::{Class, Think};
use intriage_load::{BesideLoad, Counting, Load, Prompts};
use intriage_record::{ChunkKind, Figures, Outcome, Summary, Tally};
use intriage_simulate::Lengths;
use known::{Came, run, run_into, served, spec, truth};

#[test]
fn first_tokens_and_gaps_are_those_the_server_wrote() {
    let server = truth("ttft_ms=20,itl_ms=3,jitter_ms=2,seed=3");
    let came = run(&spec(&server));
    let log = server.log().unwrap();
    assert_eq!(came.finished.len(), 8);
    for finished in &came.finished {
        let (said, known) = (Figures::of(finished), served(&log, finished));
        assert_eq!(finished.request.outcome, Outcome::Ok);
        assert_eq!(said.chunks, known.tokens);
        assert_eq!(finished.request.completion_tokens, Some(known.tokens));
        assert_eq!(finished.request.prompt_tokens, Some(known.prompt_tokens));
        // Bytes cannot arrive before they are written, nor the request before it is sent.
        let written = known.writes[0].1 - known.arrived;
        assert!(said.ttft.unwrap().0 >= written, "{:?} said, {written} written", said.ttft);
        let last = known.writes.last().unwrap().1 - known.arrived;
        assert!(said.e2e.unwrap().0 >= last);
    }
}

#[test]
fn every_api_is_read_to_its_last_token() {
    for api in [Api::Chat, Api::Completions, Api::Responses, Api::LlamaCpp, Api::Tgi] {
        let server = truth("ttft_ms=2,itl_ms=1");
        let mut spec = spec(&server);
        spec.api = api;
        let came = run(&spec);
        assert_eq!(came.summary.all.requests.ok, 8, "{api}: {:?}", came.summary.errors);
        assert_eq!(came.summary.all.throughput.output_tokens, 64, "{api}");
    }
}

#[test]
fn bytes_cut_anywhere_are_the_same_answer() {
    for config in
        ["split=1,text=utf8", "split=7,text=escaped,crlf=true,comments=true", "split=3,tokens_per_event=3"]
    {
        let server = truth(&format!("ttft_ms=1,itl_ms=1,{config}"));
        let came = run(&spec(&server));
        assert_eq!(came.summary.all.requests.ok, 8, "{config}: {:?}", came.summary.errors);
        assert_eq!(came.summary.all.throughput.output_tokens, 64, "{config}");
    }
}

#[test]
fn a_role_long_before_the_first_token_is_no_token() {
    let server = truth("ttft_ms=40,itl_ms=1,role=early");
    let came = run(&spec(&server));
    for finished in &came.finished {
        let figures = Figures::of(finished);
        assert!(figures.first_chunk < figures.ttft);
        assert!(figures.ttft.unwrap().0 >= 40_000_000);
    }
}

#[test]
fn reasoning_counts_as_the_first_token_and_is_kept_apart() {
    let server = truth("ttft_ms=2,itl_ms=2,reasoning=3");
    let came = run(&spec(&server));
    for finished in &came.finished {
        let figures = Figures::of(finished);
        assert_eq!(figures.ttft, figures.first_reasoning);
        assert!(figures.first_content > figures.first_reasoning);
        let reasoning = finished.chunks.iter().filter(|c| c.kind == ChunkKind::Reasoning);
        assert_eq!(reasoning.count(), 3);
    }
}

#[test]
fn warm_up_is_handed_over_without_a_pause_and_counts_nowhere() {
    let server = truth("ttft_ms=5,itl_ms=1");
    let mut spec = spec(&server);
    spec.warmup_sessions = 6;
    let came = run(&spec);
    assert_eq!((came.summary.warmup_requests, came.summary.all.requests.planned), (6, 8));
    // The first that counts was sent while warm-up requests were still under way.
    let first = came.finished.iter().filter(|f| !f.request.warmup).map(|f| f.request.sent).min().unwrap();
    assert!(came.finished.iter().any(|f| f.request.warmup && f.request.ended > first));
}

#[test]
fn an_open_loop_sends_what_is_due_and_waits_for_a_limit_on_the_record() {
    let server = truth("ttft_ms=20,itl_ms=1");
    let mut spec = spec(&server);
    spec.load =
        Load::Open { shape: Shape::Constant { rate: PerSecond(Requests(400.0)) }, max_in_flight: Some(2) };
    spec.sessions = Some(40);
    let came = run(&spec);
    assert_eq!(came.summary.all.requests.ok, 40);
    let planned: Vec<u64> = {
        let mut all: Vec<u64> = came.finished.iter().map(|f| f.request.planned.0).collect();
        all.sort_unstable();
        all
    };
    assert!(planned.windows(2).all(|w| w[1] - w[0] == 2_500_000), "the plan does not bend");
    let gap = came.summary.all.planned.omission_p99.unwrap();
    assert!(gap > Seconds(0.02), "40 requests through 2 places at 27 ms each wait: {gap}");
}

#[test]
fn a_session_brings_the_real_answers_along() {
    let server = truth("ttft_ms=1,itl_ms=1");
    let mut spec = spec(&server);
    let class = Class {
        turns: (3, 3),
        think: Think::Fixed(Seconds(0.005)),
        ..Class::plain("all", Lengths::Fixed(32), Lengths::Fixed(6))
    };
    spec.prompts = Prompts::Synthetic(vec![class]);
    spec.sessions = Some(4);
    let came = run(&spec);
    assert_eq!(came.finished.len(), 12);
    let log = server.log().unwrap();
    for session in 0..4 {
        let mut turns: Vec<_> = came.finished.iter().filter(|f| f.request.session == session).collect();
        turns.sort_by_key(|f| f.request.turn);
        let words: Vec<u32> = turns.iter().map(|f| served(&log, f).prompt.words).collect();
        // Each turn holds the one before, its answer of six words and a new question.
        assert_eq!(words[1] - words[0], words[2] - words[1], "{words:?}");
        assert!(words[1] - words[0] > 6, "{words:?}");
        assert!(turns.windows(2).all(|w| w[1].request.planned.since(w[0].request.ended) == Nanos(5_000_000)));
    }
    assert_eq!(came.summary.turns["first"].requests.ok, 4);
    assert_eq!(came.summary.turns["later"].requests.ok, 8);
}

#[test]
fn some_are_given_up_halfway_and_the_server_notices() {
    let server = truth("ttft_ms=2,itl_ms=10");
    let mut spec = spec(&server);
    let class =
        Class { abort_share: Ratio(0.5), ..Class::plain("all", Lengths::Fixed(32), Lengths::Fixed(20)) };
    spec.prompts = Prompts::Synthetic(vec![class]);
    spec.sessions = Some(20);
    let came = run(&spec);
    let aborted = came.summary.all.requests.aborted;
    assert!((3..18).contains(&aborted), "{aborted}");
    assert_eq!(came.summary.all.requests.ok + aborted, 20);
    let gone = server.log().unwrap().iter().filter(|s| s.aborted).count() as u64;
    assert_eq!(gone, aborted);
}

#[test]
fn two_shards_send_what_one_would() {
    let server = truth("ttft_ms=1,itl_ms=1");
    let prompts = |shard: (u32, u32)| {
        let mut spec = spec(&server);
        spec.sessions = Some(12);
        spec.shard = shard;
        spec.load =
            Load::Open { shape: Shape::Poisson { rate: PerSecond(Requests(500.0)) }, max_in_flight: None };
        server.reset().unwrap();
        let came = run(&spec);
        let mut hashes: Vec<u64> = server.log().unwrap().iter().map(|s| s.prompt.hash).collect();
        hashes.sort_unstable();
        (hashes, came.finished.len())
    };
    let (whole, count) = prompts((0, 1));
    let (mut first, _) = prompts((0, 2));
    let (second, _) = prompts((1, 2));
    first.extend(second);
    first.sort_unstable();
    assert_eq!((first, count), (whole, 12));
}

#[test]
fn the_record_holds_what_was_seen() {
    let server = truth("ttft_ms=5,itl_ms=1");
    let mut file = tempfile::tempfile().unwrap();
    let came = run_into(&spec(&server), Some(file.try_clone().unwrap()));
    file.rewind().unwrap();
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).unwrap();
    let mut again = Vec::new();
    let run = intriage_record::file::read(bytes.as_slice(), |_, f| again.push(f)).unwrap();
    assert_eq!(again, came.finished);
    let mut tally = Tally::new(run.header.declared.clone());
    for finished in &again {
        tally.add(finished);
    }
    assert_eq!(Summary::of(&came.header, &tally, run.client.as_ref()), came.summary);
}

#[test]
fn requests_with_a_body_larger_than_a_socket_takes_are_sent_whole() {
    let server = truth("ttft_ms=1,itl_ms=1");
    let mut spec = spec(&server);
    spec.prompts = Prompts::Synthetic(vec![Class::plain("long", Lengths::Fixed(400_000), Lengths::Fixed(4))]);
    let came = run(&spec);
    assert_eq!(came.summary.all.requests.ok, 8, "{:?}", came.summary.errors);
    let log = server.log().unwrap();
    assert!(log.iter().all(|s| s.prompt.bytes > 1_000_000));
}

#[test]
fn without_a_tokenizer_two_requests_tell_how_long_prompts_come_out() {
    let server = truth("ttft_ms=1,itl_ms=1,tokenize=off,template_tokens=11");
    let mut spec = spec(&server);
    let came = run(&spec);
    assert!(came.finished.iter().all(|f| f.request.prompt_tokens == Some(64)), "53 words and 11 around them");
    spec.counting = Counting::Assume;
    let came = run(&spec);
    assert!(came.finished.iter().all(|f| f.request.prompt_tokens == Some(75)), "64 words and 11 around them");
}

#[test]
fn a_closed_loop_has_its_connections_before_its_first_request() {
    let server = truth("ttft_ms=1,itl_ms=1");
    let came = run(&spec(&server));
    assert!(came.finished.iter().all(|f| f.request.dialled.is_none()), "no request waits for a connection");
    let connections =
        server.log().unwrap().iter().map(|s| s.connection).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(connections.len(), 4);
}

#[test]
fn a_server_that_hides_when_it_took_a_request_up_is_asked_beside_the_load() {
    let server = truth("ttft_ms=20,itl_ms=1,headers=first");
    let mut spec = spec(&server);
    spec.load = Load::Closed { concurrency: 8 };
    let parts = |came: &Came| came.summary.certificate.error_parts;
    let came = run(&spec);
    assert!(parts(&came).path.is_none() && parts(&came).front_end.is_some(), "{:?}", parts(&came));
    assert!(came.summary.certificate.ttft_error > parts(&came).front_end);
    spec.beside = BesideLoad::Nothing;
    assert_eq!(parts(&run(&spec)).front_end, None);
}
