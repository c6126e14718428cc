//! Blind pairs: a server recorded, its change foreseen, the change made, the server recorded again under the same load.
//!
//! Nothing here was fitted on the recordings called `after`, and nothing may be: the table shows hits and misses alike.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use intriage_case::{Histogram, Quantity, Ratio, Seconds, Signal, Tokens, Unit};
use intriage_diagnose::{Estimate, Foreseen, Thresholds, diagnose};
use intriage_engines::{Observed, read};
use intriage_whatif::{Change, calibrate, what_if};

/// What was done between two recordings.
struct Pair {
    before: &'static str,
    after: &'static str,
    done: &'static str,
    changes: &'static [Change],
}

const PAIRS: &[Pair] = &[
    Pair {
        before: "vllm-h200-pair-maxseqs8",
        after: "vllm-h200-pair-maxseqs8-after",
        done: "--max-num-seqs 8 → 512",
        changes: &[Change::SequenceCap(512)],
    },
    Pair {
        before: "vllm-h200-pair-kv1040",
        after: "vllm-h200-pair-kv1040-after",
        done: "--num-gpu-blocks-override 1040 removed, 16,640 → 931,584 tokens",
        changes: &[Change::Pool(Tokens(931_584.0))],
    },
    Pair {
        before: "vllm-h200-pair-prefixoff5",
        after: "vllm-h200-pair-prefixoff5-after",
        done: "--no-enable-prefix-caching removed, 4,000 of 4,412 tokens shared",
        changes: &[Change::PrefixCache(Ratio(4000.0 / 4412.0))],
    },
    Pair {
        before: "vllm-h200-pair-prefixoff8",
        after: "vllm-h200-pair-prefixoff8-after",
        done: "--no-enable-prefix-caching removed, 4,000 of 4,405 tokens shared",
        changes: &[Change::PrefixCache(Ratio(4000.0 / 4405.0))],
    },
    Pair {
        before: "vllm-h200-pair-budget512",
        after: "vllm-h200-pair-budget512-after",
        done: "--max-num-batched-tokens 512 → 8192",
        changes: &[Change::TokenBudget(8192)],
    },
];

fn folder(name: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    fixtures.join("h200").join(name)
}

/// What a histogram of the server gained in the window.
fn gained(observed: &Observed, signal: Signal) -> Histogram {
    let states: Vec<_> = observed.histograms(signal, None).unwrap().into_iter().flatten().collect();
    states.last().unwrap().since(states.first().unwrap()).0
}

/// What the server itself counted: exact means and the rate of output tokens.
fn by_the_server(observed: &Observed) -> (Quantity, Quantity, Quantity) {
    let mean = |signal| Seconds(gained(observed, signal).mean().unwrap());
    let times = &observed.times;
    let length = times.last().unwrap().since(times[0]);
    let tokens = observed.series(Signal::TokensGenerated, None, None).unwrap().counter().unwrap().delta;
    let rate = Quantity::new(tokens / length.get(), Unit::TokensPerSecond);
    (mean(Signal::LatencyTtft).into(), mean(Signal::LatencyItl).into(), rate)
}

/// What `check` says of a recording, with the objective its users had, beside what was done to it.
fn verdict(name: &str) -> String {
    let mut case = intriage_observe::open(&folder(name)).unwrap();
    let text = std::fs::read_to_string(folder(name).join("truth.json")).unwrap();
    let truth: serde_json::Value = serde_json::from_str(&text).unwrap();
    let slo = truth["slo"].as_str().unwrap();
    if !slo.is_empty() {
        case.intent.objectives.push(slo.parse().unwrap());
    }
    let said = diagnose(&case, &Thresholds::default()).verdict.primary.cause;
    let (said, done) = (said.as_deref().unwrap_or("nothing"), truth["cause"].as_str().unwrap_or("nothing"));
    format!("{said}{}", if said == done { String::new() } else { format!(" WHERE IT IS {done}") })
}

