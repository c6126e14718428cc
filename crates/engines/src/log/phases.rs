//! Lines from which on a start is in another phase. `check --start` tells by them how far a server has come.

use intriage_case::StartPhase::{self, CaptureGraphs, Compile, Download, LoadWeights, ProfileMemory, WarmUp};

use super::meaning::Meaning;
use super::signature::Wording;
use crate::{Engine, signatures};

/// A line that begins a phase of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhaseLine {
    /// Who writes it.
    pub engine: Engine,
    /// The text that marks it.
    pub text: &'static str,
    /// The phase the start is in from this line on.
    pub phase: StartPhase,
    /// Where the wording was found.
    pub source: Wording,
    /// A line it must find.
    pub example: &'static str,
    /// A similar line it must not find.
    pub not: &'static str,
}

const fn row(
    engine: Engine,
    phase: StartPhase,
    text: &'static str,
    source: Wording,
    lines: [&'static str; 2],
) -> PhaseLine {
    PhaseLine { engine, text, phase, source, example: lines[0], not: lines[1] }
}

const LOADER: Wording = Wording::Code("vllm-project/vllm:vllm/model_executor/model_loader/weight_utils.py");
const RUNNER: Wording = Wording::Code("vllm-project/vllm:vllm/v1/worker/gpu_model_runner.py");
const BACKENDS: Wording = Wording::Code("vllm-project/vllm:vllm/compilation/backends.py");
const WORKER: Wording = Wording::Code("vllm-project/vllm:vllm/v1/worker/gpu_worker.py");
const HUB: Wording = Wording::Code("huggingface/huggingface_hub:src/huggingface_hub/_snapshot_download.py");
const SGLANG: Wording = Wording::Code("sgl-project/sglang:python/sglang/srt/model_executor/model_runner.py");
const LAUNCHER: Wording = Wording::Code("huggingface/text-generation-inference:launcher/src/main.rs");

const CONFIG: &str = "(APIServer pid=599) INFO 11-15 02:26:49 [model.py:1788] Using max model len 16384";
const ROUTES: &str = "(APIServer pid=599) INFO 11-15 02:30:06 [launcher.py:37] Available routes are:";
const POOL: &str = "[2025-06-01 10:00:30] Memory pool end. avail mem=9.62 GB";

static PHASES: &[PhaseLine] = &[
    row(
        Engine::Vllm,
        Download,
        "Fetching ",
        HUB,
        ["Fetching 4 files:   0%|          | 0/4 [00:00<?, ?it/s]", CONFIG],
    ),
    row(
        Engine::Vllm,
        LoadWeights,
        "Time spent downloading weights for ",
        LOADER,
        [
            "(EngineCore pid=8) INFO 11-15 02:27:14 [weight_utils.py:533] Time spent downloading weights for m: 41.220985 seconds",
            CONFIG,
        ],
    ),
    row(
        Engine::Vllm,
        LoadWeights,
        "Starting to load model ",
        RUNNER,
        [
            "(Worker pid=18095) INFO 11-18 03:56:05 [cpu_model_runner.py:68] Starting to load model smollm2-135m...",
            CONFIG,
        ],
    ),
    row(
        Engine::Vllm,
        LoadWeights,
        "Loading model from scratch...",
        Wording::Recording("recordings/vllm-h200-healthy/server.log"),
        [
            "(EngineCore pid=879) INFO 11-15 02:27:14 [model_runner.py:284] Loading model from scratch...",
            CONFIG,
        ],
    ),
    row(
        Engine::Vllm,
        LoadWeights,
        "Loading safetensors checkpoint shards:",
        LOADER,
        ["Loading safetensors checkpoint shards:   0% Completed | 0/4 [00:00<?, ?it/s]", CONFIG],
    ),
    row(
        Engine::Vllm,
        ProfileMemory,
        "Model loading took ",
        RUNNER,
        [
            "(EngineCore pid=879) INFO 11-15 02:27:16 [model_runner.py:305] Model loading took 13.8 GiB and 2.363224 seconds",
            CONFIG,
        ],
    ),
    row(
        Engine::Vllm,
        Compile,
        "for vLLM's torch.compile",
        BACKENDS,
        [
            "(EngineCore pid=879) INFO 11-15 02:27:24 [backends.py:1094] Using cache directory: .cache/vllm/torch_compile_cache/74c9c698da/rank_0_0/backbone for vLLM's torch.compile",
            CONFIG,
        ],
    ),
    row(
        Engine::Vllm,
        Compile,
        "Warming up model for the compilation...",
        Wording::Code("vllm-project/vllm:vllm/v1/worker/cpu_model_runner.py"),
        [
            "(Worker pid=18095) INFO 11-18 03:56:10 [cpu_model_runner.py:87] Warming up model for the compilation...",
            CONFIG,
        ],
    ),
    row(
        Engine::Vllm,
        ProfileMemory,
        "torch.compile took ",
        Wording::Code("vllm-project/vllm:vllm/compilation/monitor.py"),
        [
            "(EngineCore pid=879) INFO 11-15 02:27:43 [monitor.py:53] torch.compile took 26.18 s in total",
            CONFIG,
        ],
    ),
    row(
        Engine::Vllm,
        WarmUp,
        "Available KV cache memory: ",
        WORKER,
        [
            "(EngineCore pid=879) INFO 11-15 02:27:46 [gpu_worker.py:560] Available KV cache memory: 113.66 GiB",
            ROUTES,
        ],
    ),
    row(
        Engine::Vllm,
        CaptureGraphs,
        "Capturing CUDA graph",
        RUNNER,
        ["Capturing CUDA graphs (PIECEWISE):   0%|          | 0/51 [00:00<?, ?it/s]", ROUTES],
    ),
    row(
        Engine::Vllm,
        WarmUp,
        "Graph capturing finished in ",
        RUNNER,
        [
            "(EngineCore pid=879) INFO 11-15 02:27:54 [model_runner.py:747] Graph capturing finished in 8 secs, took 0.98 GiB",
            ROUTES,
        ],
    ),
    row(
        Engine::Sglang,
        LoadWeights,
        "Load weight begin.",
        SGLANG,
        ["[2026-02-26 05:20:20 TP7] Load weight begin. avail mem=283.62 GB", POOL],
    ),
    row(
        Engine::Sglang,
        ProfileMemory,
        "Load weight end.",
        SGLANG,
        [
            "[2025-08-04 10:10:08] Load weight end. type=XLMRobertaModel, dtype=torch.float16, avail mem=77.66 GB, mem usage=1.18 GB.",
            POOL,
        ],
    ),
    row(
        Engine::Sglang,
        CaptureGraphs,
        "Capture cuda graph begin.",
        SGLANG,
        [
            "[2025-06-01 10:00:40 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=9.62 GB",
            POOL,
        ],
    ),
    row(
        Engine::Sglang,
        WarmUp,
        "Capture cuda graph end.",
        SGLANG,
        [
            "[2026-06-05 18:12:34] Capture cuda graph end. Time elapsed: 1.23 s. mem usage=0.09 GB. avail mem=20.58 GB.",
            POOL,
        ],
    ),
    row(
        Engine::Tgi,
        Download,
        "text_generation_launcher: Starting download process.",
        LAUNCHER,
        [
            "2024-09-03T04:36:57.491823Z  INFO download: text_generation_launcher: Starting download process. for m",
            "2024-02-14T06:49:27.587880Z  INFO text_generation_launcher: Files are already present on the host. Skipping download.",
        ],
    ),
    row(
        Engine::Tgi,
        LoadWeights,
        "text_generation_launcher: Starting shard",
        LAUNCHER,
        [
            "2024-02-14T06:49:27.588182Z  INFO shard-manager: text_generation_launcher: Starting shard rank=0",
            "2024-05-01T01:17:02.618817Z  INFO shard-manager: text_generation_launcher: Waiting for shard to be ready... rank=0",
        ],
    ),
    row(
        Engine::Tgi,
        ProfileMemory,
        ": Warming up model",
        Wording::Code("huggingface/text-generation-inference:backends/v3/src/lib.rs"),
        [
            "2024-05-01T01:17:02.618817Z  INFO text_generation_router_v3: backends/v3/src/lib.rs:125: Warming up model",
            "2024-05-01T01:17:02.618817Z  INFO text_generation_launcher: Starting Webserver",
        ],
    ),
    row(
        Engine::LlamaCpp,
        LoadWeights,
        "load_model: loading model '",
        Wording::Recording("recordings/llamacpp-healthy/server.log"),
        [
            "0.00.031.563 I srv    load_model: loading model 'SmolLM2-135M-Instruct.Q4_1.gguf'",
            "0.01.519.939 I srv    load_model: initializing, n_slots = 4, n_ctx_slot = 2048, kv_unified = 'false'",
        ],
    ),
    row(
        Engine::LlamaCpp,
        WarmUp,
        "warming up the model with an empty run",
        Wording::Code("ggml-org/llama.cpp:common/common.cpp"),
        [
            "0.00.047.192 W common_init_from_params: warming up the model with an empty run - please wait ... (--no-warmup to disable)",
            "0.01.531.102 I srv  llama_server: model loaded",
        ],
    ),
];

/// Every line that begins a phase of a start, engine by engine.
pub fn phase_lines() -> &'static [PhaseLine] {
    PHASES
}

