//! The first token is late although nobody waits for room.

use intriage_case::{Ratio, Seconds};

use crate::engine::WarmUp;
use crate::faults::Fault;
use crate::workload::{Lengths, SharedPrefix};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "long-prompts",
        what: "prompts so long that the card cannot compute one within the objective, at low traffic",
        cause: Some("long-prompt-compute-bound"),
        accept: &[],
        apply: |setup, strength, _| {
            setup.lengths(22_000.0, 150.0);
            if let Some(class) = setup.workload.classes.first_mut() {
                class.prompt = Lengths::Uniform(18_000, 30_000);
            }
            setup.rate(0.7 * strength);
            setup.objectives = vec!["ttft.p95=500ms"];
        },
    },
    Fault {
        name: "prefix-cache-off",
        what: "prefix caching is off although every prompt begins with the same 5,000 tokens",
        cause: Some("prefix-cache-ineffective"),
        accept: &[],
        apply: |setup, strength, _| {
            setup.lengths(5300.0, 100.0);
            setup.rate(5.0 * strength);
            if let Some(class) = setup.workload.classes.first_mut() {
                class.prompt = Lengths::Uniform(5100, 5600);
                class.prefix = Some(SharedPrefix { groups: 1, tokens: 5000 });
            }
            setup.each_engine(|e| e.prefix_cache = false);
        },
    },
    Fault {
        name: "small-token-budget",
        what: "--max-num-batched-tokens is 256: a long prompt takes dozens of steps",
        cause: Some("prefill-chunk-budget-too-small"),
        accept: &["token-budget-limited-queue"],
        apply: |setup, strength, _| {
            setup.lengths(8000.0, 150.0);
            setup.rate(0.9 * strength.min(1.2));
            setup.each_engine(|e| e.token_budget = 256);
        },
    },
    Fault {
        name: "cold-start",
        what: "traffic arrives while the engine still compiles and captures",
        cause: Some("cold-start-warmup"),
        accept: &[],
        apply: |setup, strength, _| {
            setup.each_engine(|e| {
                e.step.warm_up = Some(WarmUp { first: Seconds(2.5 * strength), decay: Ratio(0.7) });
            });
        },
    },
    Fault {
        name: "slow-tokenizer",
        what: "one API process reads prompts too slowly: requests wait before the engine sees them",
        cause: Some("frontend-input-processing-bound"),
        accept: &[],
        apply: |setup, strength, _| {
            setup.rate(20.0);
            setup.fleet.front.per_request = Seconds(0.056 * strength);
        },
    },
];
