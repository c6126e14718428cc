//! inference-perf 0.7.0: `apis/streaming_parser.py`, `apis/chat.py` and `reportgen/base.py`.

use intriage_case::Nanos;

use super::reason::Reason;
use super::rules::{
    Counted, Denominator, Figure, Judged, Percentiles, Reading, Rules, Total, Totals, before_connecting,
    is_ours, note_connecting, note_silent, pace, tokens_by_chunk,
};
use super::sums::Sums;
use crate::event::{ChunkKind, Finished, Outcome};
use crate::figures::Figures;

const LATENCY: usize = 0;
const TTFT: usize = 1;
const TPOT: usize = 2;
const ITL: usize = 3;
const NTPOT: usize = 4;

const TOKENS: Option<&str> =
    Some("it counts tokens by its own tokenizer over the text; here the server's count stands in");

pub(super) static RULES: Rules = Rules {
    figures: &[
        Figure {
            name: "request_latency",
            unit: "s",
            definition: "from before the POST, connecting included, to the end of the body, and counting its tokens",
            estimated: Some("the time its own tokenizer takes is in it; that is left out here"),
            ours: |g| Some(&g.e2e),
            percentiles: Percentiles::Interpolated,
        },
        Figure {
            name: "time_to_first_token",
            unit: "s",
            definition: "from before the POST to the first chunk with text, reasoning not counted; none for an answer of one token",
            estimated: TOKENS,
            ours: |g| Some(&g.ttft),
            percentiles: Percentiles::Interpolated,
        },
        Figure {
            name: "time_per_output_token",
            unit: "s",
            definition: "from the first to the last chunk with text, reasoning not counted, divided by tokens less one; one figure a request",
            estimated: TOKENS,
            ours: |g| Some(&g.tpot),
            percentiles: Percentiles::Interpolated,
        },
        Figure {
            name: "inter_token_latency",
            unit: "s",
            definition: "every gap between tokens, of all requests together: the first token of a chunk has the whole gap, the others 0",
            estimated: TOKENS,
            ours: |g| Some(&g.itl),
            percentiles: Percentiles::Interpolated,
        },
        Figure {
            name: "normalized_time_per_output_token",
            unit: "s",
            definition: "request_latency divided by all tokens, one figure a request",
            estimated: TOKENS,
            ours: |g| Some(&g.normalised_tpot),
            percentiles: Percentiles::Interpolated,
        },
    ],
    totals: Totals {
        completed: Total {
            name: "successes.count",
            definition: "status 200 and the body read to its end, with or without text",
            why: "an answer without text, or with an error told or garbled inside the stream, is a success to it",
        },
        failed: Total {
            name: "failures.count",
            definition: "everything else that was sent",
            why: "an answer without text, or with an error told or garbled inside the stream, is a success to it",
        },
        duration: Total {
            name: "benchmark_time_seconds",
            definition: "from the start of the first request to the end of the last, failed ones included",
            why: "its clock starts before the first connection",
        },
        tokens: Total {
            name: "output tokens",
            definition: "its own tokenizer over the text, reasoning not counted, unless told to take the server's count",
            why: "reasoning is not in it, or it takes other requests for successes",
        },
        request_rate: Total {
            name: "requests_per_sec",
            definition: "successes over the time of the benchmark",
            why: "it has another duration or other successes",
        },
        token_rate: Total {
            name: "output_tokens_per_sec",
            definition: "output tokens of successes over the time of the benchmark",
            why: "it has another duration, other successes or leaves out reasoning",
        },
        goodput: Total {
            name: "request_goodput",
            definition: "successes within all limits, a second; what lacks a figure is not good",
            why: "it judges from the send by its own figures, we from the planned instant",
        },
        attainment: Some((
            Total {
                name: "goodput_percentage",
                definition: "good requests of the successes: failed ones do not count",
                why: "failed requests do not lower it",
            },
            Denominator::Completed,
        )),
    },
    read,
};

fn read(finished: &Finished, ours: &Figures, _chat: bool, sums: &mut Sums) -> Option<Reading> {
    let request = &finished.request;
    if is_ours(request.outcome) {
        return None;
    }
    let begin = before_connecting(request);
    // What it cannot read in a stream it passes over.
    if !matches!(request.outcome, Outcome::Ok | Outcome::NoTokens | Outcome::ErrorEvent | Outcome::Garbage) {
        return Some(Reading::failed(begin, request.ended));
    }
    let latency = request.ended.since(begin);
    sums.add(LATENCY, latency);
    note_connecting(sums, &[LATENCY], request, begin);
    if request.outcome != Outcome::Ok {
        sums.because(LATENCY, Reason::BrokenOff, Nanos::ZERO);
    }
    let tail = ours.e2e.map_or(Nanos::ZERO, |end| request.ended.since(request.sent + end));
    if tail > Nanos::ZERO {
        sums.because(LATENCY, Reason::Tail, tail);
    }
    let tokens_of = tokens_by_chunk(finished);
    let mut tokens = 0u64;
    let mut times: Option<(Nanos, Nanos)> = None;
    let generated = finished.chunks.iter().filter(|c| c.kind.is_generated()).enumerate();
    for (place, chunk) in generated.filter(|(_, c)| c.kind == ChunkKind::Content) {
        let brought = tokens_of(chunk, place == 0);
        if let Some((_, before)) = times {
            sums.add(ITL, chunk.at.since(before));
        }
        sums.add_many(ITL, Nanos::ZERO, brought.saturating_sub(1));
        sums.because_many(ITL, Reason::ZeroGap, Nanos::ZERO, brought.saturating_sub(1));
        tokens += brought;
        times = Some((times.map_or(chunk.at, |(first, _)| first), chunk.at));
    }
    // Without reasoning the server's count is the better stand-in for a tokenizer.
    let all = u64::from(ours.tokens.number());
    let tokens = if ours.first_reasoning.is_none() { all } else { tokens.min(all) };
    let ntpot = Nanos(latency.0.checked_div(tokens).unwrap_or(0));
    sums.add(NTPOT, ntpot);
    if ours.first_reasoning.is_some() {
        sums.because(NTPOT, Reason::WithoutReasoning, Nanos::ZERO);
    }
    if tail > Nanos::ZERO && tokens > 0 {
        sums.because(NTPOT, Reason::WiderSpan, Nanos(tail.0 / tokens));
    }
    let (mut ttft, mut tpot) = (None, None);
    if let (Some((first, last)), true) = (times, tokens > 1) {
        let from_begin = first.since(begin);
        sums.add(TTFT, from_begin);
        note_connecting(sums, &[TTFT], request, begin);
        let reasoned = ours.ttft.map_or(Nanos::ZERO, |mine| first.since(request.sent + mine));
        if ours.first_reasoning.is_none() {
            note_silent(sums, TTFT, finished);
        } else if reasoned > Nanos::ZERO {
            sums.because(TTFT, Reason::Reasoning, reasoned);
            sums.because(TPOT, Reason::WithoutReasoning, Nanos::ZERO);
        }
        ttft = Some(from_begin);
        tpot = pace(first, last, u32::try_from(tokens).unwrap_or(u32::MAX));
        if let Some(tpot) = tpot {
            sums.add(TPOT, tpot);
        }
    } else if times.is_some() {
        sums.because(TTFT, Reason::OneToken, Nanos::ZERO);
    }
    Some(Reading {
        counted: Counted::Completed,
        span: Some((begin, request.ended)),
        tokens,
        judged: Judged { ttft, pace: tpot, e2e: Some(latency) },
    })
}
