//! Why a file is no case.

use thiserror::Error;

use super::{MANIFEST, MAX_ENTRIES, MAX_UNPACKED, SCHEMA};
use crate::unreadable::unreadable;

/// Why a file is not a case this version can read, or could not be written. Each says what to do about it; none has words of
/// the zip format's own.
#[derive(Debug, Error)]
pub enum CaseFileError {
    /// Not a zip, or one without its end.
    #[error(
        "not a case file, or damaged or cut off: the list of its files cannot be read; copy or fetch it again"
    )]
    Damaged,
    /// One file of it is damaged.
    #[error(
        "{name:?} in it is damaged: copy or fetch the file again, or unpack what can be read and give the folder"
    )]
    DamagedEntry {
        /// The name of the file in the zip.
        name: String,
    },
    /// One file of it is packed in a way that is not known here.
    #[error("{name:?} in it is packed in a way that is not read here: unpack it, and give the folder")]
    Packing {
        /// The name of the file in the zip.
        name: String,
    },
    /// A zip with a password.
    #[error("it is encrypted: unpack it with its password, and give the folder")]
    Encrypted,
    /// Two files of one name: another program may take the other one.
    #[error(
        "two files in it have the same name, and which one counts cannot be told: unpack it, keep one of them, and give the folder"
    )]
    Twice,
    /// Nothing of a case in it.
    #[error(
        "not a case file: it holds neither {MANIFEST} nor a file of a recording (metrics/<unix_ms>.txt, endpoints/*.json, a *.log)"
    )]
    NoCase,
    /// A manifest that is not one.
    #[error("{MANIFEST} is not readable: {}", unreadable(.0))]
    Manifest(#[from] serde_json::Error),
    /// Another version.
    #[error("the file says {found:?}, this intriage reads {SCHEMA:?}: use the version that wrote it")]
    Version {
        /// The version the file names.
        found: String,
    },
    /// Holds more than [`MAX_ENTRIES`].
    #[error("holds {found} files, more than {MAX_ENTRIES}: refused")]
    TooMany {
        /// Files it holds.
        found: usize,
    },
    /// Unpacks to more than [`MAX_UNPACKED`].
    #[error("unpacks to more than {MAX_UNPACKED} bytes: refused")]
    TooLarge,
    /// It could not be packed.
    #[error("cannot be packed: {0}")]
    Pack(#[from] zip::result::ZipError),
    /// It could not be written.
    #[error(transparent)]
    Write(#[from] std::io::Error),
}
