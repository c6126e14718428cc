#![allow(clippy::unwrap_used)]
use super::*;
use crate::event::{ChunkKind, Outcome};
use crate::figures::tests::answer;
use crate::header::{Declared, Header};
use crate::summary::Summary;
use crate::tally::Tally;
use ChunkKind::*;
use intriage_case::Nanos;

/// What a tool says of these requests, with our own figures beside it.
pub(super) fn said(tool: Tool, all: &[Finished], objectives: &[Objective]) -> Said {
    let declared = Declared { objectives: objectives.to_vec(), ..Declared::default() };
    let mut tally = Tally::new(declared.clone());
    let mut theirs = AsTool::new(tool, "chat", objectives);
    for finished in all {
        tally.add(finished);
        theirs.add(finished);
    }
    let header = Header { api: "chat".to_owned(), declared, ..Header::default() };
    theirs.finish(&Summary::of(&header, &tally, None).all)
}

impl Said {
    pub(super) fn figure(&self, name: &str) -> &SaidFigure {
        self.figures.iter().find(|f| f.name == name).unwrap()
    }

    /// Mean of theirs and of ours, in whole milliseconds.
    fn means(&self, name: &str) -> (i64, i64) {
        let ms = |s: &Stats| s.mean.map_or(-1, |m| (m.0 * 1e3).round() as i64);
        (ms(&self.figure(name).theirs), ms(&self.figure(name).ours))
    }

    fn why(&self, name: &str) -> &str {
        self.figure(name).differs.as_deref().unwrap_or("")
    }

    pub(super) fn total(&self, name: &str) -> &SaidTotal {
        self.totals.iter().find(|t| t.name == name).unwrap()
    }
}

/// The role at 10 ms, four tokens from 50 to 80 ms, the finish reason at 84, counts at 85, end at 90.
fn role_early() -> Finished {
    answer(
        1,
        0,
        &[
            (10, Empty),
            (50, Content),
            (60, Content),
            (70, Content),
            (80, Content),
            (84, Empty),
            (85, Usage),
            (90, Done),
        ],
    )
}

#[test]
fn a_first_token_without_text_is_seen_by_vllm_alone() {
    let all = [answer(1, 0, &[(50, Silent), (60, Silent), (70, Content), (80, Content), (85, Done)])];
    let vllm = said(Tool::Vllm, &all, &[]);
    assert_eq!((vllm.means("TTFT"), vllm.why("TTFT")), ((50, 50), ""));
    for (tool, name) in [
        (Tool::Guidellm, "TTFT"),
        (Tool::Aiperf, "Time to First Token"),
        (Tool::Sglang, "TTFT"),
        (Tool::InferencePerf, "time_to_first_token"),
    ] {
        let theirs = said(tool, &all, &[]);
        assert_eq!(theirs.means(name), (70, 50), "{tool:?}");
        let why = "it does not see first tokens without text, which adds 20.0 ms to 1 answer";
        assert_eq!(theirs.why(name), why, "{tool:?}");
    }
}

#[test]
fn the_role_is_a_first_token_to_vllm_alone() {
    let all = [role_early()];
    let vllm = said(Tool::Vllm, &all, &[]);
    assert_eq!(vllm.means("TTFT"), (10, 50));
    assert_eq!(
        vllm.why("TTFT"),
        "its clock stops at a chunk without text in 1 answer, 40.0 ms before the first token"
    );
    // From 10 to 84 ms over three tokens, ours from 50 to 80.
    assert_eq!(vllm.means("TPOT"), (25, 10));
    // 40, 10, 10, 10 and 4 ms.
    assert_eq!(vllm.means("ITL"), (15, 10));
    assert!(vllm.why("ITL").starts_with("2 of its gaps"), "{}", vllm.why("ITL"));
    assert_eq!(vllm.means("E2EL"), (84, 80));
    for (tool, name) in [
        (Tool::Guidellm, "TTFT"),
        (Tool::Aiperf, "Time to First Token"),
        (Tool::Sglang, "TTFT"),
        (Tool::InferencePerf, "time_to_first_token"),
    ] {
        let other = said(tool, &all, &[]);
        assert_eq!((other.means(name), other.why(name)), ((50, 50), ""), "{tool}");
    }
}

#[test]
fn each_tool_ends_a_request_elsewhere() {
    let all = [role_early()];
    assert_eq!(said(Tool::Guidellm, &all, &[]).means("Request Latency"), (90, 80));
    assert_eq!(said(Tool::Aiperf, &all, &[]).means("Request Latency"), (80, 80));
    let sglang = said(Tool::Sglang, &all, &[]);
    assert_eq!(sglang.means("E2E Latency"), (90, 80));
    // From 50 to 90 ms over three tokens.
    assert_eq!(sglang.means("TPOT"), (13, 10));
    let perf = said(Tool::InferencePerf, &all, &[]);
    assert_eq!(perf.means("request_latency"), (90, 80));
    // 90 ms over four tokens, ours 80.
    assert_eq!(perf.means("normalized_time_per_output_token"), (23, 20));
}

#[test]
fn the_wait_for_the_first_token_is_in_guidellms_tpot() {
    let guidellm = said(Tool::Guidellm, &[role_early()], &[]);
    // 80 ms over four tokens.
    assert_eq!(guidellm.means("TPOT"), (20, 10));
    assert!(guidellm.why("TPOT").contains("10.0 ms a token in 1 answer"), "{}", guidellm.why("TPOT"));
}

