//! From a serving process to the folder of its model.

use std::path::{Path, PathBuf};

use intriage_case::model::ModelFiles;
use intriage_engines::host::{ModelArgument, model_argument};
use intriage_engines::port_in;

use super::{ModelFilesError, read_model_files};

/// Most processes looked at.
const MAX_SCANNED: usize = 32_768;
/// Most bytes of a command line or an environment looked at.
const MAX_TEXT: usize = 256 << 10;

/// Variables that name the hub's cache, and what lies below it.
const CACHES: &[(&str, &str)] = &[
    ("HF_HUB_CACHE", ""),
    ("HUGGINGFACE_HUB_CACHE", ""),
    ("HF_HOME", "hub"),
    ("XDG_CACHE_HOME", "huggingface/hub"),
    ("HOME", ".cache/huggingface/hub"),
];

/// The files of the model that a serving process under `proc` (`/proc` on this machine) was told to load: of several servers
/// the one whose command line names the port, else the first.
pub fn find_model(proc: &Path, port: Option<u16>) -> Result<ModelFiles, ModelFilesError> {
    let line = |pid: &u32| text(&proc.join(pid.to_string()).join("cmdline"));
    let told = processes(proc).into_iter().filter_map(|pid| {
        let line = line(&pid)?;
        Some((
            pid,
            model_argument(&line)?,
            port.is_some() && port_in(&line.split('\0').collect::<Vec<_>>()) == port,
        ))
    });
    let mut told: Vec<_> = told.collect();
    if told.iter().any(|(_, _, answers)| *answers) {
        told.retain(|(_, _, answers)| *answers);
    }
    let mut failed = None;
    for (pid, argument, _) in told {
        let folder = proc.join(pid.to_string());
        match of_process(&folder, &argument) {
            Ok(mut files) => {
                files.summary.asked = Some(argument.model);
                return Ok(files);
            }
            // Another process of the same server may tell more.
            Err(why) => failed = failed.or(Some(why)),
        }
    }
    Err(failed.unwrap_or(ModelFilesError::NoProcess))
}

fn of_process(process: &Path, argument: &ModelArgument) -> Result<ModelFiles, ModelFilesError> {
    let mut tried = Vec::new();
    for place in places(process, argument) {
        // Seen from the process's own root first: a container has another one. Without the right to that, from ours.
        for path in [below(&process.join("root"), &place), place.clone()] {
            if let Some(folder) = snapshot(&path, argument.revision.as_deref()) {
                let mut files = read_model_files(&folder)?;
                // The way through /proc says nothing to a reader.
                let own = folder
                    .strip_prefix(process.join("root"))
                    .map_or(folder.clone(), |p| Path::new("/").join(p));
                files.summary.folder = Some(own.display().to_string());
                return Ok(files);
            }
        }
        tried.push(place.display().to_string());
    }
    Err(ModelFilesError::NotFound { model: argument.model.clone(), tried: tried.join(", ") })
}

/// Where the model may lie: as a path, or as a name in a cache.
fn places(process: &Path, argument: &ModelArgument) -> Vec<PathBuf> {
    let named = Path::new(&argument.model);
    if named.is_absolute() {
        return vec![named.to_owned()];
    }
    let mut places = Vec::new();
    if let Ok(here) = std::fs::read_link(process.join("cwd")) {
        places.push(here.join(named));
    }
    // `org/name` and nothing else is a name on a hub.
    let plain = |part: &str| !part.is_empty() && !part.starts_with('.');
    if argument.model.split('/').count() <= 2 && argument.model.split('/').all(plain) {
        let entry = format!("models--{}", argument.model.replace('/', "--"));
        let environment = text(&process.join("environ")).unwrap_or_default();
        let variable = |name: &str| {
            let pair = environment.split('\0').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
            pair.filter(|value| value.starts_with('/')).map(PathBuf::from)
        };
        places.extend(argument.download_to.iter().map(|folder| Path::new(folder).join(&entry)));
        places
            .extend(CACHES.iter().filter_map(|(name, below)| Some(variable(name)?.join(below).join(&entry))));
        // The environment may be hidden; the usual place for root is worth a look.
        places.push(Path::new("/root/.cache/huggingface/hub").join(&entry));
        places.dedup();
    }
    places
}

/// The folder with the files: the path itself, or in a cache's entry the snapshot of the revision, `main` unless said.
fn snapshot(path: &Path, revision: Option<&str>) -> Option<PathBuf> {
    let snapshots = path.join("snapshots");
    if !snapshots.is_dir() {
        return path.exists().then(|| path.to_owned());
    }
    let wanted = revision.unwrap_or("main");
    let refers = text(&path.join("refs").join(wanted)).map(|commit| commit.trim().to_owned());
    let named = [refers.as_deref(), Some(wanted)];
    let named = named.into_iter().flatten().filter(|name| is_plain(name)).map(|name| snapshots.join(name));
    let only = || {
        let mut all: Vec<PathBuf> = std::fs::read_dir(&snapshots).ok()?.flatten().map(|e| e.path()).collect();
        (all.len() == 1).then(|| all.remove(0))
    };
    named.into_iter().find(|folder| folder.is_dir()).or_else(only)
}

/// The commit, where the folder is a snapshot of the hub's cache.
pub(super) fn revision_of(path: &Path) -> Option<String> {
    let in_snapshots = path.parent()?.file_name()? == "snapshots";
    let name = path.file_name()?.to_str()?;
    (in_snapshots && is_plain(name)).then(|| name.to_owned())
}

/// A file that says which snapshot to take must not lead elsewhere.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 128
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
        && !name.starts_with('.')
}

fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

fn processes(proc: &Path) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(proc) else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok());
    let mut numbers: Vec<u32> = numbers.take(MAX_SCANNED).collect();
    numbers.sort_unstable();
    numbers
}

fn text(path: &Path) -> Option<String> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).ok()?;
    // A pipe in the place of a file would be waited for: only `/proc` and plain files are read.
    file.metadata().ok()?.is_file().then_some(())?;
    file.take(MAX_TEXT as u64).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
