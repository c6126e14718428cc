//! Requests wait before they are computed.

use intriage_case::{PerSecond, Requests, Seconds};

use crate::faults::Fault;
use crate::setup::{Mishap, lognormal};
use crate::workload::{Arrivals, Class, Lengths};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "small-kv-pool",
        what: "the KV pool is far too small for the requests that are open at once",
        cause: Some("kv-capacity-limited-queue"),
        accept: &["preemption-thrash"],
        apply: |setup, strength, _| {
            setup.rate(20.0);
            setup.lengths(700.0, 120.0);
            setup.each_engine(|e| e.pool_blocks = (400.0 / strength).clamp(320.0, 600.0) as u32);
        },
    },
    Fault {
        name: "low-sequence-cap",
        what: "--max-num-seqs is lower than the number of requests the traffic keeps open",
        cause: Some("max-num-seqs-limited-queue"),
        accept: &[],
        apply: |setup, strength, _| {
            setup.rate(20.0);
            setup.each_engine(|e| e.max_sequences = (8.0 / strength).max(1.0) as u32);
        },
    },
    Fault {
        name: "prefill-overload",
        what: "more prompt tokens arrive than the card can compute",
        cause: Some("token-budget-limited-queue"),
        accept: &["long-prompt-compute-bound"],
        apply: |setup, strength, _| {
            setup.lengths(6000.0, 20.0);
            setup.rate(10.5 * strength.max(1.0));
        },
    },
    Fault {
        name: "giant-prompts",
        what: "one tenant's 24,000-token prompts do not fit the KV pool at once and hold up everybody behind them",
        cause: Some("head-of-line-blocking"),
        accept: &[],
        apply: |setup, strength, _| {
            setup.each_engine(|e| e.pool_blocks = 2300);
            setup.rate(12.0);
            let mut giant = Class::plain(lognormal(24_000.0), lognormal(150.0), 512);
            giant.prompt = Lengths::Uniform(22_000, 26_000);
            giant.share = 0.08 * strength;
            setup.workload.classes.push(giant);
        },
    },
    Fault {
        name: "bursts",
        what: "a job fires a crowd of requests at once every ten seconds",
        cause: Some("burst-arrival-transient"),
        accept: &[],
        apply: |setup, strength, _| {
            setup.workload.arrivals = Arrivals::Bursts {
                rate: PerSecond(Requests(6.0)),
                every: Seconds(10.0),
                size: (150.0 * strength) as u32,
            };
            setup.each_engine(|e| e.max_sequences = 48);
        },
    },
    Fault {
        name: "adapter-slots",
        what: "many adapters share two adapter slots",
        cause: Some("deferred-admission-stall"),
        accept: &[],
        apply: |setup, strength, _| {
            if let Some(class) = setup.workload.classes.first_mut() {
                class.adapters = (11.0 * strength) as u32;
            }
            setup.each_engine(|e| e.max_adapters = 2);
        },
    },
    Fault {
        name: "hung-engine",
        what: "the engine hangs in a step; /health and /metrics still answer",
        cause: Some("engine-stalled-not-admitting"),
        accept: &[],
        apply: |setup, _, random| {
            setup.mishap = Some(Mishap::Hang { after: Seconds(4.0 + 2.0 * random.unit()), engine: None });
        },
    },
    Fault {
        name: "refusing-overload",
        what: "the queue is bounded and what does not fit is refused with 503",
        cause: Some("overload-shedding"),
        accept: &[],
        apply: |setup, strength, _| {
            setup.rate(45.0 * strength);
            setup.each_engine(|e| {
                e.queue_limit = Some(16);
                e.max_sequences = 16;
            });
        },
    },
];
