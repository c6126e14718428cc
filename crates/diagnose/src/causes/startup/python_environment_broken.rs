//! The Python environment is broken.

use intriage_engines::{Engine, Meaning};

use super::ECHOES;
use super::ended::Ended;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::Judgement;

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "python-environment-broken",
    class: Class::Startup,
    layer: Layer::Application,
    hurts: &[Aspect::Availability],
    summary: "A module or library is missing, of another version than the engine was built with, or built for another PyTorch or CUDA.",
    symptoms: &[
        "ImportError, ModuleNotFoundError, \"undefined symbol\"",
        "\"libcudart.so.12: cannot open shared object file\"",
        "it began after a pip install",
    ],
    confirmed_by: &["Python or the loader names what it cannot import"],
    refuted_by: &["the server came up after that line, or answers"],
    look_alikes: &[
        LookAlike {
            cause: "driver-cuda-mismatch",
            tell: "there everything imports and the driver is too old",
        },
        LookAlike {
            cause: "model-architecture-unknown",
            tell: "there the release is sound and too old for the model",
        },
    ],
    probe: Probe {
        name: "fresh-environment",
        steps: "Install the release into a fresh environment, or take its image, and import it there.",
        if_so: "It imports: the environment was changed.",
        if_not: "It fails, too: the release does not fit this system.",
    },
    remedies: &[
        Remedy::of(
            Engine::Vllm,
            "a fresh environment: `uv venv && uv pip install vllm --torch-backend=auto`, and nothing installed over it that changes torch; or the image vllm/vllm-openai",
            "minutes",
        ),
        Remedy::of(
            Engine::Sglang,
            "a fresh environment: `uv pip install sglang`, with the sgl-kernel and FlashInfer releases it asks for; or the image lmsysorg/sglang",
            "minutes",
        ),
        Remedy::any(
            "the missing module in the version the release asks for (`pip check` lists what does not fit)",
            "none",
        ),
    ],
    effect: "Everything imports.",
    confirm: "`pip check` has nothing to say and the engine prints its version.",
    explains: ECHOES,
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let ended = Ended::by(e, &[Meaning::EnvironmentBroken]);
    let w = ended.weigh(CAUSE.explains);
    ended.conclude(w, "the Python environment is broken")
}
