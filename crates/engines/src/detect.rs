//! Which engine is this, and which release?

use std::collections::BTreeSet;

use intriage_case::{Case, LogText, Source};
use serde_json::Value;

use crate::dialect::{Dialect, Engine, dialect};
use crate::exposition::Exposition;
use crate::log::{LogKind, LogReadings, line_number, written_last};
use crate::version::Version;

/// Who answered.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Identity {
    /// The engine, where one was recognised.
    pub engine: Option<Engine>,
    /// Its release, where the server or its log said so.
    pub version: Option<Version>,
    /// Who said so.
    pub version_from: Option<Source>,
    /// The oldest release its metrics allow; a fallback where `version` is unknown.
    pub at_least: Option<Version>,
    /// Models served, by the names clients use.
    pub models: Vec<String>,
}

impl Identity {
    /// The release said, else the oldest possible one.
    pub fn release(&self) -> Option<&Version> {
        self.version.as_ref().or(self.at_least.as_ref())
    }
}

/// Recognises the engine by its metric names, its endpoints, its command line, its log, and last by what is meant to run.
pub(crate) fn detect(case: &Case, last: Option<&Exposition<'_>>) -> Identity {
    let engine = last
        .and_then(recognise)
        .or_else(|| by_endpoints(case))
        .or_else(|| by_command_line(case.command_line.as_deref()?))
        .or_else(|| by_logs(case))
        .or_else(|| case.manifests.iter().find_map(|m| by_command_line(&m.text)));
    let mut identity = Identity { engine, ..Identity::default() };
    let Some(engine) = engine else { return identity };
    let said = version_from_endpoints(engine, case).or_else(|| version_from_logs(engine, case));
    (identity.version, identity.version_from) = said.unzip();
    identity.at_least = last.and_then(|s| oldest_possible(dialect(engine), s));
    identity.models = models(case, last);
    identity
}

/// The engine whose metrics these are.
pub fn recognise(scrape: &Exposition<'_>) -> Option<Engine> {
    let speaks = |engine: &Engine| {
        let prefixes = dialect(*engine).prefixes;
        scrape.samples.iter().any(|x| prefixes.iter().any(|p| x.name.starts_with(p)))
    };
    Engine::ALL.iter().copied().find(speaks)
}

fn by_endpoints(case: &Case) -> Option<Engine> {
    if let Some(models) = json(case, "/v1/models") {
        let owner = models.pointer("/data/0/owned_by").and_then(Value::as_str).unwrap_or_default();
        let found = Engine::ALL.iter().copied().find(|e| dialect(*e).owned_by.contains(&owner));
        if found.is_some() {
            return found;
        }
    }
    if json(case, "/props").is_some_and(|p| p.get("total_slots").is_some()) {
        return Some(Engine::LlamaCpp);
    }
    let info = json(case, "/server_info").or_else(|| json(case, "/get_server_info"))?;
    if info.get("vllm_config").is_some() {
        Some(Engine::Vllm)
    } else if info.get("mem_fraction_static").is_some() || info.get("internal_states").is_some() {
        Some(Engine::Sglang)
    } else {
        None
    }
}

/// The engine a command line, an image or a manifest names.
pub(crate) fn by_command_line(line: &str) -> Option<Engine> {
    const MARKS: [(&str, Engine); 10] = [
        ("vllm", Engine::Vllm),
        ("sglang", Engine::Sglang),
        ("text-generation-launcher", Engine::Tgi),
        ("text-generation-inference", Engine::Tgi),
        ("trtllm", Engine::TensorRtLlm),
        ("llama-server", Engine::LlamaCpp),
        // The project's own image, in all its flavours.
        ("llama.cpp:server", Engine::LlamaCpp),
        ("lmdeploy", Engine::Lmdeploy),
        ("ollama", Engine::Ollama),
        ("dynamo", Engine::Dynamo),
    ];
    MARKS.into_iter().find(|(mark, _)| line.contains(mark)).map(|(_, engine)| engine)
}

