//! The engine is well; the way to it is not.

use intriage_case::{Bytes, Seconds};

use crate::faults::Fault;
use crate::fleet::Router;
use crate::setup::Mishap;

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "buffering-proxy",
        what: "a proxy holds the stream back and passes it on in large pieces",
        cause: Some("proxy-response-buffering"),
        accept: &[],
        apply: |setup, strength, _| setup.path.buffer = Some(Bytes(32_768.0 * strength)),
    },
    Fault {
        name: "far-away",
        what: "every message takes long to arrive, both ways",
        cause: Some("network-path-latency"),
        accept: &[],
        apply: |setup, strength, _| setup.path.delay = Seconds(0.25 * strength),
    },
    Fault {
        name: "replica-imbalance",
        what: "the router sends most requests to one of the replicas",
        cause: Some("replica-load-imbalance"),
        accept: &[],
        apply: |setup, strength, _| {
            setup.replicas(4);
            setup.each_engine(|e| e.max_sequences = 16);
            setup.rate(34.0);
            setup.fleet.router = Router::Weighted(vec![0.72 * strength.sqrt(), 0.10, 0.09, 0.09]);
        },
    },
    Fault {
        name: "hung-replica",
        what: "one of the replicas hangs and stays in rotation",
        cause: Some("unready-replica-in-rotation"),
        accept: &[],
        apply: |setup, _, random| {
            setup.replicas(4);
            setup.rate(30.0);
            setup.fleet.router = Router::RoundRobin;
            let engine = Some(random.below(4) as usize);
            setup.mishap = Some(Mishap::Hang { after: Seconds(3.0), engine });
        },
    },
];