#[test]
fn four_tokens_a_chunk_are_one_gap_or_four() {
    let mut finished =
        answer(1, 0, &[(100, Content), (140, Content), (180, Content), (181, Usage), (181, Done)]);
    finished.request.completion_tokens = Some(12);
    finished.chunks.iter_mut().filter(|c| c.kind == Content).for_each(|c| c.tokens = 4);
    let all = [finished];
    let vllm = said(Tool::Vllm, &all, &[]);
    assert_eq!(vllm.means("ITL"), (40, 10));
    assert_eq!(vllm.why("ITL"), "2 gaps of 40.0 ms brought several tokens each and count once");
    // Two gaps of 40 and nine of 0.
    let perf = said(Tool::InferencePerf, &all, &[]);
    assert_eq!(
        (perf.means("inter_token_latency"), perf.figure("inter_token_latency").theirs.n),
        ((7, 10), 11)
    );
    // Nothing below half a microsecond is told apart.
    assert!(perf.figure("inter_token_latency").theirs.p50.unwrap().0 < 1e-6);
    assert!(perf.why("inter_token_latency").starts_with("9 tokens"), "{}", perf.why("inter_token_latency"));
    // 80 ms over eleven tokens, weighed by them or not.
    assert_eq!(said(Tool::Guidellm, &all, &[]).means("ITL"), (7, 10));
    assert_eq!(said(Tool::Aiperf, &all, &[]).means("Inter Token Latency"), (7, 10));
    assert_eq!(said(Tool::Aiperf, &all, &[]).means("Inter Chunk Latency"), (40, 40));
}

#[test]
fn reasoning_is_a_token_to_all_but_inference_perf() {
    let all = [answer(1, 0, &[(50, Reasoning), (60, Reasoning), (90, Content), (100, Content), (101, Done)])];
    let perf = said(Tool::InferencePerf, &all, &[]);
    assert_eq!(perf.means("time_to_first_token"), (90, 50));
    assert_eq!(
        perf.why("time_to_first_token"),
        "reasoning is no token to it, which adds 40.0 ms to 1 answer"
    );
    assert_eq!(perf.total("output tokens").theirs.unwrap().value, 2.0);
    assert_eq!(said(Tool::Sglang, &all, &[]).means("TTFT"), (50, 50));
    let guidellm = said(Tool::Guidellm, &all, &[]);
    assert_eq!((guidellm.means("TTFT"), guidellm.means("TTFOT")), ((50, 50), (90, 90)));
    assert_eq!(said(Tool::Aiperf, &all, &[]).means("Time to First Output Token"), (90, 90));
}

#[test]
fn making_the_connection_counts_where_the_clock_starts_first() {
    let mut finished = answer(1, 20, &[(70, Content), (80, Content), (81, Done)]);
    finished.request.dialled = Some(Nanos(5_000_000));
    finished.request.connected = Some(Nanos(18_000_000));
    let all = [finished];
    assert_eq!(said(Tool::Vllm, &all, &[]).means("TTFT"), (65, 50));
    let why = said(Tool::Vllm, &all, &[]).figure("TTFT").differs.clone().unwrap();
    assert_eq!(why, "it also counts making the connection, 15.0 ms in 1 of the requests");
    assert_eq!(said(Tool::Guidellm, &all, &[]).means("TTFT"), (50, 50));
}

#[test]
fn a_failed_request_lengthens_most_runs_and_a_broken_answer_is_a_success_to_some() {
    let mut refused = answer(2, 100, &[]);
    refused.request.outcome = Outcome::Status;
    refused.request.ended = Nanos(500_000_000);
    let mut broken = answer(3, 0, &[(10, Content), (20, ChunkKind::Error)]);
    broken.request.outcome = Outcome::ErrorEvent;
    let all = [role_early(), refused, broken];
    let counts = |tool: Tool| {
        let said = said(tool, &all, &[]);
        let value = |place: usize| said.totals[place].theirs.unwrap().value;
        (value(0), value(1), (value(2) * 1e3).round())
    };
    assert_eq!(counts(Tool::Vllm), (2.0, 1.0, 500.0));
    assert_eq!(counts(Tool::Guidellm), (1.0, 2.0, 500.0));
    assert_eq!(counts(Tool::Aiperf), (2.0, 1.0, 80.0));
    assert_eq!(counts(Tool::Sglang), (2.0, 1.0, 500.0));
    assert_eq!(counts(Tool::InferencePerf), (2.0, 1.0, 500.0));
    let vllm = said(Tool::Vllm, &all, &[]);
    assert!(vllm.totals[0].differs.as_deref().unwrap().ends_with("a success to it: 1 of them"));
}

#[test]
fn what_our_plan_gave_up_and_what_warmed_up_counts_nowhere() {
    let mut aborted = role_early();
    aborted.request.outcome = Outcome::Aborted;
    let mut warm = role_early();
    warm.request.warmup = true;
    for tool in Tool::ALL {
        let said = said(tool, &[aborted.clone(), warm.clone()], &[]);
        assert_eq!((said.totals[0].theirs.unwrap().value, said.totals[1].theirs.unwrap().value), (0.0, 0.0));
        assert!(said.figures.iter().all(|f| f.theirs.n == 0 && f.differs.is_none()), "{tool}");
    }
}
