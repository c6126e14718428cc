//! A file of the model is missing, cut off or damaged.

use intriage_engines::{Engine, Meaning};

use super::ECHOES;
use super::ended::Ended;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::Judgement;

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "model-files-damaged",
    class: Class::Startup,
    layer: Layer::Application,
    hurts: &[Aspect::Availability],
    summary: "The folder of the model lacks a file, or one was cut off or damaged: an interrupted download, a pointer of Git LFS, a full disk, the wrong folder.",
    symptoms: &[
        "\"does not appear to have a file named\", \"Cannot find any model weights with\"",
        "\"Error while deserializing header\"",
        "weights that were not initialized",
    ],
    confirmed_by: &["the loader names the file, or what is wrong with it"],
    refuted_by: &["the server came up after that line, or answers"],
    look_alikes: &[
        LookAlike { cause: "disk-full", tell: "there the download itself failed" },
        LookAlike { cause: "model-hub-auth", tell: "there nothing was downloaded" },
        LookAlike {
            cause: "model-architecture-unknown",
            tell: "there the files are sound and the release is too old",
        },
    ],
    probe: Probe {
        name: "file-sizes",
        steps: "List the folder with sizes (`ls -lL`) and compare with the page of the model; `head -c 200 FILE` shows a Git LFS pointer.",
        if_so: "A file is missing, much smaller, or a text of three lines.",
        if_not: "All sizes agree: compare checksums (`hf cache verify`, sha256sum).",
    },
    remedies: &[
        Remedy::any(
            "download again what is missing or short (`hf download NAME` resumes; delete *.incomplete and the broken file first); with git: `git lfs pull`",
            "time",
        ),
        Remedy::any(
            "point the server at the folder that holds config.json and the weights (a cache has them under snapshots/HASH)",
            "none",
        ),
        Remedy::of(
            Engine::Vllm,
            "weights in consolidated*.safetensors alone, as Mistral ships them: --load-format mistral --config-format mistral --tokenizer-mode mistral",
            "none",
        ),
    ],
    effect: "All weights are loaded.",
    confirm: "the log says how long the weights took to load.",
    explains: ECHOES,
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let ended = Ended::by(e, &[Meaning::ModelFiles]);
    let w = ended.weigh(CAUSE.explains);
    ended.conclude(w, "a file of the model is missing or damaged")
}
