//! Which engine is this, and which release?

use std::collections::BTreeSet;

use intriage_case::{Case, LogText};
use serde_json::Value;

use crate::dialect::{Dialect, Engine, dialect};
use crate::exposition::Exposition;
use crate::version::Version;

/// Who answered.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Identity {
    /// The engine, where one was recognised.
    pub engine: Option<Engine>,
    /// Its release, where the server or its log said so.
    pub version: Option<Version>,
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
    identity.version = version_from_endpoints(engine, case).or_else(|| version_from_logs(case));
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

pub(crate) fn by_command_line(line: &str) -> Option<Engine> {
    const MARKS: [(&str, Engine); 7] = [
        ("vllm", Engine::Vllm),
        ("sglang", Engine::Sglang),
        ("text-generation-launcher", Engine::Tgi),
        ("trtllm", Engine::TensorRtLlm),
        ("llama-server", Engine::LlamaCpp),
        ("lmdeploy", Engine::Lmdeploy),
        ("dynamo", Engine::Dynamo),
    ];
    MARKS.into_iter().find(|(mark, _)| line.contains(mark)).map(|(_, engine)| engine)
}

/// A server that never came up leaves only its log.
fn by_logs(case: &Case) -> Option<Engine> {
    const MARKS: [(&str, Engine); 9] = [
        ("LLM engine (v", Engine::Vllm),
        ("vLLM API server version ", Engine::Vllm),
        ("vllm", Engine::Vllm),
        ("sglang", Engine::Sglang),
        ("text_generation_launcher", Engine::Tgi),
        ("tensorrt_llm", Engine::TensorRtLlm),
        ("[TRT-LLM]", Engine::TensorRtLlm),
        ("[TensorRT-LLM]", Engine::TensorRtLlm),
        ("llama_server", Engine::LlamaCpp),
    ];
    MARKS
        .into_iter()
        .find(|(mark, _)| case.logs.iter().any(|l| l.text.contains(mark)))
        .map(|(_, engine)| engine)
}

fn version_from_endpoints(engine: Engine, case: &Case) -> Option<Version> {
    let text_at = |path: &str, field: &str| -> Option<Version> {
        Version::parse(json(case, path)?.get(field)?.as_str()?)
    };
    match engine {
        Engine::LlamaCpp => text_at("/props", "build_info"),
        Engine::Sglang => {
            text_at("/server_info", "version").or_else(|| text_at("/get_server_info", "version"))
        }
        Engine::Tgi => text_at("/info", "version"),
        _ => text_at("/version", "version"),
    }
}

/// Of logs of several releases the newest one's is the one that runs.
fn version_from_logs(case: &Case) -> Option<Version> {
    case.logs.iter().filter_map(version_of_log).max()
}

/// vLLM writes `(v0.32.0) with config`; before that `vLLM API server version 0.11.0`, or a banner with `version 0.32.0`.
/// Of several starts the last one counts.
pub(crate) fn version_of_log(log: &LogText) -> Option<Version> {
    ["LLM engine (v", "vLLM API server version ", "  version "].into_iter().find_map(|mark| {
        let (_, rest) = log.text.rsplit_once(mark)?;
        Version::parse(rest.split([')', ' ', '\n']).next()?)
    })
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
    fn the_start_up_line_names_engine_and_release() {
        for line in [
            "INFO 10-03 09:12:44 [api_server.py:1839] vLLM API server version 0.11.0",
            "(APIServer pid=1) INFO 10-03 09:12:44 [api_server.py:1839] vLLM API server version 0.11.0\r",
        ] {
            let log = LogText { name: "server.log".into(), text: format!("starting\n{line}\nmore\n") };
            let identity = detect(&Case { logs: vec![log], ..Case::default() }, None);
            assert_eq!(identity.engine, Some(Engine::Vllm));
            assert_eq!(identity.version.unwrap().to_string(), "0.11.0");
        }
    }
}
