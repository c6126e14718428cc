//! `vllm bench serve` 0.32.0: `benchmarks/lib/endpoint_request_func.py` and `benchmarks/serve.py`.

use intriage_case::Nanos;

use super::reason::Reason;
use super::rules::{
    Counted, Figure, Judged, Percentiles, Reading, Rules, Total, Totals, before_connecting, each_shared_gap,
    has_choice, is_ours, note_connecting, pace,
};
use super::sums::Sums;
use crate::event::{ChunkKind, Finished, Outcome};
use crate::figures::Figures;

const TTFT: usize = 0;
const TPOT: usize = 1;
const ITL: usize = 2;
const E2EL: usize = 3;

pub(super) static RULES: Rules = Rules {
    figures: &[
        Figure {
            name: "TTFT",
            unit: "ms",
            definition: "from before the POST, connecting included, to the first chunk with a choice in it, text or not",
            estimated: None,
            ours: |g| Some(&g.ttft),
            percentiles: Percentiles::Interpolated,
        },
        Figure {
            name: "TPOT",
            unit: "ms",
            definition: "from the first to the last chunk with a choice, divided by tokens less one; one figure a request of two tokens or more",
            estimated: None,
            ours: |g| Some(&g.tpot),
            percentiles: Percentiles::Interpolated,
        },
        Figure {
            name: "ITL",
            unit: "ms",
            definition: "every gap between chunks with a choice, of all requests together, however many tokens a chunk brings",
            estimated: None,
            ours: |g| Some(&g.itl),
            percentiles: Percentiles::Interpolated,
        },
        Figure {
            name: "E2EL",
            unit: "ms",
            definition: "from before the POST to the last chunk with a choice, text or not; counts and end marker do not count",
            estimated: None,
            ours: |g| Some(&g.e2e),
            percentiles: Percentiles::Interpolated,
        },
    ],
    totals: Totals {
        completed: Total {
            name: "Successful requests",
            definition: "status 200, the stream read to its end and one chunk with a choice in it",
            why: "an answer without text, or with an error told inside the stream, is a success to it",
        },
        failed: Total {
            name: "Failed requests",
            definition: "everything else that was sent",
            why: "an answer without text, or with an error told inside the stream, is a success to it",
        },
        duration: Total {
            name: "Benchmark duration (s)",
            definition: "from before the first request to the end of the last, failed ones included",
            why: "its clock starts before the first connection",
        },
        tokens: Total {
            name: "Total generated tokens",
            definition: "the server's usage, else its own tokenizer over the text",
            why: "it counts the tokens of what it takes for a success",
        },
        request_rate: Total {
            name: "Request throughput (req/s)",
            definition: "successful requests over the duration",
            why: "it has another duration or other successes",
        },
        token_rate: Total {
            name: "Output token throughput (tok/s)",
            definition: "generated tokens over the duration",
            why: "it has another duration or other successes",
        },
        goodput: Total {
            name: "Request goodput (req/s)",
            definition: "successes whose TTFT, TPOT and E2EL are within the limits over the duration; an answer of one token always keeps TPOT",
            why: "it judges from the send by its own figures, we from the planned instant",
        },
        attainment: None,
    },
    read,
};

fn read(finished: &Finished, ours: &Figures, _chat: bool, sums: &mut Sums) -> Option<Reading> {
    let request = &finished.request;
    if is_ours(request.outcome) {
        return None;
    }
    let begin = before_connecting(request);
    let choices: Vec<_> = finished.chunks.iter().filter(|c| has_choice(c.kind)).collect();
    let read_to_end = matches!(request.outcome, Outcome::Ok | Outcome::NoTokens | Outcome::ErrorEvent);
    let (Some(first), Some(last), true) = (choices.first(), choices.last(), read_to_end) else {
        return Some(Reading::failed(begin, request.ended));
    };
    let (ttft, e2el) = (first.at.since(begin), last.at.since(begin));
    sums.add(TTFT, ttft);
    sums.add(E2EL, e2el);
    note_connecting(sums, &[TTFT, E2EL], request, begin);
    if request.outcome != Outcome::Ok {
        for figure in [TTFT, ITL, E2EL] {
            sums.because(figure, Reason::BrokenOff, Nanos::ZERO);
        }
    }
    for pair in choices.windows(2) {
        let gap = pair[1].at.since(pair[0].at);
        sums.add(ITL, gap);
        if pair.iter().any(|c| c.kind == ChunkKind::Empty) {
            sums.because(ITL, Reason::EmptyGap, gap);
        }
    }
    each_shared_gap(finished, |gap| sums.because(ITL, Reason::SharedGap, gap));
    if let (Some(token), Some(end)) = (ours.ttft, ours.e2e) {
        let (token, end) = (request.sent + token, request.sent + end);
        if first.kind == ChunkKind::Empty {
            sums.because(TTFT, Reason::EmptyFirst, token.since(first.at));
        }
        if last.kind == ChunkKind::Empty {
            sums.because(E2EL, Reason::EmptyLast, last.at.since(end));
        }
    }
    let tokens = ours.tokens.number();
    let tpot = pace(first.at, last.at, tokens);
    if let Some(tpot) = tpot {
        sums.add(TPOT, tpot);
        let wider = tpot.since(ours.tpot().unwrap_or(tpot));
        if wider > Nanos::ZERO {
            sums.because(TPOT, Reason::WiderSpan, wider);
        }
    }
    Some(Reading {
        counted: Counted::Completed,
        span: Some((begin, request.ended)),
        tokens: u64::from(tokens),
        judged: Judged { ttft: Some(ttft), pace: Some(tpot.unwrap_or(Nanos::ZERO)), e2e: Some(e2el) },
    })
}
