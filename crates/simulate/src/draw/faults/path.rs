//! The engine is well; the way to it is not.

use intriage_case::{Bytes, Seconds};

use super::{CLIENT, DrawnFault, NOTHING, Part};
use crate::draw::base::{Base, between};
use crate::draw::load::Shape;
use crate::fleet::Router;
use crate::random::Random;
use crate::setup::Mishap;

pub(super) const FAULTS: &[DrawnFault] = &[
    DrawnFault {
        name: "buffering-proxy",
        what: "a proxy holds the stream back and passes it on in large pieces",
        cause: "proxy-response-buffering",
        accept: &[],
        strikes: Part::Path,
        needs: CLIENT,
        stage: None,
        apply: |scene, strength, _| scene.setup.path.buffer = Some(Bytes(10_000.0 * strength)),
    },
    DrawnFault {
        name: "far-away",
        what: "every message takes long to arrive, both ways",
        cause: "network-path-latency",
        accept: &[],
        strikes: Part::Path,
        needs: CLIENT,
        stage: None,
        apply: |scene, strength, _| scene.setup.path.delay = Seconds(0.1 * strength),
    },
    DrawnFault {
        name: "replica-imbalance",
        what: "the router sends most requests to one of the replicas",
        cause: "replica-load-imbalance",
        accept: &[],
        strikes: Part::Server,
        needs: NOTHING,
        stage: Some(four_replicas),
        apply: |scene, strength, _| {
            let most = (0.25 + 0.3 * strength).min(0.85);
            let rest = (1.0 - most) / 3.0;
            scene.setup.fleet.router = Router::Weighted(vec![most, rest, rest, rest]);
        },
    },
    DrawnFault {
        name: "hung-replica",
        what: "one of the replicas hangs and stays in rotation",
        cause: "unready-replica-in-rotation",
        accept: &[],
        strikes: Part::Server,
        needs: NOTHING,
        stage: Some(four_replicas),
        apply: |scene, strength, random| {
            scene.setup.fleet.router = Router::RoundRobin;
            let engine = Some(random.below(4) as usize);
            // The stronger, the earlier.
            let after = Seconds(scene.inside(between(random, 0.1, 0.3) / strength.max(0.5)));
            scene.setup.mishap = Some(Mishap::Hang { after, engine });
        },
    },
];

fn four_replicas(base: &mut Base, _: f64, _: &mut Random) {
    base.replicas = 4;
    base.shape = Shape::Steady { variation: 1.0 };
    base.concurrency = base.concurrency.clamp(6.0, 14.0);
    base.engine.max_sequences = (base.running() * 1.6) as u32 + 4;
}
