//! /dev/shm is too small.

use intriage_engines::Meaning;

use super::ECHOES;
use super::ended::Ended;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::Judgement;

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "shared-memory-too-small",
    class: Class::Startup,
    layer: Layer::Memory,
    hurts: &[Aspect::Availability],
    summary: "Processes of one server talk through /dev/shm, and the container has too little of it: 64 MB by default.",
    symptoms: &[
        "\"No space left on device\" for a file in /dev/shm",
        "\"unable to allocate shared memory(shm)\", \"Bus error\"",
        "only with several GPUs or workers",
    ],
    confirmed_by: &["a line names shared memory that could not be had"],
    refuted_by: &["the server came up after that line, or answers"],
    look_alikes: &[
        LookAlike { cause: "disk-full", tell: "there the full device is a disk" },
        LookAlike { cause: "collective-init-failure", tell: "there NCCL fails for another reason" },
        LookAlike { cause: "host-oom-kill", tell: "there the memory of the machine is used up" },
    ],
    probe: Probe {
        name: "df-shm",
        steps: "Run `df -h /dev/shm` inside the container.",
        if_so: "It is 64 MB, or full.",
        if_not: "There are gigabytes left: old segments of dead processes may hold them (`ls -la /dev/shm`).",
    },
    remedies: &[
        Remedy::any(
            "docker run --ipc=host, or --shm-size=16g",
            "shared memory counts as memory of the container",
        ),
        Remedy::any("compose: shm_size: \"16gb\"", "shared memory counts as memory of the container"),
        Remedy::any(
            "Kubernetes: an emptyDir with medium: Memory and sizeLimit: 16Gi, mounted at /dev/shm",
            "counts against the memory limit of the pod",
        ),
        Remedy::any("delete segments that dead processes left in /dev/shm", "none"),
    ],
    effect: "Workers can share memory.",
    confirm: "`df -h /dev/shm` shows room while the server runs.",
    explains: ECHOES,
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let ended = Ended::at_any_time(e, &[Meaning::SharedMemoryShort]);
    let w = ended.weigh(CAUSE.explains);
    ended.conclude(w, "shared memory (/dev/shm) is too small")
}
