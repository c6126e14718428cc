//! An adapter has a higher rank than the server allows.

use intriage_engines::{Engine, Meaning};

use super::ECHOES;
use super::ended::Ended;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::Judgement;

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "lora-rank-limit",
    class: Class::Startup,
    layer: Layer::Configuration,
    hurts: &[Aspect::Availability],
    summary: "The LoRA adapter has a higher rank than the server set aside memory for.",
    symptoms: &[
        "\"LoRA rank 64 is greater than max_lora_rank 16\"",
        "the base model starts without the adapter",
    ],
    confirmed_by: &["the engine names both ranks"],
    refuted_by: &["the server came up after that line, or answers"],
    look_alikes: &[
        LookAlike { cause: "bad-launch-argument", tell: "there the flag itself is wrong" },
        LookAlike { cause: "model-files-damaged", tell: "there adapter files are missing" },
    ],
    probe: Probe {
        name: "adapter-rank",
        steps: "Read \"r\" in adapter_config.json.",
        if_so: "It is above --max-lora-rank (16 by default).",
        if_not: "It is not: rank_pattern may hold higher ones.",
    },
    remedies: &[
        Remedy::of(
            Engine::Vllm,
            "--max-lora-rank N with N at least the rank of the adapter (8, 16, 32, 64, 128, 256, 320, 512)",
            "memory and time for every adapter slot",
        ),
        Remedy::of(Engine::Sglang, "--max-lora-rank N", "memory for every adapter slot"),
    ],
    effect: "The adapter is loaded.",
    confirm: "/v1/models lists the adapter.",
    explains: ECHOES,
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let ended = Ended::by(e, &[Meaning::LoraRank]);
    let w = ended.weigh(CAUSE.explains);
    let w = match ended.number_behind("LoRA rank ") {
        Some(rank) => {
            w.advise(format!("--max-lora-rank {rank:.0}"), "memory and time for every adapter slot")
        }
        None => w,
    };
    ended.conclude(w, "the adapter's rank is above the limit")
}
