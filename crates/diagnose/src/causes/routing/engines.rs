//! Each engine behind the address on its own.

use intriage_case::{Seconds, Signal};
use intriage_engines::Instance;

use crate::evidence::Evidence;
use crate::silence::Silence;
use crate::weighing::Test;

/// One engine's part of the window.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct EngineView {
    /// Its label, such as `2`.
    pub(super) name: String,
    /// Requests running and waiting on average over the busy scrapes.
    pub(super) running: f64,
    pub(super) waiting: f64,
    /// Prompt tokens it got.
    pub(super) prompts: f64,
    /// How long its tokens have stood still at the end of the window while it held requests.
    pub(super) still: Seconds,
    /// Requests it holds at the end.
    pub(super) holds: f64,
}

/// The engines behind the address; empty where there is only one.
pub(super) fn engines(e: &Evidence<'_>) -> Vec<EngineView> {
    let instances = e.observed.instances();
    if instances.len() < 2 {
        return Vec::new();
    }
    let silences = Silence::each(e);
    instances.iter().map(|i| view(e, i, silences.iter().find(|s| s.engine == i.engine))).collect()
}

/// There is nothing to share between engines.
pub(super) fn only_one(e: &Evidence<'_>) -> Test {
    let says = "one engine answers here; others behind other addresses were not asked";
    Test::Fails(e.fact(Signal::RequestsRunning, says, 1.0))
}

fn view(e: &Evidence<'_>, instance: &Instance, silence: Option<&Silence>) -> EngineView {
    let series = |signal| e.observed.series(signal, Some(instance), None);
    let mean = |signal| series(signal).and_then(|s| s.mean_at(e.busy())).unwrap_or(0.0);
    let last = |signal| series(signal).and_then(|s| s.last()).unwrap_or(0.0);
    EngineView {
        name: instance.engine.clone().unwrap_or_default(),
        running: mean(Signal::RequestsRunning),
        waiting: mean(Signal::RequestsWaiting),
        prompts: series(Signal::TokensPrompt).and_then(|s| s.counter()).map_or(0.0, |c| c.delta),
        still: Seconds(silence.map_or(0.0, |s| s.seconds)),
        holds: last(Signal::RequestsRunning) + last(Signal::RequestsWaiting),
    }
}

/// Two engines with `(running, waiting, prompt tokens in the window)` each; half as many tokens come out.
#[cfg(test)]
pub(super) fn two_engines(engines: [(f64, f64, f64); 2]) -> crate::testing::Given {
    use std::fmt::Write as _;

    use intriage_case::Signal::{LatencyDecode, LatencyPrefill, LatencyQueue, LatencyTtft};
    let given = crate::testing::Given::vllm("0.28.0")
        .flags("--max-num-seqs 16 --data-parallel-size 2")
        .observed(LatencyTtft, &[(2.0, 500.0)])
        .observed(LatencyQueue, &[(1.9, 500.0)])
        .observed(LatencyPrefill, &[(0.05, 500.0)])
        .observed(LatencyDecode, &[(1.0, 500.0)]);
    given.each_scrape(move |part| {
        let mut text = String::new();
        for (i, (running, waiting, prompts)) in engines.iter().enumerate() {
            let labels = format!("{{engine=\"{i}\",model_name=\"m\"}}");
            for (name, value) in [
                ("vllm:num_requests_running", *running),
                ("vllm:num_requests_waiting", *waiting),
                ("vllm:prompt_tokens_total", prompts * part),
                ("vllm:generation_tokens_total", prompts * part / 2.0),
            ] {
                let _ = writeln!(text, "{name}{labels} {value}");
            }
            // Steps are counted as they happen, as a real engine counts them.
            let (steps, name) = (prompts * part / 500.0, "vllm:iteration_tokens_total");
            let inner = labels.trim_matches(['{', '}']);
            for le in ["512.0", "+Inf"] {
                let _ = writeln!(text, "{name}_bucket{{{inner},le=\"{le}\"}} {steps}");
            }
            let _ = writeln!(text, "{name}_sum{labels} {}\n{name}_count{labels} {steps}", steps * 500.0);
        }
        text
    })
}
