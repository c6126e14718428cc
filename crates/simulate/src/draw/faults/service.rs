//! Answers, or the server itself, are the trouble.

use intriage_case::Seconds;

use super::{CARD, CLIENT, DrawnFault, NOTHING, OBJECTIVE, Part};
use crate::draw::base::between;
use crate::draw::load::Shape;
use crate::request::Finish;
use crate::setup::Mishap;
use crate::time::Nanos;
use crate::workload::{Arrivals, Class, Lengths};

pub(super) const FAULTS: &[DrawnFault] = &[
    DrawnFault {
        name: "runaway-answers",
        what: "the end-of-text token is missing: answers run to the limit",
        cause: "missing-stop-token-runaway",
        accept: &[],
        strikes: Part::Traffic,
        needs: OBJECTIVE,
        stage: Some(|base, strength, _| {
            base.answer = base.answer.min(150.0);
            base.spread = 0.4;
            base.max_tokens = Some((base.answer * (1.5 + 2.5 * strength)) as u32);
        }),
        apply: |scene, _, _| {
            for planned in &mut scene.requests {
                planned.request.output = planned.request.max_tokens;
                planned.request.finish = Finish::Length;
            }
        },
    },
    DrawnFault {
        name: "refused-requests",
        what: "a new client sends prompts longer than the context window",
        cause: "client-request-rejected",
        accept: &[],
        strikes: Part::Traffic,
        needs: NOTHING,
        stage: Some(|base, _, _| {
            base.prompt = base.prompt.min(500.0);
            base.engine.context_window = 4096;
        }),
        apply: |scene, strength, random| {
            let too_long = Class::plain(Lengths::Uniform(4200, 6000), Lengths::Uniform(50, 150), 512);
            scene.add(&too_long, scene.base.rate() * 0.08 * strength, 0.0..scene.end(), random);
        },
    },
    DrawnFault {
        name: "crash",
        what: "the engine dies",
        cause: "engine-crash-5xx",
        accept: &[],
        strikes: Part::Server,
        needs: NOTHING,
        stage: None,
        apply: |scene, _, random| {
            let after = Seconds(scene.inside(between(random, 0.35, 0.8)));
            scene.setup.mishap = Some(Mishap::Crash { after });
        },
    },
    DrawnFault {
        name: "starved-batch",
        what: "an offline job sends a few requests at a time to a card that takes hundreds",
        cause: "underbatched-low-throughput",
        accept: &[],
        strikes: Part::Server,
        needs: CARD,
        stage: Some(|base, _, _| {
            base.batch = true;
            base.shape = Shape::Closed { think: 0.0 };
            base.concurrency = 48.0;
            base.prefill_share = 0.25;
        }),
        apply: |scene, strength, _| {
            if let Arrivals::Closed { clients, .. } = &mut scene.setup.workload.arrivals {
                *clients = (f64::from(*clients) * 0.12 / strength).max(1.0) as u32;
            }
        },
    },
    DrawnFault {
        name: "cut-answers",
        what: "a time-out on the way cuts long answers off",
        cause: "proxy-timeout-or-keepalive-race",
        accept: &[],
        strikes: Part::Path,
        needs: CLIENT,
        stage: Some(|base, _, _| base.answer = base.answer.max(2.0 / base.pace())),
        apply: |scene, strength, _| {
            let usual = scene.base.answer * scene.base.pace();
            let patience = Nanos::from_seconds(Seconds((1.3 * usual / strength).max(1.2)));
            for planned in &mut scene.requests {
                planned.patience = Some(patience);
            }
        },
    },
];
