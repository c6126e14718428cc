//! Folders, memory and processor of this machine.

use std::fs;
use std::path::{Path, PathBuf};

use intriage_case::Bytes;
use intriage_case::surroundings::{CpuFound, FolderFound};
use intriage_engines::{Engine, LaunchLine};
use rustix::fs::{Access, access, statvfs};

use super::files::small;

/// Variables that name the hub's cache, and what lies below it.
const CACHES: &[(&str, &str)] = &[
    ("HF_HUB_CACHE", ""),
    ("HUGGINGFACE_HUB_CACHE", ""),
    ("HF_HOME", "hub"),
    ("XDG_CACHE_HOME", "huggingface/hub"),
    ("HOME", ".cache/huggingface/hub"),
];

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The hub's cache, as its client finds it.
pub(super) fn hub_cache() -> Option<PathBuf> {
    CACHES.iter().find_map(|(name, below)| Some(variable(name)?.join(below)))
}

/// Whether a token for the hub is set or stored.
pub(super) fn has_hub_token() -> bool {
    let set = ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"].iter().any(|name| variable(name).is_some());
    let home = variable("HF_HOME").or_else(|| Some(variable("HOME")?.join(".cache/huggingface")));
    set || home.is_some_and(|home| home.join("token").is_file())
}

/// Folders the server writes into.
pub(super) fn folders(line: &LaunchLine) -> Vec<FolderFound> {
    let mut named = Vec::new();
    if matches!(line.engine, Engine::Vllm | Engine::Sglang | Engine::Tgi) {
        let cache = line.value(&["--download-dir"]).map(PathBuf::from).or_else(hub_cache);
        named.extend(cache.map(|path| ("hub cache", path)));
    }
    if line.engine == Engine::Vllm {
        let root = variable("VLLM_CACHE_ROOT").or_else(|| Some(variable("XDG_CACHE_HOME")?.join("vllm")));
        let root = root.or_else(|| Some(variable("HOME")?.join(".cache/vllm")));
        named.extend(root.map(|path| ("vLLM cache", path)));
    }
    named.push(("folder for temporary files", variable("TMPDIR").unwrap_or_else(|| "/tmp".into())));
    named.into_iter().map(|(what, path)| folder(what, &path)).collect()
}

/// A folder that is not there yet is made below the nearest one that is.
fn folder(what: &str, path: &Path) -> FolderFound {
    let there = path.ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("/"));
    let space = statvfs(there).ok().map(|space| Bytes(space.f_bavail as f64 * space.f_frsize as f64));
    let writable = access(there, Access::WRITE_OK).is_ok();
    FolderFound {
        what: what.to_owned(),
        path: there.display().to_string(),
        free: space,
        writable: Some(writable),
    }
}

/// Size of the file system at a path.
pub(super) fn size_of(path: &Path) -> Option<Bytes> {
    statvfs(path).ok().map(|space| Bytes(space.f_blocks as f64 * space.f_frsize as f64))
}

/// Memory that can be had without swapping, and no more than the control group allows.
pub(super) fn memory() -> Option<Bytes> {
    let text = small(Path::new("/proc/meminfo"), 1 << 16)?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: f64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    let number = |path: &str| small(Path::new(path), 4096)?.trim().parse::<f64>().ok();
    let limit = number("/sys/fs/cgroup/memory.max");
    let used = number("/sys/fs/cgroup/memory.current").unwrap_or(0.0);
    let allowed = limit.map_or(f64::INFINITY, |limit| (limit - used).max(0.0));
    Some(Bytes((kibibytes * 1024.0).min(allowed)))
}

/// The processor's words for what it can.
pub(super) fn processor() -> Option<CpuFound> {
    // Much longer than one processor's part on a large machine; the first part is enough.
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let flags = text.lines().find(|line| line.starts_with("flags") || line.starts_with("Features"))?;
    let flags = flags.split_once(':')?.1.split_ascii_whitespace().map(str::to_owned).collect();
    Some(CpuFound { architecture: std::env::consts::ARCH.to_owned(), flags })
}
