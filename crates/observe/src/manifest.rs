//! Files that say how the server is meant to be started, from disk.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::UNIX_EPOCH;

use intriage_case::manifest::{MAX_MANIFEST_BYTES, is_manifest_name};
use intriage_case::{ManifestText, Millis};
use intriage_engines::{ManifestError, read_manifest as parse};

use crate::folder::OpenError;

/// Reads a systemd unit, a compose file or a Kubernetes manifest for the case, and refuses what is none of them.
pub fn read_manifest(path: &Path) -> Result<ManifestText, OpenError> {
    let failed = |e: std::io::Error| OpenError::Io { path: path.to_owned(), why: e.to_string() };
    let refused = |why| OpenError::Manifest { path: path.to_owned(), why };
    let file = File::open(path).map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    let since = about.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let changed = since.and_then(|since| u64::try_from(since.as_millis()).ok()).map(Millis);
    let mut bytes = Vec::new();
    file.take(MAX_MANIFEST_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > MAX_MANIFEST_BYTES {
        return Err(refused(ManifestError::TooLarge));
    }
    let text =
        String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned());
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.filter(|name| is_manifest_name(name)).unwrap_or_else(|| "manifest.yaml".to_owned());
    parse(&name, &text).map_err(refused)?;
    Ok(ManifestText { name, changed, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_read_with_the_time_of_its_last_change() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("vllm.service");
        std::fs::write(&path, "[Service]\nExecStart=vllm serve m\n").unwrap();
        let manifest = read_manifest(&path).unwrap();
        assert_eq!(manifest.name, "vllm.service");
        assert!(manifest.changed.is_some());
    }

    #[test]
    fn what_is_no_manifest_is_named_with_file_and_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.yaml");
        std::fs::write(&path, "kind: Pod\nspec: [\n").unwrap();
        let error = read_manifest(&path).unwrap_err().to_string();
        assert!(error.contains("x.yaml: line "), "{error}");
        std::fs::write(&path, "a: 1\n").unwrap();
        assert!(read_manifest(&path).unwrap_err().to_string().contains("x.yaml: line 1: neither"));
        std::fs::write(&path, "#".repeat(MAX_MANIFEST_BYTES + 1)).unwrap();
        assert!(read_manifest(&path).unwrap_err().to_string().contains("larger than"));
        assert!(read_manifest(&dir.path().join("no.yaml")).is_err());
    }
}
