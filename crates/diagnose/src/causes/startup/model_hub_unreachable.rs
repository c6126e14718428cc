//! The hub cannot be reached and the files are not here.

use intriage_engines::Meaning;

use super::ECHOES;
use super::ended::Ended;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::Judgement;

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "model-hub-unreachable",
    class: Class::Startup,
    layer: Layer::Network,
    hurts: &[Aspect::Availability],
    summary: "The server wants files from the hub, cannot reach it or may not, and its cache does not have them.",
    symptoms: &[
        "\"We couldn't connect to 'https://huggingface.co'\"",
        "\"outgoing traffic has been disabled\"",
        "the start hangs for minutes before it fails",
    ],
    confirmed_by: &["the hub's client says that it could not connect, or is told not to"],
    refuted_by: &["the server came up after that line, or answers"],
    look_alikes: &[
        LookAlike { cause: "model-hub-auth", tell: "there the hub answers and refuses" },
        LookAlike { cause: "model-files-damaged", tell: "there the files are here, in part" },
    ],
    probe: Probe {
        name: "hub-reach",
        steps: "Run `curl -sI https://huggingface.co` in the same container, and list the cache (`ls $HF_HOME/hub`).",
        if_so: "No answer, and the model is not in the cache.",
        if_not: "The hub answers: a proxy variable or HF_HUB_OFFLINE is set for the server alone.",
    },
    remedies: &[
        Remedy::any(
            "download once where there is a network (`hf download NAME --local-dir /models/NAME`), mount the folder and start with its path",
            "disk",
        ),
        Remedy::any(
            "let the server out: HTTPS_PROXY, DNS, the network policy of the pod; HF_ENDPOINT for a mirror",
            "none",
        ),
        Remedy::any(
            "HF_HUB_OFFLINE=1 only where the cache is complete (all of *.safetensors, tokenizer, config), and HF_HOME points to it",
            "none",
        ),
    ],
    effect: "The files are found.",
    confirm: "the log goes on to loading weights.",
    explains: ECHOES,
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let ended = Ended::by(e, &[Meaning::HubUnreachable]);
    let w = ended.weigh(CAUSE.explains);
    ended.conclude(w, "the model hub cannot be reached, and the files are not in the cache")
}
