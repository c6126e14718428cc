//! A kernel that is compiled at start could not be: the compiler, its headers or a build tool is missing.

use intriage_engines::{Engine, Meaning};

use super::ECHOES;
use super::ended::Ended;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::Judgement;

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "kernel-compile-failed",
    class: Class::Startup,
    layer: Layer::Configuration,
    hurts: &[Aspect::Availability],
    summary: "Triton, FlashInfer and torch.compile build kernels when a server starts, and the machine lacks a compiler, Python's headers, nvcc or ninja.",
    symptoms: &[
        "\"Failed to find C compiler\", \"Python.h: No such file or directory\", \"No such file or directory: 'ninja'\"",
        "the weights are loaded, and the start fails while it compiles or captures graphs",
        "a slim image, or a wheel on a machine without development packages",
    ],
    confirmed_by: &["the builder names what it lacks"],
    refuted_by: &["the server came up after that line, or answers"],
    look_alikes: &[
        LookAlike {
            cause: "gpu-architecture-unsupported",
            tell: "there the compiler runs and does not know the card",
        },
        LookAlike {
            cause: "python-environment-broken",
            tell: "there a Python module or a built library is missing",
        },
    ],
    probe: Probe {
        name: "build-tools",
        steps: "In the server's own environment: `gcc --version`, `ninja --version`, `nvcc --version`, `python3-config --includes`.",
        if_so: "One of them is not found.",
        if_not: "All answer: the server runs with another PATH, or CC and CUDA_HOME point elsewhere.",
    },
    remedies: &[
        Remedy::any(
            "install what is missing: `apt-get install build-essential python3-dev`, `pip install ninja`, the CUDA toolkit for nvcc",
            "a larger image",
        ),
        Remedy::any("take the engine's own image, which has all of it", "none"),
        Remedy::of(
            Engine::Vllm,
            "--enforce-eager compiles nothing",
            "slower tokens: a way to come up, not to stay",
        ),
        Remedy::of(
            Engine::Sglang,
            "--attention-backend triton and --sampling-backend pytorch do without FlashInfer's build",
            "slower attention",
        ),
    ],
    effect: "Kernels are built, and the start goes on.",
    confirm: "the log goes on with capturing graphs and says that the server is up.",
    explains: ECHOES,
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let ended = Ended::by(e, &[Meaning::KernelBuild]);
    let w = ended.weigh(CAUSE.explains);
    ended.conclude(w, "a kernel could not be compiled")
}
