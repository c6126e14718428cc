//! Logs as engines write them when they die, hang, refuse or are slow, each given alone, and harmless ones beside them.
//! The wording is that of the engines' sources; see the tables in `engines/src/log`.

use std::fmt::Write as _;

use intriage_case::{Case, LogText};
use intriage_diagnose::{Diagnosis, Status, Thresholds, diagnose};

const START: &str = "(APIServer pid=1) INFO 11-15 02:26:25 [api_utils.py:273] non-default args: {'model': 'm', 'max_model_len': 16384}\n";
const READY: &str = "(EngineCore_DP0 pid=2) INFO 11-15 02:27:22 [kv_cache_utils.py:1087] GPU KV cache size: 162,704 tokens\n(APIServer pid=1) INFO:     Application startup complete.\n";
const CORE: &str = "(EngineCore_DP0 pid=2) ERROR 11-15 02:40:00 [core.py:700] ";
const DIED: &str = "EngineCore encountered a fatal error.\n";
const SGLANG: &str = "[2025-06-01 10:00:00] server_args=ServerArgs(model_path='m', tp_size=2)\n[2025-06-01 10:01:10] The server is fired up and ready to roll!\n";
const OLLAMA: &str = "time=2025-05-22T10:00:00.000Z level=INFO source=routes.go:1234 msg=\"Listening on 127.0.0.1:11434 (version 0.7.0)\"\n";
const LLAMA: &str = "0.00.031.563 I srv    load_model: loading model 'x.gguf'\n";
const LISTENS: &str = "0.01.531.163 I srv  llama_server: listening on http://127.0.0.1:8010\n";

fn judge(log: &str) -> Diagnosis {
    let mut case = Case::default();
    case.add_log(LogText { name: "server.log".into(), text: log.to_owned() });
    diagnose(&case, &Thresholds::default())
}

/// A vLLM that came up and answered, and what it wrote then.
fn served(then: &str) -> String {
    format!("{START}{READY}{}{then}", answers("200 OK", 3))
}

fn answers(status: &str, count: usize) -> String {
    format!("(APIServer pid=1) INFO:     10.0.0.1:1 - \"POST /v1/chat/completions HTTP/1.1\" {status}\n")
        .repeat(count)
}

/// The engine's loop ends with an exception; the server above it says so.
fn death(error: &str) -> String {
    let lines = [
        "Traceback (most recent call last):",
        "  File \"/usr/lib/python3/dist-packages/vllm/v1/engine/core.py\", line 720, in run_busy_loop",
        "    self._process_engine_step()",
        "  File \"/usr/lib/python3/dist-packages/vllm/v1/core/sched/scheduler.py\", line 812, in schedule",
        "    assert num_new_tokens > 0",
        error,
    ];
    let mut log = format!("{CORE}{DIED}");
    for line in lines {
        let _ = writeln!(log, "{CORE}{line}");
    }
    log + "(APIServer pid=1) ERROR 11-15 02:40:00 [async_llm.py:480] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.\n"
}

/// Lines of statistics every ten seconds: running, waiting, generated tokens a second, percent of the pool.
fn statistics(lines: &[(u32, u32, f64, f64)]) -> String {
    let mut log = String::new();
    for (i, (running, waiting, rate, pool)) in lines.iter().enumerate() {
        let _ = writeln!(
            log,
            "(APIServer pid=1) INFO 11-15 02:{:02}:{:02} [loggers.py:259] Engine 000: Avg prompt throughput: {rate} tokens/s, Avg generation throughput: {rate} tokens/s, Running: {running} reqs, Waiting: {waiting} reqs, GPU KV cache usage: {pool}%, Prefix cache hit rate: 0.0%",
            30 + i / 6,
            i % 6 * 10
        );
    }
    log
}

fn names(cause: &str, logs: &[(&str, String)]) {
    for (name, log) in logs {
        let verdict = judge(log).verdict;
        assert_eq!(verdict.primary.cause.as_deref(), Some(cause), "{name}: {}", verdict.answer);
    }
}

