//! The account as output: every part with its bounds, its share and its source.

use intriage_case::{Bytes, Quantity, Ratio, Requests, Signal, Tokens, Unit};
use intriage_engines::Setting;

use crate::account::Part;
use crate::diagnosis::{Segment, SegmentOf};
use crate::evidence::Evidence;
use crate::thresholds::Limit;

/// Where the time (and the memory, and the work) went; what is left over is a segment of its own.
pub(crate) fn segments(e: &Evidence<'_>) -> Vec<Segment> {
    let mut all = Vec::new();
    first_token_segments(e, &mut all);
    token_segments(e, &mut all);
    throughput_segments(e, &mut all);
    memory_segments(e, &mut all);
    all
}

fn first_token_segments(e: &Evidence<'_>, all: &mut Vec<Segment>) {
    let a = &e.account;
    let Some(ttft) = a.ttft else { return };
    // Input processing is named where the engine measures it; else what is left stays unexplained.
    let measured = e.mean(Signal::LatencyFrontend);
    let front = a.frontend.zip(measured).map(|(rest, own)| Part {
        value: rest.value.min(own),
        low: 0.0,
        high: rest.high.min(own),
        source: "the engine's own count of input processing",
    });
    let total = ttft.max(a.queue.map_or(0.0, |q| q.value) + a.prefill.map_or(0.0, |p| p.value));
    let mut parts =
        vec![("queue", a.queue), ("prefill", a.prefill), ("engine input", a.input), ("front end", front)];
    let known: f64 = parts.iter().filter_map(|(_, p)| p.map(|p| p.value)).sum();
    let left = (total - known).max(0.0);
    parts.push((
        "unexplained",
        Some(Part { value: left, low: left, high: left, source: "ttft less the parts above" }),
    ));
    // What lies between the server's first token and the client's comes on top of the server's parts.
    // What holds the text back holds the head of the answer back with it: that is not the way.
    let between = e.clients.as_ref().ok().map(|c| {
        let way = if c.held_back(e.limit(Limit::Compressed)) { 0.0 } else { c.headers.min(c.later()) };
        (c.later(), way)
    });
    let total = total + between.map_or(0.0, |(later, _)| later);
    if let Some((later, way)) = between {
        let exact = |value, source| Some(Part { value, low: value, high: value, source });
        parts.push(("network", exact(way, "time to the head of an answer, at the clients")));
        parts.push(("delivery", exact(later - way, "first token at the clients less all before it")));
    }
    let floor = e.floor.as_ref().ok().and_then(|f| Some((f.prefill?, f)));
    for (name, part) in parts {
        let Some(part) = part else { continue };
        match floor {
            Some((least, floor)) if name == "prefill" => {
                let how = format!("an average prompt at the peak rate of {}", floor.gpu);
                let names = ["prefill floor", "prefill above floor"];
                for (name, part, source) in above_floor(part, least, &how, names) {
                    all.push(Segment { source, ..time_segment(SegmentOf::Ttft, name, part, total) });
                }
            }
            _ => all.push(time_segment(SegmentOf::Ttft, name, part, total)),
        }
    }
}

