//! The process sees no GPU.

use intriage_case::Ratio;
use intriage_engines::{Engine, LogEvent, Meaning};

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
    id: "gpu-not-visible",
    class: Class::Startup,
    layer: Layer::Gpu,
    hurts: &[Aspect::Availability, Aspect::DecodeStep],
    summary: "The engine finds no GPU: the container was started without one, the variable that selects cards names none, or the build has no GPU support.",
    symptoms: &[
        "\"Failed to infer device type\", \"No CUDA GPUs are available\"",
        "the engine falls back to the CPU, or ends at once",
    ],
    confirmed_by: &["the engine or the CUDA runtime says that it found no GPU"],
    refuted_by: &["the server came up after that line, or answers"],
    look_alikes: &[
        LookAlike {
            cause: "driver-cuda-mismatch",
            tell: "there the runtime finds the card and refuses the driver",
        },
        LookAlike { cause: "gpu-ecc-xid-fault", tell: "there the card was lost: the kernel log has an Xid" },
    ],
    probe: Probe {
        name: "gpu-in-container",
        steps: "Run `nvidia-smi -L` inside the same container or service, and print CUDA_VISIBLE_DEVICES and NVIDIA_VISIBLE_DEVICES.",
        if_so: "No card is listed, or the variable names none of them.",
        if_not: "The cards are listed: look at the build (`python -c \"import torch; print(torch.version.cuda)\"` prints None for a CPU build).",
    },
    remedies: &[
        Remedy::any(
            "docker run --gpus all (with nvidia-container-toolkit installed and `nvidia-ctk runtime configure` done)",
            "none",
        ),
        Remedy::any(
            "Kubernetes: resources.limits nvidia.com/gpu: 1, the device plugin running, runtimeClassName: nvidia where the cluster uses one",
            "a GPU",
        ),
        Remedy::any("unset CUDA_VISIBLE_DEVICES, or name cards that `nvidia-smi -L` lists", "none"),
        Remedy::of(
            Engine::Vllm,
            "a CPU build of PyTorch was installed: reinstall with `uv pip install vllm --torch-backend=auto`; for a CPU server take the CPU image",
            "none",
        ),
        Remedy::of(
            Engine::LlamaCpp,
            "build with -DGGML_CUDA=ON (or take the server-cuda image), and start with -ngl 99",
            "none",
        ),
    ],
    effect: "The engine finds its card.",
    confirm: "the log names the card and its memory.",
    explains: ECHOES,
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    if let Some(line) = on_the_cpu(e) {
        return line;
    }
    let ended = Ended::by(e, &[Meaning::NoGpu, Meaning::NotBuiltForGpu]);
    let w = ended.weigh(CAUSE.explains);
    ended.conclude(w, "the process sees no GPU")
}

/// How sure a line makes that a GPU was meant: a server may be meant for the CPU.
const MEANT_FOR_A_GPU: f64 = 0.6;

/// The engine came up without a GPU: it serves, and slowly.
fn on_the_cpu(e: &Evidence<'_>) -> Option<Judgement> {
    let line = lately(e, Meaning::RunsOnCpu).filter(|_| e.observed.times.is_empty())?;
    let says = "no GPU was found, and the model runs on the CPU".to_owned();
    // llama.cpp warns before it has loaded what finds its GPUs.
    let found = |l: &&LogEvent| l.meaning == Meaning::LayersOffloaded && l.is_after(line);
    let layers =
        e.observed.log.events.iter().find(found).filter(|l| l.layers_on_gpu().is_some_and(|(n, _)| n > 0));
    let test = match layers {
        Some(layers) => {
            Test::Fails(told_by_log(layers, format!("layers are on a GPU: {:?}", layers.excerpt)))
        }
        None => Test::Holds(told_by_log(line, format!("the log says {:?}", line.excerpt))),
    };
    let impact = Impact { on: ImpactOn::Tpot, share: Ratio(0.5), time: None, says: says.clone() };
    let w = Weighing::new().requires(test).at_most_likely(MEANT_FOR_A_GPU);
    Some(w.conclude(says, impact))
}
