//! Lines an engine writes once when it starts. A journal or a restarted container's log holds several starts: what was
//! said of settings before the last of them is of a process that is gone.

use super::meaning::Meaning;
use super::signature::Wording;
use crate::{Engine, VersionRange};

/// A line an engine writes when it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartLine {
    /// Who writes it.
    pub engine: Engine,
    /// The text that marks it, at least four bytes.
    pub text: &'static str,
    /// How far into the start it stands.
    pub part: StartPart,
    /// The releases it was seen in.
    pub range: VersionRange,
    /// Where the wording was found.
    pub source: Wording,
    /// A line it must find.
    pub example: &'static str,
    /// A similar line it must not find.
    pub not: &'static str,
}

/// How far a start has come, in the order in which engines tell of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StartPart {
    /// It named its release.
    Release,
    /// It named its arguments, or the model it is about to load.
    Arguments,
    /// It told what it made of them.
    Made,
}

/// Every line that begins a start.
pub(super) static STARTS: &[StartLine] = &[
    StartLine {
        engine: Engine::Vllm,
        text: "█  version ",
        part: StartPart::Release,
        range: VersionRange { since: "0.16.0", until: "" },
        source: Wording::Recording("recordings/vllm-h200-healthy/server.log"),
        example: "(APIServer pid=599) INFO 11-15 02:26:25 [api_utils.py:345]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.26.0",
        not: "(APIServer pid=599) INFO 11-15 02:26:25 [api_utils.py:345]   █▄█▀ █     █     █     █  model   l8b",
    },
    StartLine {
        engine: Engine::Vllm,
        text: "vLLM API server version ",
        part: StartPart::Release,
        range: VersionRange { since: "", until: "0.15.0" },
        source: Wording::Code("vllm-project/vllm:vllm/entrypoints/openai/api_server.py"),
        example: "INFO 10-24 15:18:24 api_server.py:528] vLLM API server version 0.6.3.post1",
        not: "INFO 10-24 15:18:24 api_server.py:528] Starting vLLM API server on http://0.0.0.0:8000",
    },
    StartLine {
        engine: Engine::Vllm,
        text: "non-default args: {",
        part: StartPart::Arguments,
        range: VersionRange { since: "0.9.0", until: "" },
        source: Wording::Recording("recordings/vllm-h200-healthy/server.log"),
        example: "(APIServer pid=599) INFO 11-15 02:26:25 [api_utils.py:273] non-default args: {'model_tag': 'l8b', 'host': '127.0.0.1', 'model': 'l8b', 'max_model_len': 16384, 'load_format': 'dummy'}",
        not: "(APIServer pid=599) INFO 11-15 02:26:25 non-default generation config: {'top_k': 1}",
    },
    StartLine {
        engine: Engine::Vllm,
        text: "args: Namespace(",
        part: StartPart::Arguments,
        range: VersionRange { since: "", until: "0.8.5" },
        source: Wording::Code("vllm-project/vllm:vllm/entrypoints/openai/api_server.py"),
        example: "INFO 10-24 15:18:24 api_server.py:529] args: Namespace(subparser='serve', model_tag='m', port=8000)",
        not: "Namespace(backend='vllm', base_url=None, num_prompts=1000)",
    },
    StartLine {
        engine: Engine::Sglang,
        text: "server_args=ServerArgs(",
        part: StartPart::Arguments,
        range: VersionRange::ALL,
        source: Wording::Code("sgl-project/sglang:python/sglang/srt/entrypoints/engine.py"),
        example: "[2025-06-01 10:00:00] server_args=ServerArgs(model_path='m', tp_size=1)",
        not: "[2025-06-01 10:00:00] server_args is read from a file",
    },
    StartLine {
        engine: Engine::Tgi,
        text: "text_generation_launcher: Args {",
        part: StartPart::Arguments,
        range: VersionRange { since: "0.9.0", until: "" },
        source: Wording::Code("huggingface/text-generation-inference:launcher/src/main.rs"),
        example: "2024-09-03T04:36:57.491823Z  INFO text_generation_launcher: Args {",
        not: "2024-09-03T04:36:57.491823Z  INFO text_generation_launcher: Starting download process.",
    },
    StartLine {
        engine: Engine::LlamaCpp,
        text: "load_model: loading model '",
        part: StartPart::Arguments,
        range: VersionRange::ALL,
        source: Wording::Recording("recordings/llamacpp-healthy/server.log"),
        example: "0.00.031.563 I srv    load_model: loading model 'SmolLM2-135M-Instruct.Q4_1.gguf'",
        not: "0.01.519.939 I srv    load_model: initializing, n_slots = 4, n_ctx_slot = 2048, kv_unified = 'false'",
    },
    StartLine {
        engine: Engine::Ollama,
        text: "msg=\"starting llama-server\"",
        part: StartPart::Arguments,
        range: VersionRange { since: "0.30.0", until: "" },
        source: Wording::Code("ollama/ollama:llm/llama_server.go"),
        example: "time=2026-08-01T10:00:01.000Z level=INFO source=llama_server.go:431 msg=\"starting llama-server\" cmd=\"/usr/lib/ollama/llama-server --port 39000\"",
        not: "time=2026-08-01T10:00:01.000Z level=INFO source=llama_server.go:601 msg=\"llama-server started in 1.51 seconds\"",
    },
    StartLine {
        engine: Engine::Ollama,
        text: "msg=\"starting llama server\"",
        part: StartPart::Arguments,
        range: VersionRange::ALL,
        source: Wording::Code("ollama/ollama:llm/server.go"),
        example: "time=2025-05-22T10:00:01.000Z level=INFO source=server.go:431 msg=\"starting llama server\" cmd=\"/usr/bin/ollama runner --ctx-size 8192 --parallel 4\"",
        not: "time=2025-05-22T10:00:01.000Z level=INFO source=server.go:601 msg=\"llama runner started in 1.51 seconds\"",
    },
];

