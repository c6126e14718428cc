//! GuideLLM 0.8.1: `backends/openai/http.py`, `schemas/base/request_stats.py` and `benchmark/schemas/metrics.py`.

use intriage_case::Nanos;

use super::reason::Reason;
use super::rules::{
    Counted, Denominator, Figure, Judged, Percentiles, Reading, Rules, Total, Totals, note_silent, pace,
    texts,
};
use super::sums::Sums;
use crate::event::{ChunkKind, Finished, Outcome};
use crate::figures::Figures;

const LATENCY: usize = 0;
const TTFT: usize = 1;
const TTFOT: usize = 2;
const ITL: usize = 3;
const TPOT: usize = 4;

pub(super) static RULES: Rules = Rules {
    figures: &[
        Figure {
            name: "Request Latency",
            unit: "s",
            definition: "from the first byte of the request's head to the end marker, and closing the stream",
            estimated: None,
            ours: |g| Some(&g.e2e),
            percentiles: Percentiles::Nearest,
        },
        Figure {
            name: "TTFT",
            unit: "ms",
            definition: "from the first byte of the request's head to the first chunk with text, reasoning or a tool call",
            estimated: None,
            ours: |g| Some(&g.ttft),
            percentiles: Percentiles::Nearest,
        },
        Figure {
            name: "TTFOT",
            unit: "ms",
            definition: "the same to the first text that is not reasoning",
            estimated: None,
            ours: |g| Some(&g.first_content),
            percentiles: Percentiles::Nearest,
        },
        Figure {
            name: "ITL",
            unit: "ms",
            definition: "from the first to the last chunk with text, divided by tokens less one: one figure a request, weighed by its tokens",
            estimated: None,
            ours: |g| Some(&g.itl),
            percentiles: Percentiles::Nearest,
        },
        Figure {
            name: "TPOT",
            unit: "ms",
            definition: "from the send to the last chunk with text, divided by all tokens: the first token's wait is in it; weighed by tokens",
            estimated: None,
            ours: |g| Some(&g.tpot),
            percentiles: Percentiles::Nearest,
        },
    ],
    totals: Totals {
        completed: Total {
            name: "Requests successful",
            definition: "read to the end marker, with text in it",
            why: "it takes other requests for answered",
        },
        failed: Total {
            name: "Requests errored",
            definition: "every other end but one cut by the end of the run, which is incomplete",
            why: "it takes other requests for failed",
        },
        duration: Total {
            name: "Duration Sec",
            definition: "from the first request to the end of the last, whatever its end",
            why: "it measures between other instants",
        },
        tokens: Total {
            name: "Output tokens",
            definition: "the server's usage, else one a chunk; those of failed and incomplete requests are in it",
            why: "tokens of requests that did not end well are in it",
        },
        request_rate: Total {
            name: "Requests Per Sec (successful)",
            definition: "successful requests over the duration",
            why: "it has another duration or other successes",
        },
        token_rate: Total {
            name: "Output Tokens Per Sec",
            definition: "tokens of all requests, failed and incomplete ones included, over the duration",
            why: "tokens of requests that did not end well are in it, or it has another duration",
        },
        goodput: Total {
            name: "Goodput Per Sec",
            definition: "successes within the limits over the duration; its TPOT limit is held against ITL",
            why: "it judges from the send by its own figures, we from the planned instant",
        },
        attainment: Some((
            Total {
                name: "Goodput Attainment",
                definition: "good requests of the errored and of those successful ones that have every figure",
                why: "it judges from the send, and leaves out what has no figure or was cut by the end of the run",
            },
            Denominator::JudgedAndFailed,
        )),
    },
    read,
};

fn read(finished: &Finished, ours: &Figures, _chat: bool, sums: &mut Sums) -> Option<Reading> {
    let request = &finished.request;
    let counted = match request.outcome {
        Outcome::Ok => Counted::Completed,
        Outcome::NeverSent => return None,
        Outcome::Aborted | Outcome::Unfinished => Counted::Unfinished,
        _ => Counted::Failed,
    };
    let span = Some((request.sent, request.ended));
    // Chunks are counted as they come; the counts of the server replace them at the end.
    let tokens = if counted == Counted::Completed { ours.tokens.number() } else { ours.chunks };
    let (Some((first, last)), Counted::Completed) = (texts(finished), counted) else {
        return Some(Reading { counted, span, tokens: u64::from(tokens), judged: Judged::default() });
    };
    let (ttft, e2e) = (first.since(request.sent), last.since(request.sent));
    let done = finished.chunks.iter().find(|c| c.kind == ChunkKind::Done).map_or(request.ended, |c| c.at);
    let latency = done.since(request.sent);
    sums.add(LATENCY, latency);
    if latency > e2e {
        sums.because(LATENCY, Reason::Tail, latency.since(e2e));
    }
    sums.add(TTFT, ttft);
    note_silent(sums, TTFT, finished);
    if let Some(first) = ours.first_content {
        sums.add(TTFOT, first);
    }
    let itl = pace(ttft, e2e, tokens);
    if let Some(itl) = itl {
        sums.add_many(ITL, itl, u64::from(tokens - 1));
        sums.because(ITL, Reason::Averaged, Nanos::ZERO);
    }
    if tokens > 0 {
        let tpot = Nanos(e2e.0 / u64::from(tokens));
        sums.add_many(TPOT, tpot, u64::from(tokens));
        sums.because(TPOT, Reason::FirstSpread, tpot.since(ours.tpot().unwrap_or(Nanos::ZERO)));
    }
    Some(Reading {
        counted,
        span,
        tokens: u64::from(tokens),
        judged: Judged { ttft: Some(ttft), pace: itl, e2e: Some(latency) },
    })
}
