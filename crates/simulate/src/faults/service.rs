//! Healthy deployments, and those whose answers or existence are the trouble.

use intriage_case::Seconds;

use crate::faults::Fault;
use crate::setup::{Mishap, lognormal};
use crate::workload::{Arrivals, Class, Lengths};

pub(super) const HEALTHY: &[Fault] = &[
    Fault { name: "healthy", what: "nothing", cause: None, accept: &[], apply: |_, _, _| {} },
    Fault {
        name: "full-but-fine",
        what: "nothing: the KV pool is nearly full, but nobody waits",
        cause: None,
        accept: &[],
        apply: |setup, _, _| {
            // A fixed number of clients: the pool never holds more than theirs.
            setup.workload.arrivals = Arrivals::Closed { clients: 64, think: Seconds(0.05) };
            setup.lengths(400.0, 500.0);
            setup.each_engine(|e| e.pool_blocks = 3600);
        },
    },
];

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "runaway-answers",
        what: "the end-of-text token is missing: answers run to the limit",
        cause: Some("missing-stop-token-runaway"),
        accept: &[],
        apply: |setup, _, _| {
            setup.rate(10.0);
            if let Some(class) = setup.workload.classes.first_mut() {
                class.answer = Lengths::Fixed(100_000);
                class.max_tokens = 600;
            }
            // Answers of about a hundred tokens used to be done in a second or two.
            setup.objectives = vec!["ttft.p95=500ms", "e2e.p95=4s"];
        },
    },
    Fault {
        name: "refused-requests",
        what: "a new client sends prompts longer than the context window",
        cause: Some("client-request-rejected"),
        accept: &[],
        apply: |setup, strength, _| {
            setup.each_engine(|e| e.context_window = 4096);
            let mut too_long = Class::plain(Lengths::Uniform(4200, 6000), lognormal(100.0), 512);
            too_long.share = 0.15 * strength;
            setup.workload.classes.push(too_long);
        },
    },
    Fault {
        name: "crash",
        what: "the engine dies",
        cause: Some("engine-crash-5xx"),
        accept: &[],
        apply: |setup, _, random| {
            setup.mishap = Some(Mishap::Crash { after: Seconds(9.0 + 3.0 * random.unit()) });
        },
    },
    Fault {
        name: "starved-batch",
        what: "an offline job sends two requests at a time to a card that takes hundreds",
        cause: Some("underbatched-low-throughput"),
        accept: &[],
        apply: |setup, _, _| {
            setup.batch = true;
            setup.objectives = Vec::new();
            setup.workload.arrivals = Arrivals::Closed { clients: 2, think: Seconds(0.0) };
        },
    },
];
