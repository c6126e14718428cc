//! Words of the CUDA runtime, and of PyTorch around it. They stand behind `CUDA error: ` in every engine.

use super::signature::{LogKind, Signature, Wording};
use crate::Meaning::{self, *};

const RUNTIME: Wording = Wording::Library("libcudart.so.13");
const TORCH: Wording = Wording::Code("pytorch/pytorch:torch/cuda/__init__.py");
const INIT: Wording = Wording::Code("pytorch/pytorch:c10/cuda/CUDAFunctions.cpp");
const LAUNCH: &str = "RuntimeError: CUDA error: invalid argument";

const fn row(meaning: Meaning, text: &'static str) -> Signature {
    Signature::new(LogKind::Cuda, meaning, text)
}

pub(super) const SIGNATURES: &[Signature] = &[
    row(DriverTooOld, "CUDA driver version is insufficient for CUDA runtime version").from(
        RUNTIME,
        "RuntimeError: CUDA error: CUDA driver version is insufficient for CUDA runtime version",
        LAUNCH,
    ),
    row(DriverTooOld, "API call is not supported in the installed CUDA driver").from(
        RUNTIME,
        "RuntimeError: [TM][ERROR] CUDA runtime error: API call is not supported in the installed CUDA driver",
        LAUNCH,
    ),
    row(DriverTooOld, "requirement error: unsatisfied condition: cuda").from(
        Wording::Incident("vllm-project/vllm#5635"),
        "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8, please update your driver to a newer version, or use an earlier cuda container: unknown.",
        LAUNCH,
    ),
    row(DriverTooOld, "unsupported display driver / cuda driver combination").from(
        RUNTIME,
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 803: system has unsupported display driver / cuda driver combination",
        LAUNCH,
    ),
    row(DriverTooOld, "forward compatibility was attempted on non supported HW").from(
        RUNTIME,
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 804: forward compatibility was attempted on non supported HW",
        LAUNCH,
    ),
    row(DriverTooOld, "PTX was compiled with an unsupported toolchain").from(
        RUNTIME,
        "RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain.",
        LAUNCH,
    ),
    row(DriverTooOld, "The NVIDIA driver on your system is too old").from(
        INIT,
        "RuntimeError: The NVIDIA driver on your system is too old (found version 12020). Please update your GPU driver",
        LAUNCH,
    ),
    // The driver's library lacks a function that the runtime looks up: another release, often of the driver that a container is given.
    row(DriverTooOld, "Error 500: named symbol not found").from(
        Wording::Incident("vllm-project/vllm#5035"),
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 500: named symbol not found",
        LAUNCH,
    ),
    row(FabricNotReady, "ystem not yet initialized").from(
        RUNTIME,
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized",
        LAUNCH,
    ),
    row(NoGpu, "no CUDA-capable device is detected").from(
        RUNTIME,
        "RuntimeError: CUDA error: no CUDA-capable device is detected",
        LAUNCH,
    ),
    row(NoGpu, "No CUDA GPUs are available").from(INIT, "RuntimeError: No CUDA GPUs are available", LAUNCH),
    row(NoGpu, "Found no NVIDIA driver on your system").from(
        INIT,
        "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU",
        LAUNCH,
    ),
    row(NotBuiltForGpu, "Torch not compiled with CUDA enabled").from(
        TORCH,
        "AssertionError: Torch not compiled with CUDA enabled",
        "RuntimeError: No CUDA GPUs are available",
    ),
    row(NoKernelImage, "no kernel image is available for execution on the device").from(
        RUNTIME,
        "RuntimeError: CUDA error: no kernel image is available for execution on the device",
        LAUNCH,
    ),
    row(NoKernelImage, "is not compatible with the current PyTorch installation").from(
        TORCH,
        "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.",
        "The current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90.",
    ),
    row(NoKernelImage, "ptxas fatal").from(
        Wording::Library("ptxas"),
        "ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'",
        "ptxas info    : 0 bytes gmem",
    ),
    row(EngineDied, "an illegal memory access was encountered").from(
        RUNTIME,
        "RuntimeError: CUDA error: an illegal memory access was encountered",
        LAUNCH,
    ),
    row(EngineDied, "device-side assert triggered").from(
        RUNTIME,
        "RuntimeError: CUDA error: device-side assert triggered",
        "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.",
    ),
    row(EngineDied, "unspecified launch failure").from(
        RUNTIME,
        "RuntimeError: CUDA error: unspecified launch failure",
        LAUNCH,
    ),
    row(GpuEcc, "uncorrectable ECC error encountered").from(
        RUNTIME,
        "RuntimeError: CUDA error: uncorrectable ECC error encountered",
        LAUNCH,
    ),
    row(MemoryTaken, "CUDA-capable device(s) is/are busy or unavailable").from(
        RUNTIME,
        "RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable",
        "RuntimeError: CUDA error: no CUDA-capable device is detected",
    ),
    row(ForkedCuda, "Cannot re-initialize CUDA in forked subprocess").from(
        TORCH,
        "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start method",
        LAUNCH,
    ),
];
