//! The case file: a zip of the recording layout with a `case.json` that names its version.
//!
//! | written by \ read by | this version |
//! |---|---|
//! | `intriage.case/1` | read |
//! | any other `intriage.case/N` | refused, naming both versions |
//! | a zip of a recording's files without `case.json` | read like the folder |
//! | a zip of anything else, an encrypted one, one with two files of one name | refused |

mod archive;
mod error;

use std::io::{Seek, Write};

use serde::{Deserialize, Serialize};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

pub use archive::{Opened, open};
pub use error::CaseFileError;

use crate::{Case, Collected, Intent, Replica, Target, layout};

/// The version of the case file written here.
pub const SCHEMA: &str = "intriage.case/1";

/// Most bytes a case may unpack to: a small archive must not be able to fill the memory.
pub const MAX_UNPACKED: u64 = 1 << 30;

/// Most files in a case: an hour of a machine with hundreds of threads has a third of it.
pub const MAX_ENTRIES: usize = 1 << 20;

/// The name of the manifest in a case file, and in a folder it was unpacked into.
pub const MANIFEST: &str = "case.json";

/// Most bytes of a manifest.
const MAX_MANIFEST: u64 = 16 << 20;

/// What of a case is no evidence: what was looked at, what for, how it was collected.
#[derive(Default, Serialize, Deserialize)]
struct Manifest {
    schema: String,
    #[serde(flatten)]
    about: About,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    redacted: bool,
    /// Each with a name, and with neither a schema nor replicas of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    replicas: Vec<ReplicaManifest>,
}

/// What a case and each of its replicas have of their own.
#[derive(Default, Serialize, Deserialize)]
struct About {
    #[serde(default)]
    target: Target,
    #[serde(default)]
    intent: Intent,
    #[serde(default)]
    collected: Vec<Collected>,
    #[serde(default)]
    notes: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct ReplicaManifest {
    name: String,
    #[serde(flatten)]
    about: About,
}

impl About {
    fn of(case: &Case) -> Self {
        Self {
            target: case.target.clone(),
            intent: case.intent.clone(),
            collected: case.collected.clone(),
            notes: case.notes.clone(),
        }
    }

    fn put(self, case: &mut Case) {
        case.target = self.target;
        case.intent = self.intent;
        case.collected = self.collected;
        case.notes = self.notes;
    }
}

impl Manifest {
    fn of(case: &Case) -> Self {
        let replica = |r: &Replica| ReplicaManifest { name: r.name.clone(), about: About::of(&r.case) };
        Self {
            schema: SCHEMA.to_owned(),
            about: About::of(case),
            redacted: case.redacted,
            replicas: case.replicas.iter().map(replica).collect(),
        }
    }

    fn put(self, case: &mut Case) {
        self.about.put(case);
        case.redacted = self.redacted;
        for part in self.replicas {
            // A name that is none, or one too many, has no place.
            if let Some(replica) = case.replica_mut(&part.name) {
                part.about.put(replica);
            }
        }
    }
}

/// Reads a case file.
pub fn read(bytes: &[u8]) -> Result<Case, CaseFileError> {
    Ok(open(bytes)?.case)
}

/// Writes a case file. Equal cases give equal bytes: entries are sorted and carry no times.
pub fn write(case: &Case, out: impl Write + Seek) -> Result<(), CaseFileError> {
    let mut zip = ZipWriter::new(out);
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for (name, bytes) in contents(case)? {
        zip.start_file(name, options)?;
        zip.write_all(&bytes)?;
    }
    zip.finish()?;
    Ok(())
}

/// Every file of a case with its bytes, the manifest first: what an archive or a folder of it holds.
pub fn contents(case: &Case) -> Result<Vec<(String, Vec<u8>)>, CaseFileError> {
    let manifest = (MANIFEST.to_owned(), serde_json::to_vec_pretty(&Manifest::of(case))?);
    Ok(std::iter::once(manifest).chain(layout::files(case)).collect())
}

/// Puts what a `case.json` says into a case; evidence that is there stays.
pub fn put_manifest(bytes: &[u8], case: &mut Case) -> Result<(), CaseFileError> {
    parsed(bytes)?.put(case);
    Ok(())
}

/// Whether the bytes begin like a zip, to tell a case file from anything else.
pub fn looks_like_one(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04")
}

fn parsed(bytes: &[u8]) -> Result<Manifest, CaseFileError> {
    // The version first: another version may have other fields.
    let found = serde_json::from_slice::<serde_json::Value>(bytes)?;
    let found = found.get("schema").and_then(|s| s.as_str()).unwrap_or("nothing").to_owned();
    if found != SCHEMA {
        return Err(CaseFileError::Version { found });
    }
    Ok(serde_json::from_slice(bytes)?)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::{Budget, Bytes, Gathered, Millis, Profile, Scrape, ScrapeOutcome, Seconds};

    fn small_case() -> Case {
        Case {
            target: Target { name: "http://127.0.0.1:8000".into() },
            intent: Intent {
                profile: Profile::Batch,
                objectives: vec!["ttft.p95=1s".parse().unwrap()],
                model: None,
            },
            scrapes: vec![
                Scrape { at: Millis(5), outcome: ScrapeOutcome::Body(b"a 1\n".to_vec()) },
                Scrape { at: Millis(6), outcome: ScrapeOutcome::Failed("refused".into()) },
            ],
            collected: vec![Collected {
                what: "gpu".into(),
                outcome: Gathered::Skipped { why: "no driver".into() },
                took: Seconds(0.01),
                size: Bytes(0.0),
                budget: Some(Budget { time: Seconds(3.0), size: Bytes(1e6) }),
            }],
            notes: vec!["no log was given".into()],
            redacted: true,
            replicas: vec![Replica {
                name: "gpu7".into(),
                case: Case {
                    target: Target { name: "http://host-2:8000".into() },
                    redacted: true,
                    ..Case::default()
                },
            }],
            ..Case::default()
        }
    }

    fn bytes_of(case: &Case) -> Vec<u8> {
        let mut out = Cursor::new(Vec::new());
        write(case, &mut out).unwrap();
        out.into_inner()
    }

    #[test]
    fn a_saved_case_reads_back_equal_and_equal_cases_give_equal_bytes() {
        let case = small_case();
        assert_eq!(read(&bytes_of(&case)).unwrap(), case);
        assert_eq!(bytes_of(&case), bytes_of(&case.clone()));
    }

    #[test]
    fn another_version_is_refused_by_name() {
        let mut out = Cursor::new(Vec::new());
        let mut zip = ZipWriter::new(&mut out);
        zip.start_file(MANIFEST, SimpleFileOptions::default()).unwrap();
        zip.write_all(br#"{"schema":"intriage.case/9"}"#).unwrap();
        zip.finish().unwrap();
        let error = read(&out.into_inner()).unwrap_err().to_string();
        assert!(error.contains("intriage.case/9") && error.contains("intriage.case/1"), "{error}");
    }

    #[test]
    fn strangers_and_damage_are_errors() {
        assert!(matches!(read(b"not a zip").unwrap_err(), CaseFileError::Damaged));
        let whole = bytes_of(&small_case());
        for cut in [0, 10, whole.len() / 2, whole.len() - 1] {
            assert!(read(&whole[..cut]).is_err());
        }
    }
}
