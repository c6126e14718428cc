//! No attention kernel fits model, data type and card.

use intriage_engines::{Engine, Meaning};

use super::ECHOES;
use super::ended::Ended;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::Judgement;

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "attention-backend-unsupported",
    class: Class::Startup,
    layer: Layer::Configuration,
    hurts: &[Aspect::Availability],
    summary: "No attention backend can run this model on this card, or the one that was chosen cannot.",
    symptoms: &[
        "\"No valid attention backend found\"",
        "\"Selected backend … is not valid for this configuration\"",
        "\"FlashAttention only supports Ampere GPUs or newer\"",
    ],
    confirmed_by: &["the engine names the backend and why it refuses"],
    refuted_by: &["the server came up after that line, or answers"],
    look_alikes: &[
        LookAlike {
            cause: "gpu-architecture-unsupported",
            tell: "there the kernel exists and was not built for the card",
        },
        LookAlike { cause: "kernel-fallback-slow-path", tell: "there a slower backend takes over" },
    ],
    probe: Probe {
        name: "default-backend",
        steps: "Remove --attention-backend and VLLM_ATTENTION_BACKEND, and --kv-cache-dtype, and start again.",
        if_so: "It starts: the choice was the problem.",
        if_not: "It refuses all: the reasons in the line say which property no backend has.",
    },
    remedies: &[
        Remedy::of(
            Engine::Vllm,
            "remove --attention-backend and VLLM_ATTENTION_BACKEND so that one that fits is chosen; on cards before Ampere --attention-backend TRITON_ATTN with --dtype half",
            "slower attention",
        ),
        Remedy::of(
            Engine::Vllm,
            "--kv-cache-dtype auto, where the reasons name the KV cache type",
            "twice the KV memory",
        ),
        Remedy::of(Engine::Sglang, "--attention-backend triton", "slower attention"),
        Remedy::any("a release that supports the model on this card", "an upgrade"),
    ],
    effect: "An attention kernel that fits is used.",
    confirm: "the log names the attention backend in use.",
    explains: ECHOES,
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let ended = Ended::by(e, &[Meaning::AttentionUnsupported]);
    let w = ended.weigh(CAUSE.explains);
    ended.conclude(w, "no attention kernel fits model, data type and GPU")
}
