//! The port, shared memory, and the folders a server writes into.

use intriage_case::Bytes;

use super::Said;
use super::facts::Facts;

/// Less shared memory than this does not hold NCCL's buffers for two cards. Docker's default is 64 MiB.
const SHARED_MEMORY: f64 = 67_108_864.0;
/// Less space than this holds no compiled graphs.
const CACHE: f64 = 104_857_600.0;

pub(super) fn port(facts: &Facts<'_>) -> Vec<Said> {
    let Some((port, taken)) = facts.around.port else { return Vec::new() };
    vec![if taken {
        Said::Wrong(
            "port-in-use",
            format!("somebody listens on port {port} already"),
            format!("end who listens there (ss -ltnp 'sport = :{port}'), or --port with another number"),
        )
    } else {
        Said::Fine(format!("port {port} is free"))
    }]
}

pub(super) fn shared_memory(facts: &Facts<'_>) -> Vec<Said> {
    let (tensor, pipeline) = facts.ranks();
    let Some(size) = facts.around.shared_memory else { return Vec::new() };
    // One rank alone needs none for NCCL.
    if tensor * pipeline > 1 && size.get() <= SHARED_MEMORY {
        return vec![Said::Wrong(
            "shared-memory-too-small",
            format!("/dev/shm has {size}, and {} ranks exchange data through it", tensor * pipeline),
            "docker run --shm-size 16g or --ipc=host; in Kubernetes an emptyDir with medium Memory at /dev/shm".into(),
        )];
    }
    vec![Said::Fine(format!("/dev/shm has {size}"))]
}

pub(super) fn disk(facts: &Facts<'_>) -> Vec<Said> {
    let judged = facts.around.folders.iter().map(|folder| match (folder.writable, folder.free) {
        (Some(false), _) => Said::Wrong(
            "permission-denied",
            format!("the {} {} may not be written into", folder.what, folder.path),
            "a folder the server's user owns (HF_HOME, VLLM_CACHE_ROOT), or chown".into(),
        ),
        (_, Some(free)) if free.get() < CACHE => Said::Wrong(
            "disk-full",
            format!("{free} are free in the {} {}", folder.what, folder.path),
            "make room, or point it at another disk (HF_HOME, VLLM_CACHE_ROOT)".into(),
        ),
        (_, Some(free)) => Said::Fine(format!("{free} are free in the {} {}", folder.what, folder.path)),
        (_, None) => {
            Said::Unknown(format!("the space in the {} {} cannot be told", folder.what, folder.path))
        }
    });
    judged.collect()
}

/// The free space of the folder a model is downloaded into.
pub(super) fn room_for_downloads(facts: &Facts<'_>) -> Option<Bytes> {
    facts.around.folders.iter().find(|folder| folder.what == "hub cache").and_then(|folder| folder.free)
}