/// The phase a start is in from this line on; `None` where the line tells of none.
pub fn phase_of(line: &str) -> Option<StartPhase> {
    let ready = |row: &&super::Signature| {
        row.meaning == Meaning::Ready
            && line.contains(row.text)
            && line.contains(row.with)
            && (row.without.is_empty() || !line.contains(row.without))
    };
    if signatures().find(|row| ready(row)).is_some() {
        return Some(StartPhase::Serving);
    }
    PHASES.iter().find(|row| line.contains(row.text)).map(|row| row.phase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_finds_its_line_and_not_the_other() {
        for row in phase_lines() {
            assert_eq!(phase_of(row.example), Some(row.phase), "{}", row.text);
            assert!(row.example.contains(row.text) && !row.not.contains(row.text), "{}", row.text);
            assert_ne!(phase_of(row.not), Some(row.phase), "{}", row.text);
        }
    }

    #[test]
    fn a_recorded_start_goes_through_its_phases_in_order() {
        let log = include_str!("../../../../fixtures/recordings/vllm-h200-healthy/server.log");
        let mut phases: Vec<StartPhase> = log.lines().filter_map(phase_of).collect();
        phases.dedup();
        let serves = phases.iter().position(|phase| *phase == StartPhase::Serving).unwrap();
        assert_eq!(
            phases[..=serves],
            [
                LoadWeights,
                ProfileMemory,
                Compile,
                ProfileMemory,
                WarmUp,
                CaptureGraphs,
                WarmUp,
                StartPhase::Serving
            ]
        );
    }

    #[test]
    fn an_access_line_begins_nothing() {
        assert_eq!(phase_of("INFO:     127.0.0.1:4 - \"GET /health HTTP/1.1\" 200 OK"), None);
        assert_eq!(phase_of(""), None);
    }
}
