//! Symptoms on made-up cases: what hurts, what is fine, what nobody saw.

mod aspects;
mod objectives;
mod verdicts;

use intriage_case::Signal::*;

use super::{Aspect, Symptom, Symptoms};
use crate::testing::Given;

/// An 8B model on one H100 with eight requests in its batch, well in every respect.
fn well() -> Given {
    well_somewhere().on_gpu().on_card("NVIDIA H100 80GB HBM3", "meta-llama/Llama-3.1-8B")
}

/// The same figures of a server of which nobody told what it runs on.
fn well_somewhere() -> Given {
    Given::vllm("0.28.0")
        .flags("--max-num-seqs 256")
        .pool(430_000.0)
        .gauge(RequestsRunning, 8.0)
        .gauge(RequestsWaiting, 0.0)
        .gauge(KvUsage, 0.02)
        .observed(LatencyTtft, &[(0.05, 500.0)])
        .observed(LatencyQueue, &[(0.001, 500.0)])
        .observed(LatencyPrefill, &[(0.04, 500.0)])
        .observed(LatencyItl, &[(0.009, 100_000.0)])
        .observed(LatencyDecode, &[(1.8, 500.0)])
        .observed(LatencyE2e, &[(1.85, 500.0)])
        .observed(TokensPromptEach, &[(300.0, 500.0)])
        .observed(TokensOutputEach, &[(200.0, 500.0)])
        .counter(TokensPrompt, 150_000.0)
        .counter(TokensGenerated, 100_000.0)
        .counter(RequestsPreempted, 0.0)
        .answered("2xx", 500.0)
        .finished("stop", 500.0)
}

fn symptom(given: &Given, aspect: Aspect) -> Symptom {
    let all = given.with_evidence(|e| Symptoms::of(e).0);
    all.into_iter().find(|s| s.aspect == aspect).unwrap_or_else(|| panic!("{aspect} is not judged"))
}

/// What the whole verdict knows of an aspect: measured, or told by words.
fn told(given: &Given, aspect: Aspect) -> Symptom {
    let all = given.verdict().symptoms;
    all.into_iter().find(|s| s.aspect == aspect).unwrap_or_else(|| panic!("{aspect} is not judged"))
}
