//! Tokens come slowly.

use intriage_case::{Ratio, Seconds};

use crate::engine::Speculation;
use crate::faults::Fault;
use crate::fleet::GoingOn;
use crate::setup::lognormal;
use crate::workload::{Class, Lengths};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "batch-past-knee",
        what: "so many requests decode together that each waits for the others",
        cause: Some("batch-past-knee"),
        accept: &[],
        apply: |setup, strength, _| {
            setup.lengths(150.0, 300.0);
            setup.rate(12.0);
            setup.objectives = vec!["ttft.p95=500ms", "itl.p95=30ms"];
            setup.each_engine(|e| e.step.per_sequence = Seconds(320e-6 * strength));
        },
    },
    Fault {
        name: "long-contexts",
        what: "a few very long conversations make every step read a mountain of KV",
        cause: Some("long-context-kv-read-bound"),
        accept: &[],
        apply: |setup, strength, _| {
            setup.lengths(400.0, 120.0);
            setup.rate(2.5);
            setup.objectives = vec!["ttft.p95=2s", "itl.p95=15ms"];
            let talks = (6.0 * strength).min(6.0) as u32;
            setup.fleet.going_on = (0..talks)
                .map(|i| GoingOn { prompt: 58_000 + 1000 * i, generated: 200, output: 4000 })
                .collect();
            setup.each_engine(|e| e.context_window = 131_072);
        },
    },
    Fault {
        name: "preemption",
        what: "short prompts are let in freely and their long answers outgrow the KV pool",
        cause: Some("preemption-thrash"),
        accept: &["kv-capacity-limited-queue"],
        apply: |setup, strength, _| {
            setup.lengths(100.0, 700.0);
            setup.rate(8.0 * strength);
            setup.each_engine(|e| e.pool_blocks = 900);
        },
    },
    Fault {
        name: "slow-host",
        what: "between steps the GPU waits for a slow host",
        cause: Some("decode-host-overhead-bound"),
        accept: &[],
        apply: |setup, strength, _| {
            setup.rate(8.0);
            setup.each_engine(|e| e.step.base = Seconds(e.step.base.0 + 0.045 * strength));
        },
    },
    Fault {
        name: "eager-mode",
        what: "--enforce-eager: every kernel is launched by hand",
        cause: Some("cuda-graph-miss"),
        accept: &["decode-host-overhead-bound"],
        apply: |setup, strength, _| {
            setup.rate(8.0);
            setup.identity.eager = true;
            setup.objectives = vec!["ttft.p95=500ms", "itl.p95=15ms"];
            setup.each_engine(|e| e.step.base = Seconds(e.step.base.0 + 0.015 * strength));
        },
    },
    Fault {
        name: "small-card",
        what: "an 8B model in 16 bit on an L4: its memory cannot be read faster",
        cause: Some("decode-bandwidth-roofline"),
        accept: &[],
        apply: |setup, _, _| {
            setup.identity.gpu = "NVIDIA L4".into();
            setup.rate(0.5);
            setup.objectives = vec!["ttft.p95=2s", "itl.p95=30ms"];
            setup.each_engine(|e| {
                e.step.base = Seconds(0.066);
                e.step.per_prompt_token = Seconds(200e-6);
                e.step.per_context_token = Seconds(500e-9);
                e.pool_blocks = 2000;
                e.context_window = 8192;
                e.token_budget = 2048;
            });
        },
    },
    Fault {
        name: "bad-drafter",
        what: "a slow drafter proposes five tokens a step and hardly any is accepted",
        cause: Some("speculation-ineffective"),
        accept: &[],
        apply: |setup, _, random| {
            setup.rate(12.0);
            setup.objectives = vec!["ttft.p95=500ms", "itl.p95=25ms"];
            let acceptance = Ratio(0.10 + 0.06 * random.unit());
            setup.each_engine(|e| {
                e.speculation = Some(Speculation { draft_tokens: 5, acceptance });
                // Five passes of the drafter come before each check.
                e.step.base = Seconds(e.step.base.0 + 0.020);
            });
        },
    },
    Fault {
        name: "prefill-interference",
        what: "long prompts stop everybody's tokens while they are computed",
        cause: Some("prefill-decode-interference"),
        accept: &[],
        apply: |setup, strength, _| {
            setup.lengths(300.0, 250.0);
            setup.rate(6.0);
            setup.objectives = vec!["ttft.p95=500ms", "itl.p99=50ms"];
            let mut long = Class::plain(Lengths::Uniform(6000, 8000), lognormal(60.0), 512);
            long.share = 0.6 * strength;
            setup.workload.classes.push(long);
        },
    },
];