/// A server that never came up leaves only its log. What an engine says of itself counts first: a traceback of one may
/// run through the packages of another.
fn by_logs(case: &Case) -> Option<Engine> {
    const MARKS: &[(&str, Engine)] = &[
        ("LLM engine (v", Engine::Vllm),
        ("vLLM API server version ", Engine::Vllm),
        ("non-default args: {", Engine::Vllm),
        ("(APIServer pid=", Engine::Vllm),
        ("(EngineCore", Engine::Vllm),
        ("Avg prompt throughput: ", Engine::Vllm),
        ("(Worker_TP", Engine::Vllm),
        ("(VllmWorker", Engine::Vllm),
        ("(RayWorkerWrapper pid=", Engine::Vllm),
        ("Maximum concurrency for ", Engine::Vllm),
        ("# GPU blocks: ", Engine::Vllm),
        ("[gpu_model_runner.py:", Engine::Vllm),
        ("[kv_cache_utils.py:", Engine::Vllm),
        ("llm_engine.py:", Engine::Vllm),
        ("server_args=ServerArgs(", Engine::Sglang),
        ("#running-req: ", Engine::Sglang),
        ("#new-seq: ", Engine::Sglang),
        ("Load weight begin. avail mem=", Engine::Sglang),
        ("Init torch distributed begin.", Engine::Sglang),
        ("Capture cuda graph begin.", Engine::Sglang),
        ("KV Cache is allocated. ", Engine::Sglang),
        ("The server is fired up and ready to roll!", Engine::Sglang),
        ("max_total_num_tokens=", Engine::Sglang),
        ("[sgl_kernel] ", Engine::Sglang),
        ("text_generation_launcher", Engine::Tgi),
        ("text_generation_router", Engine::Tgi),
        ("text_generation_server", Engine::Tgi),
        ("shard-manager: ", Engine::Tgi),
        ("Error: ShardCannotStart", Engine::Tgi),
        ("[TRT-LLM]", Engine::TensorRtLlm),
        ("[TensorRT-LLM]", Engine::TensorRtLlm),
        // Ollama before llama.cpp: it runs it, and its log holds those lines, too.
        ("source=routes.go:", Engine::Ollama),
        ("msg=\"starting llama server\"", Engine::Ollama),
        ("msg=\"starting runner\"", Engine::Ollama),
        // Go's logger with its source; of these engines only Ollama writes it.
        ("level=INFO source=", Engine::Ollama),
        ("level=WARN source=", Engine::Ollama),
        ("level=ERROR source=", Engine::Ollama),
        ("source=llama_server.go:", Engine::Ollama),
        ("llama_server", Engine::LlamaCpp),
        ("load_model: loading model '", Engine::LlamaCpp),
        ("srv    load_model: ", Engine::LlamaCpp),
        ("llama_model_loader: ", Engine::LlamaCpp),
        ("slot launch_slot_", Engine::LlamaCpp),
        ("slot update_slots", Engine::LlamaCpp),
        ("llama_context: ", Engine::LlamaCpp),
        ("llama_init_from_model: ", Engine::LlamaCpp),
        ("ggml_cuda_init: ", Engine::LlamaCpp),
        ("slot print_timing: id", Engine::LlamaCpp),
        ("slot      release: id", Engine::LlamaCpp),
        ("load_tensors: offload", Engine::LlamaCpp),
        ("llm_load_tensors: ", Engine::LlamaCpp),
        ("llm_load_print_meta: ", Engine::LlamaCpp),
        ("main: server is listening on ", Engine::LlamaCpp),
        ("system_info: n_threads = ", Engine::LlamaCpp),
        ("[TM][", Engine::Lmdeploy),
        // SGLang uses parts of vLLM, and never the other way round.
        ("sglang/srt", Engine::Sglang),
        ("sglang", Engine::Sglang),
        ("vllm", Engine::Vllm),
        ("tensorrt_llm", Engine::TensorRtLlm),
        ("lmdeploy", Engine::Lmdeploy),
        ("llama-server", Engine::LlamaCpp),
        ("ollama", Engine::Ollama),
        // Last: PyTorch has a compiler of that name.
        ("dynamo_runtime", Engine::Dynamo),
        ("dynamo_llm", Engine::Dynamo),
        ("dynamo.frontend", Engine::Dynamo),
    ];
    let holds = |mark: &str| case.logs.iter().any(|log| log.text.contains(mark));
    let marked = MARKS.iter().find(|(mark, _)| holds(mark)).map(|(_, engine)| *engine);
    marked.or_else(|| case.logs.iter().find_map(by_lines))
}

/// The engine that writes a line found in the log; a few words of an error are often all there is.
fn by_lines(log: &LogText) -> Option<Engine> {
    LogReadings::of(log).events.iter().find_map(|event| match event.log {
        LogKind::Engine(engine) => Some(engine),
        _ => None,
    })
}

