//! The ranks do not find each other.

use intriage_engines::{Engine, Meaning};

use super::ECHOES;
use super::ended::Ended;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::Judgement;

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "collective-init-failure",
    class: Class::Startup,
    layer: Layer::Network,
    hurts: &[Aspect::Availability],
    summary: "The processes of one server cannot set up their communication: NCCL or the rendezvous fails, often because of an interface, a firewall, an address or a peer that died.",
    symptoms: &[
        "\"unhandled cuda error\", \"unhandled system error\", \"Timed out waiting for clients\"",
        "the start hangs for minutes after the ranks were started",
        "one GPU works, two do not",
    ],
    confirmed_by: &["NCCL or the rendezvous says that it failed, and no rank says anything before"],
    refuted_by: &["the server came up after that line, or answers"],
    look_alikes: &[
        LookAlike { cause: "shared-memory-too-small", tell: "there NCCL names shared memory" },
        LookAlike { cause: "gpu-ecc-xid-fault", tell: "there a card is broken" },
        LookAlike { cause: "collective-transport-fallback", tell: "there it works, over a slow way" },
        LookAlike { cause: "parallelism-does-not-fit", tell: "there the engine refuses the number of GPUs" },
    ],
    probe: Probe {
        name: "nccl-debug",
        steps: "Start with NCCL_DEBUG=INFO, and run all_reduce_perf of nccl-tests on the same machines.",
        if_so: "The tests fail, too: the line with WARN names interface, address or device.",
        if_not: "They pass: look at the environment of the server (NCCL_*, VLLM_HOST_IP, GLOO_SOCKET_IFNAME).",
    },
    remedies: &[
        Remedy::any(
            "name the interface that connects the machines: NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME, the same on all; open the ports between them",
            "none",
        ),
        Remedy::of(
            Engine::Vllm,
            "VLLM_HOST_IP with the address of each machine; one IP a node, not 127.0.0.1",
            "none",
        ),
        Remedy::any(
            "in a virtual machine or with ACS or IOMMU on: NCCL_P2P_DISABLE=1 to tell whether peer access is the problem",
            "slower between GPUs",
        ),
        Remedy::any(
            "\"Duplicate GPU detected\": a card of its own for each rank (CUDA_VISIBLE_DEVICES)",
            "none",
        ),
    ],
    effect: "The ranks find each other.",
    confirm: "the log names every rank and the start goes on.",
    explains: ECHOES,
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let ended = Ended::at_any_time(e, &[Meaning::CollectiveFailed]);
    let w = ended.weigh(CAUSE.explains);
    ended.conclude(w, "the ranks cannot communicate")
}
