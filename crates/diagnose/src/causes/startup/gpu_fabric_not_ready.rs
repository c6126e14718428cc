//! The fabric between GPUs is not ready.

use intriage_engines::Meaning;

use super::ECHOES;
use super::ended::Ended;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::Judgement;

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "gpu-fabric-not-ready",
    class: Class::Startup,
    layer: Layer::Gpu,
    hurts: &[Aspect::Availability],
    summary: "The GPUs of an NVSwitch machine cannot be used until the fabric manager runs in the same version as the driver.",
    symptoms: &[
        "CUDA error 802, \"system not yet initialized\", on a machine with NVSwitch",
        "nvidia-smi lists the cards all the same",
    ],
    confirmed_by: &["the runtime says that the system is not yet initialized"],
    refuted_by: &["the server came up after that line, or answers"],
    look_alikes: &[
        LookAlike { cause: "driver-cuda-mismatch", tell: "there the error is 35, 803 or 804" },
        LookAlike { cause: "gpu-not-visible", tell: "there nvidia-smi in the container shows no card" },
    ],
    probe: Probe {
        name: "fabric-manager",
        steps: "Run `systemctl status nvidia-fabricmanager` and `nvidia-smi -q | grep -A2 Fabric` on the machine.",
        if_so: "The service is down, of another version than the driver, or the state is not Completed.",
        if_not: "It runs and the state is Completed: look at the driver and at MIG.",
    },
    remedies: &[
        Remedy::any(
            "systemctl enable --now nvidia-fabricmanager, in exactly the version of the driver (package nvidia-fabricmanager-VERSION); then restart the container",
            "none",
        ),
        Remedy::any(
            "in a virtual machine with a part of the GPUs: the fabric manager runs on the host, and the partition must be active",
            "the provider does this",
        ),
    ],
    effect: "The start gets past the first call into CUDA.",
    confirm: "`nvidia-smi -q` shows Fabric State: Completed, Status: Success for every GPU.",
    explains: ECHOES,
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let ended = Ended::by(e, &[Meaning::FabricNotReady]);
    let w = ended.weigh(CAUSE.explains);
    ended.conclude(w, "the fabric between the GPUs is not ready (CUDA error 802)")
}
