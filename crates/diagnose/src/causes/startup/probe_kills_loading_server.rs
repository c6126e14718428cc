//! A probe kills the server while it loads.

use intriage_engines::Meaning;

use super::ECHOES;
use super::ended::Ended;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::Judgement;

/// What failed probes say where nobody says that they ended the server.
const UNTOLD: f64 = 0.6;

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "probe-kills-loading-server",
    class: Class::Startup,
    layer: Layer::Configuration,
    hurts: &[Aspect::Availability],
    summary: "Kubernetes restarts the server because its liveness or startup probe fails while weights are loaded and kernels compiled.",
    symptoms: &[
        "the pod restarts again and again at about the same point of its start",
        "\"failed liveness probe, will be restarted\"",
        "exit code 137 or 143 without another error",
    ],
    confirmed_by: &["the kubelet says that it restarts the container because of a probe"],
    refuted_by: &["the server came up after that line, or answers"],
    look_alikes: &[
        LookAlike { cause: "host-oom-kill", tell: "there the reason is OOMKilled" },
        LookAlike {
            cause: "slow-model-storage",
            tell: "there the weights take long to read, and nobody kills",
        },
    ],
    probe: Probe {
        name: "without-probe",
        steps: "Remove the liveness probe once and watch the start to its end.",
        if_so: "It comes up: the probe was too early.",
        if_not: "It fails by itself: its log says why.",
    },
    remedies: &[
        Remedy::any(
            "a startupProbe on /health with failureThreshold times periodSeconds above twice the longest start (for example periodSeconds: 10, failureThreshold: 180), and the livenessProbe only after it",
            "a broken start is noticed later",
        ),
        Remedy::any(
            "shorten the start: weights on local disk, the compile cache kept on a volume",
            "storage",
        ),
    ],
    effect: "The server gets the time it needs.",
    confirm: "the pod is ready and its restart count stands still.",
    explains: ECHOES,
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let killed = Ended::at_any_time(e, &[Meaning::ProbeKilled]);
    let failed = Ended::by(e, &[Meaning::ProbeFailed]);
    if killed.line().is_some() || failed.line().is_none() {
        let w = killed.weigh(CAUSE.explains);
        return killed.conclude(w, "a probe kills it while it loads");
    }
    let mut w = failed.weigh(CAUSE.explains);
    if failed.is_first() {
        w = w.at_most_likely(UNTOLD);
    }
    failed.conclude(w, "a probe that may end it fails while it loads")
}
