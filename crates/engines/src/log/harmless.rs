//! Lines that scare and mean nothing, with the reason.

use super::signature::{LogKind, Signature, Wording};
use crate::Meaning::Harmless;

const HUB: LogKind = LogKind::Hub;
const TORCH: LogKind = LogKind::Torch;
const READY: &str = "INFO:     Application startup complete.";

const fn row(log: LogKind, text: &'static str, reason: &'static str) -> Signature {
    Signature::new(log, Harmless, text).because(reason)
}

pub(super) const SIGNATURES: &[Signature] = &[
    row(
        TORCH,
        "destroy_process_group() was not called before program exit",
        "PyTorch says so at every end of a process that did not tidy up; the operating system does",
    )
    .from(
        Wording::Code("pytorch/pytorch:torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp"),
        "[rank0]:[W1115 07:20:00.000000000 ProcessGroupNCCL.cpp:1538] Warning: WARNING: destroy_process_group() was not called before program exit, which can leak resources.",
        READY,
    ),
    row(
        TORCH,
        "The hostname of the client socket cannot be retrieved",
        "a name could not be looked up for a message; addresses are used",
    )
    .from(
        Wording::Code("pytorch/pytorch:torch/csrc/distributed/c10d/socket.cpp"),
        "[W1115 07:16:58.172549736 socket.cpp:207] [c10d] The hostname of the client socket cannot be retrieved. err=-3",
        READY,
    ),
    row(
        TORCH,
        "The client socket cannot be initialized to connect to",
        "IPv6 was tried first and is not there; IPv4 follows",
    )
    .from(
        Wording::Code("pytorch/pytorch:torch/csrc/distributed/c10d/socket.cpp"),
        "[W socket.cpp:436] [c10d] The client socket cannot be initialized to connect to [localhost]:29500 (errno: 97 - Address family not supported by protocol).",
        READY,
    ),
    row(
        TORCH,
        "TORCH_CUDA_ARCH_LIST is not set",
        "a kernel is compiled for the cards at hand, which is what a server wants",
    )
    .from(
        Wording::Code("pytorch/pytorch:torch/utils/cpp_extension.py"),
        "UserWarning: TORCH_CUDA_ARCH_LIST is not set, all archs for visible cards are included for compilation.",
        READY,
    ),
    row(HUB, "`torch_dtype` is deprecated", "an old name for the same setting; it still counts").from(
        Wording::Code("huggingface/transformers:src/transformers/configuration_utils.py"),
        "`torch_dtype` is deprecated! Use `dtype` instead!",
        READY,
    ),
    row(
        HUB,
        "generation flags are not valid and may be ignored",
        "the engine samples by itself and does not read them",
    )
    .from(
        Wording::Code("huggingface/transformers:src/transformers/generation/configuration_utils.py"),
        "The following generation flags are not valid and may be ignored: ['temperature', 'top_p'].",
        READY,
    ),
];
