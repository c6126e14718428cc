//! Each cause of a failed start, a line that tells of it and one that only looks like it.

use crate::causes::find;
use crate::causes::startup::CAUSES;
use crate::diagnosis::Outcome;
use crate::testing::Given;

/// Cause, its line, the line that looks like it.
const LINES: &[(&str, &str, &str)] = &[
    (
        "driver-cuda-mismatch",
        "RuntimeError: The NVIDIA driver on your system is too old (found version 12020). Please update your GPU driver\n",
        "RuntimeError: No CUDA GPUs are available\n",
    ),
    (
        "gpu-fabric-not-ready",
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized\n",
        "RuntimeError: No CUDA GPUs are available\n",
    ),
    (
        "gpu-not-visible",
        "RuntimeError: Failed to infer device type, please set the environment variable\n",
        "RuntimeError: The NVIDIA driver on your system is too old (found version 12020).\n",
    ),
    (
        "gpu-architecture-unsupported",
        "RuntimeError: CUDA error: no kernel image is available for execution on the device\n",
        "RuntimeError: CUDA error: invalid argument\n",
    ),
    (
        "dtype-unsupported-on-gpu",
        "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla T4 GPU has compute capability 7.5.\n",
        "WARNING Casting torch.bfloat16 to torch.float16.\n",
    ),
    (
        "quantization-unsupported-on-gpu",
        "ValueError: The quantization method fp8 is not supported for the current GPU. Minimum capability: 80. Current capability: 75.\n",
        "Your GPU does not have native support for FP8 computation but\n",
    ),
    (
        "attention-backend-unsupported",
        "ValueError: No valid attention backend found for cuda with AttentionSelectorConfig(head_size=512). Reasons: {FLASH_ATTN: [head_size not supported]}.\n",
        "INFO Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN']\n",
    ),
    (
        "cpu-instruction-set",
        "Illegal instruction (core dumped)\n",
        "RuntimeError: CUDA error: an illegal memory access was encountered\n",
    ),
    (
        "shared-memory-too-small",
        "OSError: [Errno 28] No space left on device: '/dev/shm/psm_1'\n",
        "OSError: [Errno 28] No space left on device\n",
    ),
    (
        "model-architecture-unknown",
        "ValueError: Model architectures ['Qwen9ForCausalLM'] are not supported for now. Supported architectures: dict_keys([])\n",
        "INFO Resolved architecture: LlamaForCausalLM\n",
    ),
    (
        "model-hub-auth",
        "OSError: You are trying to access a gated repo.\n",
        "Warning: You are sending unauthenticated requests to the HF Hub.\n",
    ),
    (
        "model-hub-unreachable",
        "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cached files.\n",
        "Fetching 12 files: 100%\n",
    ),
    (
        "model-files-damaged",
        "safetensors_rust.SafetensorError: Error while deserializing header: incomplete metadata, file not fully covered\n",
        "Loading safetensors checkpoint shards: 100% Completed\n",
    ),
    (
        "lora-rank-limit",
        "ValueError: LoRA rank 64 is greater than max_lora_rank 16.\n",
        "INFO max_lora_rank=16\n",
    ),
    (
        "port-in-use",
        "OSError: [Errno 98] Address already in use\n",
        "INFO:     Uvicorn running on http://0.0.0.0:8000 (Press CTRL+C to quit)\n",
    ),
    (
        "disk-full",
        "OSError: [Errno 28] No space left on device\n",
        "OSError: [Errno 28] No space left on device: '/dev/shm/psm_1'\n",
    ),
    (
        "permission-denied",
        "PermissionError: [Errno 13] Permission denied: '/root/.cache/huggingface/hub'\n",
        "INFO reading /models/m/model.safetensors\n",
    ),
    (
        "bad-launch-argument",
        "vllm: error: unrecognized arguments: --max-num-seq 4\n",
        "usage: vllm serve [model_tag] [options]\n",
    ),
    (
        "context-window-exceeds-model",
        "  Value error, User-specified max_model_len (131072) is greater than the derived max_model_len (max_position_embeddings=8192 or model_max_length=None in model's config.json).\n",
        "INFO Using max model len 8192\n",
    ),
    (
        "parallelism-does-not-fit",
        "  Value error, Total number of attention heads (9) must be divisible by tensor parallel size (2).\n",
        "INFO world_size=2 rank=0 local_rank=0 backend=nccl\n",
    ),
    (
        "collective-init-failure",
        "RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)\n",
        "NCCL INFO Channel 00 : 1[1] -> 0[0] via SHM/direct/direct\n",
    ),
    (
        "kernel-compile-failed",
        "RuntimeError: Failed to find C compiler. Please specify via CC environment variable.\n",
        "INFO torch.compile takes 12.1 s in total\n",
    ),
    (
        "coordination-service-unreachable",
        "Error: Unable to create lease. Check etcd server status at http://localhost:2379\n",
        "INFO dynamo_runtime::distributed: etcd lease created\n",
    ),
    (
        "engine-file-incompatible",
        "[TensorRT-LLM][ERROR] 6: The engine plan file is not compatible with this version of TensorRT, expecting library version 9.2.0.5 got 9.3.0.1, please rebuild.\n",
        "[TensorRT-LLM][INFO] Engine version 0.9.0 found in the config file\n",
    ),
    (
        "probe-kills-loading-server",
        "  Normal   Killing    2m    kubelet  Container vllm failed liveness probe, will be restarted\n",
        "  Warning  Unhealthy  3m (x4 over 5m)  kubelet  Readiness probe failed: HTTP probe failed with statuscode: 503\n",
    ),
    (
        "pod-not-started",
        "  Warning  FailedScheduling  2m  default-scheduler  0/3 nodes are available: 3 Insufficient nvidia.com/gpu.\n",
        "  Normal   Scheduled  2m  default-scheduler  Successfully assigned default/vllm-0 to node1\n",
    ),
    ("host-oom-kill", "      Reason:       OOMKilled\n", "      Reason:       Completed\n"),
    (
        "python-environment-broken",
        "ImportError: /opt/vllm/_C.abi3.so: undefined symbol: _ZN3c104cuda9SetDeviceEab\n",
        "WARNING 11-15 07:16:41 [_custom_ops.py:20] Failed to import from vllm._C with ImportError('libcudart.so.12')\n",
    ),
    (
        "multiprocessing-start-method",
        "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start method\n",
        "RuntimeError: can't start new thread\n",
    ),
];