#[test]
fn an_engine_that_died_is_named_with_its_first_error() {
    let sglang = "[2025-06-01 10:06:00 TP0] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/sgl-workspace/sglang/python/sglang/srt/mem_cache/memory_pool.py\", line 90, in free\n    assert len(self.free_slots) <= self.size\nAssertionError\n\n[2025-06-01 10:06:01] Received sigquit from a child process. It usually means the child failed.\n";
    let panics = "panic: runtime error: index out of range [0] with length 0\n\ngoroutine 23 [running]:\ngithub.com/ollama/ollama/runner/ollamarunner.(*Server).processBatch(0xc000)\n\tgithub.com/ollama/ollama/runner/ollamarunner/runner.go:500 +0x1d\n";
    let aborts = "terminate called after throwing an instance of 'c10::Error'\n  what():  CUDA error: unspecified launch failure\n";
    names(
        "engine-crash-5xx",
        &[
            (
                "illegal access",
                served(&death("RuntimeError: CUDA error: an illegal memory access was encountered")),
            ),
            ("assertion", served(&death("AssertionError"))),
            ("SGLang's scheduler", format!("{SGLANG}{sglang}")),
            ("C++", served(aborts)),
            ("Go", format!("{OLLAMA}{panics}")),
            ("exit code 139", served("vllm-1 exited with code 139\n")),
            ("exit code 134", served("      Exit Code:    134\n")),
            ("abort", served("Aborted (core dumped)\n")),
            ("5xx", served(&answers("500 Internal Server Error", 4))),
            // SGLang ends what is left of its processes with signal 9.
            ("killed once it had failed", format!("{SGLANG}{sglang}Killed\n")),
        ],
    );
    let told = judge(&served(&death("AssertionError")));
    assert!(told.verdict.answer.contains("assert num_new_tokens > 0"), "{}", told.verdict.answer);
}

#[test]
fn a_server_that_was_killed_is_told_from_one_that_died_by_itself() {
    names(
        "host-oom-kill",
        &[
            ("the shell", served("Killed\n")),
            ("a script", served("/start.sh: line 3:    12 Killed                  vllm serve m\n")),
            ("exit code 137", served("vllm-1 exited with code 137\n")),
            ("Kubernetes", "      Reason:       OOMKilled\n      Exit Code:    137\n".to_owned()),
            ("systemd", served("vllm.service: Main process exited, code=killed, status=9/KILL\n")),
            (
                "Ray",
                served(
                    "(raylet) node_manager.cc:3049: 1 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons at node (ID: 2c82, IP: 192.0.2.1) over the last time period.\nray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n",
                ),
            ),
        ],
    );
}

#[test]
fn what_the_card_or_its_memory_did_is_named_before_the_death_it_brought() {
    names(
        "gpu-ecc-xid-fault",
        &[("ECC", served(&death("RuntimeError: CUDA error: uncorrectable ECC error encountered")))],
    );
    let oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.91 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.00 GiB is free.";
    let older = "CRITICAL 02-10 18:06:30 launcher.py:101] MQLLMEngine is already dead, terminating server process\nINFO:     10.0.0.1:1 - \"POST /v1/completions HTTP/1.1\" 500 Internal Server Error\nERROR 02-10 18:06:30 engine.py:139] OutOfMemoryError('CUDA out of memory. Tried to allocate 2.00 GiB.')\n";
    let pasted = death(oom).split_once('\n').map(|(_, below)| below.to_owned()).unwrap_or_default();
    let handler = format!(
        "{CORE}{DIED}{CORE}{oom}\n(APIServer pid=1) ERROR 11-15 02:40:00 [async_llm.py:480] AsyncLLM output_handler failed.\n"
    );
    let step = "[TensorRT-LLM][ERROR] Encountered an error in forwardAsync function: [TensorRT-LLM][ERROR] CUDA runtime error in ::cudaMallocAsync(ptr, n, mMemPool->getPool(), mCudaStream->get()): out of memory\n";
    names(
        "runtime-oom-non-kv",
        &[
            ("after answers", served(&death(oom))),
            ("older", older.to_owned()),
            ("pasted", pasted),
            ("told by the loop that answers", handler),
            ("TensorRT-LLM", step.to_owned()),
        ],
    );
}

#[test]
fn a_port_that_is_taken_behind_the_word_of_being_ready_ends_the_start() {
    let bind = "ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use\nINFO:     Waiting for application shutdown.\nINFO:     Application shutdown complete.\n";
    names("port-in-use", &[("uvicorn", format!("{START}{READY}{bind}"))]);
}

