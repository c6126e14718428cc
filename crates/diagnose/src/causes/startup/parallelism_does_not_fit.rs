//! The model cannot be split over so many GPUs.

use intriage_engines::{Engine, Meaning};

use super::ECHOES;
use super::ended::Ended;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::Judgement;

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "parallelism-does-not-fit",
    class: Class::Startup,
    layer: Layer::Configuration,
    hurts: &[Aspect::Availability],
    summary: "The number of GPUs asked for does not divide the heads or the quantized blocks of the model, or there are fewer GPUs.",
    symptoms: &[
        "\"must be divisible by tensor parallel size\"",
        "\"World size (8) is larger than the number of available GPUs (4)\"",
        "\"is not divisible by weight quantization block_n = 128\"",
    ],
    confirmed_by: &["the engine names both numbers"],
    refuted_by: &["the server came up after that line, or answers"],
    look_alikes: &[
        LookAlike { cause: "gpu-not-visible", tell: "there no GPU is found at all" },
        LookAlike {
            cause: "collective-init-failure",
            tell: "there the ranks start and do not find each other",
        },
    ],
    probe: Probe {
        name: "divide",
        steps: "Divide num_attention_heads, num_key_value_heads and intermediate_size of config.json by the number of GPUs, and count them with `nvidia-smi -L`.",
        if_so: "One of them leaves a rest, or there are fewer GPUs.",
        if_not: "All divide: the traceback names the layer.",
    },
    remedies: &[
        Remedy::of(
            Engine::Vllm,
            "--tensor-parallel-size with a number that divides the attention heads (2, 4, 8), and --pipeline-parallel-size for the rest",
            "latency by pipeline stages",
        ),
        Remedy::of(
            Engine::Vllm,
            "mixture of experts in FP8 blocks: --enable-expert-parallel with --data-parallel-size keeps experts whole",
            "memory for attention on every rank",
        ),
        Remedy::of(
            Engine::Sglang,
            "--tp with a number that divides the heads; --dp, --ep or --pp-size for the rest",
            "latency",
        ),
        Remedy::any(
            "as many GPUs as are visible, in a number that divides the heads",
            "fewer GPUs hold less KV",
        ),
    ],
    effect: "Every rank gets its part.",
    confirm: "the log names every rank.",
    explains: ECHOES,
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let ended = Ended::by(e, &[Meaning::ParallelismUnfit]);
    let w = ended.weigh(CAUSE.explains);
    ended.conclude(w, "the model cannot be split as asked")
}
