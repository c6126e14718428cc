//! The hub refuses the model.

use intriage_engines::Meaning;

use super::ECHOES;
use super::ended::Ended;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::Judgement;

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "model-hub-auth",
    class: Class::Startup,
    layer: Layer::Application,
    hurts: &[Aspect::Availability],
    summary: "The hub does not hand out the model: it is gated or private and the token is missing or has no access, or there is no model of that name.",
    symptoms: &[
        "401 or 403 from huggingface.co",
        "\"You are trying to access a gated repo\"",
        "\"is not a local folder and is not a valid model identifier\"",
    ],
    confirmed_by: &["the hub or its client refuses the model"],
    refuted_by: &["the server came up after that line, or answers"],
    look_alikes: &[
        LookAlike { cause: "model-hub-unreachable", tell: "there the hub does not answer at all" },
        LookAlike { cause: "model-files-damaged", tell: "there the folder exists and lacks a file" },
        LookAlike { cause: "permission-denied", tell: "there a local file may not be read" },
    ],
    probe: Probe {
        name: "hub-token",
        steps: "Run `hf auth whoami` and `hf download NAME config.json` with the same token and user as the server.",
        if_so: "The same refusal.",
        if_not: "It downloads: the server has another token, user or cache.",
    },
    remedies: &[
        Remedy::any(
            "accept the terms on the page of the model with the account of the token, and pass it: HF_TOKEN in the environment of the server (docker run -e HF_TOKEN, Kubernetes: a secret)",
            "none",
        ),
        Remedy::any(
            "check the name letter by letter; a local folder must exist inside the container (-v /models:/models)",
            "none",
        ),
    ],
    effect: "The files are downloaded.",
    confirm: "the log goes on to loading weights.",
    explains: ECHOES,
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let ended = Ended::by(e, &[Meaning::HubAuth]);
    let w = ended.weigh(CAUSE.explains);
    ended.conclude(w, "the model hub refuses the model")
}