#[test]
fn a_server_that_loads_on_request_can_fail_to_load_once_it_is_up() {
    let unknown = "llama_model_load: error loading model: error loading model architecture: unknown model architecture: 'mllama'\nllama_model_load_from_file_impl: failed to load model\n";
    let asked =
        "[GIN] 2026/09/15 - 20:12:02 | 200 |    62.118ms |       127.0.0.1 | POST     \"/api/show\"\n";
    names("model-architecture-unknown", &[("Ollama", format!("{OLLAMA}{asked}{unknown}"))]);
}

#[test]
fn what_would_have_made_it_slow_is_no_answer_to_a_start_that_failed() {
    let slow = "(APIServer pid=1) WARNING 11-15 02:26:25 [config.py:1198] mxfp4 quantization is not fully optimized yet. The speed can be slower than non-quantized models.\n";
    let failed = format!(
        "{CORE}EngineCore failed to start.\n{CORE}Traceback (most recent call last):\n{CORE}  File \"/usr/lib/python3/dist-packages/vllm/model_executor/models/m.py\", line 77, in __init__\n{CORE}    raise ValueError(x)\n{CORE}ValueError: foo must be a multiple of 8\n"
    );
    let verdict = judge(&format!("{START}{slow}{failed}")).verdict;
    assert_eq!(verdict.primary.cause, None, "{}", verdict.answer);
    assert!(verdict.answer.contains("foo must be a multiple of 8"), "{}", verdict.answer);
}

#[test]
fn a_model_that_is_not_read_in_time_lies_on_slow_storage() {
    let late = "time=2025-03-06T06:29:22.000Z level=ERROR source=sched.go:456 msg=\"error loading llama server\" error=\"timed out waiting for llama runner to start - progress 0.00 - \"\n";
    names("slow-model-storage", &[("Ollama", format!("{OLLAMA}{late}"))]);
}

#[test]
fn kernels_that_cannot_be_built_end_a_start() {
    let failed = |error: &str| {
        format!(
            "{START}{CORE}EngineCore failed to start.\n{CORE}Traceback (most recent call last):\n{CORE}{error}\n"
        )
    };
    names(
        "kernel-compile-failed",
        &[
            (
                "no nvcc",
                failed(
                    "RuntimeError: Could not find nvcc and default cuda_home='/usr/local/cuda' doesn't exist",
                ),
            ),
            ("ninja", failed("RuntimeError: Ninja build failed. Ninja output:")),
            ("an old nvcc", failed("nvcc fatal   : Unknown option '-static-global-template-stub=false'")),
        ],
    );
    names(
        "quantization-unsupported-on-gpu",
        &[(
            "scheme",
            failed(
                "RuntimeError: ('Quantization scheme is not supported for ', 'the current GPU. Min capability: 80. ', 'Current capability: 70.')",
            ),
        )],
    );
}

#[test]
fn a_kernel_the_driver_cannot_read_is_the_drivers_fault_at_the_first_request() {
    let abort = "CUDA error: the provided PTX was compiled with an unsupported toolchain.\n  current device: 0, in function ggml_cuda_compute_forward at ggml-cuda.cu:2791\nserver.service: Main process exited, code=dumped, status=6/ABRT\n";
    names("driver-cuda-mismatch", &[("llama.cpp", format!("{LLAMA}{LISTENS}{abort}"))]);
}

#[test]
fn health_checks_that_fail_while_prompts_are_read_are_no_hang() {
    let mut log = SGLANG.to_owned();
    for i in 0..24 {
        let _ = writeln!(
            log,
            "[2025-06-01 10:{:02}:{:02} TP0] Prefill batch, #new-seq: 1, #new-token: 8192, #cached-token: 0, token usage: 0.{:02}, #running-req: 8, #queue-req: {}",
            10 + i / 6,
            i % 6 * 10,
            30 + i,
            20 + i
        );
        if i % 4 == 3 {
            let _ = writeln!(
                log,
                "[2025-06-01 10:{:02}:{:02}] Health check failed. Server couldn't get a response from detokenizer for last 20 seconds.",
                10 + i / 6,
                i % 6 * 10 + 1
            );
        }
    }
    let verdict = judge(&log).verdict;
    assert_ne!(verdict.primary.cause.as_deref(), Some("engine-stalled-not-admitting"), "{}", verdict.answer);
    let stands = log + &"[2025-06-01 10:20:01] Health check failed. Server couldn't get a response from detokenizer for last 20 seconds.\n".repeat(5);
    names("engine-stalled-not-admitting", &[("minutes later", stands)]);
}

