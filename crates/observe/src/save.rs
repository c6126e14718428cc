//! Saving a case: made safe first, then written whole or not at all.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use intriage_case::{Case, file};
use intriage_redact::Redactor;

use crate::OpenError;
use crate::redact::redacted;

/// A case file that is ready to be written. What the redactor hides is not in it any more, so that all its pseudonyms are in
/// the redactor's map.
pub struct Packed(Vec<u8>);

impl Packed {
    /// Packs a case; the name of the target goes through the redactor, too.
    pub fn new(case: &Case, redactor: &Redactor) -> Result<Self, OpenError> {
        let mut case = redacted(case.clone(), redactor);
        case.target.name = redactor.text(&case.target.name).into_owned();
        let mut out = std::io::Cursor::new(Vec::new());
        file::write(&case, &mut out).map_err(|why| OpenError::NotACase { path: "the case".into(), why })?;
        Ok(Self(out.into_inner()))
    }

    /// Writes it: whole or not at all.
    pub fn save(&self, path: &Path) -> Result<(), OpenError> {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let draft = folder.join(format!(".{name}.{}.part", std::process::id()));
        let written = File::create(&draft).and_then(|mut target| {
            target.write_all(&self.0)?;
            target.sync_all()?;
            fs::rename(&draft, path)
        });
        if written.is_err() {
            // Best effort: the draft may not even exist.
            let _ = fs::remove_file(&draft);
        }
        written.map_err(|e| OpenError::Io { path: path.to_owned(), why: e.to_string() })
    }
}

/// Saves a case: whole or not at all.
///
/// What the redactor hides never reaches the disk, not even for a moment; the name of the target goes through it too.
pub fn save(case: &Case, redactor: &Redactor, path: &Path) -> Result<(), OpenError> {
    Packed::new(case, redactor)?.save(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_that_cannot_be_saved_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let nowhere = dir.path().join("no/such/folder/x.case");
        assert!(save(&Case::default(), &Redactor::new(), &nowhere).is_err());
        // A folder in its place: the draft is written, and cannot get its name.
        let taken = dir.path().join("x.case");
        fs::create_dir_all(taken.join("full")).unwrap();
        assert!(save(&Case::default(), &Redactor::new(), &taken).is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
