//! Reading the archive of a case: what is part of a case, and what lies beside it.

use std::collections::BTreeSet;
use std::io::{Cursor, Read};

use zip::ZipArchive;
use zip::result::ZipError;

use super::{CaseFileError, MANIFEST, MAX_ENTRIES, MAX_MANIFEST, MAX_UNPACKED, parsed};
use crate::{Bytes, Case, layout};

/// What a case file holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Opened {
    /// The case.
    pub case: Case,
    /// Whether its `case.json` is there, which names the target.
    pub named: bool,
    /// What is no part of a case, as names for people, and was not looked at: whoever unpacks the file gets it all the same.
    pub strays: Vec<String>,
}

type Archive<'a> = ZipArchive<Cursor<&'a [u8]>>;

/// Reads a case file, and tells what else is in it.
pub fn open(bytes: &[u8]) -> Result<Opened, CaseFileError> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|_| CaseFileError::Damaged)?;
    if archive.len() > MAX_ENTRIES {
        return Err(CaseFileError::TooMany { found: archive.len() });
    }
    if archive.has_duplicate_names() {
        return Err(CaseFileError::Twice);
    }
    let sorted = Sorted::of(&archive)?;
    let mut case = Case::default();
    if let Some(index) = sorted.manifest {
        parsed(&content(&mut archive, index, MANIFEST, MAX_MANIFEST)?)?.put(&mut case);
    }
    let mut left = MAX_UNPACKED;
    for (name, index) in &sorted.wanted {
        let content = content(&mut archive, *index, name, left)?;
        left -= content.len() as u64;
        layout::add(&mut case, name, content);
    }
    // One manifest speaks for all of the file.
    for replica in &mut case.replicas {
        replica.case.redacted = case.redacted;
    }
    Ok(Opened { case, named: sorted.manifest.is_some(), strays: sorted.strays })
}

/// The entries of an archive by what they are.
struct Sorted {
    manifest: Option<usize>,
    /// The files a case is made of, in the order of time, so that each scrape is put behind the last.
    wanted: Vec<(String, usize)>,
    strays: Vec<String>,
}

/// What is known of an entry without unpacking it.
struct Entry {
    name: String,
    is_folder: bool,
    is_link: bool,
    comment: usize,
}

impl Sorted {
    fn of(archive: &Archive<'_>) -> Result<Self, CaseFileError> {
        let mut entries = Vec::new();
        for index in 0..archive.len() {
            let entry = archive.by_index_data(index).map_err(|_| CaseFileError::Damaged)?;
            if entry.encrypted() {
                return Err(CaseFileError::Encrypted);
            }
            // A name in an unknown encoding is none of ours.
            let name = entry.name().map_or_else(
                |_| String::from_utf8_lossy(entry.name_raw()).into_owned(),
                std::borrow::Cow::into_owned,
            );
            let (is_folder, is_link) = (entry.is_dir(), entry.is_symlink());
            entries.push(Entry { name, is_folder, is_link, comment: entry.comment().len() });
        }
        let root = root(&entries);
        let mut sorted = Self { manifest: None, wanted: Vec::new(), strays: Vec::new() };
        let mut folders = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            let inner = entry.name.strip_prefix(root).unwrap_or(&entry.name);
            if entry.comment > 0 {
                let size = Bytes(entry.comment as f64);
                sorted.strays.push(format!("the comment on {:?} ({size})", entry.name));
            }
            if entry.is_link {
                sorted.strays.push(format!("{:?}, a link", entry.name));
            } else if entry.is_folder {
                folders.push(entry.name.as_str());
            } else if inner == MANIFEST {
                sorted.manifest = Some(index);
            } else if layout::wants(inner) {
                sorted.wanted.push((inner.to_owned(), index));
            } else {
                sorted.strays.push(format!("{:?}", entry.name));
            }
        }
        let files: BTreeSet<&str> =
            entries.iter().filter(|e| !e.is_folder).map(|e| e.name.as_str()).collect();
        let is_empty =
            |folder: &&str| !files.range(*folder..).next().is_some_and(|file| file.starts_with(folder));
        sorted.strays.extend(
            folders.into_iter().filter(is_empty).map(|folder| format!("{folder:?}, an empty folder")),
        );
        if !archive.comment().is_empty() {
            let size = Bytes(archive.comment().len() as f64);
            sorted.strays.push(format!("the comment of the zip ({size})"));
        }
        if sorted.manifest.is_none() && sorted.wanted.is_empty() {
            return Err(CaseFileError::NoCase);
        }
        sorted.wanted.sort_by(|a, b| (a.0.len(), &a.0).cmp(&(b.0.len(), &b.0)));
        Ok(sorted)
    }
}

/// The folder everything lies in, with its slash, where a folder was zipped rather than its files; else nothing.
fn root(entries: &[Entry]) -> &str {
    let is_ours = |name: &str| name == MANIFEST || layout::wants(name);
    if entries.iter().any(|entry| is_ours(&entry.name)) {
        return "";
    }
    let ours = entries.iter().find_map(|entry| {
        let (folder, inner) = entry.name.split_once('/')?;
        (folder != ".." && is_ours(inner)).then(|| &entry.name[..=folder.len()])
    });
    ours.unwrap_or_default()
}