fn version_from_endpoints(engine: Engine, case: &Case) -> Option<(Version, Source)> {
    let text_at = |path: &str, field: &str| -> Option<(Version, Source)> {
        let version = Version::parse(json(case, path)?.get(field)?.as_str()?)?;
        Some((version, Source::Endpoint { path: path.to_owned() }))
    };
    match engine {
        Engine::LlamaCpp => text_at("/props", "build_info"),
        Engine::Sglang => {
            text_at("/server_info", "version").or_else(|| text_at("/get_server_info", "version"))
        }
        Engine::Tgi => text_at("/info", "version"),
        Engine::Ollama => text_at("/api/version", "version"),
        _ => text_at("/version", "version"),
    }
}

/// Of logs of several releases the one written last is the one that runs: somebody may have gone back. Where nobody knows
/// which that is, the newest release.
fn version_from_logs(engine: Engine, case: &Case) -> Option<(Version, Source)> {
    let names_one = |log: &&LogText| version_of_log(engine, log).is_some();
    let all: Vec<&LogText> = case.logs.iter().filter(names_one).collect();
    if let Some(last) = written_last(&all) {
        return version_of_log(engine, last);
    }
    let found = all.into_iter().filter_map(|log| version_of_log(engine, log));
    found.max_by(|(a, _), (b, _)| a.cmp(b))
}

/// What stands directly before the release in a start's lines, by engine.
const RELEASES: [(Engine, &str); 7] = [
    (Engine::Vllm, "LLM engine (v"),
    (Engine::Vllm, "vLLM API server version "),
    (Engine::Vllm, "█  version "),
    (Engine::LlamaCpp, "build: "),
    (Engine::Ollama, " (version "),
    (Engine::TensorRtLlm, "TensorRT LLM version: "),
    (Engine::TensorRtLlm, "TensorRT-LLM version: "),
];

/// The release a log names, and where. Of several starts the last one counts.
pub(crate) fn version_of_log(engine: Engine, log: &LogText) -> Option<(Version, Source)> {
    let text = &log.text;
    let last = |mark: &str| text.rfind(mark).map(|at| at + mark.len());
    let marks = RELEASES.iter().filter(|(of, _)| *of == engine).map(|(_, mark)| *mark);
    // A runtime that writes JSON has the banner's blocks escaped.
    let at =
        marks.filter_map(last).max().or_else(|| last("  version ").filter(|_| engine == Engine::Vllm))?;
    let is_part = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    let release = text[at..].split(|c: char| !is_part(c)).next()?;
    let release = Version::parse(release)?;
    Some((release, Source::Log { file: log.name.clone(), line: line_number(text, at) }))
}

/// The newest "since" among the metrics seen.
fn oldest_possible(dialect: &Dialect, scrape: &Exposition<'_>) -> Option<Version> {
    let seen: BTreeSet<&str> = scrape.samples.iter().map(|s| s.name).collect();
    let seen_any = |metric: &str| seen.contains(metric) || seen.contains(format!("{metric}_count").as_str());
    // One metric may stand in several rows; its earliest release is what its presence proves.
    dialect
        .metrics
        .iter()
        .filter(|row| seen_any(row.metric))
        .filter_map(|row| {
            dialect.metrics.iter().filter(|r| r.metric == row.metric).map(|r| r.range.since).try_fold(
                None::<Version>,
                |first, since| {
                    let this = Version::parse(since)?;
                    Some(Some(first.map_or(this.clone(), |f| f.min(this))))
                },
            )?
        })
        .max()
}

fn models(case: &Case, last: Option<&Exposition<'_>>) -> Vec<String> {
    let mut models = BTreeSet::new();
    if let Some(list) = json(case, "/v1/models")
        && let Some(entries) = list.get("data").and_then(Value::as_array)
    {
        models.extend(entries.iter().filter_map(|m| Some(m.get("id")?.as_str()?.to_owned())));
    }
    if let Some(last) = last {
        for sample in &last.samples {
            if let Some(name) = sample.labels.get("model_name").or_else(|| sample.labels.get("model")) {
                models.insert(name.into_owned());
            }
        }
    }
    models.into_iter().filter(|m| !m.is_empty()).collect()
}