/// A part in two: what physics asks for, and what lies above it.
fn above_floor(
    part: Part,
    floor: f64,
    how: &str,
    names: [&'static str; 2],
) -> [(&'static str, Part, String); 2] {
    let least = part.value.min(floor);
    let rest = part.value - least;
    let below = Part { value: least, low: least, high: least, source: "" };
    let above = Part {
        value: rest,
        low: (part.low - least).max(0.0),
        high: (part.high - least).max(rest),
        source: "",
    };
    [(names[0], below, how.to_owned()), (names[1], above, part.source.to_owned())]
}

fn token_segments(e: &Evidence<'_>, all: &mut Vec<Segment>) {
    let a = &e.account;
    let Some(itl) = a.itl else { return };
    let mut parts = vec![
        ("decode step", a.step),
        ("prefill interference", a.interference),
        ("stalls", a.stalls),
        ("host gap", a.host),
    ];
    // What good software needs above the floor is known; a step that takes more has a part nobody can name.
    let usual = e.floor.as_ref().map_or(f64::INFINITY, |floor| floor.decode / floor.reached.0);
    if let Some((_, Some(step))) = parts.first_mut() {
        step.value = step.value.min(usual);
    }
    let known: f64 = parts.iter().filter_map(|(_, p)| p.map(|p| p.value)).sum();
    let left = (itl - known).max(0.0);
    parts.push((
        "unexplained",
        Some(Part { value: left, low: left, high: left, source: "mean gap less the parts above" }),
    ));
    for (name, part) in parts {
        let Some(part) = part else { continue };
        match &e.floor {
            Ok(floor) if name == "decode step" && part.value > 0.0 => {
                let names = ["decode floor", "decode above floor"];
                for (name, part, source) in above_floor(part, floor.decode, &floor.how, names) {
                    all.push(Segment { source, ..time_segment(SegmentOf::Tpot, name, part, itl) });
                }
            }
            _ => all.push(time_segment(SegmentOf::Tpot, name, part, itl)),
        }
    }
}

fn time_segment(of: SegmentOf, name: &str, part: Part, total: f64) -> Segment {
    Segment {
        of,
        name: name.into(),
        value: Quantity::new(part.value, Unit::Seconds),
        low: part.low,
        high: part.high,
        share: Ratio::of(part.value, total),
        source: part.source.into(),
    }
}

fn throughput_segments(e: &Evidence<'_>, all: &mut Vec<Segment>) {
    let time = e.busy_time().get();
    if time <= 0.0 {
        return;
    }
    let mut add = |name: &str, value: f64, unit: Unit, source: &str| {
        let q = Quantity::new(value, unit);
        all.push(Segment {
            of: SegmentOf::Throughput,
            name: name.into(),
            value: q,
            low: value,
            high: value,
            share: None,
            source: source.into(),
        });
    };
    if let Some(ttft) = e.histogram(Signal::LatencyTtft) {
        add("first tokens", ttft.count() / time, Unit::RequestsPerSecond, "requests that got a first token");
    }
    if let Some(Requests(n)) = e.finished() {
        add("completions", n / time, Unit::RequestsPerSecond, "requests that finished");
    }
    if let Some(tokens) = e.delta(Signal::TokensPromptComputed).or_else(|| e.delta(Signal::TokensPrompt)) {
        add("prompt tokens", tokens / time, Unit::TokensPerSecond, "prompt tokens computed");
    }
    if let Some(tokens) = e.delta(Signal::TokensGenerated) {
        add("output tokens", tokens / time, Unit::TokensPerSecond, "output tokens");
    }
}

fn memory_segments(e: &Evidence<'_>, all: &mut Vec<Segment>) {
    let total = e.observed.gpu.memory.map(Bytes::get);
    let mut known = 0.0;
    for (name, setting) in [
        ("weights", Setting::WeightBytes),
        ("available for kv", Setting::KvBytes),
        ("cuda graphs", Setting::GraphBytes),
    ] {
        let Some(bytes) = e.setting(setting) else { continue };
        known += bytes;
        let share = total.and_then(|t| Ratio::of(bytes, t));
        let q = Quantity::new(bytes, Unit::Bytes);
        all.push(Segment {
            of: SegmentOf::Memory,
            name: name.into(),
            value: q,
            low: bytes,
            high: bytes,
            share,
            source: "start-up log".into(),
        });
    }
    if let Some(total) = total.filter(|t| known > 0.0 && *t > known) {
        let left = total - known;
        let q = Quantity::new(left, Unit::Bytes);
        all.push(Segment {
            of: SegmentOf::Memory,
            name: "unexplained".into(),
            value: q,
            low: left,
            high: left,
            share: Ratio::of(left, total),
            source: "GPU memory less the parts above: activations, other processes, free".into(),
        });
    }
    if let (Some(capacity), Some(usage)) = (e.setting(Setting::KvCapacity), e.mean_busy(Signal::KvUsage)) {
        let used = Tokens(capacity * usage);
        all.push(Segment {
            of: SegmentOf::Memory,
            name: "kv in use".into(),
            value: used.into(),
            low: used.get(),
            high: used.get(),
            share: Some(Ratio(usage)),
            source: "mean over the busy scrapes, share of the pool".into(),
        });
    }
}