#[test]
fn a_hang_is_told_by_silent_workers_watchdogs_and_statistics() {
    let silent = "(EngineCore_DP0 pid=2) INFO 11-15 02:40:49 [shm_broadcast.py:466] No available shared memory broadcast block found in 60 seconds.\n";
    let nccl = "[rank1]:[E203 10:15:10.123456789 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.\nterminate called after throwing an instance of 'c10::DistBackendError'\n  what():  [Rank 1] Watchdog caught collective operation timeout\n";
    let sglang = "[2025-06-01 10:57:15 TP4] Watchdog timeout (self.watchdog_timeout=300)\n[2025-06-01 10:57:20] Received sigquit from a child process. It usually means the child failed.\n";
    names(
        "engine-stalled-not-admitting",
        &[
            ("silent worker", served(&silent.repeat(5))),
            ("NCCL", served(nccl)),
            ("SGLang", format!("{SGLANG}{sglang}")),
            (
                "a step that ran out of time",
                served(&death("TimeoutError: RPC call to execute_model timed out.")),
            ),
            (
                "statistics",
                served(&statistics(&[&[(4, 0, 120.0, 3.0); 3][..], &[(4, 2, 0.0, 3.0); 9]].concat())),
            ),
        ],
    );
}

#[test]
fn refusals_are_told_by_their_words_or_their_statuses() {
    let window = "(APIServer pid=1) ERROR 11-15 03:32:03 [serving_chat.py:235] ValueError: This model's maximum context length is 16384 tokens. However, you requested 20000 tokens in the messages.\n";
    let llama = "0.12.538.661 E srv    send_error: task id = 162, error: request (20001 tokens) exceeds the available context size (2048 tokens), try increasing it\n";
    let template = "jinja2.exceptions.TemplateError: Conversation roles must alternate user/assistant/user/assistant/...\n";
    names(
        "client-request-rejected",
        &[
            ("window", format!("{START}{READY}{window}")),
            ("template", format!("{START}{READY}{template}")),
            ("llama.cpp", format!("{LLAMA}{LISTENS}{llama}")),
            ("key", served(&answers("401 Unauthorized", 4))),
            ("name", served(&answers("404 Not Found", 4))),
        ],
    );
    let busy =
        "[GIN] 2025/05/22 - 10:00:02 | 503 |   42.211191ms |       127.0.0.1 | POST     \"/api/generate\"\n"
            .repeat(8);
    let full = "{\"error\":\"server busy, please try again.  maximum pending requests exceeded\"}\n";
    names("overload-shedding", &[("Ollama", format!("{OLLAMA}{busy}{full}"))]);
    for status in ["401 Unauthorized", "404 Not Found"] {
        let answer = judge(&served(&answers(status, 4))).verdict.answer;
        assert!(!answer.contains("window"), "{answer}");
    }
}

