//! Lines of what stands around an engine when it starts: the command line, Python, the operating system, Docker, Ray.

use super::signature::{LogKind, Signature, Wording};
use crate::Meaning::{self, *};

const ARGPARSE: Wording = Wording::Code("python/cpython:Lib/argparse.py");
const CLAP: Wording = Wording::Code("clap-rs/clap:clap_builder/src/error/format.rs");
const IMPORT: Wording = Wording::Code("python/cpython:Lib/importlib/_bootstrap.py");
const ERRNO: Wording = Wording::Code("bminor/glibc:stdio-common/errlist.c");
const RAY: Wording = Wording::Code("ray-project/ray:src/ray/raylet/node_manager.cc");

const COMPOSE: Wording = Wording::Code("docker/compose:pkg/compose/printer.go");
const SYSTEMD: Wording = Wording::Code("systemd/systemd:src/core/unit.c");

const USAGE: &str = "usage: vllm serve [model_tag] [options]";
const READS: &str = "INFO reading /models/m/model.safetensors";
const UP: &str = "INFO:     Uvicorn running on http://0.0.0.0:8000 (Press CTRL+C to quit)";

const fn row(meaning: Meaning, text: &'static str) -> Signature {
    Signature::new(LogKind::Launcher, meaning, text)
}

pub(super) const SIGNATURES: &[Signature] = &[
    // The command line.
    row(BadArgument, ": error: unrecognized arguments").from(
        ARGPARSE,
        "vllm: error: unrecognized arguments: --max-num-seq 4",
        USAGE,
    ),
    row(BadArgument, ": error: argument ").from(
        ARGPARSE,
        "vllm serve: error: argument --dtype: invalid choice: 'int8' (choose from 'auto', 'half')",
        USAGE,
    ),
    row(BadArgument, ": error: the following arguments are required").from(
        ARGPARSE,
        "launch_server.py: error: the following arguments are required: --model-path",
        USAGE,
    ),
    row(BadArgument, "error: unexpected argument '").from(
        CLAP,
        "error: unexpected argument '--max-batch-size-total' found",
        USAGE,
    ),
    row(BadArgument, "error: invalid value '").from(
        CLAP,
        "error: invalid value 'fp9' for '--quantize <QUANTIZE>'",
        USAGE,
    ),
    // Python and its libraries.
    row(EnvironmentBroken, "ModuleNotFoundError: No module named").without("WARNING ").from(
        IMPORT,
        "ModuleNotFoundError: No module named 'flashinfer'",
        "WARNING 11-15 07:16:41 [__init__.py:9] flashinfer is not installed: No module named 'flashinfer'",
    ),
    row(EnvironmentBroken, "ImportError: ").without("WARNING ").from(
        IMPORT,
        "ImportError: cannot import name 'ALLOWED_LAYER_TYPES' from 'transformers.configuration_utils'",
        "WARNING 11-15 07:16:41 [_custom_ops.py:20] Failed to import from vllm._C with ImportError('libcudart.so.12')",
    ),
    row(EnvironmentBroken, ": undefined symbol: ").without("Ignore import error").from(
        Wording::Code("bminor/glibc:elf/dl-lookup.c"),
        "ImportError: /opt/vllm/_C.abi3.so: undefined symbol: _ZN3c104cuda9SetDeviceEab",
        READS,
    ),
    // The driver's own library: it comes with the driver, not with an environment.
    row(NoGpu, "libcuda.so.1: cannot open shared object file").from(
        Wording::Code("bminor/glibc:elf/dl-load.c"),
        "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory",
        "OSError: libcudart.so.12: cannot open shared object file: No such file or directory",
    ),
    // ---- Compilers that kernels are built with at start.
    row(KernelBuild, "Failed to find C compiler. Please specify via CC").from(
        Wording::Code("triton-lang/triton:python/triton/runtime/build.py"),
        "RuntimeError: Failed to find C compiler. Please specify via CC environment variable or set triton.knobs.build.impl.",
        READS,
    ),
    row(KernelBuild, "No working C++ compiler found in ").from(
        Wording::Code("pytorch/pytorch:torch/_inductor/exc.py"),
        "torch._inductor.exc.InductorError: InvalidCxxCompiler: No working C++ compiler found in torch._inductor.config.cpp.cxx: (None, '/no/such/g++')",
        READS,
    ),
    row(KernelBuild, "Ninja is required to load C++ extensions").from(
        Wording::Code("pytorch/pytorch:torch/utils/cpp_extension.py"),
        "RuntimeError: Ninja is required to load C++ extensions (pip install ninja to get it)",
        READS,
    ),
    row(KernelBuild, "No such file or directory: 'ninja'").from(
        ERRNO,
        "FileNotFoundError: [Errno 2] No such file or directory: 'ninja'",
        READS,
    ),
    row(KernelBuild, "Ninja build failed.").from(
        Wording::Incident("vllm-project/vllm#36077"),
        "RuntimeError: Ninja build failed. Ninja output:",
        READS,
    ),
    row(KernelBuild, "ninja: build stopped: subcommand failed.").from(
        Wording::Incident("flashinfer-ai/flashinfer#1532"),
        "ninja: build stopped: subcommand failed.",
        "ninja: no work to do.",
    ),
    row(KernelBuild, "Could not find nvcc and default ").from(
        Wording::Incident("vllm-project/vllm#49497"),
        "RuntimeError: Could not find nvcc and default cuda_home='/usr/local/cuda' doesn't exist",
        READS,
    ),
    row(KernelBuild, "nvcc fatal   : ").from(
        Wording::Incident("flashinfer-ai/flashinfer#1532"),
        "nvcc fatal   : Unknown option '-static-global-template-stub=false'",
        "nvcc warning : incompatible redefinition for option 'compiler-bindir', the last value of this option was used",
    ),
    row(KernelBuild, "CUDA_HOME environment variable is not set. ").from(
        Wording::Code("pytorch/pytorch:torch/utils/cpp_extension.py"),
        "OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root.",
        READS,
    ),
    row(KernelBuild, "Error building extension '").from(
        Wording::Code("pytorch/pytorch:torch/utils/cpp_extension.py"),
        "RuntimeError: Error building extension 'fused_moe_90'",
        READS,
    ),
    row(KernelBuild, "fatal error: Python.h: No such file or directory").from(
        Wording::Code("gcc-mirror/gcc:libcpp/files.cc"),
        "/tmp/tmpq8y1k2zz/cuda_utils.c:5:10: fatal error: Python.h: No such file or directory",
        READS,
    ),
    row(EnvironmentBroken, "cannot open shared object file").without("Ignore import error").from(
        Wording::Code("bminor/glibc:elf/dl-load.c"),
        "OSError: libcudart.so.12: cannot open shared object file: No such file or directory",
        READS,
    ),
    row(EnvironmentBroken, "version `GLIBC").from(
        Wording::Code("bminor/glibc:elf/dl-version.c"),
        "/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by llama-server)",
        READS,
    ),
    row(EnvironmentBroken, "circular import").from(
        IMPORT,
        "AttributeError: partially initialized module 'torch' has no attribute 'cuda' (most likely due to a circular import)",
        READS,
    ),
    row(ForkedCuda, "An attempt has been made to start a new process before the").from(
        Wording::Code("python/cpython:Lib/multiprocessing/spawn.py"),
        "        An attempt has been made to start a new process before the",
        "RuntimeError: can't start new thread",
    ),
    row(TemplateError, "jinja2.exceptions.").from(
        Wording::Code("pallets/jinja:src/jinja2/exceptions.py"),
        "jinja2.exceptions.TemplateError: Conversation roles must alternate user/assistant/user/assistant/...",
        "ModuleNotFoundError: No module named 'jinja2'",
    ),
    // The operating system.
    row(PortInUse, "ddress already in use").from(
        ERRNO,
        "OSError: [Errno 98] Address already in use",
        UP,
    ),
    row(PortInUse, "EADDRINUSE").from(
        Wording::Code("pytorch/pytorch:torch/csrc/distributed/c10d/socket.cpp"),
        "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address in use",
        UP,
    ),
    row(DiskFull, "[Errno 28] No space left on device").without("/dev/shm").from(
        ERRNO,
        "OSError: [Errno 28] No space left on device",
        "OSError: [Errno 28] No space left on device: '/dev/shm/psm_1'",
    ),
    row(DiskFull, "No space left on device (os error 28)").from(
        ERRNO,
        "RuntimeError: Data processing error: CAS service error : IO Error: No space left on device (os error 28)",
        READS,
    ),
    row(DiskFull, ": no space left on device").from(
        Wording::Code("golang/go:src/syscall/zerrors_linux_amd64.go"),
        "Error: write /usr/share/ollama/.ollama/models/blobs/sha256-1-partial: no space left on device",
        READS,
    ),
    row(PortInUse, "Only one usage of each socket address").from(
        Wording::Code("golang/go:src/syscall/zerrors_windows.go"),
        "Error: listen tcp 127.0.0.1:11434: bind: Only one usage of each socket address (protocol/network address/port) is normally permitted.",
        UP,
    ),
    row(SharedMemoryShort, "[Errno 28] No space left on device: '/dev/shm").from(
        ERRNO,
        "OSError: [Errno 28] No space left on device: '/dev/shm/psm_1'",
        "OSError: [Errno 28] No space left on device",
    ),
    row(SharedMemoryShort, "unable to allocate shared memory(shm)").from(
        Wording::Code("pytorch/pytorch:aten/src/ATen/MapAllocator.cpp"),
        "RuntimeError: unable to allocate shared memory(shm) for file </torch_1_2>: No space left on device (28)",
        READS,
    ),
    row(SharedMemoryShort, "workers are out of shared memory").from(
        Wording::Code("pytorch/pytorch:torch/utils/data/_utils/signal_handling.py"),
        "RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory.",
        READS,
    ),
    row(PermissionDenied, "PermissionError: [Errno 13]").from(
        ERRNO,
        "PermissionError: [Errno 13] Permission denied: '/root/.cache/huggingface/hub'",
        READS,
    ),
    row(PermissionDenied, "mkdir ").with(": permission denied").from(
        Wording::Code("golang/go:src/syscall/zerrors_linux_amd64.go"),
        "Error: could not create directory mkdir /root/.ollama: permission denied",
        READS,
    ),
    row(PermissionDenied, "Permission denied (os error 13)").from(
        ERRNO,
        "Error: Permission denied (os error 13)",
        READS,
    ),
    row(CpuInstruction, "Illegal instruction").from(
        Wording::Code("bminor/glibc:posix/signal.h"),
        "Illegal instruction (core dumped)",
        "RuntimeError: CUDA error: an illegal memory access was encountered",
    ),
    row(CppException, "terminate called after throwing an instance of").from(
        Wording::Code("gcc-mirror/gcc:libstdc++-v3/libsupc++/vterminate.cc"),
        "terminate called after throwing an instance of 'c10::Error'",
        "INFO terminate was called",
    ),
    row(CppException, "Segmentation fault").from(
        Wording::Code("bminor/glibc:posix/signal.h"),
        "!!!!!!! Segfault encountered !!!!!!! Segmentation fault (core dumped)",
        READS,
    ),
    row(CppException, "SIGSEGV received at time").from(
        Wording::Code("abseil/abseil-cpp:absl/debugging/failure_signal_handler.cc"),
        "*** SIGSEGV received at time=1731900000 on cpu 3 ***",
        READS,
    ),
    // Who ended it.
    row(ExitedKilled, "exited with code 137").from(
        COMPOSE,
        "vllm-1 exited with code 137",
        "vllm-1 exited with code 0",
    ),
    row(HostKilled, "Killed").alone().from(
        Wording::Code("bminor/bash:siglist.c"),
        "Killed",
        "INFO Killed 2 processes that did not end",
    ),
    // What a script writes: `/start.sh: line 3:    12 Killed                  vllm serve m`.
    row(HostKilled, "Killed     ").with(": line ").from(
        Wording::Code("bminor/bash:jobs.c"),
        "/start.sh: line 3:    12 Killed                  vllm serve m",
        "INFO Killed      2 processes that did not end",
    ),
    row(HostKilled, "code=killed, status=9/KILL").from(
        SYSTEMD,
        "Nov 15 23:26:49 node systemd[1]: vllm.service: Main process exited, code=killed, status=9/KILL",
        "Nov 15 23:26:49 node systemd[1]: vllm.service: Main process exited, code=exited, status=1/FAILURE",
    ),
    row(HostKilled, "Failed with result 'oom-kill'").from(
        SYSTEMD,
        "Nov 15 23:26:49 node systemd[1]: ollama.service: Failed with result 'oom-kill'.",
        "Nov 15 23:26:49 node systemd[1]: ollama.service: Failed with result 'exit-code'.",
    ),
    row(HostKilled, "Signal 9 (SIGKILL) received by PID").from(
        Wording::Code("pytorch/pytorch:torch/distributed/elastic/multiprocessing/errors/__init__.py"),
        "  traceback : Signal 9 (SIGKILL) received by PID 4711",
        "  traceback : Signal 15 (SIGTERM) received by PID 4711",
    ),
    row(HostKilled, "killed due to memory pressure (OOM)").from(
        RAY,
        "(raylet) node_manager.cc:3049: 1 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons at node (ID: 2c82, IP: 192.0.2.1) over the last time period.",
        "INFO worker ended",
    ),
    row(EngineDied, "The actor died unexpectedly before finishing this task").from(
        Wording::Code("ray-project/ray:python/ray/exceptions.py"),
        "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.",
        "INFO actor ended",
    ),
    row(CppException, "exited with code 139").from(
        COMPOSE,
        "vllm-1 exited with code 139",
        "vllm-1 exited with code 1",
    ),
    row(CppException, "exited with code 134").from(
        COMPOSE,
        "vllm-1 exited with code 134",
        "vllm-1 exited with code 1",
    ),
    row(CppException, "Aborted (core dumped)").from(
        Wording::Code("bminor/bash:siglist.c"),
        "Aborted (core dumped)",
        "INFO Aborted request chatcmpl-1.",
    ),
    row(CppException, "Fatal Python error: Aborted").from(
        Wording::Code("python/cpython:Modules/faulthandler.c"),
        "Fatal Python error: Aborted",
        "Fatal error in main loop: x",
    ),
    row(CppException, "code=dumped, status=").from(
        SYSTEMD,
        "Nov 15 02:26:49 node systemd[1]: llama.service: Main process exited, code=dumped, status=11/SEGV",
        "Nov 15 02:26:49 node systemd[1]: llama.service: Main process exited, code=exited, status=0/SUCCESS",
    ),
    row(HostKilled, "killed due to the node running low on memory").from(
        RAY,
        "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.",
        "INFO worker ended",
    ),
];