/// A file's bytes, at most `limit`: the size its header claims is no promise.
fn content(
    archive: &mut Archive<'_>,
    index: usize,
    name: &str,
    limit: u64,
) -> Result<Vec<u8>, CaseFileError> {
    let damaged = || CaseFileError::DamagedEntry { name: name.to_owned() };
    let entry = archive.by_index(index).map_err(|e| match e {
        ZipError::CompressionMethodNotSupported(_) | ZipError::UnsupportedArchive(_) => {
            CaseFileError::Packing { name: name.to_owned() }
        }
        _ => damaged(),
    })?;
    let mut content = Vec::new();
    entry.take(limit + 1).read_to_end(&mut content).map_err(|_| damaged())?;
    if content.len() as u64 > limit {
        return Err(CaseFileError::TooLarge);
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use proptest::prelude::*;
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    const CASE: (&str, &str) = (MANIFEST, r#"{"schema":"intriage.case/1","target":{"name":"x"}}"#);

    fn zipped(files: &[(&str, &str)], comment: &str) -> Vec<u8> {
        let mut out = Cursor::new(Vec::new());
        let mut zip = ZipWriter::new(&mut out);
        for (name, content) in files {
            zip.start_file(*name, SimpleFileOptions::default()).unwrap();
            zip.write_all(content.as_bytes()).unwrap();
        }
        zip.set_comment(comment).unwrap();
        zip.finish().unwrap();
        out.into_inner()
    }

    /// The first of these bytes replaced wherever they stand.
    fn patched(mut bytes: Vec<u8>, from: &[u8], to: &[u8]) -> Vec<u8> {
        for at in 0..=bytes.len() - from.len() {
            if bytes[at..].starts_with(from) {
                bytes[at..at + to.len()].copy_from_slice(to);
            }
        }
        bytes
    }

    #[test]
    fn what_is_no_part_of_a_case_is_named() {
        let files =
            [CASE, ("server.log", "ready\n"), ("notes.bin", "a"), ("../evil.log", "b"), ("photos/", "")];
        let opened = open(&zipped(&files, "call ann")).unwrap();
        assert_eq!((opened.case.logs.len(), opened.named), (1, true));
        assert_eq!(
            opened.strays,
            [
                "\"notes.bin\"",
                "\"../evil.log\"",
                "\"photos/\", an empty folder",
                "the comment of the zip (8.00 B)"
            ]
        );
        assert!(open(&zipped(&[CASE, ("server.log", "a")], "")).unwrap().strays.is_empty());
    }

    #[test]
    fn two_files_of_one_name_are_an_error() {
        let twice =
            patched(zipped(&[CASE, ("server.log", "a"), ("serves.log", "b")], ""), b"serves", b"server");
        assert!(matches!(open(&twice).unwrap_err(), CaseFileError::Twice));
    }

    #[test]
    fn a_zip_of_a_recording_is_read_like_its_folder() {
        let files = [("metrics/1000.txt", "a 1\n"), ("server.log", "ready\n")];
        let opened = open(&zipped(&files, "")).unwrap();
        assert_eq!((opened.case.scrapes.len(), opened.case.logs.len(), opened.named), (1, 1, false));
        let inside = [("incident/metrics/1000.txt", "a 1\n"), ("incident/server.log", "ready\n")];
        assert_eq!(open(&zipped(&inside, "")).unwrap().case, opened.case);
        for nothing in [&[("word/document.xml", "<w/>")][..], &[]] {
            let error = open(&zipped(nothing, "")).unwrap_err();
            assert!(matches!(error, CaseFileError::NoCase), "{error}");
        }
    }

    #[test]
    fn an_encrypted_zip_is_said_to_be_encrypted() {
        let plain = zipped(&[("server.log", "a")], "");
        // The lowest bit of the flags, in the header of the file and in the list at the end.
        let mut locked = plain.clone();
        let list = plain.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
        locked[6] |= 1;
        locked[list + 8] |= 1;
        assert!(matches!(open(&locked).unwrap_err(), CaseFileError::Encrypted));
    }

    #[test]
    fn what_is_damaged_is_named() {
        let text = "ready to serve\n".repeat(50);
        let whole = zipped(&[CASE, ("server.log", &text)], "");
        let start = whole.windows(10).rposition(|ten| ten == b"server.log").unwrap();
        let first = whole.windows(10).position(|ten| ten == b"server.log").unwrap();
        assert!(first < start);
        let mut damaged = whole.clone();
        damaged[first + 12] ^= 0xff;
        let error = open(&damaged).unwrap_err().to_string();
        assert!(error.contains("\"server.log\" in it is damaged"), "{error}");
        let error = open(&whole[..whole.len() / 2]).unwrap_err().to_string();
        assert!(error.contains("cut off") && !error.contains("EOCD"), "{error}");
    }

    proptest! {
        /// Whatever bytes are changed, there is a case or an error.
        #[test]
        fn damage_never_panics(at in any::<prop::sample::Index>(), to in any::<u8>(), cut in any::<prop::sample::Index>()) {
            let mut bytes = zipped(&[CASE, ("server.log", "ready\n"), ("notes.bin", "x")], "c");
            let place = at.index(bytes.len());
            bytes[place] = to;
            let _ = open(&bytes);
            let _ = open(&bytes[..cut.index(bytes.len())]);
        }
    }
}
