//! The server was killed for lack of host memory.

use intriage_case::{Fact, Source};
use intriage_engines::{Engine, Meaning, Thrown};

use super::ECHOES;
use super::ended::Ended;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::{Judgement, Test};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "host-oom-kill",
    class: Class::Startup,
    layer: Layer::Memory,
    hurts: &[Aspect::Availability],
    summary: "The kernel or a memory limit killed the server: loading weights, pinned buffers and caches took more host memory than the machine or the container has.",
    symptoms: &[
        "\"Killed\" and nothing else; exit code 137 or -9",
        "OOMKilled in `kubectl describe pod`",
        "Ray: \"killed due to the node running low on memory\"",
    ],
    confirmed_by: &[
        "the kernel, the container runtime or Ray says that it killed the process for memory, or the process ended with signal 9",
    ],
    refuted_by: &[
        "the server came up after that line, or answers",
        "an exception had ended it before, and nobody but a shell tells of the signal",
    ],
    look_alikes: &[
        LookAlike { cause: "probe-kills-loading-server", tell: "there the kubelet names a probe" },
        LookAlike { cause: "weights-leave-no-kv", tell: "there the memory of the GPU is short" },
        LookAlike { cause: "engine-crash-5xx", tell: "there the process ended by itself" },
    ],
    probe: Probe {
        name: "who-killed",
        steps: "Look for \"Out of memory: Killed process\" in `dmesg -T`, and for OOMKilled in `kubectl describe pod` or `docker inspect`.",
        if_so: "The kill stands there with the process and its size.",
        if_not: "Nothing: somebody ended it with kill -9, or a probe did.",
    },
    remedies: &[
        Remedy::any(
            "raise the memory limit of the container above the size of the checkpoint plus 8 to 16 GB for each GPU process; /dev/shm and page cache of tmpfs count too",
            "memory",
        ),
        Remedy::of(
            Engine::Vllm,
            "less host memory: --safetensors-load-strategy lazy, no --cpu-offload-gb, a smaller --mm-processor-cache-gb, fewer --max-parallel-loading-workers",
            "a slower start",
        ),
        Remedy::any(
            "several ranks on one machine load at once: a checkpoint sharded for the ranks, or safetensors instead of .bin files (a .bin file is read whole by each)",
            "disk",
        ),
    ],
    effect: "The process lives through its start.",
    confirm: "no kill in the kernel log, and the restart count stands still.",
    explains: ECHOES,
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let ended = Ended::at_any_time(e, &[Meaning::HostKilled, Meaning::OomKilled, Meaning::ExitedKilled]);
    let mut w = ended.weigh(CAUSE.explains);
    if let Some(error) = failed_before(e, &ended) {
        let says = format!("the server had failed before: {:?}", error.says());
        let fact = Fact {
            says,
            value: None,
            limit: None,
            signal: None,
            source: Source::Log { file: error.file.clone(), line: error.told_line },
        };
        w = w.refuted_by(Test::Holds(fact));
    }
    ended.conclude(w, "it was killed from outside with signal 9, as the kernel does for lack of host memory")
}

/// The exception that ended the server before somebody sent signal 9, where only the signal is told: engines kill what is left
/// of their processes once one has failed.
fn failed_before<'a>(e: &Evidence<'a>, ended: &Ended<'a>) -> Option<&'a Thrown> {
    let line = ended.line().filter(|line| line.meaning != Meaning::OomKilled)?;
    let root = e.observed.log.root()?;
    (root.starts_since == line.starts_since && root.file == line.file && root.told_line < line.line)
        .then_some(root)
}