#[test]
fn a_line_ends_the_start_and_the_line_that_looks_like_it_does_not() {
    for (id, line, look_alike) in LINES {
        let cause = find(id).expect("a cause of the catalogue");
        let alone = |log: &str| Given::vllm("0.32.0").without_scrapes().log(log).judge(cause);
        let j = alone(line);
        assert_eq!(j.outcome, Outcome::Confirmed, "{id}: {j:#?}");
        assert_eq!(alone(look_alike).outcome, Outcome::CannotTell, "{id}");
    }
}

/// What `kubectl describe pod` shows of a container that ended with the code of signal 9.
const ENDED: &str = "    State:          Waiting\n      Reason:       CrashLoopBackOff\n    Last State:     Terminated\n      Reason:       Error\n      Exit Code:    137\n";
const FAILED: &str = "  Warning  Unhealthy  3m (x4 over 5m)  kubelet  Liveness probe failed: Get \"http://10.1.2.3:8000/health\": dial tcp 10.1.2.3:8000: connect: connection refused\n";

#[test]
fn who_sent_signal_9_is_told_by_the_events_below_it() {
    let outcome = |id: &str, log: &str| {
        let cause = find(id).expect("a cause of the catalogue");
        Given::vllm("0.32.0").without_scrapes().log(log).judge(cause).outcome
    };
    let killed =
        "  Normal   Killing    2m    kubelet  Container vllm failed liveness probe, will be restarted\n";
    let by_probe = format!("{ENDED}{FAILED}{killed}");
    assert_eq!(outcome("probe-kills-loading-server", &by_probe), Outcome::Confirmed);
    assert_eq!(outcome("host-oom-kill", &by_probe), Outcome::Likely);
    assert_eq!(outcome("host-oom-kill", ENDED), Outcome::Confirmed);
    // Events are kept for an hour: the one that says who killed it may be gone.
    assert_eq!(outcome("probe-kills-loading-server", &format!("{ENDED}{FAILED}")), Outcome::Likely);
    assert_eq!(outcome("host-oom-kill", &format!("{ENDED}{FAILED}")), Outcome::Likely);
    assert_eq!(outcome("probe-kills-loading-server", ENDED), Outcome::CannotTell);
    // A server that says itself why it ends does not answer a probe either.
    let alone = "OSError: [Errno 98] Address already in use\n";
    let sure = |id: &str, log: &str| {
        let cause = find(id).expect("a cause of the catalogue");
        Given::vllm("0.32.0").without_scrapes().log(log).judge(cause).confidence
    };
    let both = format!("{FAILED}{alone}");
    assert!(sure("probe-kills-loading-server", &both) < sure("probe-kills-loading-server", FAILED));
    assert_eq!(outcome("port-in-use", &both), Outcome::Confirmed);
}

#[test]
fn every_cause_has_its_line() {
    for cause in CAUSES {
        assert!(LINES.iter().any(|(id, ..)| *id == cause.id), "{}", cause.id);
    }
}
