//! What a server will find on this machine when it starts: read, never judged, and nothing is started or asked of a hub.

mod files;
mod package;
mod places;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use intriage_case::surroundings::{AdapterFound, Surroundings};
use intriage_engines::LaunchLine;
use serde_json::Value;

use crate::gpu;
use crate::start::ServerPort;

/// Variables of the environment that decide whether a start fails.
const VARIABLES: &[&str] = &[
    "HF_HUB_OFFLINE",
    "TRANSFORMERS_OFFLINE",
    "VLLM_ALLOW_LONG_MAX_MODEL_LEN",
    "VLLM_CPU_KVCACHE_SPACE",
    "CUDA_VISIBLE_DEVICES",
];

/// Flags that name a file.
const FILES: &[&str] =
    &["--chat-template", "--chat-template-file", "--config", "--ssl-keyfile", "--ssl-certfile"];

/// Most bytes of a small file of JSON.
const MOST_JSON: u64 = 1 << 20;

/// Looks at what the command will find here; `words` are its program and arguments.
pub fn surroundings(words: &[String]) -> Surroundings {
    let line = LaunchLine::read(words);
    let program = words.first().and_then(|word| find_program(word));
    let mut around = Surroundings {
        program: program.as_ref().map(|path| path.display().to_string()),
        shared_memory: places::size_of(Path::new("/dev/shm")),
        cpu: places::processor(),
        memory: places::memory(),
        variables: VARIABLES
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)))
            .collect(),
        hub_token: places::has_hub_token(),
        ..Surroundings::default()
    };
    match gpu::survey() {
        Ok(survey) => (around.driver_cuda, around.gpus) = (survey.cuda, Some(survey.cards)),
        Err(why) => around.no_gpus = Some(why.to_string()),
    }
    let Some(line) = line else { return around };
    around.port = line.port().map(|port| (port, ServerPort::new(line.value(&["--host"]), port).is_taken()));
    around.folders = places::folders(&line);
    around.files = named_files(&line, program.as_deref());
    around.adapters = adapters(&line);
    around.model = line.model().map(|asked| files::look(asked, &line));
    let config = around.model.as_ref().and_then(|model| model.config.as_deref());
    let words = config.map(model_words).unwrap_or_default();
    around.package = program.as_deref().and_then(|program| package::of(program, line.engine, &words));
    around
}

/// The program by its path, or by its name on the search path.
fn find_program(word: &str) -> Option<PathBuf> {
    if word.contains('/') {
        return Path::new(word).is_file().then(|| PathBuf::from(word));
    }
    crate::command::find(word)
}

/// Words of `config.json` that an engine must know.
fn model_words(config: &str) -> Vec<String> {
    let Ok(Value::Object(config)) = serde_json::from_str::<Value>(config) else { return Vec::new() };
    let kind = config.get("model_type").and_then(Value::as_str);
    let first = config.get("architectures").and_then(|list| list.get(0)).and_then(Value::as_str);
    kind.into_iter().chain(first).map(str::to_owned).collect()
}

/// A template may also be given as its text, or by its name among those the package brings.
fn named_files(line: &LaunchLine, program: Option<&Path>) -> Vec<(String, String, bool)> {
    let named = FILES.iter().filter_map(|flag| Some(((*flag).to_owned(), line.value(&[flag])?.to_owned())));
    let is_path = |value: &str| !value.contains(['{', '}', '\n']);
    named
        .filter(|(_, value)| is_path(value))
        .map(|(flag, value)| {
            let there =
                Path::new(&value).exists() || program.is_some_and(|program| package::brings(program, &value));
            (flag, value, there)
        })
        .collect()
}

/// `--lora-modules name=path …`, or a JSON object with `path`.
fn adapters(line: &LaunchLine) -> Vec<AdapterFound> {
    let given = line.flag(&["--lora-modules"]).map(|flag| flag.values.as_slice()).unwrap_or_default();
    let found = given.iter().filter_map(|value| {
        let (name, path) = match serde_json::from_str::<BTreeMap<String, Value>>(value) {
            Ok(map) => (map.get("name")?.as_str()?.to_owned(), map.get("path")?.as_str()?.to_owned()),
            Err(_) => value.split_once('=').map(|(name, path)| (name.to_owned(), path.to_owned()))?,
        };
        let text = files::small(&Path::new(&path).join("adapter_config.json"), MOST_JSON)?;
        let config: Value = serde_json::from_str(&text).ok()?;
        Some(AdapterFound { name, rank: config.get("r").and_then(Value::as_u64) })
    });
    found.collect()
}

#[cfg(test)]
mod tests;
