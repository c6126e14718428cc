//! A file may not be read or written.

use intriage_engines::Meaning;

use super::ECHOES;
use super::ended::Ended;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::Judgement;

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "permission-denied",
    class: Class::Startup,
    layer: Layer::Application,
    hurts: &[Aspect::Availability],
    summary: "The user of the server may not read or write a file it needs: the model, a cache, a device.",
    symptoms: &["errno 13, \"Permission denied\", at start", "the same command works as another user"],
    confirmed_by: &["the operating system names the file"],
    refuted_by: &["the server came up after that line, or answers"],
    look_alikes: &[LookAlike { cause: "model-hub-auth", tell: "there the hub refuses, not the file system" }],
    probe: Probe {
        name: "who-may",
        steps: "Run `id` and `ls -ldn` for the path the line names, in the container.",
        if_so: "User or group do not match and others have no right.",
        if_not: "They match: SELinux, AppArmor or a read-only mount refuses.",
    },
    remedies: &[
        Remedy::any(
            "give the user of the server the right (chown, or docker run --user), or move caches where it may write: HF_HOME, VLLM_CACHE_ROOT, TRITON_CACHE_DIR, HOME",
            "none",
        ),
        Remedy::any("Kubernetes: securityContext with runAsUser and fsGroup that own the volume", "none"),
    ],
    effect: "The file can be used.",
    confirm: "the log goes past the line.",
    explains: ECHOES,
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let ended = Ended::by(e, &[Meaning::PermissionDenied]);
    let w = ended.weigh(CAUSE.explains);
    ended.conclude(w, "a file may not be read or written")
}
