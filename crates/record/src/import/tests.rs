#![allow(clippy::unwrap_used)]
use intriage_case::{Nanos, Seconds};
use proptest::prelude::*;

use super::*;
use crate::definitions::AsTool;
use crate::event::{ChunkKind, Outcome};
use crate::header::Arrival;
use crate::steady::Steady;
use crate::summary::{Group, Summary};
use crate::tally::Tally;

const VLLM: &str = include_str!("../../tests/data/vllm-detailed.json");
const VLLM_PLAIN: &str = include_str!("../../tests/data/vllm-plain.json");
const SGLANG: &str = include_str!("../../tests/data/sglang.jsonl");
const GUIDELLM: &str = include_str!("../../tests/data/guidellm.json");
const AIPERF: &str = include_str!("../../tests/data/aiperf-profile_export.jsonl");
const AIPERF_SUMS: &str = include_str!("../../tests/data/aiperf-profile_export_aiperf.json");
const PERF: &str = include_str!("../../tests/data/inference-perf-per_request.json");
const PERF_SUMS: &str = include_str!("../../tests/data/inference-perf-summary.json");

fn imported(text: &str) -> Imported {
    import("result", text.as_bytes()).unwrap()
}

fn refused(text: &str) -> String {
    import("result", text.as_bytes()).unwrap_err().to_string()
}

fn summed(run: &ImportedRun) -> Summary {
    let mut tally = Tally::new(run.header.declared.clone());
    run.requests.iter().for_each(|r| tally.add(r));
    Summary::of(&run.header, &tally, None)
}

fn group(run: &ImportedRun) -> Group {
    summed(run).all
}

/// The tool's rules on the imported requests give what the tool printed of them.
fn says_again(tool: Tool, run: &ImportedRun, printed: &[Printed], figures: &[&str]) {
    let mut theirs = AsTool::new(tool, &run.header.api, &[]);
    run.requests.iter().for_each(|r| theirs.add(r));
    let said = theirs.finish(&group(run));
    for name in figures {
        let stats = said.figures.iter().find(|f| f.name == *name).unwrap().theirs;
        for (statistic, again) in [("mean", stats.mean), ("p50", stats.p50), ("p99", stats.p99)] {
            // GuideLLM adds up shares of 1/20: ten of them fall short of a half by rounding, so its median is the next one.
            if (tool, statistic) == (Tool::Guidellm, "p50") {
                continue;
            }
            let first = printed.iter().find(|p| p.figure == *name && p.statistic == statistic).unwrap();
            let unit = if first.unit == "ms" { 1e-3 } else { 1.0 };
            let (first, again) = (first.value * unit, again.map_or(f64::NAN, Seconds::get));
            assert!(
                (first - again).abs() <= 3e-4 * first + 2e-6,
                "{name} {statistic}: {first} printed, {again}"
            );
        }
    }
}

#[test]
fn vllm_with_every_chunk() {
    let file = imported(VLLM);
    let run = &file.runs[0];
    assert_eq!((file.tool, file.runs.len(), run.requests.len()), (Tool::Vllm, 1, 20));
    assert_eq!(run.detail, Detail { chunks: Chunks::Every, starts: true });
    assert_eq!((run.header.api.as_str(), run.header.model.as_str()), ("chat", "llama-3.1-8b"));
    let open = Arrival::Open { rate: Some(20.0), shape: "poisson".to_owned(), max_concurrency: Some(8) };
    assert_eq!(run.header.declared.arrival, open);
    assert_eq!(run.header.host[0], (IMPORTED_FROM.to_owned(), "vllm bench serve".to_owned()));
    says_again(Tool::Vllm, run, &run.said, &["TTFT", "TPOT", "ITL", "E2EL"]);
    // The role is a chunk of its own: 17 chunks for 16 tokens.
    assert!(run.notes[0].starts_with("20 of 20 answers have more chunks than tokens"), "{:?}", run.notes);
    assert!(run.requests.iter().all(|r| r.chunks.len() == 17 && r.request.completion_tokens == Some(16)));
    let ours = group(run);
    assert_eq!((ours.requests.ok, ours.throughput.output_tokens), (20, 320));
}

#[test]
fn vllm_with_sums_alone() {
    let file = imported(VLLM_PLAIN);
    let run = &file.runs[0];
    assert_eq!((run.requests.len(), run.detail.chunks), (0, Chunks::None));
    assert_eq!(run.header.declared.arrival, Arrival::Closed { concurrency: 20 });
    assert!(run.said.iter().any(|p| (p.figure.as_str(), p.statistic.as_str()) == ("TTFT", "p99")));
    let twice = format!("{VLLM_PLAIN}\n{VLLM_PLAIN}");
    assert_eq!(imported(&twice).runs.len(), 2, "--append-result");
}

#[test]
fn sglang_line_by_line() {
    let file = imported(SGLANG);
    assert_eq!((file.tool, file.runs.len()), (Tool::Sglang, 2));
    let run = &file.runs[0];
    assert_eq!(run.detail, Detail { chunks: Chunks::Every, starts: false });
    says_again(Tool::Sglang, run, &run.said, &["TTFT", "ITL"]);
    // It does not say when requests were sent, so ours must not claim a rate.
    let summary = summed(run);
    assert_eq!((summary.all.duration, summary.all.throughput.output_tokens_per_second), (None, None));
    assert_eq!(summary.steady, Steady::TooShort { seconds: 0 });
    // Python's Infinity is no JSON; it is how SGLang writes its default rate.
    assert!(SGLANG.contains("Infinity"));
    assert_eq!(file.runs[1].header.declared.arrival, Arrival::Closed { concurrency: 20 });
}

