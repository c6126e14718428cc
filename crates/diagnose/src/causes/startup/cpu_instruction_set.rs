//! The processor lacks instructions the program was built with.

use intriage_case::Ratio;
use intriage_engines::{Engine, Meaning};

use super::ECHOES;
use super::ended::Ended;
use crate::causes::shared::told_by_log;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::lately::lately;
use crate::symptoms::Aspect;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "cpu-instruction-set",
    class: Class::Startup,
    layer: Layer::Cpu,
    hurts: &[Aspect::Availability, Aspect::DecodeStep],
    summary: "The program was built for instructions (AVX2, AVX-512, AMX) that this processor, or its virtual machine, does not have.",
    symptoms: &[
        "\"Illegal instruction\", exit code 132, often without another word",
        "the same image runs on another machine",
    ],
    confirmed_by: &["the process ended with an illegal instruction"],
    refuted_by: &["the server came up after that line, or answers"],
    look_alikes: &[
        LookAlike { cause: "engine-crash-5xx", tell: "there the process had served before" },
        LookAlike { cause: "python-environment-broken", tell: "there a library does not load" },
    ],
    probe: Probe {
        name: "cpu-flags",
        steps: "Run `lscpu | grep -o -E \"avx2|avx512f|avx512_bf16|amx_bf16\"` on the machine.",
        if_so: "What the build needs is not listed.",
        if_not: "It is listed: a debugger (`gdb -ex run -ex \"x/i $pc\"`) names the instruction.",
    },
    remedies: &[
        Remedy::of(
            Engine::Vllm,
            "the CPU wheel or image of a release that has code for AVX2, or a build on this machine",
            "slower than AVX-512",
        ),
        Remedy::of(
            Engine::LlamaCpp,
            "build on this machine (-DGGML_NATIVE=ON), or with -DGGML_CPU_ALL_VARIANTS=ON -DGGML_BACKEND_DL=ON for many",
            "minutes of compiling",
        ),
        Remedy::any(
            "let the virtual machine have the CPU flags of its host (cpu: host-passthrough), or move to a newer machine",
            "none",
        ),
    ],
    effect: "The program runs on this processor.",
    confirm: "the process gets past its first line.",
    explains: ECHOES,
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    if let Some(slow) = without_a_gpu(e) {
        return slow;
    }
    let ended = Ended::by(e, &[Meaning::CpuInstruction]);
    let w = ended.weigh(CAUSE.explains);
    ended.conclude(w, "the processor lacks instructions the program was built with")
}

/// The server came up all the same: without the instructions its engine leaves the GPU alone, too, and is slow.
fn without_a_gpu(e: &Evidence<'_>) -> Option<Judgement> {
    let line = lately(e, Meaning::CpuInstruction).filter(|_| e.observed.times.is_empty())?;
    lately(e, Meaning::RunsOnCpu).filter(|cpu| cpu.is_after(line))?;
    let says = "the processor lacks vector instructions, so the engine leaves the GPU alone, too".to_owned();
    let impact = Impact { on: ImpactOn::Tpot, share: Ratio(0.5), time: None, says: says.clone() };
    let fact = told_by_log(line, format!("the log says {:?}", line.excerpt));
    Some(Weighing::new().requires(Test::Holds(fact)).explains(&["gpu-not-visible"]).conclude(says, impact))
}
