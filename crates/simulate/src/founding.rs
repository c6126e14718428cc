//! The two cases of the founding documents as deployments, with the causes they were corrected to.
//!
//! Nobody has those machines any more. `examples/founding_cases.rs` makes recordings of them, and a test asks whether the
//! verdict holds for other seeds and sizes than the recorded ones.

use std::ops::Range;

use intriage_case::{Ratio, Seconds, Tokens};

use crate::engine::StepTime;
use crate::rehearse::Window;
use crate::setup::{Identity, Setup};
use crate::workload::{Arrivals, Class, Lengths, Workload};

/// When case 1 is watched.
pub const SLOW_LINK_WINDOW: Window =
    Window { from: Seconds(30.0), length: Seconds(320.0), every: Seconds(16.0) };

/// When case 2 is watched: its days pass in three minutes each.
pub const FIVE_DAYS_WINDOW: Window =
    Window { from: Seconds(30.0), length: Seconds(860.0), every: Seconds(20.0) };

/// Case 1: a prompt of 3,000 tokens moves 7.9 GB between two cards, 1.2 s over what is left of the link.
pub fn slow_link(seed: u64) -> Setup {
    let mut setup = Setup::healthy(seed);
    setup.identity = Identity {
        model: "llama-3.3-70b".into(),
        checkpoint: "RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic".into(),
        gpu: "NVIDIA H100 PCIe".into(),
        eager: false,
    };
    setup.each_engine(|engine| {
        engine.step = StepTime {
            base: Seconds(0.038),
            per_prompt_token: Seconds(0.5e-3),
            per_sequence: Seconds(0.3e-3),
            per_context_token: Seconds(45e-9),
            noise: Ratio(0.05),
            ..StepTime::constant(Seconds(0.0))
        };
    });
    let about = |mean: f64, most: u32| Lengths::LogNormal { mean: Tokens(mean), variation: Ratio(0.4), most };
    setup.rate(0.3);
    setup.workload.classes = vec![Class::plain(about(3000.0, 8000), about(180.0, 1000), 1024)];
    setup
}

/// Mean answer of each day, in tokens.
const ANSWERS: [u32; 5] = [400, 500, 650, 850, 1100];
/// How long a day is here.
const DAY: f64 = 180.0;
/// An agent's prompt, in tokens.
const PROMPT: (u32, u32) = (3900, 4100);
/// Tokens of the KV pool for each agent: its prompt and what there is of its answer on the third day, on average.
const POOL_EACH: f64 = 4420.0;

/// Case 2: so many agents, each asking again when it has its answer. Their answers grow from 400 tokens to 1,100 within
/// five days, and a pool that held them before does not any longer.
pub fn five_days(seed: u64, agents: u32) -> Setup {
    let mut setup = Setup::healthy(seed);
    setup.each_engine(|e| {
        e.pool_blocks = (f64::from(agents) * POOL_EACH / f64::from(e.block_tokens)) as u32;
    });
    let day = |from: f64, mean: u32| Class {
        during: Some(Range { start: Seconds(from), end: Seconds(from + DAY) }),
        ..Class::plain(
            Lengths::Uniform(PROMPT.0, PROMPT.1),
            Lengths::Uniform(mean / 2, mean + mean / 2),
            2048,
        )
    };
    let starts = (0..ANSWERS.len()).map(|n| n as f64 * DAY);
    setup.workload = Workload {
        arrivals: Arrivals::Closed { clients: agents, think: Seconds(0.2) },
        classes: starts.zip(ANSWERS).map(|(from, mean)| day(from, mean)).collect(),
    };
    setup
}
