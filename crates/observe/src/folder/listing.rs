//! Which files of a folder may be a recording's.

use std::fs;
use std::path::{Path, PathBuf};

use super::{OpenError, io};

/// The files of a recording: its own, those one folder down, and the trees of the host and the manifests; sorted. A folder in it
/// that cannot be listed is put aside.
pub(super) fn files_of(path: &Path, unread: &mut Vec<OpenError>) -> Result<Vec<PathBuf>, OpenError> {
    let mut files = Vec::new();
    for entry in entries(path)? {
        let name = entry.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        if entry.is_file() {
            files.push(entry);
        } else if matches!(name, "metrics" | "endpoints" | "model" | "dcgm") {
            match entries(&entry) {
                Ok(inner) => files.extend(inner.into_iter().filter(|p| p.is_file())),
                Err(why) => unread.push(why),
            }
        } else if matches!(name, "host" | "manifests" | "replicas") {
            tree(&entry, MAX_DEPTH, &mut files, unread);
        }
    }
    Ok(files)
}

/// Deepest folder under `host/`: a cgroup of Kubernetes inside Docker inside a user's slice stays below it.
const MAX_DEPTH: usize = 32;

/// Every plain file below a folder; links are not followed, since they may lead round in a circle.
fn tree(path: &Path, depth: usize, files: &mut Vec<PathBuf>, unread: &mut Vec<OpenError>) {
    let listed = match entries(path) {
        Ok(listed) => listed,
        Err(why) => return unread.push(why),
    };
    for entry in listed {
        match fs::symlink_metadata(&entry) {
            Ok(kind) if kind.is_file() => files.push(entry),
            Ok(kind) if kind.is_dir() && depth > 0 => tree(&entry, depth - 1, files, unread),
            Ok(_) => {}
            Err(e) => unread.push(io(&entry, &e)),
        }
    }
}

/// What lies in a folder, sorted.
pub(super) fn entries(path: &Path) -> Result<Vec<PathBuf>, OpenError> {
    let listing = fs::read_dir(path).map_err(|e| io(path, &e))?;
    let mut paths = Vec::new();
    for entry in listing {
        paths.push(entry.map_err(|e| io(path, &e))?.path());
    }
    paths.sort();
    Ok(paths)
}
