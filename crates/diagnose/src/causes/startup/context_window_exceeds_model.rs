//! The context window is longer than the model allows.

use intriage_engines::{Engine, Meaning};

use super::ECHOES;
use super::ended::Ended;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::Judgement;

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "context-window-exceeds-model",
    class: Class::Startup,
    layer: Layer::Configuration,
    hurts: &[Aspect::Availability],
    summary: "The window that was asked for is longer than the positions the model was made for.",
    symptoms: &["\"User-specified max_model_len is greater than the derived max_model_len\""],
    confirmed_by: &["the engine names both lengths"],
    refuted_by: &["the server came up after that line, or answers"],
    look_alikes: &[
        LookAlike {
            cause: "weights-leave-no-kv",
            tell: "there the window fits the model and not the memory",
        },
        LookAlike {
            cause: "client-request-rejected",
            tell: "there the server runs and a request is too long",
        },
    ],
    probe: Probe {
        name: "positions",
        steps: "Read max_position_embeddings and rope_scaling (or rope_parameters) in config.json.",
        if_so: "The flag is above it.",
        if_not: "It is not: a tokenizer or sliding-window limit binds.",
    },
    remedies: &[
        Remedy::of(
            Engine::Vllm,
            "remove --max-model-len (the length of the model is taken), or set it to the derived length",
            "longer requests are refused",
        ),
        Remedy::of(
            Engine::Vllm,
            "where the model is made for it: --hf-overrides with the rope_parameters of its card (YaRN); VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 only for models whose card says so",
            "quality on short prompts; wrong answers beyond the trained length",
        ),
        Remedy::of(
            Engine::Sglang,
            "--context-length at most the length of the model; SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1 only with the scaling of its card",
            "wrong answers beyond the trained length",
        ),
        Remedy::any("a window within the model, or a model with a longer one", "none"),
    ],
    effect: "The start gets past its checks.",
    confirm: "the log names the window in use.",
    explains: ECHOES,
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let ended = Ended::by(e, &[Meaning::ContextBeyondModel]);
    let w = ended.weigh(CAUSE.explains);
    let most =
        ended.number_behind("max_position_embeddings=").or_else(|| ended.number_behind("model_max_length="));
    let w = match most {
        Some(most) => w.advise(format!("--max-model-len {most:.0}"), "longer requests are refused"),
        None => w,
    };
    ended.conclude(w, "the context window is longer than the model allows")
}
