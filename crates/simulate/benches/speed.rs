//! How many requests a minute the model gets through on one core while its batch is full.
//!
//! Usage: `cargo bench -p intriage-simulate --bench speed -- [REQUESTS]`. One line a case, columns in [`COLUMNS`]; the
//! script next to this file puts them beside a Python step loop and `vidur`.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use intriage_case::{Ratio, Seconds};
use intriage_simulate::workload::SharedPrefix;
use intriage_simulate::{
    Arrivals, Class, EngineConfig, FleetConfig, Front, Lengths, Outcome, Policy, Router, StepTime, Stop,
    Workload,
};

/// `batch` is the mean number of sequences in a step.
const COLUMNS: &str = "name\trequests\twall_s\trequests_per_min\tbatch\ttokens_per_s\tvirtual_per_wall";

/// Without `--bench` this is a test run: enough to see that it works.
const FEW: u64 = 1_000;
const MANY: u64 = 1_000_000;

fn main() {
    let mut requests = if std::env::args().any(|arg| arg == "--bench") { MANY } else { FEW };
    if let Some(asked) = std::env::args().skip(1).find_map(|arg| arg.parse().ok()) {
        requests = asked;
    }
    println!("{COLUMNS}");
    measure("intriage", requests, None);
    // Half of a mean prompt is one of 64 shared texts.
    measure("intriage, prefix cache", requests, Some(SharedPrefix { groups: 64, tokens: 256 }));
}

fn measure(name: &str, requests: u64, prefix: Option<SharedPrefix>) {
    let fleet = FleetConfig {
        engines: vec![engine(prefix.is_some())],
        router: Router::RoundRobin,
        front: Front::default(),
        going_on: Vec::new(),
    };
    let plain = Class::plain(Lengths::Uniform(256, 768), Lengths::Uniform(64, 192), 192);
    let workload = Workload {
        // More clients than places: somebody always waits, and the batch stays full.
        arrivals: Arrivals::Closed { clients: 320, think: Seconds(0.0) },
        classes: vec![Class { prefix, ..plain }],
    };
    let start = Instant::now();
    let outcome = Outcome::of(&fleet, &workload, 1, Stop::after_requests(requests), Seconds(0.0));
    let wall = start.elapsed().as_secs_f64();
    // Those who are still there when a step ends, and those who left with it.
    let batch = outcome.running.0 + outcome.answered.0 / (outcome.steps as f64).max(1.0);
    println!(
        "{name}\t{}\t{wall:.3}\t{:.0}\t{batch:.1}\t{:.0}\t{:.0}",
        outcome.answered.0,
        outcome.answered.0 / wall * 60.0,
        (outcome.prompt_tokens.0 + outcome.output_tokens.0) / wall,
        outcome.time.0 / wall,
    );
}

/// The sizes that `step_loop.py` and `vidur_speed.py` have too.
fn engine(prefix_cache: bool) -> EngineConfig {
    EngineConfig {
        max_sequences: 256,
        token_budget: 2048,
        chunked_prefill: true,
        plans_ahead: false,
        block_tokens: 16,
        pool_blocks: 26_875,
        prefix_cache,
        policy: Policy::Fcfs,
        context_window: 32_768,
        queue_limit: None,
        max_adapters: 1,
        speculation: None,
        step: StepTime {
            per_prompt_token: Seconds(24e-6),
            per_sequence: Seconds(14e-6),
            per_context_token: Seconds(45e-9),
            noise: Ratio(0.05),
            ..StepTime::constant(Seconds(6.3e-3))
        },
    }
}
