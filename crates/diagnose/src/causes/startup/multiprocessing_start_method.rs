//! Processes are started in a way CUDA or Python does not allow.

use intriage_engines::{Engine, Meaning};

use super::ECHOES;
use super::ended::Ended;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::Judgement;

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "multiprocessing-start-method",
    class: Class::Startup,
    layer: Layer::Application,
    hurts: &[Aspect::Availability],
    summary: "A script used CUDA before the engine forked its workers, or starts the engine outside of a main guard.",
    symptoms: &[
        "\"Cannot re-initialize CUDA in forked subprocess\"",
        "\"An attempt has been made to start a new process before the current process has finished its bootstrapping phase\"",
    ],
    confirmed_by: &["PyTorch or multiprocessing says so"],
    refuted_by: &["the server came up after that line, or answers"],
    look_alikes: &[LookAlike {
        cause: "collective-init-failure",
        tell: "there the workers start and do not find each other",
    }],
    probe: Probe {
        name: "main-guard",
        steps: "Put the code under `if __name__ == \"__main__\":`, import nothing that touches CUDA before, and run again.",
        if_so: "It starts.",
        if_not: "It fails, too: a library touches CUDA at import; set the start method to spawn.",
    },
    remedies: &[
        Remedy::of(
            Engine::Vllm,
            "VLLM_WORKER_MULTIPROC_METHOD=spawn, and the script under `if __name__ == \"__main__\":`; no torch.cuda call before LLM()",
            "a slower start",
        ),
        Remedy::any(
            "start method spawn, and the script under `if __name__ == \"__main__\":`",
            "a slower start",
        ),
    ],
    effect: "The workers start.",
    confirm: "the log names every worker.",
    explains: ECHOES,
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let ended = Ended::by(e, &[Meaning::ForkedCuda]);
    let w = ended.weigh(CAUSE.explains);
    ended.conclude(w, "worker processes are started in a way that CUDA or Python does not allow")
}
