//! NVIDIA AIPerf 0.13.0: `metrics/types/*` and `transports/aiohttp_client.py`.

use intriage_case::Nanos;

use super::reason::Reason;
use super::rules::{
    Counted, Denominator, Figure, Judged, Percentiles, Reading, Rules, Total, Totals, before_connecting,
    is_ours, note_connecting, note_silent, pace,
};
use super::sums::Sums;
use crate::event::{Finished, Outcome};
use crate::figures::Figures;

const TTFT: usize = 0;
const TTST: usize = 1;
const TTFO: usize = 2;
const LATENCY: usize = 3;
const ITL: usize = 4;
const ICL: usize = 5;

const TOKENS: Option<&str> =
    Some("it counts tokens by its own tokenizer over the text; here the server's count stands in");

pub(super) static RULES: Rules = Rules {
    figures: &[
        Figure {
            name: "Time to First Token",
            unit: "ms",
            definition: "from before the request, connecting included, to the first chunk with text, reasoning or a tool call",
            estimated: None,
            ours: |g| Some(&g.ttft),
            percentiles: Percentiles::Interpolated,
        },
        Figure {
            name: "Time to Second Token",
            unit: "ms",
            definition: "the gap between the first two chunks with text",
            estimated: None,
            ours: |_| None,
            percentiles: Percentiles::Interpolated,
        },
        Figure {
            name: "Time to First Output Token",
            unit: "ms",
            definition: "from before the request to the first text that is not reasoning",
            estimated: None,
            ours: |g| Some(&g.first_content),
            percentiles: Percentiles::Interpolated,
        },
        Figure {
            name: "Request Latency",
            unit: "ms",
            definition: "from before the request, connecting included, to the last chunk with text",
            estimated: None,
            ours: |g| Some(&g.e2e),
            percentiles: Percentiles::Interpolated,
        },
        Figure {
            name: "Inter Token Latency",
            unit: "ms",
            definition: "from the first to the last chunk with text, divided by tokens less one: one figure a request of two tokens or more",
            estimated: TOKENS,
            ours: |g| Some(&g.itl),
            percentiles: Percentiles::Interpolated,
        },
        Figure {
            name: "Inter Chunk Latency",
            unit: "ms",
            definition: "every gap between chunks with text, of all requests together; in its files only, percentiles from a digest",
            estimated: None,
            ours: |g| Some(&g.chunk_gap),
            percentiles: Percentiles::Interpolated,
        },
    ],
    totals: Totals {
        completed: Total {
            name: "Request Count",
            definition: "read to its end without an error and with text in it",
            why: "an answer that breaks off with an error told inside the stream is valid to it",
        },
        failed: Total {
            name: "Error Request Count",
            definition: "everything else that was sent",
            why: "an answer that breaks off with an error told inside the stream is valid to it",
        },
        duration: Total {
            name: "Benchmark Duration (sec)",
            definition: "from the start of the first answered request to the last text of any",
            why: "it leaves out failed requests and what follows the last text",
        },
        tokens: Total {
            name: "Total Output Sequence Length",
            definition: "its own tokenizer over text and reasoning, unless told to take the server's count, which stands in here",
            why: "it counts the tokens of what it takes for answered",
        },
        request_rate: Total {
            name: "Request Throughput (requests/sec)",
            definition: "answered requests over the duration",
            why: "its duration ends with the last text of an answered request",
        },
        token_rate: Total {
            name: "Output Token Throughput (tokens/sec)",
            definition: "tokens of answered requests over the duration",
            why: "its duration ends with the last text of an answered request",
        },
        goodput: Total {
            name: "Goodput (requests/sec)",
            definition: "answered requests within all limits over the duration; what lacks a figure is not good",
            why: "it judges from the send by its own figures, we from the planned instant",
        },
        attainment: Some((
            Total {
                name: "GoodRequestFraction",
                definition: "good requests of the answered and the failed",
                why: "it judges from the send by its own figures, we from the planned instant",
            },
            Denominator::Ended,
        )),
    },
    read,
};

fn read(finished: &Finished, ours: &Figures, _chat: bool, sums: &mut Sums) -> Option<Reading> {
    let request = &finished.request;
    if is_ours(request.outcome) {
        return None;
    }
    let texts: Vec<_> = finished.chunks.iter().filter(|c| c.kind.has_text()).collect();
    let answered = matches!(request.outcome, Outcome::Ok | Outcome::ErrorEvent);
    let (Some(first), Some(last), true) = (texts.first(), texts.last(), answered) else {
        // Failed ones have no place in its duration.
        return Some(Reading { span: None, ..Reading::failed(request.sent, request.ended) });
    };
    let begin = before_connecting(request);
    let (ttft, latency) = (first.at.since(begin), last.at.since(begin));
    sums.add(TTFT, ttft);
    sums.add(LATENCY, latency);
    note_connecting(sums, &[TTFT, LATENCY], request, begin);
    note_silent(sums, TTFT, finished);
    if request.outcome != Outcome::Ok {
        for figure in [TTFT, LATENCY] {
            sums.because(figure, Reason::BrokenOff, Nanos::ZERO);
        }
    }
    if let Some(second) = texts.get(1) {
        sums.add(TTST, second.at.since(first.at));
    }
    if let Some(content) = ours.first_content {
        sums.add(TTFO, (request.sent + content).since(begin));
        note_connecting(sums, &[TTFO], request, begin);
    }
    for pair in texts.windows(2) {
        sums.add(ICL, pair[1].at.since(pair[0].at));
    }
    let tokens = ours.tokens.number();
    let itl = pace(first.at, last.at, tokens);
    if let Some(itl) = itl {
        sums.add(ITL, itl);
        sums.because(ITL, Reason::Averaged, Nanos::ZERO);
    }
    Some(Reading {
        counted: Counted::Completed,
        span: Some((begin, last.at)),
        tokens: u64::from(tokens),
        judged: Judged { ttft: Some(ttft), pace: itl, e2e: Some(latency) },
    })
}
