//! A case as ordinary files in a folder.

use std::fs;
use std::path::{Component, Path, PathBuf};

use intriage_case::Case;
use intriage_case::file;

use crate::OpenError;

/// Writes a case's files below a folder, which must not exist yet or be empty: all of them, or nothing.
///
/// Names come from a stranger's archive. One that would lead elsewhere is an error, and nothing is written.
pub fn extract(case: &Case, folder: &Path) -> Result<usize, OpenError> {
    let io = |path: &Path, e: &std::io::Error| OpenError::Io { path: path.to_owned(), why: e.to_string() };
    if folder.exists() && fs::read_dir(folder).map_err(|e| io(folder, &e))?.next().is_some() {
        return Err(OpenError::Io { path: folder.to_owned(), why: "is not empty: name a new folder".into() });
    }
    let files = file::contents(case).map_err(|why| OpenError::NotACase { path: folder.to_owned(), why })?;
    if let Some((name, _)) = files.iter().find(|(name, _)| !goes_down(name)) {
        let why = format!("the case has a file called {name:?}, which would lie outside");
        return Err(OpenError::Io { path: folder.to_owned(), why });
    }
    let draft = draft_of(folder);
    let written = write_all(&draft, &files).and_then(|()| {
        // Renaming onto an empty folder replaces it.
        fs::rename(&draft, folder).map_err(|e| io(folder, &e))
    });
    if written.is_err() {
        // Best effort: the draft may not even exist.
        let _ = fs::remove_dir_all(&draft);
    }
    written.map(|()| files.len())
}

fn write_all(draft: &Path, files: &[(String, Vec<u8>)]) -> Result<(), OpenError> {
    for (name, bytes) in files {
        let path = draft.join(name);
        let failed = |e: std::io::Error| OpenError::Io { path: PathBuf::from(name), why: e.to_string() };
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        fs::write(&path, bytes).map_err(failed)?;
    }
    Ok(())
}

fn goes_down(name: &str) -> bool {
    !name.is_empty()
        && !name.contains(['\\', '\0'])
        && Path::new(name).components().all(|part| matches!(part, Component::Normal(_)))
}

/// Beside the folder, so that renaming stays on one file system.
fn draft_of(folder: &Path) -> PathBuf {
    let name = folder.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let parent = folder.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    parent.join(format!(".{name}.{}.part", std::process::id()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use intriage_case::{HostSnapshot, LogText, Millis, Scrape, ScrapeOutcome};

    use super::*;
    use crate::open;

    fn case() -> Case {
        Case {
            scrapes: vec![Scrape { at: Millis(5), outcome: ScrapeOutcome::Body(b"a 1\n".to_vec()) }],
            logs: vec![LogText { name: "server.log".into(), text: "ready\n".into() }],
            host: vec![HostSnapshot {
                at: Millis(5),
                files: BTreeMap::from([("proc/stat".into(), "cpu 1\n".into())]),
            }],
            notes: vec!["a note".into()],
            ..Case::default()
        }
    }

    #[test]
    fn an_extracted_case_opens_as_the_same_case() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("out");
        assert_eq!(extract(&case(), &folder).unwrap(), 4);
        assert_eq!(open(&folder).unwrap(), case());
        assert!(extract(&case(), &folder).unwrap_err().to_string().contains("not empty"));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_name_that_leads_out_writes_nothing_at_all() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["../../evil.log", "/tmp/evil.log", "a\\b.log", "x\0.log"] {
            let mut bad = case();
            bad.logs.push(LogText { name: name.into(), text: "x".into() });
            let error = extract(&bad, &dir.path().join("out")).unwrap_err().to_string();
            assert!(error.contains("outside"), "{error}");
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let mut bad = case();
        bad.host[0].files.insert("proc/stat/below".into(), String::new());
        assert!(extract(&bad, &dir.path().join("out")).is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
