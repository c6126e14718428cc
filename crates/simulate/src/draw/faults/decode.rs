//! Tokens come slowly.

use intriage_case::Ratio;

use super::queueing::{several_at_once, shrink_pool};
use super::{CARD, DrawnFault, NOTHING, OBJECTIVE_AND_CARD, Part};
use crate::draw::base::{Base, between};
use crate::draw::hardware::{CARDS, Card};
use crate::engine::Speculation;
use crate::fleet::GoingOn;
use crate::workload::{Class, Lengths};

/// What a step that is slow as a whole may be put down to by who has no readings of the GPU.
const SLOW_STEPS: &[&str] = &[
    "decode-host-overhead-bound",
    "kernel-fallback-slow-path",
    "cuda-graph-miss",
    "gpu-thermal-throttle",
    "vram-co-tenant-or-orphan",
];

pub(super) const FAULTS: &[DrawnFault] = &[
    DrawnFault {
        name: "batch-past-knee",
        what: "so many requests decode together that each waits for the others",
        cause: "batch-past-knee",
        // A host that spends time on every sequence looks the same from outside.
        accept: &["decode-host-overhead-bound"],
        strikes: Part::Step,
        needs: OBJECTIVE_AND_CARD,
        stage: Some(|base, _, random| {
            base.prompt = between(random, 80.0, 200.0);
            base.answer = base.answer.max(150.0);
            base.concurrency = between(random, 30.0, 55.0);
        }),
        apply: |scene, strength, _| {
            // Slower steps keep more requests open, which makes steps slower still.
            let more = scene.base.engine.step.base.0 / scene.base.running() * 0.4 * strength;
            scene.each_engine(|e| e.step.per_sequence.0 += more);
        },
    },
    DrawnFault {
        name: "long-contexts",
        what: "a few very long conversations make every step read a mountain of KV",
        cause: "long-context-kv-read-bound",
        accept: &[],
        strikes: Part::Step,
        needs: OBJECTIVE_AND_CARD,
        stage: Some(|base, _, _| {
            base.engine.context_window = 131_072;
            base.concurrency = base.concurrency.min(12.0);
        }),
        apply: |scene, strength, _| {
            let step = &scene.base.engine.step;
            let pool = scene.base.engine.pool_tokens().0;
            let room = (pool - 3.0 * scene.base.live_tokens()).max(0.0) * 0.8;
            let tokens = (step.base.0 / step.per_context_token.0 * 1.4 * strength).min(room);
            // They go on for as long as anybody looks.
            let output = (scene.end() / step.base.0) as u32 + 1000;
            let talks = (tokens / 40_000.0).ceil().max(1.0);
            let prompt = (tokens / talks) as u32;
            scene.setup.fleet.going_on = vec![GoingOn { prompt, generated: 100, output }; talks as usize];
        },
    },
    DrawnFault {
        name: "preemption",
        what: "short prompts are let in freely and their long answers outgrow the KV pool",
        cause: "preemption-thrash",
        accept: &["kv-capacity-limited-queue"],
        strikes: Part::Admission,
        needs: NOTHING,
        stage: Some(|base, _, random| {
            base.prompt = between(random, 60.0, 120.0);
            base.answer = between(random, 250.0, 450.0);
            several_at_once(base);
            base.concurrency = base.concurrency.max(25.0);
        }),
        apply: |scene, strength, _| shrink_pool(scene, 1.0 / strength),
    },
    DrawnFault {
        name: "slow-host",
        what: "between steps the GPU waits for a slow host",
        cause: "decode-host-overhead-bound",
        accept: &[],
        strikes: Part::Step,
        needs: CARD,
        stage: None,
        apply: |scene, strength, _| scene.each_engine(|e| e.step.base.0 *= 1.0 + 1.6 * strength),
    },
    DrawnFault {
        name: "eager-mode",
        what: "--enforce-eager: every kernel is launched by hand",
        cause: "cuda-graph-miss",
        accept: &["decode-host-overhead-bound"],
        strikes: Part::Step,
        needs: CARD,
        stage: None,
        apply: |scene, strength, _| {
            scene.setup.identity.eager = true;
            scene.each_engine(|e| e.step.base.0 *= 1.0 + 1.3 * strength);
        },
    },
    DrawnFault {
        name: "lowered-clock",
        what: "the GPU's clock is lowered: everything it computes takes longer",
        cause: "gpu-power-or-capability-limit",
        accept: SLOW_STEPS,
        strikes: Part::Step,
        needs: CARD,
        stage: None,
        apply: |scene, strength, _| {
            let slower = 1.0 + 1.3 * strength;
            scene.each_engine(|e| {
                let step = &mut e.step;
                for part in [&mut step.base, &mut step.per_prompt_token, &mut step.per_context_token] {
                    part.0 *= slower;
                }
            });
        },
    },
    DrawnFault {
        name: "small-card",
        what: "the model runs on a card whose memory cannot be read faster",
        cause: "decode-bandwidth-roofline",
        accept: &[],
        strikes: Part::Server,
        needs: OBJECTIVE_AND_CARD,
        stage: Some(|base, strength, _| {
            if smaller(base, strength).is_none() {
                base.move_to(&CARDS[0]);
            }
            // The smaller card must get through it, too.
            base.concurrency = base.concurrency.min(8.0);
            base.prefill_share = 0.03;
            base.answer = base.answer.min(100.0);
        }),
        apply: |scene, strength, _| {
            let mut moved = scene.base.clone();
            if let Some(card) = smaller(&moved, strength) {
                moved.move_to(card);
                card.name.clone_into(&mut scene.setup.identity.gpu);
                scene.each_engine(|e| *e = moved.engine.clone());
            }
        },
    },
    DrawnFault {
        name: "bad-drafter",
        what: "a slow drafter proposes tokens in every step and hardly any is accepted",
        cause: "speculation-ineffective",
        accept: &[],
        strikes: Part::Step,
        needs: NOTHING,
        stage: None,
        apply: |scene, strength, random| {
            let acceptance = Ratio(between(random, 0.06, 0.18));
            let draft_tokens = 3 + random.below(3) as u32;
            scene.each_engine(|e| {
                e.speculation = Some(Speculation { draft_tokens, acceptance });
                // Passes of the drafter come before each check.
                e.step.base.0 *= 1.0 + 1.6 * strength;
            });
        },
    },
    DrawnFault {
        name: "prefill-interference",
        what: "long prompts among the chats stop everybody's tokens while they are computed",
        cause: "prefill-decode-interference",
        // The long prompts' own first tokens are late as well.
        accept: &["long-prompt-compute-bound"],
        strikes: Part::Prefill,
        needs: NOTHING,
        stage: Some(|base, _, random| {
            base.prompt = between(random, 120.0, 350.0);
            base.prefill_share = base.prefill_share.min(0.08);
        }),
        apply: |scene, strength, random| {
            let takes = between(random, 0.1, 0.2);
            let tokens = scene.base.prompt_taking(takes).min(28_000.0);
            let lengths = Lengths::Uniform((tokens * 0.85) as u32, (tokens * 1.15) as u32);
            let long = Class::plain(lengths, Lengths::Uniform(20, 80), 256);
            let rate = (0.08 + 0.32 * strength) / (tokens * scene.base.engine.step.per_prompt_token.0);
            scene.add(&long, rate * f64::from(scene.base.replicas), 0.0..scene.end(), random);
        },
    },
];

/// A card with slower memory that holds the model: the next one, or for a strong fault the slowest.
fn smaller(base: &Base, strength: f64) -> Option<&'static Card> {
    let slower = |card: &&Card| card.bandwidth.0.0 < base.card.bandwidth.0.0 / 1.6;
    let mut fit =
        CARDS.iter().filter(slower).filter(|c| c.kv_memory(base.model).is_some_and(|kv| kv.0 > 2e9));
    if strength < 0.7 { fit.next() } else { fit.next_back() }
}
