//! The model's folder or file: its configuration, its files of weights, and what their heads say.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use intriage_case::Bytes;
use intriage_case::surroundings::{ModelFound, ModelPlace, WeightsFault, WeightsFound};
use intriage_engines::{Engine, LaunchLine, MOST_HEAD, NoHead, WeightsHead, gguf_head, safetensors_head};
use serde_json::Value;

use super::places;

/// Most files of weights looked at.
const MOST_FILES: usize = 1024;
/// Most bytes of a configuration or an index: the largest published index has about 10 MB.
const MOST_TEXT: u64 = 32 << 20;
/// First bytes of a file of weights; more are read where its head is longer.
const FIRST: usize = 1 << 20;

/// How files of weights end.
const WEIGHTS: &[&str] = &[".safetensors", ".gguf", ".bin", ".pt", ".pth"];
/// Indexes that name the files of weights.
const INDEXES: &[&str] = &["model.safetensors.index.json", "pytorch_model.bin.index.json"];

/// Looks at the model a command line names.
pub(super) fn look(asked: &str, line: &LaunchLine) -> ModelFound {
    let mut found = ModelFound { asked: asked.to_owned(), ..ModelFound::default() };
    let path = Path::new(asked);
    let Ok(kind) = fs::metadata(path) else {
        match cached(asked, line) {
            Some(folder) => read_folder(&folder, &mut found),
            None if is_hub_name(asked, line.engine) => found.place = ModelPlace::NotCached,
            None => {}
        }
        return found;
    };
    if kind.is_dir() {
        read_folder(path, &mut found);
    } else {
        found.place = ModelPlace::File(asked.to_owned());
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let (file, architecture) = weights(path, name);
        found.gguf_architecture = architecture;
        found.weights.push(file);
    }
    found
}

/// `org/name` or an old name such as `gpt2`, and nothing that looks like a path; llama.cpp takes names by another flag.
fn is_hub_name(asked: &str, engine: Engine) -> bool {
    let plain = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
    };
    let parts: Vec<&str> = asked.split('/').collect();
    engine != Engine::LlamaCpp
        && parts.len() <= 2
        && parts.iter().all(|part| plain(part))
        && Path::new(asked).extension().is_none_or(|end| end != "gguf")
}

/// The folder of a name in the hub's cache.
fn cached(asked: &str, line: &LaunchLine) -> Option<PathBuf> {
    if !is_hub_name(asked, line.engine) {
        return None;
    }
    let entry = format!("models--{}", asked.replace('/', "--"));
    let named = line.value(&["--download-dir"]).map(PathBuf::from);
    let cache = named
        .into_iter()
        .chain(places::hub_cache())
        .map(|folder| folder.join(&entry))
        .find(|p| p.is_dir())?;
    let revision = line.value(&["--revision"]).unwrap_or("main");
    let commit = small(&cache.join("refs").join(revision), 4096).map(|text| text.trim().to_owned());
    let snapshots = cache.join("snapshots");
    let wanted = [commit.as_deref(), Some(revision)].into_iter().flatten().map(|name| snapshots.join(name));
    wanted.into_iter().find(|folder| folder.is_dir())
}

fn read_folder(folder: &Path, found: &mut ModelFound) {
    found.place = ModelPlace::Folder(folder.display().to_string());
    found.config = small(&folder.join("config.json"), MOST_TEXT);
    found.has_params = folder.join("params.json").is_file();
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut names: Vec<String> = entries.flatten().filter_map(|e| e.file_name().into_string().ok()).collect();
    names.sort_unstable();
    let is_weights =
        |name: &&String| WEIGHTS.iter().any(|end| name.ends_with(end)) && !name.starts_with("training_args");
    for name in names.iter().filter(is_weights).take(MOST_FILES) {
        let (file, architecture) = weights(&folder.join(name), name.clone());
        found.gguf_architecture = found.gguf_architecture.take().or(architecture);
        found.weights.push(file);
    }
    // Older files may be left out where safetensors are there.
    let index = INDEXES.iter().find_map(|index| small(&folder.join(index), MOST_TEXT));
    let index = index.and_then(|text| serde_json::from_str::<Value>(&text).ok());
    let map = index.as_ref().and_then(|index| index.get("weight_map")?.as_object());
    let mut needed: Vec<&str> =
        map.into_iter().flat_map(|map| map.values().filter_map(Value::as_str)).collect();
    needed.sort_unstable();
    needed.dedup();
    let absent = needed.into_iter().filter(|name| !names.iter().any(|there| there == name));
    found.missing = absent.take(MOST_FILES).map(str::to_owned).collect();
}

/// A file of weights with what its head says, and the architecture where it tells one.
fn weights(path: &Path, name: String) -> (WeightsFound, Option<String>) {
    let size = fs::metadata(path).map(|kind| kind.len());
    let (fault, architecture) = match &size {
        Ok(size) => judged(path, &name, *size),
        Err(why) => (Some(WeightsFault::Unreadable(why.to_string())), None),
    };
    (WeightsFound { name, size: Bytes(size.unwrap_or(0) as f64), fault }, architecture)
}

fn judged(path: &Path, name: &str, size: u64) -> (Option<WeightsFault>, Option<String>) {
    let read: fn(&[u8], u64) -> Result<WeightsHead, NoHead> = match name.rsplit_once('.') {
        Some((_, "safetensors")) => safetensors_head,
        Some((_, "gguf")) => gguf_head,
        _ => return (None, None),
    };
    for most in [FIRST, MOST_HEAD] {
        let bytes = match first(path, most) {
            Ok(bytes) => bytes,
            Err(why) => return (Some(WeightsFault::Unreadable(why.to_string())), None),
        };
        let fault = match read(&bytes, size) {
            Ok(head) if head.needs > size => Some(WeightsFault::Cut { needs: Bytes(head.needs as f64) }),
            Ok(head) => return (None, head.architecture),
            Err(NoHead::Pointer) => Some(WeightsFault::Pointer),
            Err(NoHead::Foreign) => Some(WeightsFault::Foreign),
            Err(NoHead::Cut) => Some(WeightsFault::Cut { needs: Bytes(size as f64 + 1.0) }),
            Err(NoHead::TooLong) => continue,
        };
        return (fault, None);
    }
    (None, None)
}

fn first(path: &Path, most: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path)?;
    // A pipe in its place would be waited for.
    if file.metadata()?.is_file() {
        file.take(most as u64).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// A whole plain file of at most so many bytes, as text; what is no UTF-8 is replaced, since a cut file may end in half a letter.
pub(super) fn small(path: &Path, most: u64) -> Option<String> {
    fs::metadata(path).ok()?.is_file().then_some(())?;
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(most + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= most).then(|| String::from_utf8_lossy(&bytes).into_owned())
}
