//! NCCL's lines, and the environment that changes how it talks.

use super::signature::{LogKind, Signature, Wording};
use crate::Meaning::{self, *};

const TRANSPORT: &str = "causes.json collective-transport-fallback";
const LIBRARY: Wording = Wording::Library("libnccl.so.2");
const STORE: Wording = Wording::Code("pytorch/pytorch:torch/csrc/distributed/c10d/socket.cpp");
const CHANNEL: &str = "NCCL INFO Channel 00 : 1[1] -> 0[0] via SHM/direct/direct";
const PEERS: &str = "NCCL INFO Channel 00 : 1[1] -> 0[0] via P2P";

const fn row(meaning: Meaning, text: &'static str) -> Signature {
    Signature::new(LogKind::Nccl, meaning, text)
}

pub(super) const SIGNATURES: &[Signature] = &[
    row(TransportPeer, " via P2P").from(Wording::Knowledge(TRANSPORT), PEERS, CHANNEL),
    row(TransportSharedMemory, " via SHM").from(Wording::Incident("vllm-project/vllm#9920"), CHANNEL, PEERS),
    // `NET/Socket : Using eth0` stands at the start of every group without InfiniBand, in use or not.
    row(TransportSocket, " via NET/Socket").from(
        Wording::Knowledge(TRANSPORT),
        "NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0",
        "NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>",
    ),
    row(TransportForbidden, "NCCL_P2P_DISABLE set by environment to 1").from(
        Wording::Code("NVIDIA/nccl:src/misc/param.cc"),
        "gpu01:100:100 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1.",
        "gpu01:100:100 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 0.",
    ),
    row(TransportForbidden, "NCCL_P2P_DISABLE=1").from(
        Wording::Knowledge(TRANSPORT),
        "NCCL_P2P_DISABLE=1",
        "NCCL_P2P_DISABLE=0",
    ),
    row(TransportForbidden, "NCCL_IB_DISABLE set by environment to 1").from(
        Wording::Code("NVIDIA/nccl:src/misc/param.cc"),
        "gpu01:100:100 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.",
        "gpu01:100:100 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 0.",
    ),
    row(TransportForbidden, "NCCL_IB_DISABLE=1").from(
        Wording::Knowledge(TRANSPORT),
        "NCCL_IB_DISABLE=1",
        "NCCL_IB_DISABLE=0",
    ),
    row(TransportForbidden, "NCCL_SHM_DISABLE set by environment to 1").from(
        Wording::Code("NVIDIA/nccl:src/misc/param.cc"),
        "gpu01:100:100 [0] NCCL INFO NCCL_SHM_DISABLE set by environment to 1.",
        "gpu01:100:100 [0] NCCL INFO NCCL_SHM_DISABLE set by environment to 0.",
    ),
    row(TransportForbidden, "NCCL_SHM_DISABLE=1").from(
        Wording::Incident("NVIDIA/nccl#525"),
        "NCCL_SHM_DISABLE=1 works",
        "NCCL_SHM_DISABLE=0",
    ),
    row(NcclWarning, "NCCL WARN ").from(
        Wording::Incident("NVIDIA/nccl#525"),
        "NCCL WARN Call to posix_fallocate failed : No space left on device",
        CHANNEL,
    ),
    row(SharedMemoryShort, "posix_fallocate failed").from(
        Wording::Incident("NVIDIA/nccl#525"),
        "NCCL WARN Call to posix_fallocate failed : No space left on device",
        CHANNEL,
    ),
    row(SharedMemoryShort, "Error while creating shared memory segment").from(
        Wording::Incident("NVIDIA/nccl#525"),
        "Error while creating shared memory segment nccl-shm-recv-1 (size 9637888)",
        "No available shared memory broadcast block found in 60 seconds.",
    ),
    row(SharedMemoryShort, "ncclShmOpen error").from(
        Wording::Incident("vllm-project/vllm#1710"),
        "ncclShmOpen error",
        CHANNEL,
    ),
    // A collective that fails is often the echo of a rank that died for another reason.
    row(CollectiveFailed, "unhandled cuda error (run with NCCL_DEBUG").from(
        LIBRARY,
        "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3356, unhandled cuda error (run with NCCL_DEBUG=INFO for details), NCCL version 2.27.5",
        CHANNEL,
    ),
    row(CollectiveFailed, "unhandled system error (run with NCCL_DEBUG").from(
        LIBRARY,
        "RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)",
        CHANNEL,
    ),
    row(CollectiveFailed, "internal error - please report this issue to the NCCL developers").from(
        LIBRARY,
        "RuntimeError: NCCL error: internal error - please report this issue to the NCCL developers",
        CHANNEL,
    ),
    row(CollectiveFailed, "remote process exited or there was a network error").from(
        LIBRARY,
        "RuntimeError: NCCL error: remote process exited or there was a network error",
        CHANNEL,
    ),
    row(CollectiveFailed, "invalid usage (run with NCCL_DEBUG").from(
        LIBRARY,
        "RuntimeError: NCCL error: invalid usage (run with NCCL_DEBUG=WARN for details)",
        CHANNEL,
    ),
    row(CollectiveFailed, "Duplicate GPU detected : rank").from(
        LIBRARY,
        "NCCL WARN Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 18000",
        CHANNEL,
    ),
    row(CollectiveFailed, "Bootstrap : no socket interface found").from(
        LIBRARY,
        "gpu01:100:100 [0] NCCL WARN Bootstrap : no socket interface found",
        "NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>",
    ),
    row(CollectiveFailed, "DistStoreError").from(
        STORE,
        "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined.",
        CHANNEL,
    ),
    row(CollectiveFailed, "The client socket has timed out after").from(
        STORE,
        "torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to connect to (10.0.0.1, 29500).",
        CHANNEL,
    ),
    row(CollectiveFailed, "connectFullMesh failed").from(
        Wording::Code("pytorch/gloo:gloo/transport/tcp/pair.cc"),
        "RuntimeError: Gloo connectFullMesh failed with [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:144] no error",
        CHANNEL,
    ),
];
