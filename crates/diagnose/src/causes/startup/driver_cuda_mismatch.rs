//! The driver is older than the CUDA runtime of the engine needs.

use intriage_engines::{Engine, Meaning};

use super::ECHOES;
use super::ended::Ended;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::Judgement;

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "driver-cuda-mismatch",
    class: Class::Startup,
    layer: Layer::Gpu,
    hurts: &[Aspect::Availability],
    summary: "The NVIDIA driver on the machine is older than the CUDA runtime inside the image or the wheel needs, or a compatibility library gets in between.",
    symptoms: &[
        "CUDA error 35, 803 or 804, or \"driver on your system is too old\" before any weight is loaded",
        "the same image runs on another machine",
    ],
    confirmed_by: &["the runtime says that driver and runtime do not fit"],
    refuted_by: &["the server came up after that line, or answers"],
    look_alikes: &[
        LookAlike { cause: "gpu-not-visible", tell: "there the runtime finds no GPU at all" },
        LookAlike {
            cause: "gpu-architecture-unsupported",
            tell: "there the driver is new enough and the kernels lack the card",
        },
        LookAlike {
            cause: "gpu-fabric-not-ready",
            tell: "there the error is 802: the driver waits for the fabric manager",
        },
    ],
    probe: Probe {
        name: "driver-version",
        steps: "Compare `nvidia-smi` (driver and highest CUDA) with `python -c \"import torch; print(torch.version.cuda)\"` in the image.",
        if_so: "The CUDA of the image is newer than the driver allows.",
        if_not: "Both fit: look for a compat library in LD_LIBRARY_PATH (error 804).",
    },
    remedies: &[
        Remedy::any(
            "install a driver for the CUDA of the image (CUDA 12.x: 525 or newer, CUDA 13.x: 580 or newer), or take an image built for the CUDA that `nvidia-smi` shows",
            "a reboot of the machine, or an older release",
        ),
        Remedy::any(
            "error 804: remove /usr/local/cuda/compat from LD_LIBRARY_PATH: forward compatibility works on data-centre cards only",
            "none",
        ),
        Remedy::of(
            Engine::Vllm,
            "a wheel for an older CUDA: `uv pip install vllm --torch-backend=auto` picks the one the driver allows",
            "an older CUDA has fewer kernels",
        ),
    ],
    effect: "The start gets past the first call into CUDA.",
    confirm: "`python -c \"import torch; torch.zeros(1).cuda()\"` in the same container ends without an error.",
    explains: ECHOES,
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    // Kernels are loaded when they are first used: a server may say that it is ready before.
    let ended = Ended::until_it_answers(e, &[Meaning::DriverTooOld]);
    let w = ended.weigh(CAUSE.explains);
    ended.conclude(w, "the GPU driver is older than the CUDA runtime needs")
}
