//! `sglang.benchmark.serving` 0.5.23, its OpenAI-compatible clients: `benchmark/serving.py` and `benchmark/goodput.py`.

use intriage_case::Nanos;

use super::reason::Reason;
use super::rules::{
    Counted, Denominator, Figure, Judged, Percentiles, Reading, Rules, Total, Totals, before_connecting,
    each_shared_gap, is_ours, note_connecting, note_silent, pace, texts,
};
use super::sums::Sums;
use crate::event::{ChunkKind, Finished, Outcome};
use crate::figures::Figures;

const E2E: usize = 0;
const TTFT: usize = 1;
const TPOT: usize = 2;
const ITL: usize = 3;

const CONNECTION: Option<&str> =
    Some("it opens a connection for every request; here only those that were made count");

pub(super) static RULES: Rules = Rules {
    figures: &[
        Figure {
            name: "E2E Latency",
            unit: "ms",
            definition: "from before the POST, connecting included, to the last line of the stream, counts and end marker included",
            estimated: CONNECTION,
            ours: |g| Some(&g.e2e),
            percentiles: Percentiles::Interpolated,
        },
        Figure {
            name: "TTFT",
            unit: "ms",
            definition: "from before the POST to the first chunk with text, reasoning included",
            estimated: CONNECTION,
            ours: |g| Some(&g.ttft),
            percentiles: Percentiles::Interpolated,
        },
        Figure {
            name: "TPOT",
            unit: "ms",
            definition: "from the first text to the last line of the stream, divided by tokens less one; one figure a request of two tokens or more",
            estimated: None,
            ours: |g| Some(&g.tpot),
            percentiles: Percentiles::Interpolated,
        },
        Figure {
            name: "ITL",
            unit: "ms",
            definition: "every gap between chunks with text, of all requests together; shared among the tokens of a chunk only if the server tells a speculative accept length",
            estimated: None,
            ours: |g| Some(&g.itl),
            percentiles: Percentiles::Interpolated,
        },
    ],
    totals: Totals {
        completed: Total {
            name: "Successful requests",
            definition: "status 200 and the stream read to its end, with or without a token",
            why: "an answer without a token, or with an error told inside the stream, is a success to it",
        },
        failed: Total {
            name: "Failed requests (not printed)",
            definition: "everything else that was sent",
            why: "an answer without a token, or with an error told inside the stream, is a success to it",
        },
        duration: Total {
            name: "Benchmark duration (s)",
            definition: "from before the first request to the end of the last, and a look at the server's settings after it",
            why: "its clock starts before the first connection",
        },
        tokens: Total {
            name: "Total generated tokens",
            definition: "the server's usage in a chat, else the length asked for, however long the answer was",
            why: "without usage it takes the length asked for",
        },
        request_rate: Total {
            name: "Request throughput (req/s)",
            definition: "successful requests over the duration",
            why: "it has another duration or other successes",
        },
        token_rate: Total {
            name: "Output token throughput (tok/s)",
            definition: "generated tokens over the duration",
            why: "it has another duration, other successes or the lengths asked for",
        },
        goodput: Total {
            name: "Request goodput (req/s)",
            definition: "successes whose TTFT, TPOT and E2E latency are within the limits over the duration; an answer of one token always keeps TPOT",
            why: "it judges from the send by its own figures, we from the planned instant",
        },
        attainment: Some((
            Total {
                name: "SLO attainment (%)",
                definition: "good requests of all that were sent",
                why: "it judges from the send by its own figures, we from the planned instant",
            },
            Denominator::Ended,
        )),
    },
    read,
};

fn read(finished: &Finished, ours: &Figures, chat: bool, sums: &mut Sums) -> Option<Reading> {
    let request = &finished.request;
    if is_ours(request.outcome) {
        return None;
    }
    let begin = before_connecting(request);
    let answered = match request.outcome {
        Outcome::Ok | Outcome::NoTokens => true,
        // In a chat a chunk without choices is passed over; in a completion it is looked into and breaks.
        Outcome::ErrorEvent => chat,
        _ => false,
    };
    let (Some(line), true) = (finished.chunks.last(), answered) else {
        return Some(Reading::failed(begin, request.ended));
    };
    let first = texts(finished).map(|(first, _)| first);
    let ttft = first.map_or(Nanos::ZERO, |at| at.since(begin));
    let e2e = line.at.since(begin);
    sums.add(TTFT, ttft);
    sums.add(E2E, e2e);
    note_connecting(sums, &[E2E], request, begin);
    match first {
        Some(_) => {
            note_connecting(sums, &[TTFT], request, begin);
            note_silent(sums, TTFT, finished);
        }
        None => sums.because(TTFT, Reason::NoToken, Nanos::ZERO),
    }
    if request.outcome != Outcome::Ok {
        sums.because(E2E, Reason::BrokenOff, Nanos::ZERO);
    }
    let tail = ours.e2e.map_or(Nanos::ZERO, |end| line.at.since(request.sent + end));
    if tail > Nanos::ZERO {
        sums.because(E2E, Reason::Tail, tail);
    }
    let with_text: Vec<_> = finished.chunks.iter().filter(|c| c.kind.has_text()).collect();
    for pair in with_text.windows(2) {
        sums.add(ITL, pair[1].at.since(pair[0].at));
    }
    each_shared_gap(finished, |gap| sums.because(ITL, Reason::SharedGap, gap));
    // Counts that come by themselves are read in a chat only.
    let told = request.completion_tokens.filter(|_| chat || !alone(finished));
    let tokens = told.unwrap_or(request.output);
    let tpot = pace(first.unwrap_or(begin), line.at, tokens);
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
        judged: Judged { ttft: Some(ttft), pace: Some(tpot.unwrap_or(Nanos::ZERO)), e2e: Some(e2e) },
    })
}

/// The counts came in an event of their own.
fn alone(finished: &Finished) -> bool {
    finished.chunks.iter().any(|c| c.kind == ChunkKind::Usage)
}