#[test]
fn what_makes_it_slow_is_told_by_its_lines() {
    names(
        "kernel-fallback-slow-path",
        &[("no layer", format!("{LLAMA}load_tensors: offloaded 0/29 layers to GPU\n{LISTENS}"))],
    );
    names(
        "gpu-not-visible",
        &[(
            "build",
            format!("warning: no usable GPU found, --gpu-layers option will be ignored\n{LLAMA}{LISTENS}"),
        )],
    );
    let cut = "time=2025-05-22T10:00:01.000Z level=WARN source=runner.go:131 msg=\"truncating input prompt\" limit=2048 prompt=10552 keep=4 new=2048\n";
    let capped = "srv    load_model: the slot context (65536) exceeds the training context of the model (32768) - capping\n";
    names(
        "silent-context-truncation",
        &[("Ollama", format!("{OLLAMA}{cut}")), ("llama.cpp", format!("{LLAMA}{capped}{LISTENS}"))],
    );
    let nixl = "(EngineCore_DP0 pid=2) ERROR 11-15 02:47:32 [base_worker.py:1260] NIXL transfer failure: transfer_failed | Context: {'remote_engine_id': 'a'}\n";
    names("kv-transfer-failure", &[("NIXL", served(nixl))]);
    let retracts = "[2025-06-01 10:52:15] KV cache pool is full. Retract requests. #retracted_reqs: 3, #new_token_ratio: 0.41 -> 0.62\n[2025-06-01 10:52:16] Decode batch, #running-req: 20, #token: 1880, token usage: 0.94, cuda graph: True, gen throughput (token/s): 210.10, #queue-req: 5\n";
    let drafts = "INFO 02-11 14:50:38 [metrics.py:477] Speculative metrics: Draft acceptance rate: 0.121, System efficiency: 0.139, Number of speculative tokens: 10, Number of accepted tokens: 509, Number of draft tokens: 4210, Number of emitted tokens: 640.\n";
    names("speculation-ineffective", &[("vLLM up to 0.10", served(&drafts.repeat(4)))]);
    names("preemption-thrash", &[("SGLang", format!("{SGLANG}{}", retracts.repeat(6)))]);
    let eager = "[2025-06-01 10:52:16] Decode batch, #running-req: 50, #token: 60000, token usage: 0.14, cuda graph: False, gen throughput (token/s): 251.30, #queue-req: 0\n";
    names("cuda-graph-miss", &[("SGLang", format!("{SGLANG}{}", eager.repeat(20)))]);
    let vectors = "time=2025-05-22T10:00:01.000Z level=WARN source=gpu.go:252 msg=\"CPU does not have minimum vector extensions, GPU inference disabled\" required=avx detected=\"no vector extensions\"\ntime=2025-05-22T10:00:01.100Z level=INFO source=types.go:131 msg=\"inference compute\" id=0 library=cpu variant=\"no vector extensions\"\n";
    names("cpu-instruction-set", &[("Ollama", format!("{OLLAMA}{vectors}"))]);
}

#[test]
fn harmless_logs_raise_no_alarm() {
    let silent = "(EngineCore_DP0 pid=2) INFO 11-15 02:27:00 [shm_broadcast.py:466] No available shared memory broadcast block found in 60 seconds.\n";
    let late = "warning: no usable GPU found, --gpu-layers option will be ignored\n";
    let layers = "load_tensors: offloaded 37/37 layers to GPU\n";
    let idle = "[2025-06-01 10:05:00] DetokenizerManager watchdog timeout (self.watchdog_timeout=300, self.soft=True)\n";
    let stops = "(APIServer pid=1) INFO 11-15 02:46:30 [launcher.py:254] [shutdown] API server: shutdown triggered\nINFO:     Shutting down\n";
    for (name, log) in [
        ("at work", served(&statistics(&[(39, 0, 900.0, 68.9); 6]))),
        ("idle", served(&statistics(&[(0, 0, 0.0, 0.0); 6]))),
        ("one silent minute of a load", format!("{START}{silent}{READY}{}", answers("200 OK", 3))),
        ("stopped", served(stops)),
        ("a GPU found after the warning", format!("{late}{LLAMA}{layers}{LISTENS}")),
        ("a detokenizer with nothing to do", format!("{SGLANG}{}", idle.repeat(2))),
    ] {
        let verdict = judge(&log).verdict;
        assert_eq!(verdict.status, Status::Healthy, "{name}: {}", verdict.answer);
    }
}

#[test]
fn a_start_nobody_knows_the_cause_of_is_told_by_its_own_words() {
    let log = format!(
        "{START}{CORE}EngineCore failed to start.\n{CORE}Traceback (most recent call last):\n{CORE}  File \"/usr/lib/python3/dist-packages/vllm/model_executor/models/m.py\", line 77, in __init__\n{CORE}    raise ValueError(x)\n{CORE}ValueError: foo must be a multiple of 8\n(APIServer pid=1) Traceback (most recent call last):\n(APIServer pid=1)   File \"/usr/lib/python3/dist-packages/vllm/v1/engine/utils.py\", line 7, in wait\n(APIServer pid=1)     raise RuntimeError(\n(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above.\n"
    );
    let verdict = judge(&log).verdict;
    assert_eq!(verdict.status, Status::CannotTell);
    assert!(verdict.answer.contains("foo must be a multiple of 8"), "{}", verdict.answer);
    assert!(verdict.answer.contains("vllm/model_executor/models/m.py:77 in __init__"), "{}", verdict.answer);
}
