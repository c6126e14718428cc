//! One model's folder: what is kept, listed and hashed.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::Path;

use intriage_case::Bytes;
use intriage_case::model::{KEPT, MAX_TEXT_BYTES, ModelFiles, WeightFile};
use ring::digest::{Context, SHA256};
use serde_json::{Map, Value};

use super::template::{self, TOKENIZER_CONFIG};
use super::{MAX_FILES, MAX_HASHED, MAX_READ};

/// Files of which the hash tells whether two servers see the same tokens.
const HASHED: &[&str] = &[
    "tokenizer.json",
    TOKENIZER_CONFIG,
    "tokenizer.model",
    "tekken.json",
    "vocab.json",
    "merges.txt",
    "special_tokens_map.json",
    "added_tokens.json",
];

/// How files of weights end.
const WEIGHTS: &[&str] = &[".safetensors", ".bin", ".gguf", ".pt", ".pth", ".engine"];

/// Reads a folder; what is too large, no plain file or unreadable is left out with its reason.
pub(super) fn read(path: &Path) -> io::Result<ModelFiles> {
    let mut reading = Reading { files: ModelFiles::default(), left: MAX_READ };
    let mut names: Vec<String> = fs::read_dir(path)?
        .flatten()
        .filter_map(|e| e.file_name().into_string().ok())
        .take(MAX_FILES + 1)
        .collect();
    if names.len() > MAX_FILES {
        reading.leave_out("some files", &format!("only {MAX_FILES} are looked at"));
        names.truncate(MAX_FILES);
    }
    names.sort_unstable();
    for name in &names {
        let file = path.join(name);
        if KEPT.contains(&name.as_str()) {
            if let Some(bytes) = reading.bytes(&file, name, MAX_TEXT_BYTES as u64) {
                reading.keep(name, bytes);
            }
        } else if HASHED.contains(&name.as_str()) || template::is_file(name) {
            if let Some(bytes) = reading.bytes(&file, name, MAX_HASHED) {
                reading.hash(name, &bytes);
            }
        } else if is_weights(name)
            // Links are followed: the hub's cache keeps the files elsewhere.
            && let Ok(kind) = fs::metadata(&file)
            && kind.is_file()
        {
            reading.files.summary.weights.push(weights(name, &kind));
        }
    }
    Ok(reading.files)
}

/// A model that is one file, as llama.cpp's are.
pub(super) fn one_file(path: &Path, kind: &Metadata) -> ModelFiles {
    let mut files = ModelFiles::default();
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    if is_weights(&name) && kind.is_file() {
        files.summary.weights.push(weights(&name, kind));
    }
    files
}

struct Reading {
    files: ModelFiles,
    /// Bytes that may still be read.
    left: u64,
}

impl Reading {
    fn bytes(&mut self, path: &Path, name: &str, most: u64) -> Option<Vec<u8>> {
        match limited(path, most.min(self.left)) {
            Ok(Some(bytes)) => {
                self.left -= bytes.len() as u64;
                Some(bytes)
            }
            Ok(None) => {
                self.leave_out(
                    name,
                    &format!("larger than {}, or no plain file", Bytes(most.min(self.left) as f64)),
                );
                None
            }
            Err(why) => {
                self.leave_out(name, &why.to_string());
                None
            }
        }
    }

    /// Only an object of JSON is kept: a link in a container may lead to anything of the machine's.
    fn keep(&mut self, name: &str, bytes: Vec<u8>) {
        match String::from_utf8(bytes) {
            Ok(text) if serde_json::from_str::<Map<String, Value>>(&text).is_ok() => {
                self.files.texts.insert(name.to_owned(), text);
            }
            _ => self.leave_out(name, "it holds no JSON object"),
        }
    }

    fn hash(&mut self, name: &str, bytes: &[u8]) {
        let summary = &mut self.files.summary;
        summary.templates.extend(template::in_file(name, bytes));
        if HASHED.contains(&name) {
            summary.hashes.insert(name.to_owned(), sha256(bytes));
        }
    }

    fn leave_out(&mut self, name: &str, why: &str) {
        self.files.summary.left_out.push(format!("{name}: {why}"));
    }
}

/// SHA-256 in hexadecimal digits.
pub(super) fn sha256(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut context = Context::new(&SHA256);
    context.update(bytes);
    let mut digits = String::with_capacity(64);
    for byte in context.finish().as_ref() {
        // Writing into a string cannot fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

fn is_weights(name: &str) -> bool {
    // Trainers leave their own state beside the weights.
    WEIGHTS.iter().any(|end| name.ends_with(end)) && !name.starts_with("training_args")
}

fn weights(name: &str, kind: &Metadata) -> WeightFile {
    WeightFile { name: name.to_owned(), size: Bytes(kind.len() as f64) }
}

/// A whole plain file of at most so many bytes; `None` where it is more, or something that could be read for ever.
fn limited(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    // Asked before opening: opening a pipe waits for who writes into it.
    if !fs::metadata(path)?.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}