fn json(case: &Case, path: &str) -> Option<Value> {
    serde_json::from_str(case.endpoints.get(path)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_going_back_to_an_older_release_that_one_runs() {
        let log = |name: &str, release: &str, hour: u32| LogText {
            name: name.into(),
            text: format!(
                "INFO 11-15 {hour:02}:00:00 [api_server.py:1] vLLM API server version {release}\nINFO 11-15 {hour:02}:10:00 [x.py:1] on\n"
            ),
        };
        let release = |logs: Vec<LogText>| {
            detect(&Case { logs, ..Case::default() }, None).version.map(|version| version.to_string())
        };
        assert_eq!(
            release(vec![log("vllm.log", "0.26.0", 4), log("vllm.log.1", "0.27.0", 2)]).unwrap(),
            "0.26.0"
        );
        assert_eq!(
            release(vec![log("vllm.log", "0.27.0", 4), log("vllm.log.1", "0.26.0", 2)]).unwrap(),
            "0.27.0"
        );
        // Side by side they are of two servers, and nobody knows.
        assert_eq!(release(vec![log("a.log", "0.26.0", 4), log("b.log", "0.27.0", 4)]).unwrap(), "0.27.0");
    }

    #[test]
    fn the_start_up_line_names_engine_and_release() {
        for line in [
            "INFO 10-03 09:12:44 [api_server.py:1839] vLLM API server version 0.11.0",
            "(APIServer pid=1) INFO 10-03 09:12:44 [api_server.py:1839] vLLM API server version 0.11.0\r",
        ] {
            let log = LogText { name: "server.log".into(), text: format!("starting\n{line}\nmore\n") };
            let identity = detect(&Case { logs: vec![log], ..Case::default() }, None);
            assert_eq!(identity.engine, Some(Engine::Vllm));
            assert_eq!(identity.version.unwrap().to_string(), "0.11.0");
            let from = Source::Log { file: "server.log".into(), line: 2 };
            assert_eq!(identity.version_from, Some(from));
        }
    }

    fn of_log(text: &str) -> (Option<Engine>, Option<String>) {
        let log = LogText { name: "server.log".into(), text: text.into() };
        let identity = detect(&Case { logs: vec![log], ..Case::default() }, None);
        (identity.engine, identity.version.map(|version| version.to_string()))
    }

    #[test]
    fn the_last_start_names_the_release_however_far_it_came() {
        let first = "vLLM API server version 0.8.5\nInitializing a V1 LLM engine (v0.8.5) with config: x\n";
        let text = format!("{first}INFO  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.26.0\n");
        assert_eq!(of_log(&text).1.as_deref(), Some("0.26.0"));
        let json = "{\"message\":\"vLLM API server version 0.15.0\"}\n";
        assert_eq!(of_log(json).1.as_deref(), Some("0.15.0"));
        assert_eq!(
            of_log("vLLM API server version 0.6.3.post2.dev76+g51c24c97\n").1.unwrap(),
            "0.6.3.post2.dev76+g51c24c97"
        );
    }

    #[test]
    fn what_an_engine_says_of_itself_counts_before_the_packages_in_its_tracebacks() {
        let traceback =
            "  File \"/usr/lib/python3/site-packages/vllm/model_executor/layers/linear.py\", line 1\n";
        for (line, engine) in [
            ("[2025-06-01 10:00:00] server_args=ServerArgs(model_path='m')", Engine::Sglang),
            (
                "  File \"/sgl-workspace/sglang/python/sglang/srt/managers/scheduler.py\", line 1",
                Engine::Sglang,
            ),
            ("INFO vLLM API server version 0.15.0", Engine::Vllm),
            ("no word of anybody", Engine::Vllm),
        ] {
            assert_eq!(of_log(&format!("{line}\n{traceback}")).0, Some(engine), "{line}");
        }
    }

    #[test]
    fn llama_cpp_and_ollama_around_it_are_told_apart() {
        let llama = "build: 5648 (aabbcc) with cc (Ubuntu 11.4.0) for x86_64-linux-gnu\nsrv    load_model: failed to load model, '/models/x.gguf'\n";
        assert_eq!(of_log(llama), (Some(Engine::LlamaCpp), Some("5648".into())));
        let ollama = "time=2025-02-12T12:12:03.367Z level=INFO source=routes.go:1237 msg=\"Listening on [::]:11434 (version 0.5.8)\"\nllama_model_loader: loaded meta data\n";
        assert_eq!(of_log(ollama), (Some(Engine::Ollama), Some("0.5.8".into())));
        assert_eq!(of_log("msg=\"Listening on\" address=:9100\nbuild: 7 of 9\n").0, None);
    }

    #[test]
    fn official_images_are_their_engines() {
        for (image, engine) in [
            ("ghcr.io/huggingface/text-generation-inference:3.3.4", Engine::Tgi),
            ("ghcr.io/ggml-org/llama.cpp:server-cuda", Engine::LlamaCpp),
            ("vllm/vllm-openai:v0.9.1", Engine::Vllm),
            ("ollama/ollama", Engine::Ollama),
        ] {
            assert_eq!(by_command_line(image), Some(engine), "{image}");
        }
        assert_eq!(by_command_line("ghcr.io/ggml-org/llama.cpp:full"), None);
    }
}
