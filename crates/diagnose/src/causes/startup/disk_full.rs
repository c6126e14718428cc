//! A disk is full.

use intriage_engines::Meaning;

use super::ECHOES;
use super::ended::Ended;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::Judgement;

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "disk-full",
    class: Class::Startup,
    layer: Layer::Memory,
    hurts: &[Aspect::Availability],
    summary: "The disk that takes the model, the compile cache or temporary files is full.",
    symptoms: &[
        "errno 28, \"No space left on device\", while files are downloaded, kernels compiled or a cache is written",
    ],
    confirmed_by: &["the operating system finds no space on a disk"],
    refuted_by: &["the server came up after that line, or answers"],
    look_alikes: &[
        LookAlike { cause: "shared-memory-too-small", tell: "there the device is /dev/shm" },
        LookAlike { cause: "model-files-damaged", tell: "there an earlier full disk left a short file" },
    ],
    probe: Probe {
        name: "df",
        steps: "Run `df -h` and `df -i` in the container for HF_HOME, /tmp and ~/.cache.",
        if_so: "One is at 100 %, in bytes or in files.",
        if_not: "There is room: a quota or an ephemeral-storage limit of the pod binds.",
    },
    remedies: &[
        Remedy::any(
            "delete old models and caches (`hf cache ls`, `hf cache rm`, ~/.cache/vllm, ~/.triton), then start again",
            "downloads and compiles again",
        ),
        Remedy::any(
            "put HF_HOME, TMPDIR and VLLM_CACHE_ROOT on a larger volume; Kubernetes: a volume instead of the container file system, ephemeral-storage raised",
            "storage",
        ),
    ],
    effect: "The download or the compile gets through.",
    confirm: "`df -h` shows room after the start.",
    explains: ECHOES,
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let ended = Ended::at_any_time(e, &[Meaning::DiskFull]);
    let w = ended.weigh(CAUSE.explains);
    ended.conclude(w, "a disk is full")
}