/// Every line that begins a start, engine by engine.
pub fn start_lines() -> &'static [StartLine] {
    STARTS
}

/// Whether a line tells how one process is set up, rather than what happened to it: with the process it is gone. What
/// happened, a crash above all, stays evidence.
pub(super) fn is_of_one_process(meaning: Meaning) -> bool {
    use Meaning::*;
    matches!(
        meaning,
        Paused
            | KvPoolForced
            | LayersOffloaded
            | OffloadEstimate
            | GraphsOff
            | CompileOff
            | KernelFallback
            | MoeConfigDefault
            | PartFallback
            | LibraryMissing
            | PrefixCachingOff
            | WeightsLoaded
            | CheckpointStorage
            | ModelLoaded
            | ShardsSlow
            | FlagOverridden
            | VariableUnknown
            | ContextReduced
            | ContextBeyondTraining
            | DtypeChanged
            | SamplingOverridden
            | ChatTemplateMissing
            | ChatTemplateFormat
            | StatsOff
            | DevelopmentEndpoints
            | FileLimitLow
            | ThreadsSet
            | ThreadsBound
            | NumaBound
            | TransportPeer
            | TransportSharedMemory
            | TransportSocket
            | TransportForbidden
            | CustomAllReduceOff
    )
}

#[cfg(test)]
mod tests {
    use intriage_case::LogText;

    use super::*;
    use crate::config::Config;
    use crate::log::{Known, LogEvent, LogReadings, read_logs};
    use crate::{Setting, dialect};

    fn read(text: &str) -> (LogReadings, Config) {
        let mut config = Config::default();
        let log = LogText { name: "server.log".into(), text: text.into() };
        (read_logs(Some(dialect(Engine::Vllm)), [&log], Known::default(), &mut config), config)
    }

    const FIRST: &str = "INFO vLLM API server version 0.15.0\n\
        INFO non-default args: {'model': 'a', 'max_num_seqs': 4, 'tensor_parallel_size': 2}\n\
        INFO [model.py:1788] Using max model len 8192\n\
        WARNING Cudagraph is disabled under eager mode\n\
        (EngineCore pid=2) ERROR [core.py:1] EngineCore encountered a fatal error.\n";

    #[test]
    fn of_several_starts_the_last_one_runs() {
        let again = "INFO vLLM API server version 0.15.0\nINFO non-default args: {'model': 'b'}\n\
            INFO [model.py:1788] Using max model len 16384\n";
        let (readings, config) = read(&format!("{FIRST}{again}"));
        assert_eq!(config.text(Setting::Model), Some("b"));
        assert_eq!(config.number(Setting::ContextWindow), Some(16_384.0));
        assert_eq!(config.number(Setting::MaxSequences), None);
        assert_eq!(config.all(Setting::TensorParallel), []);
        // How a process that is gone was set up is gone with it; that it died is not.
        assert!(readings.first(Meaning::GraphsOff).is_none());
        assert!(readings.first(Meaning::EngineDied).is_some_and(LogEvent::is_earlier));
        let (readings, config) = read(FIRST);
        assert_eq!(config.number(Setting::MaxSequences), Some(4.0));
        assert!(readings.first(Meaning::GraphsOff).is_some());
        assert!(readings.first(Meaning::EngineDied).is_some_and(|died| !died.is_earlier()));
    }

    #[test]
    fn a_start_that_came_no_further_than_its_arguments_counts_too() {
        let (_, config) =
            read(&format!("{FIRST}INFO non-default args: {{'model': 'b', 'max_num_seqs': 8}}\n"));
        assert_eq!(config.number(Setting::MaxSequences), Some(8.0));
        assert_eq!(config.number(Setting::ContextWindow), None);
        let (_, config) = read(&format!("{FIRST}INFO vLLM API server version 0.15.0\n"));
        assert_eq!(config.iter().count(), 0);
        assert!(!config.is_told());
    }

    #[test]
    fn engines_side_by_side_are_one_start() {
        let engines = "(EngineCore_DP0 pid=1) INFO GPU KV cache size: 1,000 tokens\n\
            (EngineCore_DP1 pid=2) INFO Initializing a V1 LLM engine (v0.15.0) with config: model='a', enforce_eager=True\n\
            (EngineCore_DP1 pid=2) INFO GPU KV cache size: 900 tokens\n";
        let (_, config) = read(&format!("{FIRST}{engines}"));
        assert_eq!(config.number(Setting::MaxSequences), Some(4.0));
        assert_eq!(config.number(Setting::KvCapacity), Some(1000.0));
    }
}
