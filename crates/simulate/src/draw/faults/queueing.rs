//! Requests wait before they are computed.

use intriage_case::Seconds;

use super::{DrawnFault, NOTHING, Part};
use crate::draw::base::{Base, between};
use crate::draw::load::Shape;
use crate::draw::scene::Scene;
use crate::setup::Mishap;
use crate::workload::{Class, Lengths};

pub(super) const FAULTS: &[DrawnFault] = &[
    DrawnFault {
        name: "low-sequence-cap",
        what: "--max-num-seqs is lower than the number of requests the traffic keeps open",
        cause: "max-num-seqs-limited-queue",
        accept: &[],
        strikes: Part::Admission,
        needs: NOTHING,
        stage: None,
        apply: |scene, strength, _| {
            let cap = (scene.base.running() * 0.6 / strength).max(1.0) as u32;
            scene.each_engine(|e| e.max_sequences = cap);
        },
    },
    DrawnFault {
        name: "late-cap",
        what: "--max-num-seqs holds until the rate steps up in the middle of the window",
        cause: "max-num-seqs-limited-queue",
        accept: &[],
        strikes: Part::Admission,
        needs: NOTHING,
        stage: Some(|base, _, _| {
            base.shape = Shape::Steady { variation: 1.0 };
            base.concurrency = base.concurrency.max(8.0);
            base.engine.max_sequences = (base.running() * 1.5 + 6.0) as u32;
        }),
        apply: |scene, strength, random| {
            let time = scene.inside(between(random, 0.4, 0.6))..scene.end();
            scene.add_more(scene.base.rate() * (0.4 + strength), time, random);
        },
    },
    DrawnFault {
        name: "small-kv-pool",
        what: "the KV pool is too small for the requests that are open at once",
        cause: "kv-capacity-limited-queue",
        accept: &["preemption-thrash"],
        strikes: Part::Admission,
        needs: NOTHING,
        stage: Some(|base, _, _| {
            base.prompt = base.prompt.max(2.0 * base.answer);
            several_at_once(base);
        }),
        apply: |scene, strength, _| shrink_pool(scene, 0.9 / strength),
    },
    DrawnFault {
        name: "prefill-overload",
        what: "more prompt tokens arrive than the card can compute",
        cause: "token-budget-limited-queue",
        // The card is full of prompts: before they queue, they take the time of those who decode.
        accept: &[
            "long-prompt-compute-bound",
            "offered-load-exceeds-capacity",
            "prefill-decode-interference",
        ],
        strikes: Part::Prefill,
        needs: NOTHING,
        stage: Some(|base, _, random| {
            base.shape = Shape::Steady { variation: 1.0 };
            base.prompt = base.prompt_taking(between(random, 0.1, 0.2));
            base.answer = between(random, 16.0, 40.0);
            base.prefill_share = 0.28;
            base.concurrency = 40.0;
        }),
        apply: |scene, strength, random| {
            scene.add_more(scene.base.rate() * 2.2 * strength, 0.0..scene.end(), random);
        },
    },
    DrawnFault {
        name: "giant-prompts",
        what: "one tenant's giant prompts do not fit the KV pool at once and hold up everybody behind them",
        cause: "head-of-line-blocking",
        accept: &["kv-capacity-limited-queue"],
        strikes: Part::Admission,
        needs: NOTHING,
        stage: Some(|base, _, _| {
            several_at_once(base);
            let tokens = base.prompt_taking(0.5).clamp(4000.0, 24_000.0) * 1.15 + base.live_tokens() * 1.8;
            base.engine.pool_blocks = base.engine.pool_blocks.min((tokens / 16.0) as u32);
        }),
        apply: |scene, strength, random| {
            let tokens = scene.base.prompt_taking(0.5).clamp(4000.0, 24_000.0);
            let lengths = Lengths::Uniform((tokens * 0.92) as u32, (tokens * 1.08) as u32);
            let giants = Class::plain(lengths, Lengths::Uniform(50, 250), 512);
            let taken = tokens * scene.base.engine.step.per_prompt_token.0;
            let rate = (scene.base.rate() * 0.08).min(0.35 / taken) * strength;
            scene.add(&giants, rate, 0.0..scene.end(), random);
        },
    },
    DrawnFault {
        name: "bursts",
        what: "a job fires a crowd of requests at once every so many seconds",
        cause: "burst-arrival-transient",
        accept: &[],
        strikes: Part::Traffic,
        needs: NOTHING,
        stage: None,
        apply: |scene, strength, random| {
            let size = (scene.base.running() * 5.0 * strength) as u32 + 4;
            let every = between(random, 6.0, 11.0);
            let mut at = scene.inside(0.0) + every * random.unit();
            while at < scene.end() {
                scene.add_crowd(size, at, random);
                at += every;
            }
        },
    },
    DrawnFault {
        name: "one-burst",
        what: "a crowd of requests comes at once, once, in a calm window",
        cause: "burst-arrival-transient",
        accept: &[],
        strikes: Part::Traffic,
        needs: NOTHING,
        stage: None,
        apply: |scene, strength, random| {
            let size = (scene.base.running() * 10.0 * strength) as u32 + 8;
            let at = scene.inside(between(random, 0.2, 0.6));
            scene.add_crowd(size, at, random);
        },
    },
    DrawnFault {
        name: "adapter-slots",
        what: "many adapters share two adapter slots",
        cause: "deferred-admission-stall",
        accept: &[],
        strikes: Part::Admission,
        needs: NOTHING,
        stage: Some(|base, _, _| {
            base.adapters = 2;
            base.engine.max_adapters = 2;
        }),
        apply: |scene, strength, random| {
            let adapters = 2 + (9.0 * strength).round() as u32;
            for planned in &mut scene.requests {
                planned.request.adapter = Some(random.below(u64::from(adapters)) as u32);
            }
            for class in &mut scene.setup.workload.classes {
                class.adapters = adapters;
            }
        },
    },
    DrawnFault {
        name: "hung-engine",
        what: "the engine hangs in a step; /health and /metrics still answer",
        cause: "engine-stalled-not-admitting",
        accept: &[],
        strikes: Part::Server,
        needs: NOTHING,
        stage: None,
        apply: |scene, strength, random| {
            // The stronger, the earlier.
            let at = scene.inside(between(random, 0.3, 0.5) / strength.max(0.6));
            scene.setup.mishap = Some(Mishap::Hang { after: Seconds(at), engine: None });
        },
    },
    DrawnFault {
        name: "paused-engine",
        what: "the engine stands still for some seconds and goes on",
        cause: "engine-stalled-not-admitting",
        accept: &[],
        strikes: Part::Server,
        needs: NOTHING,
        stage: None,
        apply: |scene, strength, random| {
            let lasting = 5.0 + 3.5 * strength;
            let latest = (scene.base.window.length.0 - lasting).max(1.0);
            let at = scene.base.window.from.0 + latest * between(random, 0.1, 0.9);
            scene.setup.mishap = Some(Mishap::Pause { after: Seconds(at), lasting: Seconds(lasting) });
        },
    },
    DrawnFault {
        name: "refusing-overload",
        what: "the queue is bounded and what does not fit is refused with 503",
        cause: "overload-shedding",
        accept: &[],
        strikes: Part::Server,
        needs: NOTHING,
        stage: Some(|base, _, _| {
            base.shape = Shape::Steady { variation: 1.0 };
            base.concurrency = base.concurrency.max(10.0);
            base.engine.max_sequences = (base.running() * 1.6) as u32 + 4;
            base.engine.queue_limit = Some(base.running() as u32 + 6);
        }),
        apply: |scene, strength, random| {
            scene.add_more(scene.base.rate() * (0.4 + 1.8 * strength), 0.0..scene.end(), random);
        },
    },
];

/// Enough requests at once, of lengths alike enough, that the pool is filled by their number.
pub(super) fn several_at_once(base: &mut Base) {
    base.concurrency = base.concurrency.max(16.0);
    base.prefill_share = base.prefill_share.max(0.14);
    base.spread = 0.4;
}

/// A pool that holds this share of what is live on average, and at least the longest request.
pub(super) fn shrink_pool(scene: &mut Scene, share: f64) {
    let longest = scene.requests.iter().map(|p| p.request.prompt + p.request.output).max().unwrap_or(4096);
    let tokens = (scene.base.live_tokens() * share).max(f64::from(longest) * 1.1 + 64.0);
    let blocks = (tokens / f64::from(scene.base.engine.block_tokens)).ceil() as u32;
    scene.each_engine(|e| e.pool_blocks = e.pool_blocks.min(blocks));
}
