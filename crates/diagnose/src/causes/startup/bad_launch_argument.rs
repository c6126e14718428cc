//! The command line or the configuration was refused.

use intriage_engines::{Engine, Meaning};

use super::ECHOES;
use super::ended::Ended;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::Judgement;

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "bad-launch-argument",
    class: Class::Startup,
    layer: Layer::Configuration,
    hurts: &[Aspect::Availability],
    summary: "The engine refuses its command line: a flag it does not know, a value it does not take, two settings that exclude each other, a file that is not there.",
    symptoms: &[
        "\"unrecognized arguments\", \"invalid choice\", \"validation error for …Config\"",
        "the process ends within seconds, before any weight is loaded",
    ],
    confirmed_by: &["the engine names the flag or the value"],
    refuted_by: &["the server came up after that line, or answers"],
    look_alikes: &[
        LookAlike {
            cause: "context-window-exceeds-model",
            tell: "there the window is longer than the model",
        },
        LookAlike { cause: "parallelism-does-not-fit", tell: "there the number of GPUs does not fit" },
        LookAlike {
            cause: "config-not-applied",
            tell: "there the server runs, with other settings than asked for",
        },
    ],
    probe: Probe {
        name: "help",
        steps: "Look the flag up in `--help=all` of the same release.",
        if_so: "It is not there, or takes other values.",
        if_not: "It is there: quoting or the order of the arguments is wrong.",
    },
    remedies: &[
        Remedy::any(
            "write the flag as this release spells it (`--help`), or remove it: flags come and go between releases",
            "none",
        ),
        Remedy::of(
            Engine::Vllm,
            "quoting: JSON values in single quotes (--speculative-config '{\"method\":\"ngram\"}'); in a Kubernetes args list one element for each flag and value",
            "none",
        ),
    ],
    effect: "The engine takes its arguments.",
    confirm: "the log lists the arguments in use.",
    explains: ECHOES,
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let ended = Ended::by(e, &[Meaning::BadArgument, Meaning::RemoteCode, Meaning::ConfigurationRefused]);
    let w = ended.weigh(CAUSE.explains);
    let wants_code = ended.line().is_some_and(|line| line.meaning == Meaning::RemoteCode);
    let w = if wants_code {
        w.advise(
            "--trust-remote-code, after reading the code of the model",
            "the model's own code runs on the server",
        )
    } else {
        w
    };
    ended.conclude(w, "the command line or configuration is refused")
}