/// A quantile as the client of the recording saw it: the server's buckets are wider than what is asked here.
fn by_the_client(name: &str, key: &str) -> Quantity {
    let text = std::fs::read_to_string(folder(name).join("client.txt")).unwrap();
    let figures: serde_json::Value = serde_json::from_str(&text).unwrap();
    Seconds(figures[key].as_f64().unwrap_or_else(|| panic!("{name}: no {key}"))).into()
}

fn row(what: &str, before: Quantity, foreseen: Estimate, after: Quantity) -> (String, bool) {
    let inside = foreseen.low <= after.value && after.value <= foreseen.high;
    let end = |value| Quantity::new(value, foreseen.value.unit).to_string();
    let row = format!(
        "  {what:<10}{:>16}{:>16}{:>34}{:>16}{:>9}{:>+8.0} %",
        before.to_string(),
        foreseen.value.to_string(),
        format!("{} to {}", end(foreseen.low), end(foreseen.high)),
        after.to_string(),
        if inside { "inside" } else { "MISSED" },
        (foreseen.value.value / after.value - 1.0) * 100.0,
    );
    (row, inside)
}

fn compared(pair: &Pair, after: &Foreseen) -> Vec<(String, bool)> {
    let observed = |name| read(&intriage_observe::open(&folder(name)).unwrap());
    let (first, second) = (observed(pair.before), observed(pair.after));
    let ((ttft0, itl0, rate0), (ttft1, itl1, rate1)) = (by_the_server(&first), by_the_server(&second));
    let (ttft, itl) = (gained(&second, Signal::LatencyTtft), gained(&second, Signal::LatencyItl));
    let seen = |what, key, estimate, histogram: &Histogram, q| {
        let (row, inside) =
            row(what, by_the_client(pair.before, key), estimate, by_the_client(pair.after, key));
        let bucket = histogram.quantile(q).unwrap();
        (format!("{row}   {} to {}", Seconds(bucket.low), Seconds(bucket.high)), inside)
    };
    vec![
        row("TTFT mean", ttft0, after.ttft.mean, ttft1),
        seen("TTFT p50", "ttft50", after.ttft.p50, &ttft, 0.5),
        seen("TTFT p95", "ttft95", after.ttft.p95, &ttft, 0.95),
        row("ITL mean", itl0, after.itl.mean, itl1),
        seen("ITL p50", "itl50", after.itl.p50, &itl, 0.5),
        seen("ITL p95", "itl95", after.itl.p95, &itl, 0.95),
        row("rate", rate0, after.tokens, rate1),
    ]
}

#[test]
fn what_was_foreseen_before_the_change_against_what_was_measured_after_it() {
    let mut page = String::from(
        "means and rate by the server's counters; quantiles by the client's clock, which adds its own delay\n",
    );
    let (mut hits, mut all) = (0, 0);
    for pair in PAIRS {
        let _ = writeln!(page, "\n{}: {}", pair.before, pair.done);
        let _ = writeln!(page, "  found before: {}, after: {}", verdict(pair.before), verdict(pair.after));
        let before = read(&intriage_observe::open(&folder(pair.before)).unwrap());
        let calibration = match calibrate(&before) {
            Ok(calibration) => calibration,
            Err(why) => {
                let _ = writeln!(page, "  no prediction: {why}");
                continue;
            }
        };
        let prediction = what_if(&calibration, pair.changes);
        if let Some(growth) = prediction.queue_growth {
            let _ = writeln!(page, "  foreseen past capacity by {growth}");
        }
        let _ = writeln!(
            page,
            "  {:<10}{:>16}{:>16}{:>34}{:>16}{:>9}{:>10}   the server's bucket",
            "", "before", "foreseen", "range", "after", "", "error"
        );
        for (row, inside) in compared(pair, &prediction.after) {
            let _ = writeln!(page, "{row}");
            hits += usize::from(inside);
            all += 1;
        }
    }
    let _ = writeln!(page, "\n{hits} of {all} inside their range");
    insta::assert_snapshot!("pairs", page);
}