#[test]
fn guidellm_by_first_and_last_chunk() {
    let file = imported(GUIDELLM);
    let run = &file.runs[0];
    assert_eq!((file.version.as_deref(), run.requests.len()), (Some("0.8.1"), 20));
    assert_eq!(run.header.declared.arrival, Arrival::Closed { concurrency: 4 });
    assert_eq!(run.detail.chunks, Chunks::Ends);
    assert!(run.requests.iter().all(|r| r.chunks.len() == 2 && r.chunks[0].kind == ChunkKind::Content));
    says_again(Tool::Guidellm, run, &run.said, &["Request Latency", "TTFT", "TTFOT", "ITL", "TPOT"]);
}

#[test]
fn aiperf_line_by_line_and_its_sums() {
    let (records, sums) = (imported(AIPERF), imported(AIPERF_SUMS));
    assert_eq!((records.tool, sums.version.as_deref()), (Tool::Aiperf, Some("0.13.0")));
    let run = &records.runs[0];
    assert_eq!((run.requests.len(), run.detail.chunks), (20, Chunks::Every));
    let times = ["Time to First Token", "Time to Second Token", "Request Latency", "Inter Chunk Latency"];
    says_again(Tool::Aiperf, run, &sums.runs[0].said, &times);
    assert_eq!(sums.runs[0].header.declared.arrival, Arrival::Closed { concurrency: 4 });
    assert!(run.requests.iter().all(|r| r.request.planned <= r.request.sent));
}

#[test]
fn inference_perf_by_chunks_and_its_sums() {
    let (requests, sums) = (imported(PERF), imported(PERF_SUMS));
    let run = &requests.runs[0];
    assert_eq!(
        (requests.tool, run.requests.len(), run.detail.chunks),
        (Tool::InferencePerf, 20, Chunks::Every)
    );
    let times = ["request_latency", "time_to_first_token", "time_per_output_token", "inter_token_latency"];
    says_again(Tool::InferencePerf, run, &sums.runs[0].said, &times);
}

#[test]
fn a_failed_request_keeps_its_error() {
    let text = r#"{"model_id": "m", "total_input_tokens": 1, "request_throughput": NaN,
        "ttfts": [0.5, 0.0, 0.0], "itls": [[0.1], [], []], "start_times": [7.0, 7.5, 8.0], "output_lens": [2, 0, 0],
        "errors": ["", "Too Many Requests", "Traceback\naiohttp.client_exceptions.ServerDisconnectedError: gone"]}"#;
    let run = imported(text).runs.remove(0);
    let ends: Vec<_> = run.requests.iter().map(|r| (r.request.outcome, r.request.error.as_str())).collect();
    let gone = "aiohttp.client_exceptions.ServerDisconnectedError: gone";
    assert_eq!(ends, [(Outcome::Ok, ""), (Outcome::Refused, "Too Many Requests"), (Outcome::Reset, gone)]);
    assert_eq!(run.requests[0].chunks[1].at, Nanos(600_000_000));
    assert_eq!(run.requests[2].request.sent, Nanos(1_000_000_000));
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let vllm = |arrays: &str| {
        refused(&format!(
            r#"{{"model_id": "m", "total_input_tokens": 1, "request_throughput": 1, {arrays}}}"#
        ))
    };
    let said = vllm(r#""ttfts": [0.5], "itls": [[0.1, -2]]"#);
    assert_eq!(said, "result: run 1, request 1, itls: -2 s is no time");
    let said = vllm(r#""ttfts": [0.5], "itls": []"#);
    assert_eq!(said, "result: run 1: itls has 0 places, ttfts 1");
    let said = vllm(r#""ttfts": ["fast"], "itls": []"#);
    assert!(said.contains("\"fast\"") && said.contains("line 1 column"), "{said}");
    let said = refused(
        r#"{"metadata": {"request_start_ns": 1}, "metrics": {"time_to_first_token": {"value": 3, "unit": "weeks"}}}"#,
    );
    assert!(said.contains("line 1, time_to_first_token: 'weeks' is no unit"), "{said}");
}

#[test]
fn other_files_are_told_what_is_known() {
    for junk in ["", "   ", "{}", "[]", "[1]", "17", "\"x\"", r#"{"a": 1, "b": [NaN]}"#] {
        let said = refused(junk);
        assert!(said.starts_with("result: "), "{said}");
    }
    let said = refused(r#"{"alpha": 1, "beta": 2}"#);
    assert!(
        said.contains("alpha, beta") && said.contains("GuideLLM") && said.contains("profile_export.jsonl")
    );
    assert!(refused("{\"model_id\": ").contains("line 1"));
    assert!(matches!(read_all("big", &[0u8; 11][..], 10), Err(ImportError::TooLarge { limit: 10, .. })));
}

#[test]
fn pythons_words_are_null_outside_of_strings() {
    let clean =
        |text: &str| String::from_utf8(json::without_python_words(text.as_bytes()).into_owned()).unwrap();
    assert_eq!(
        clean(r#"[NaN, -Infinity, Infinity, -1, "NaN \" NaN"]"#),
        r#"[null, null, null, -1, "NaN \" NaN"]"#
    );
    assert_eq!(clean("\"\\"), "\"\\");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_changed_byte_is_read_or_refused(which in 0usize..8, at: prop::sample::Index, to: u8) {
        let all = [VLLM, VLLM_PLAIN, SGLANG, GUIDELLM, AIPERF, AIPERF_SUMS, PERF, PERF_SUMS];
        let mut bytes = all[which].as_bytes().to_vec();
        let at = at.index(bytes.len());
        bytes[at] = to;
        // Neither may panic; what is read can be summed up.
        if let Ok(file) = import("result", bytes.as_slice()) {
            file.runs.iter().for_each(|run| { group(run); });
        }
    }
}
