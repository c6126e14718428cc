//! The service through which the parts of a deployment find each other does not answer.

use intriage_engines::{Engine, Meaning};

use super::ECHOES;
use super::ended::Ended;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::Judgement;

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "coordination-service-unreachable",
    class: Class::Startup,
    layer: Layer::Network,
    hurts: &[Aspect::Availability],
    summary: "Workers and front ends of a distributed deployment find each other through a service of its own (etcd, NATS), and that one does not answer.",
    symptoms: &[
        "\"Check etcd server status\", \"Failed to connect to NATS\"",
        "a worker ends within seconds, before it loads any weights",
    ],
    confirmed_by: &["the server names the service it cannot reach"],
    refuted_by: &["the server came up after that line, or answers"],
    look_alikes: &[
        LookAlike {
            cause: "collective-init-failure",
            tell: "there ranks of one model do not find each other",
        },
        LookAlike { cause: "model-hub-unreachable", tell: "there the model cannot be fetched" },
    ],
    probe: Probe {
        name: "coordination-port",
        steps: "From the worker's own container: `etcdctl --endpoints ADDRESS endpoint health` (port 2379), `nc -zv HOST 4222` for NATS.",
        if_so: "Refused, or no answer: the service is down, or the address is another container's own localhost.",
        if_not: "It answers: compare the address with the one the worker was given.",
    },
    remedies: &[
        Remedy::of(
            Engine::Dynamo,
            "start etcd and NATS (with JetStream: `nats-server -js`) before the workers, or wait for them in the launcher",
            "none",
        ),
        Remedy::of(
            Engine::Dynamo,
            "in containers and pods set ETCD_ENDPOINTS and NATS_SERVER to the service's name: localhost is the container itself",
            "none",
        ),
        Remedy::any(
            "let the launcher wait until the service answers, and open its port between the machines",
            "none",
        ),
    ],
    effect: "The parts find each other and the start goes on.",
    confirm: "the log goes on with loading the model.",
    explains: ECHOES,
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let ended = Ended::by(e, &[Meaning::CoordinationUnreachable]);
    let w = ended.weigh(CAUSE.explains);
    ended.conclude(w, "the service its parts find each other through does not answer")
}
