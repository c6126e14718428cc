//! Somebody else listens on the port.

use intriage_engines::Meaning;

use super::ECHOES;
use super::ended::Ended;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::Judgement;

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "port-in-use",
    class: Class::Startup,
    layer: Layer::Application,
    hurts: &[Aspect::Availability],
    summary: "Another process, often an earlier server that did not end, listens on the port.",
    symptoms: &[
        "\"Address already in use\", errno 98",
        "the start fails at the very end, after the weights are loaded, or at the rendezvous of the ranks",
    ],
    confirmed_by: &["the operating system refuses the port"],
    refuted_by: &["the server came up after that line, or answers"],
    look_alikes: &[
        LookAlike {
            cause: "vram-co-tenant-or-orphan",
            tell: "there an earlier server also holds the memory of the GPU",
        },
        LookAlike {
            cause: "probe-kills-loading-server",
            tell: "there the port is free and the start too slow",
        },
    ],
    probe: Probe {
        name: "port-owner",
        steps: "Run `ss -ltnp | grep :PORT` on the machine.",
        if_so: "A process is listed.",
        if_not: "None is: it ended meanwhile; start again.",
    },
    remedies: &[
        Remedy::any(
            "end the process that `ss -ltnp` names (an orphaned engine also holds GPU memory), or start with another --port",
            "whoever uses the other server",
        ),
        Remedy::any(
            "several ranks or servers on one machine: a port of its own for each (VLLM_PORT, --dist-init-addr, MASTER_PORT)",
            "none",
        ),
    ],
    effect: "The server can listen.",
    confirm: "the log names the address it listens on.",
    explains: ECHOES,
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let ended = Ended::until_it_answers(e, &[Meaning::PortInUse]);
    let w = ended.weigh(CAUSE.explains);
    ended.conclude(w, "another process listens on the port")
}
