#![allow(clippy::unwrap_used)]
use intriage_case::Nanos;
use intriage_record::definitions::{AsTool, Tool};
use intriage_record::{
    Chunk, ChunkKind, ClientFacts, Declared, Finished, Header, Outcome, Request, Tally, ThreadFacts,
};

use super::*;

/// Requests whose role comes at 10 ms and whose eight tokens follow from 60 ms on, every 12 ms; every tenth fails.
fn run() -> (Header, Tally, ClientFacts, AsTool) {
    let objectives = vec!["ttft.p95=100ms".parse().unwrap(), "tpot.p95=10ms".parse().unwrap()];
    let declared = Declared {
        arrival: Arrival::Closed { concurrency: 4 },
        objectives: objectives.clone(),
        ..Declared::default()
    };
    let header = Header {
        intriage: "0".to_owned(),
        url: "http://127.0.0.1:8000".to_owned(),
        model: "m".to_owned(),
        api: "chat".to_owned(),
        protocol: "HTTP/1.1".to_owned(),
        declared: declared.clone(),
        ..Header::default()
    };
    let (mut tally, mut vllm) = (Tally::new(declared), AsTool::new(Tool::Vllm, "chat", &objectives));
    for i in 0..400u64 {
        let sent = Nanos(i * 40_000_000);
        let mut request = Request::planned(i, sent);
        request.written = sent + Nanos(20_000);
        request.head = Some(sent + Nanos(2_000_000));
        if i % 10 == 9 {
            (request.outcome, request.status) = (Outcome::Status, 503);
            request.error = "HTTP 503: overloaded".to_owned();
            request.ended = sent + Nanos(2_000_000);
            let failed = Finished { request, chunks: Vec::new() };
            tally.add(&failed);
            vllm.add(&failed);
            continue;
        }
        let chunk = |ms: u64, kind| Chunk {
            at: sent + Nanos(ms * 1_000_000),
            lag: 30_000,
            bytes: 250,
            kind,
            tokens: 0,
        };
        let mut chunks = vec![chunk(10, ChunkKind::Empty)];
        chunks.extend((0..8).map(|t| chunk(60 + 12 * t, ChunkKind::Content)));
        (request.outcome, request.status) = (Outcome::Ok, 200);
        request.completion_tokens = Some(8);
        request.prompt_tokens = Some(64);
        request.ended = sent + Nanos(150_000_000);
        let finished = Finished { request, chunks };
        tally.add(&finished);
        vllm.add(&finished);
    }
    let thread = ThreadFacts {
        busy_window: Seconds(16.0),
        cpu: Seconds(0.4),
        waited: Some(Seconds(0.01)),
        longest_turn: Nanos(50_000),
    };
    let client = ClientFacts {
        elapsed: Seconds(16.1),
        threads: vec![thread],
        kernel_stamps: true,
        round_trip: Some(Nanos(80_000)),
        cpu: Seconds(0.5),
        ..ClientFacts::default()
    };
    (header, tally, client, vllm)
}

#[test]
fn a_run_is_told_on_one_screen() {
    let (header, tally, client, vllm) = run();
    let summary = Summary::of(&header, &tally, Some(&client));
    let text = bench_text(&summary, &[vllm.finish(&summary.all)], None);
    insta::assert_snapshot!(told(&text));
}

fn told(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn a_search_says_what_holds_what_binds_and_whose_limit_it_is() {
    let (header, tally, client, _) = run();
    let summary = Summary::of(&header, &tally, Some(&client));
    let row = |load, held, sure| ProbeRow { load, held, sure, summary: &summary };
    let rows = [
        row(1.0, Some(true), true),
        row(2.0, Some(true), false),
        row(2.8, Some(false), false),
        row(4.0, Some(false), true),
        row(8.0, None, false),
    ];
    let binding = Some("ttft.p99=100ms".parse().unwrap());
    let found = BoundaryFacts {
        rate: Some(2.4),
        interval: (Some(1.0), Some(4.0)),
        binding,
        ..BoundaryFacts::default()
    };
    let server = boundary_text(&found, &rows);
    let why = Some("the client's CPU is saturated");
    let doubts = ["prompts came out longer".to_owned()];
    let found = BoundaryFacts { interval: (Some(1.0), None), client: why, doubts: &doubts, ..found };
    let client = boundary_text(&found, &rows[..1]);
    let none = BoundaryFacts { interval: (None, Some(1.0)), ..BoundaryFacts::default() };
    let none = boundary_text(&none, &rows[3..4]);
    let knee = sweep_text(Some(16.0), Some(1234.0), true, why, &rows[..2]);
    insta::assert_snapshot!(told(&[server, client, none, knee].join("\n")));
}

#[test]
fn a_front_end_that_waits_for_a_cpu_explains_late_tokens() {
    let (header, tally, client, _) = run();
    let mut summary = Summary::of(&header, &tally, Some(&client));
    // Our 60 ms against the server's 20: 2 ms to the first byte, 3 ms for a scrape.
    let mut text = |waits: Option<f64>| {
        let run = Summary::of(&header, &tally, Some(&client)).all.duration.unwrap();
        let waits = waits.map(|share| Seconds(share * run.0));
        summary.beside = Some(tally.beside(Some(Seconds(0.02)), None, None, Some(Seconds(0.003)), waits));
        // As one line: the page folds it.
        told(&bench_text(&summary, &[], None)).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(text(None).contains("front end do not explain it"), "{}", text(None));
    // Half of a life of 150 ms, and of those that failed.
    let waiting = text(Some(0.5));
    assert!(waiting.contains("front end explain it"), "{waiting}");
    assert!(waiting.contains("wait for a CPU at most"), "{waiting}");
    assert!(text(Some(0.01)).contains("front end do not explain it"));
}

#[test]
fn the_names_that_scripts_rely_on_are_there() {
    let (header, tally, client, _) = run();
    let summary = Summary::of(&header, &tally, Some(&client));
    let json: serde_json::Value =
        serde_json::from_str(&bench_json::<()>(&summary, &[], None).unwrap()).unwrap();
    let number = |at: &str| {
        json.pointer(at).and_then(serde_json::Value::as_f64).unwrap_or_else(|| panic!("{at}: {json}"))
    };
    assert!((number("/ttft/p50") - 0.06).abs() < 1e-5);
    assert!((number("/ttft/p99") - 0.06).abs() < 1e-5);
    assert!((number("/itl/p50") - 0.012).abs() < 1e-5);
    assert!((number("/tpot/p50") - 0.012).abs() < 1e-5);
    assert_eq!((number("/requests/ok"), number("/requests/failed")), (360.0, 40.0));
    assert!(number("/output_tokens_per_second") > 100.0);
    assert!(number("/certificate/ttft_error") > 0.0);
    assert_eq!(json["certificate"]["status"], "VALID");
    // 360 answers: enough for p95, which the objectives ask for, and not for p99, which nobody asked for.
    assert_eq!(
        (&json["ttft"]["certified"]["p95"], &json["ttft"]["certified"]["p99"]),
        (&true.into(), &false.into())
    );
    assert_eq!((number("/itl/n"), number("/itl/answers")), (2520.0, 360.0));
    assert_eq!(json["certificate"]["asked"][0]["certified"], true);
}

#[test]
fn the_published_schema_is_the_one_the_types_have() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/bench-1.schema.json");
    let generated = bench_schema().unwrap();
    if std::env::var_os("INTRIAGE_BLESS").is_some() {
        std::fs::write(path, &generated).unwrap();
    }
    let published = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        published == generated,
        "schemas/bench-1.schema.json is stale: run the tests with INTRIAGE_BLESS=1"
    );
}
