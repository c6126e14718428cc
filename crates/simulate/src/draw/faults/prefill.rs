//! The first token is late although nobody waits for room.

use intriage_case::{Ratio, Seconds};

use super::{DrawnFault, NOTHING, OBJECTIVE, OBJECTIVE_AND_CARD, Part};
use crate::draw::base::between;
use crate::draw::load::Shape;
use crate::engine::WarmUp;
use crate::workload::SharedPrefix;

pub(super) const FAULTS: &[DrawnFault] = &[
    DrawnFault {
        name: "long-prompts",
        what: "prompts so long that the card cannot compute one within the objective, at low traffic",
        cause: "long-prompt-compute-bound",
        // At any traffic worth watching they also stop the tokens of others, and where they fill the card they queue: as in the
        // row of prefill-overload, where either name is as true.
        accept: &["prefill-decode-interference", "token-budget-limited-queue"],
        strikes: Part::Prefill,
        needs: OBJECTIVE_AND_CARD,
        stage: Some(|base, strength, _| {
            base.engine.context_window = 131_072;
            base.window.length = Seconds(base.window.length.0.max(30.0));
            base.answer = base.answer.min(150.0);
            base.hold_rate(0.3 / long_prompt(strength));
        }),
        apply: |scene, strength, random| {
            let tokens = scene.base.prompt_taking(long_prompt(strength));
            for planned in &mut scene.requests {
                planned.request.prompt = (tokens * between(random, 0.8, 1.25)) as u32;
            }
        },
    },
    DrawnFault {
        name: "prefix-cache-off",
        what: "prefix caching is off although prompts begin with the same long text",
        cause: "prefix-cache-ineffective",
        accept: &[],
        strikes: Part::Prefill,
        // The card computes what it is given at full speed: only who expects more misses the cache.
        needs: OBJECTIVE,
        stage: Some(|base, strength, random| {
            let prefix_time = 0.05 + 0.09 * strength;
            let tokens = base.prompt_taking(prefix_time);
            base.prefix = Some(SharedPrefix { groups: 1 + random.below(3) as u32, tokens: tokens as u32 });
            base.prompt = tokens + between(random, 100.0, 300.0);
            base.prefill_share = 0.5;
            base.answer = base.answer.min(150.0);
            base.hold_rate((0.35 + 0.3 * strength) / prefix_time);
        }),
        apply: |scene, _, _| scene.each_engine(|e| e.prefix_cache = false),
    },
    DrawnFault {
        name: "small-token-budget",
        what: "--max-num-batched-tokens is so small that a prompt takes dozens of steps",
        cause: "prefill-chunk-budget-too-small",
        accept: &["token-budget-limited-queue"],
        strikes: Part::Prefill,
        needs: NOTHING,
        stage: Some(|base, _, _| {
            base.prompt = base.prompt_taking(0.12).clamp(1500.0, 8000.0);
            base.prefill_share = 0.18;
            base.spread = 0.4;
            base.concurrency = 40.0;
        }),
        apply: |scene, strength, _| {
            // So few tokens that a step's fixed part costs more than computing them.
            let step = &scene.base.engine.step;
            let budget = (step.base.0 / step.per_prompt_token.0 * 0.5 / strength).clamp(48.0, 2048.0) as u32;
            scene.each_engine(|e| {
                e.token_budget = budget;
                e.max_sequences = e.max_sequences.min(budget);
            });
        },
    },
    DrawnFault {
        name: "cold-start",
        what: "traffic arrives while the engine still compiles and captures",
        cause: "cold-start-warmup",
        accept: &[],
        strikes: Part::Server,
        needs: NOTHING,
        stage: Some(|base, _, random| {
            base.shape = Shape::Steady { variation: 1.0 };
            base.uptime = Seconds(between(random, 15.0, 60.0));
            base.window.from = Seconds(between(random, 0.3, 1.5));
        }),
        apply: |scene, strength, _| {
            let first = Seconds(2.5 * strength);
            scene.each_engine(|e| e.step.warm_up = Some(WarmUp { first, decay: Ratio(0.7) }));
        },
    },
    DrawnFault {
        name: "slow-tokenizer",
        what: "one API process reads prompts too slowly: requests wait before the engine sees them",
        cause: "frontend-input-processing-bound",
        accept: &[],
        strikes: Part::FrontEnd,
        needs: NOTHING,
        stage: None,
        apply: |scene, strength, _| {
            scene.setup.fleet.front.per_request = Seconds((0.3 + 0.7 * strength) / scene.base.rate());
        },
    },
];

/// How long such a prompt takes, in seconds.
fn long_prompt(strength: f64) -> f64 {
    0.3 * strength + 0.2
}
