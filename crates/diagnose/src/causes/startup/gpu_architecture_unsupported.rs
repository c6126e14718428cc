//! The kernels were not built for this generation of GPUs.

use intriage_engines::{Engine, Meaning};

use super::ECHOES;
use super::ended::Ended;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::Judgement;

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "gpu-architecture-unsupported",
    class: Class::Startup,
    layer: Layer::Gpu,
    hurts: &[Aspect::Availability],
    summary: "PyTorch or a kernel library was built without code for this GPU: the card is newer or older than the build.",
    symptoms: &[
        "\"no kernel image is available for execution on the device\"",
        "a warning that sm_NN is not compatible with the PyTorch installation",
        "ptxas does not know the architecture",
    ],
    confirmed_by: &["the runtime finds no kernel for the card, or the compiler does not know it"],
    refuted_by: &["the server came up after that line, or answers"],
    look_alikes: &[
        LookAlike { cause: "driver-cuda-mismatch", tell: "there the driver is the older part" },
        LookAlike { cause: "dtype-unsupported-on-gpu", tell: "there the engine itself names the data type" },
        LookAlike {
            cause: "quantization-unsupported-on-gpu",
            tell: "there the engine names the format and the least capability",
        },
    ],
    probe: Probe {
        name: "arch-list",
        steps: "Compare `nvidia-smi --query-gpu=compute_cap --format=csv` with `python -c \"import torch; print(torch.cuda.get_arch_list())\"`.",
        if_so: "The capability of the card is not in the list.",
        if_not: "It is: another library (flash-attn, FlashInfer, a custom kernel) lacks it; the traceback names it.",
    },
    remedies: &[
        Remedy::of(
            Engine::Vllm,
            "a newer release and wheel: Blackwell (sm_100, sm_120) needs PyTorch 2.7 with CUDA 12.8 or newer: `uv pip install -U vllm --torch-backend=auto`",
            "an upgrade",
        ),
        Remedy::of(
            Engine::Vllm,
            "build from source for the card: TORCH_CUDA_ARCH_LIST with its compute capability, then pip install -e . (Volta and older: the last release that still built for them)",
            "an hour of compiling",
        ),
        Remedy::of(
            Engine::Sglang,
            "the image with the CUDA of the card (lmsysorg/sglang:latest, or the -blackwell tag of its time), sgl-kernel in the same version",
            "an upgrade",
        ),
        Remedy::of(Engine::LlamaCpp, "build with -DCMAKE_CUDA_ARCHITECTURES=native", "minutes of compiling"),
        Remedy::any("an engine release and image built for this card", "an upgrade"),
    ],
    effect: "Kernels run on the card.",
    confirm: "the engine gets through its first forward pass.",
    explains: ECHOES,
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let ended = Ended::until_it_answers(e, &[Meaning::NoKernelImage]);
    let w = ended.weigh(CAUSE.explains);
    ended.conclude(w, "a kernel has no code for this generation of GPUs")
}
