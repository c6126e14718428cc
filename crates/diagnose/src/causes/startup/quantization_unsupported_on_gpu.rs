//! The GPU or the build cannot run the quantized format.

use intriage_engines::Meaning;

use super::ECHOES;
use super::ended::Ended;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::Judgement;

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "quantization-unsupported-on-gpu",
    class: Class::Startup,
    layer: Layer::Gpu,
    hurts: &[Aspect::Availability],
    summary: "The checkpoint is quantized in a format that this card, platform or build has no kernel for.",
    symptoms: &[
        "\"The quantization method fp8 is not supported for the current GPU\"",
        "a Marlin, FP8 or FP4 kernel refuses the card",
    ],
    confirmed_by: &["the engine names the format and what it needs"],
    refuted_by: &["the server came up after that line, or answers"],
    look_alikes: &[
        LookAlike { cause: "dtype-unsupported-on-gpu", tell: "there the plain data type is the problem" },
        LookAlike { cause: "kernel-fallback-slow-path", tell: "there it runs, slowly" },
        LookAlike { cause: "bad-launch-argument", tell: "there flag and checkpoint name different formats" },
    ],
    probe: Probe {
        name: "other-format",
        steps: "Start the unquantized model, or one in AWQ or GPTQ with 4 bits, on the same card.",
        if_so: "It starts: the format is the problem.",
        if_not: "It fails too: follow that line.",
    },
    remedies: &[
        Remedy::any(
            "a checkpoint in a format the card runs: FP8 needs 8.9 (Ada, Hopper) or weight-only kernels from 8.0; FP4 needs Blackwell; AWQ and GPTQ run from 7.5",
            "quality: gate on an evaluation",
        ),
        Remedy::any("a card with units for the format", "hardware"),
    ],
    effect: "The server starts with a format the card has kernels for.",
    confirm: "the log names the kernel it uses for the quantized layers.",
    explains: ECHOES,
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let ended = Ended::by(e, &[Meaning::QuantizationUnsupported]);
    let w = ended.weigh(CAUSE.explains);
    ended.conclude(w, "the GPU cannot run the quantized format of the model")
}
