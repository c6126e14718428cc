//! Keeping a case: what must be hidden, and the file.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use intriage_case::Case;
use intriage_observe::{Access, Address, Packed, read_manifest};
use intriage_redact::Redactor;

use crate::failure::Failure;

/// Hides what the rules know, what the user was given to get in, and the names of the server and this machine.
pub(super) fn redactor(access: Option<&Access>, address: Option<&Address>) -> Redactor {
    let secrets = access.into_iter().flat_map(Access::secrets);
    let this = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let named = address.map(|a| a.host.clone());
    let hosts = this.into_iter().chain(named).map(|name| name.trim().to_owned());
    // An address stays what it is: the rules know which ones tell something.
    let is_name = |name: &String| name != "localhost" && name.parse::<std::net::IpAddr>().is_err();
    Redactor::new().with_known(secrets).known_hosts(hosts.filter(is_name))
}

/// A path that cannot be written shows before the watch, not after it; `flag` is how the user named it.
pub(super) fn can_save(flag: &str, path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.is_dir() || !folder.is_dir() {
        return Err(Failure::Usage(format!(
            "{flag} {}: name a file in a folder that exists",
            path.display()
        )));
    }
    if is_there(path) {
        return Err(Failure::Usage(format!(
            "{} is there already, and evidence is not overwritten: name another file, or take it away",
            path.display()
        )));
    }
    let names = names_file(path);
    if is_there(&names) {
        return Err(Failure::Usage(format!(
            "{} is there already: what the pseudonyms of an earlier case stand for is in it and nowhere else, and is not overwritten; name another file, or take it away",
            names.display()
        )));
    }
    Ok(())
}

/// A link that leads nowhere is there, too.
fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// A file for a case where the user names none: `intriage.case`, or with a number where that or its list is taken.
pub(super) fn free_name() -> PathBuf {
    let numbered = (2..).map(|n| PathBuf::from(format!("intriage-{n}.case")));
    let mut names = std::iter::once(PathBuf::from("intriage.case")).chain(numbered);
    // The names never end, the files of a folder do.
    names.find(|name| !is_there(name) && !is_there(&names_file(name))).unwrap_or_default()
}

/// Adds the manifests the user named; one that is none is an error with its line.
pub(super) fn add_manifests(case: &mut Case, paths: &[PathBuf]) -> Result<(), Failure> {
    for path in paths {
        let failed = |why: &str| Failure::File { path: path.display().to_string(), why: why.to_owned() };
        case.add_manifest(read_manifest(path)?).map_err(failed)?;
    }
    Ok(())
}

/// Saves a case, redacted, and beside it the owner's list of pseudonyms where there are any: both or neither.
pub(super) fn keep(case: &Case, redactor: &Redactor, path: &Path) -> Result<(), Failure> {
    let packed = Packed::new(case, redactor)?;
    let mut map = redactor.map();
    // What stands for itself is a pseudonym of an earlier list, and nobody here knows its original.
    map.originals.retain(|pseudonym, original| pseudonym != original);
    if map.originals.is_empty() {
        packed.save(path)?;
        anstream::eprintln!("saved {}", path.display());
        return Ok(());
    }
    let names = names_file(path);
    let failed = |why: String| Failure::File { path: names.display().to_string(), why };
    let json = serde_json::to_string_pretty(&map).map_err(|e| failed(e.to_string()))?;
    // The list first: a case whose pseudonyms nobody can read any more would be worse than none.
    write_for_owner(&names, &json).map_err(|e| failed(format!("{e}; nothing was saved")))?;
    if let Err(why) = packed.save(path) {
        // Best effort: it is of no use without its case.
        let _ = std::fs::remove_file(&names);
        return Err(why.into());
    }
    anstream::eprintln!(
        "saved {}; what its pseudonyms stand for is in {}, which is for you alone",
        path.display(),
        names.display()
    );
    Ok(())
}

/// `incident.case` has `incident.case.names.json`.
pub(super) fn names_file(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".names.json");
    name.into()
}

/// Whole or not at all, for the owner's eyes from its first byte on, and never over another file.
fn write_for_owner(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let draft = folder.join(format!(".{name}.{}.part", std::process::id()));
    // A draft of an earlier process with our number is nobody's any more.
    let _ = std::fs::remove_file(&draft);
    // The name is ours from here on: nobody else can take it between looking and writing.
    new_for_owner(path)?;
    let written = new_for_owner(&draft).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&draft, path)
    });
    if written.is_err() {
        // Best effort: the draft may not even exist.
        let _ = std::fs::remove_file(&draft);
        let _ = std::fs::remove_file(path);
    }
    written
}

fn new_for_owner(path: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_list_is_for_its_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.case.names.json");
        write_for_owner(&path, "{}").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_earlier_list_is_never_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let (path, link) = (dir.path().join("x.names.json"), dir.path().join("link.names.json"));
        fs::write(&path, "theirs").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(write_for_owner(&path, "{}").is_err() && write_for_owner(&link, "{}").is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_case_that_cannot_be_written_leaves_no_list_behind() {
        let dir = tempfile::tempdir().unwrap();
        // A folder in its place: the list can be written, and the case not.
        let path = dir.path().join("x.case");
        fs::create_dir_all(path.join("full")).unwrap();
        let redactor = Redactor::new().known_hosts(["gpu7".to_owned()]);
        let case = Case { notes: vec!["gpu7 is slow".into()], ..Case::default() };
        assert!(keep(&case, &redactor, &path).is_err());
        assert!(!redactor.map().originals.is_empty());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
