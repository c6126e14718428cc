//! The GPU cannot compute in the data type.

use intriage_engines::{Engine, Meaning};

use super::ECHOES;
use super::ended::Ended;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::Judgement;

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "dtype-unsupported-on-gpu",
    class: Class::Startup,
    layer: Layer::Gpu,
    hurts: &[Aspect::Availability],
    summary: "The checkpoint asks for a data type that the card has no units for, such as bfloat16 before Ampere.",
    symptoms: &[
        "\"Bfloat16 is only supported on GPUs with compute capability …\"",
        "the same model runs on a newer card",
    ],
    confirmed_by: &["the engine names the data type and the capability it needs"],
    refuted_by: &["the server came up after that line, or answers"],
    look_alikes: &[
        LookAlike {
            cause: "quantization-unsupported-on-gpu",
            tell: "there the format of the weights is the problem",
        },
        LookAlike {
            cause: "gpu-architecture-unsupported",
            tell: "there any kernel fails, whatever the type",
        },
    ],
    probe: Probe {
        name: "float16",
        steps: "Start once with --dtype half.",
        if_so: "It starts.",
        if_not: "It fails in another way: follow that line.",
    },
    remedies: &[
        Remedy::of(
            Engine::Vllm,
            "--dtype half",
            "models trained in bfloat16 can overflow in float16: check the output",
        ),
        Remedy::of(
            Engine::Sglang,
            "--dtype float16",
            "models trained in bfloat16 can overflow in float16: check the output",
        ),
        Remedy::of(
            Engine::Tgi,
            "--dtype float16",
            "models trained in bfloat16 can overflow in float16: check the output",
        ),
        Remedy::any("a card of compute capability 8.0 or newer (A100, L4, RTX 30 and later)", "hardware"),
    ],
    effect: "The server starts in a type the card has.",
    confirm: "the log says that it casts to float16, and answers are sound.",
    explains: ECHOES,
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let ended = Ended::by(e, &[Meaning::DtypeUnsupported]);
    let w = ended.weigh(CAUSE.explains);
    ended.conclude(w, "the GPU cannot compute in the data type of the model")
}
