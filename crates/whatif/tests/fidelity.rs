//! The replay against recordings of a real engine: what it shows, what it foresees, where it declines.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use intriage_case::{Case, Quantity, Ratio, Series, Signal};
use intriage_diagnose::{Foreseen, Thresholds, diagnose};
use intriage_engines::{Observed, TrackData, read};
use intriage_whatif::{Calibration, Change, Foresight, WhyNot, calibrate, predict, what_if};

/// Recordings of vLLM on an H200, labelled and in order.
fn recordings() -> Vec<(String, PathBuf)> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut all: Vec<(String, PathBuf)> = ["recordings", "h200"]
        .iter()
        .flat_map(|folder| std::fs::read_dir(fixtures.join(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), path))
        .filter(|(name, _)| name.starts_with("vllm-h200-"))
        .collect();
    all.sort();
    all
}

fn case(name: &str) -> Case {
    let (_, path) = recordings().into_iter().find(|(n, _)| n == name).unwrap();
    intriage_observe::open(&path).unwrap()
}

fn observed(name: &str) -> Observed {
    read(&case(name))
}

fn calibrated(name: &str) -> Calibration {
    calibrate(&observed(name)).unwrap_or_else(|why| panic!("{name}: {why}"))
}

fn off(replayed: f64, measured: f64) -> f64 {
    replayed / measured - 1.0
}

#[test]
fn the_replay_shows_what_was_recorded() {
    let mut table = format!(
        "{:<24}{:>32}{:>32}{:>26}{:>18}\n",
        "recording",
        "mean TTFT (replayed)",
        "mean ITL (replayed)",
        "output tokens (replayed)",
        "arrivals (burst)"
    );
    for (name, _) in recordings() {
        match calibrate(&observed(&name)) {
            Ok(calibration) => {
                let fit = calibration.fit();
                let ttft = off(fit.ttft_replayed.get(), fit.ttft_measured.get());
                let itl = off(fit.itl_replayed.get(), fit.itl_measured.get());
                assert!(ttft.abs() <= 0.25 && itl.abs() <= 0.25, "{name}: {fit:?}");
                let pair = |measured: String, replayed: String, off: f64| {
                    format!("{measured} ({replayed}, {:+.0} %)", off * 100.0)
                };
                let tokens = off(fit.tokens_replayed, fit.tokens_measured);
                let burst = calibration.traffic().burstiness().map_or(0.0, Ratio::get);
                let arrivals = format!("{:.1}/s ({burst:.1})", calibration.rate().0.get());
                let _ = writeln!(
                    table,
                    "{name:<24}{:>32}{:>32}{:>26}{:>18}",
                    pair(fit.ttft_measured.to_string(), fit.ttft_replayed.to_string(), ttft),
                    pair(fit.itl_measured.to_string(), fit.itl_replayed.to_string(), itl),
                    pair(
                        format!("{:.0}", fit.tokens_measured),
                        format!("{:.0}", fit.tokens_replayed),
                        tokens
                    ),
                    arrivals,
                );
            }
            Err(why) => {
                assert!(matches!(why, WhyNot::TooFew { .. }), "{name}: {why}");
                let _ = writeln!(table, "{name:<24}  {why}");
            }
        }
    }
    insta::assert_snapshot!("fidelity", table);
}

#[test]
fn a_cap_of_64_instead_of_4_ends_the_queue() {
    let prediction = what_if(&calibrated("vllm-h200-maxseqs4"), &[Change::SequenceCap(64)]);
    assert_eq!(prediction.queue_growth, None);
    assert!(prediction.before.queue.value.value > 1.0, "{:?}", prediction.before.queue);
    assert!(prediction.after.queue.value.value < 0.050, "{:?}", prediction.after.queue);
    assert!(prediction.after.queue.high < 0.050, "{:?}", prediction.after.queue);
}

/// What one recording foresees for a server that another recording shows: nothing of the second one is in
/// the calibration but its load.
#[test]
fn what_is_foreseen_is_what_the_other_recording_shows() {
    let foreseen = |from: &str, to: &str, changes: &[Change]| {
        let (calibration, shown) = (calibrated(from), calibrated(to));
        let rate = shown.rate().0.get() / calibration.rate().0.get();
        let mut all = vec![Change::Arrivals(Ratio(rate))];
        all.extend(changes);
        let after = what_if(&calibration, &all).after;
        let fit = shown.fit();
        for (estimate, measured) in [(after.ttft.mean, fit.ttft_measured), (after.itl.mean, fit.itl_measured)]
        {
            assert!(
                estimate.low <= measured.get() && measured.get() <= estimate.high,
                "{from} → {to}: {measured} is not in {estimate:?}"
            );
        }
        format!(
            "{:<44} TTFT {} where {} was measured ({:+.0} %), ITL {} where {} was ({:+.0} %)\n",
            format!("{from} → {to}:"),
            after.ttft.mean.value,
            fit.ttft_measured,
            off(after.ttft.mean.value.value, fit.ttft_measured.get()) * 100.0,
            after.itl.mean.value,
            fit.itl_measured,
            off(after.itl.mean.value.value, fit.itl_measured.get()) * 100.0,
        )
    };
    // The same requests of 542 and 128 tokens, uncapped and at 19 instead of 7 a second.
    let uncapped = foreseen("vllm-h200-maxseqs4", "vllm-h200-healthy", &[Change::SequenceCap(1024)]);
    // The same server with the prefix cache on; 4,000 of 4,254 tokens are shared, answers longer.
    let cached = foreseen(
        "vllm-h200-prefixoff4500",
        "vllm-h200-prefixon",
        &[Change::PrefixCache(Ratio(4000.0 / 4254.0)), Change::Answers(Ratio(96.1 / 58.3))],
    );
    let lighter =
        foreseen("vllm-h200-healthy30", "vllm-h200-killed", &[Change::Answers(Ratio(117.4 / 99.6))]);
    insta::assert_snapshot!("foreseen", [uncapped, cached, lighter].concat());
}

