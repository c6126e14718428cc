//! The release does not know the model's architecture.

use intriage_engines::{Engine, Meaning};

use super::ECHOES;
use super::ended::Ended;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::Judgement;

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "model-architecture-unknown",
    class: Class::Startup,
    layer: Layer::Configuration,
    hurts: &[Aspect::Availability],
    summary: "This release of the engine, or of Transformers below it, does not know the model's architecture.",
    symptoms: &[
        "\"Model architectures … are not supported for now\"",
        "\"Transformers does not recognize this architecture\"",
        "\"unknown model architecture\"",
        "a model that came out last week",
    ],
    confirmed_by: &["the engine or Transformers names the architecture it does not know"],
    refuted_by: &["the server came up after that line, or answers"],
    look_alikes: &[
        LookAlike { cause: "model-files-damaged", tell: "there config.json is missing or broken" },
        LookAlike { cause: "python-environment-broken", tell: "there a module of the model does not import" },
        LookAlike { cause: "bad-launch-argument", tell: "there the path names another model" },
    ],
    probe: Probe {
        name: "newer-release",
        steps: "Look up the architecture (config.json, \"architectures\") in the list of models of the newest release.",
        if_so: "It is there: upgrade.",
        if_not: "It is not: nobody supports it yet, or the name is misspelt.",
    },
    remedies: &[
        Remedy::of(
            Engine::Vllm,
            "a newer release (`uv pip install -U vllm`); for a model that only Transformers knows: `pip install -U transformers`, and --model-impl transformers",
            "an upgrade",
        ),
        Remedy::of(
            Engine::Sglang,
            "a newer release, and the Transformers release its notes name",
            "an upgrade",
        ),
        Remedy::of(Engine::LlamaCpp, "a newer llama.cpp, and a GGUF file converted by it", "an upgrade"),
        Remedy::of(Engine::Ollama, "a newer Ollama", "an upgrade"),
        Remedy::of(Engine::Tgi, "a newer release, or another engine: TGI is only maintained", "an upgrade"),
        Remedy::any("a release that lists the architecture", "an upgrade"),
    ],
    effect: "The model is recognised.",
    confirm: "the log names the resolved architecture.",
    explains: ECHOES,
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let ended = Ended::by(e, &[Meaning::ModelUnknown]);
    let w = ended.weigh(CAUSE.explains);
    ended.conclude(w, "this release does not know the model's architecture")
}
