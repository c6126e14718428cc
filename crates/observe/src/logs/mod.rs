//! Logs from wherever they come: a file, packed or not, a pipe, standard input, the journal. Each within its own time and
//! size.

mod encoding;
mod ends;
mod journal;
mod kept;
mod packed;
mod reading;

use std::path::{Path, PathBuf};
use std::time::Duration;

use intriage_case::LogText;
use thiserror::Error;

pub use encoding::EncodingError;
pub(crate) use encoding::{decoded, is_wide};
use ends::Ends;
pub(crate) use ends::around_gap;
use reading::{Ended, within};

/// Most bytes of a log that a case keeps, unless the user says otherwise.
pub const MAX_LOG: usize = 16 << 20;

/// Of a file that is longer than this the middle is not read where the time is limited.
const READ_WITHIN_TIME: u64 = 512 << 20;

/// Where a log comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogSource {
    /// A file, or a pipe with a name.
    File(PathBuf),
    /// Standard input.
    Stdin,
    /// A unit of systemd, by `journalctl`.
    Journal(String),
}

/// How much of a log is taken, and how long it is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogLimits {
    /// Most bytes: a quarter from the start (settings), a quarter for lines of the middle that tell, the rest from the end
    /// (what happened last).
    pub bytes: usize,
    /// Most time; `None` waits for the end.
    pub time: Option<Duration>,
    /// How far back a journal is read.
    pub since: Duration,
}

/// A log, and what of it is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenLog {
    /// Its text.
    pub log: LogText,
    /// What was left out and why; `None` where it is whole.
    pub cut: Option<String>,
}

/// Why there is no log.
#[derive(Debug, Error)]
pub enum LogError {
    /// Not a unit's name.
    #[error("{0:?} is no unit: write journal:NAME, such as journal:vllm.service")]
    NotAUnit(String),
    /// Reading failed.
    #[error("{from}: {why}")]
    Io {
        /// The log.
        from: String,
        /// The reason.
        why: String,
    },
    /// Nothing came in time.
    #[error("{from}: nothing came within {} s", .limit.as_secs_f64())]
    Silent {
        /// The log.
        from: String,
        /// The limit.
        limit: Duration,
    },
    /// Bytes that are no text anybody could look through for secrets.
    #[error("{from}: {why}")]
    Encoding {
        /// The log.
        from: String,
        /// The reason.
        why: EncodingError,
    },
    /// No `journalctl` here.
    #[error(
        "journalctl is not here, so the journal of {0} cannot be read: run it where systemd runs, or give the log as a file"
    )]
    NoJournal(String),
    /// The journal knows nothing of the unit.
    #[error("the journal has nothing of {unit} since {since_s} s ago{said}")]
    EmptyJournal {
        /// The unit.
        unit: String,
        /// How far back was looked, in seconds.
        since_s: u64,
        /// What journalctl said, after a colon.
        said: String,
    },
}

impl TakenLog {
    /// Takes a log from a stream that ends by itself, packed or not; `limits.time` does not end it.
    pub fn of(name: &str, from: impl std::io::Read, limits: &LogLimits) -> Result<Self, LogError> {
        let ends = Ends::new(limits.bytes);
        let read = ends.stream(from);
        let (bytes, left_out) = ends.finish();
        let error = read.err().map(|e| e.to_string());
        let ended = Ended { bytes, left_out, missing: ends.missing(), late: false, error };
        LogSource::File(name.into()).taken(ended, limits)
    }
}

impl LogSource {
    /// Reads `-`, `journal:UNIT`, or a path, as `--log` takes them.
    pub fn from_argument(argument: &Path) -> Result<Self, LogError> {
        match argument.to_str() {
            Some("-") => Ok(Self::Stdin),
            Some(text) => match text.strip_prefix("journal:") {
                Some(unit) if journal::is_unit(unit) => Ok(Self::Journal(unit.to_owned())),
                Some(unit) => Err(LogError::NotAUnit(unit.to_owned())),
                None => Ok(Self::File(argument.to_owned())),
            },
            None => Ok(Self::File(argument.to_owned())),
        }
    }

    /// Takes the log.
    pub fn take(&self, limits: &LogLimits) -> Result<TakenLog, LogError> {
        let ended = match self {
            Self::Journal(unit) => return journal::take(unit, limits),
            Self::Stdin => within(limits, |ends| ends.stream(std::io::stdin().lock())),
            Self::File(path) => {
                let path = path.clone();
                // Opened on the reading thread: a pipe that nobody writes into is waited for.
                let whole = if limits.time.is_none() { u64::MAX } else { READ_WITHIN_TIME };
                within(limits, move |ends| ends.file(&path, whole))
            }
        };
        self.taken(ended, limits)
    }

    fn taken(&self, ended: Ended, limits: &LogLimits) -> Result<TakenLog, LogError> {
        let from = self.to_string();
        if let Some(why) = ended.error {
            return Err(LogError::Io { from, why });
        }
        if ended.late && ended.bytes.is_empty() {
            return Err(LogError::Silent { from, limit: limits.time.unwrap_or_default() });
        }
        let cut = ended.cut(limits);
        let text = decoded(ended.bytes, ended.left_out.bytes > 0);
        let text = text.map_err(|why| LogError::Encoding { from, why })?;
        Ok(TakenLog { log: LogText { name: self.file_name(), text }, cut })
    }

    /// Its name in a case.
    fn file_name(&self) -> String {
        match self {
            Self::Stdin => "stdin.log".into(),
            Self::Journal(unit) => format!("journal-{unit}.log"),
            Self::File(path) => log_name(path),
        }
    }
}

/// The name of a file's log in a case. Only a log's ending is taken off: that of `gpu1.acme.com` is part of a host. What
/// was packed is unpacked.
pub(crate) fn log_name(path: &Path) -> String {
    const ENDINGS: [&str; 5] = ["log", "txt", "out", "err", "json"];
    let name = path.file_name().map_or("server".into(), |name| name.to_string_lossy().into_owned());
    let name = name.strip_suffix(".gz").filter(|stem| !stem.is_empty()).unwrap_or(&name);
    let stem = name.rsplit_once('.').filter(|(stem, ending)| !stem.is_empty() && ENDINGS.contains(ending));
    [stem.map_or(name, |(stem, _)| stem), ".log"].concat()
}

/// Whether a name is one a rotation gives a log: `x.log.1`, `x.log-20261115`, with `.gz` or another packing behind it.
pub(crate) fn is_rotated(name: &str) -> bool {
    const PACKED: [&str; 4] = [".gz", ".zst", ".xz", ".bz2"];
    let plain = PACKED.iter().find_map(|ending| name.strip_suffix(ending));
    let is_age = |age: &str| matches!(age.as_bytes(), [b'.' | b'-', first, rest @ ..] if first.is_ascii_digit() && rest.iter().all(|b| b.is_ascii_digit() || b"-_T:.".contains(b)));
    match plain.unwrap_or(name).split_once(".log") {
        Some((stem, age)) if !stem.is_empty() && !name.contains('/') => {
            is_age(age) || (age.is_empty() && plain.is_some())
        }
        _ => false,
    }
}

impl std::fmt::Display for LogSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Stdin => f.write_str("standard input"),
            Self::Journal(unit) => write!(f, "journal:{unit}"),
        }
    }
}

#[cfg(test)]
mod tests;