fn shown(f: &Foreseen) -> String {
    let value = |q: Quantity| q.to_string();
    format!(
        "TTFT p50 {} p95 {}, ITL p50 {} p95 {}, queue {}, {}, {}",
        value(f.ttft.p50.value),
        value(f.ttft.p95.value),
        value(f.itl.p50.value),
        value(f.itl.p95.value),
        value(f.queue.value),
        value(f.requests.value),
        value(f.tokens.value)
    )
}

#[test]
fn every_finding_has_a_prediction_or_a_reason() {
    let mut page = String::new();
    for (name, _) in recordings() {
        let case = case(&name);
        let diagnosis = diagnose(&case, &Thresholds::default());
        let _ = writeln!(page, "{name}: {}", diagnosis.verdict.primary.cause.as_deref().unwrap_or("-"));
        match predict(&read(&case), &diagnosis) {
            Foresight::NotAsked => {}
            Foresight::Cannot(why) => {
                let _ = writeln!(page, "  cannot: {why}");
            }
            Foresight::Predicted(all) => {
                assert!(!all.is_empty());
                let _ = writeln!(page, "  as replayed: {}", shown(&all[0].before));
                for p in all {
                    let provided = p.provided.map_or(String::new(), |p| format!(", provided {p}"));
                    let growth = p.queue_growth.map_or(String::new(), |g| format!(" PAST CAPACITY by {g}"));
                    let _ = writeln!(page, "  {}{provided}:{growth} {}", p.change, shown(&p.after));
                    let ends = p.after.ttft.p95;
                    assert!(ends.low <= ends.value.value && ends.value.value <= ends.high);
                }
            }
        }
    }
    insta::assert_snapshot!("predictions", page);
}

#[test]
fn the_same_case_gives_the_same_figures() {
    let once = || what_if(&calibrated("vllm-h200-kv1200"), &[Change::Replicas(2)]);
    assert_eq!(once(), once());
}

#[test]
fn what_no_metric_tells_is_not_made_up() {
    assert!(matches!(calibrate(&Observed::default()), Err(WhyNot::Missing(_))));
    let idle = calibrate(&observed("vllm-h200-idle"));
    assert!(matches!(idle, Err(WhyNot::TooFew { .. })), "{idle:?}");
}

/// Whatever a broken exporter shows, the answer is a calibration or a reason, and soon.
#[test]
fn broken_figures_are_refused_or_replayed_but_never_fatal() {
    let honest = observed("vllm-h200-maxseqs4");
    for signal in [
        Signal::RequestsRunning,
        Signal::RequestsWaiting,
        Signal::RequestsFinished,
        Signal::TokensPrompt,
        Signal::TokensGenerated,
        Signal::TokensPerStep,
        Signal::TokensPromptEach,
        Signal::TokensOutputEach,
        Signal::TokensUncachedEach,
        Signal::LatencyTtft,
        Signal::LatencyItl,
        Signal::LatencyPrefill,
        Signal::LatencyE2e,
        Signal::KvUsage,
    ] {
        assert!(honest.metric(signal).is_some(), "{signal} is what the replay is built on");
        for factor in [0.0, -1.0, 1e15] {
            let mut broken = honest.clone();
            for track in broken.tracks.iter_mut().filter(|t| t.signal == signal) {
                match &mut track.data {
                    TrackData::Values(series) => {
                        let values = series.values().iter().map(|v| v.map(|v| v * factor)).collect();
                        *series = Series::new(series.times().to_vec(), values);
                    }
                    TrackData::Histograms(states) => {
                        for state in states.iter_mut().flatten() {
                            *state = state.scaled(factor);
                        }
                    }
                }
            }
            if let Ok(calibration) = calibrate(&broken) {
                let fit = calibration.fit();
                assert!(
                    off(fit.itl_replayed.get(), fit.itl_measured.get()).abs() <= 0.25,
                    "{signal}: {fit:?}"
                );
            }
        }
    }
}
