//! A compiled engine file was built by another release, or for another GPU.

use intriage_engines::{Engine, Meaning};

use super::ECHOES;
use super::ended::Ended;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::Judgement;

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "engine-file-incompatible",
    class: Class::Startup,
    layer: Layer::Configuration,
    hurts: &[Aspect::Availability],
    summary: "A compiled engine holds for the release of TensorRT and the kind of GPU it was built with; another release or card refuses to read it.",
    symptoms: &[
        "\"The engine plan file is not compatible with this version of TensorRT\"",
        "\"Version tag does not match\"",
        "it began with a new container image, or on a new machine",
    ],
    confirmed_by: &["the runtime names both versions, or both devices"],
    refuted_by: &["the server came up after that line, or answers"],
    look_alikes: &[
        LookAlike { cause: "model-files-damaged", tell: "there the file itself is cut off or broken" },
        LookAlike {
            cause: "gpu-architecture-unsupported",
            tell: "there the program lacks kernels for the card",
        },
    ],
    probe: Probe {
        name: "engine-versions",
        steps: "Compare `pip show tensorrt_llm tensorrt` in the container that built the engine with the one that serves it; config.json beside the engine names its version.",
        if_so: "They differ.",
        if_not: "They agree: it was built for another GPU.",
    },
    remedies: &[
        Remedy::of(
            Engine::TensorRtLlm,
            "build the engine again (`trtllm-build`) inside the image that serves it, on the same kind of GPU",
            "minutes to an hour of build time",
        ),
        Remedy::of(
            Engine::TensorRtLlm,
            "or serve with the release that built it: tags of the Triton image and of TensorRT-LLM belong together",
            "an older release",
        ),
        Remedy::any("pin the version of the image beside the engine's files", "none"),
    ],
    effect: "The engine is read.",
    confirm: "the log says that the engine was loaded.",
    explains: ECHOES,
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let ended = Ended::by(e, &[Meaning::EngineFileUnfit]);
    let w = ended.weigh(CAUSE.explains);
    ended.conclude(w, "its engine file was built by another release of TensorRT, or for another GPU")
}
