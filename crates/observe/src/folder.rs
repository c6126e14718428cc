//! Evidence on disk: folders of recordings, case files, logs.

mod listing;

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use intriage_case::file::{self, CaseFileError};
use intriage_case::{Case, LogText, Millis, Scrape, ScrapeOutcome, Target, layout};
use intriage_engines::{GpuText, LogReadings, ManifestError, recognise_gpu_text};
use thiserror::Error;

use listing::{entries, files_of};

use crate::legible::why_illegible;
use crate::logs::{
    EncodingError, LogError, LogLimits, LogSource, MAX_LOG, TakenLog, around_gap, decoded, is_rotated,
    log_name,
};

/// Most bytes read of one file of a recording.
pub const MAX_FILE: u64 = 256 << 20;

/// Bytes of a file that tell a case from a log.
const START: u64 = 64 << 10;

/// Why a target on disk cannot be opened, or a case not be saved.
#[derive(Debug, Error)]
pub enum OpenError {
    /// Nothing there.
    #[error("{0} does not exist: give a folder of recordings or a case file")]
    Missing(PathBuf),
    /// A file without a byte in it.
    #[error("{0} is empty: give a folder of recordings or a case file")]
    NoBytes(PathBuf),
    /// Reading or writing failed.
    #[error("{path}: {why}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// A folder without evidence.
    #[error(
        "{0} holds no recording: expected metrics/<unix_ms>.txt, endpoints/*.json, host/<unix_ms>/… or a *.log in it"
    )]
    Empty(PathBuf),
    /// A folder of several recordings.
    #[error("{folder} is not a recording but holds {count}; check one of them, such as {example}")]
    Several {
        /// The folder.
        folder: PathBuf,
        /// How many.
        count: usize,
        /// One of them.
        example: PathBuf,
    },
    /// A file that is no case.
    #[error("{path}: {why}")]
    NotACase {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: CaseFileError,
    },
    /// A manifest that is none.
    #[error("{path}: {why}")]
    Manifest {
        /// The file.
        path: PathBuf,
        /// The reason, with its line.
        why: ManifestError,
    },
    /// A log that cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// Something else.
    #[error(
        "{0} is neither a folder of recordings nor a case file (a zip written by --save), nor a log: it is not called one (.log, .log.1, .log.gz) and has no line of an engine or a kernel that is known here"
    )]
    Other(PathBuf),
    /// A text no GPU tool printed.
    #[error(
        "{0} is no output known here: nvidia-smi -q, dmon or --query-gpu=index,… --format=csv, amd-smi static or metric --json, or the page of a DCGM exporter"
    )]
    NotGpu(PathBuf),
    /// Larger than [`MAX_FILE`].
    #[error("{0} is larger than {MAX_FILE} bytes")]
    TooLarge(PathBuf),
}

fn io(path: &Path, error: &std::io::Error) -> OpenError {
    OpenError::Io { path: path.to_owned(), why: error.to_string() }
}

/// A case, and what lies beside it.
#[derive(Debug)]
pub struct Found {
    /// The case.
    pub case: Case,
    /// What is no part of a case, as names for people, and was not looked at.
    pub strays: Vec<String>,
}

/// Opens a folder of recordings, a case file or a log.
pub fn open(path: &Path) -> Result<Case, OpenError> {
    Ok(look_into(path)?.case)
}

/// The log that comes in on standard input, as a case.
pub fn open_stdin() -> Result<Case, OpenError> {
    Ok(one_log(&LogSource::Stdin, "standard input".into())?.case)
}

/// A recording kept as a case file beside its truth: many small files packed into one.
const PACKED: &str = "recording.case";

/// Opens a folder of recordings, a case file or a log, and tells what else is in it.
pub fn look_into(path: &Path) -> Result<Found, OpenError> {
    let kind = fs::metadata(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => OpenError::Missing(path.to_owned()),
        _ => io(path, &e),
    })?;
    let packed = path.join(PACKED);
    if kind.is_dir() && packed.is_file() {
        let mut found = look_into(&packed)?;
        found.case.target = Target { name: name_of(path) };
        return Ok(found);
    }
    if kind.is_dir() {
        return folder(path);
    }
    // A pipe or a device could be read for ever.
    if !kind.is_file() {
        return Err(OpenError::Other(path.to_owned()));
    }
    if kind.len() == 0 {
        return Err(OpenError::NoBytes(path.to_owned()));
    }
    let name = name_of(path);
    if name.strip_suffix(".log").is_some() || is_rotated(&name) {
        return one_log(&LogSource::File(path.to_owned()), name);
    }
    let start = read_start(path)?;
    if !file::looks_like_one(&start) {
        // Logs are called nohup.out or messages, too: their lines tell.
        let log = one_log(&LogSource::File(path.to_owned()), name)
            .ok()
            .filter(|found| found.case.logs.iter().any(is_known_log));
        return log.ok_or_else(|| OpenError::Other(path.to_owned()));
    }
    let bytes = read_limited(path)?;
    let opened = file::open(&bytes).map_err(|why| OpenError::NotACase { path: path.to_owned(), why })?;
    let mut case = opened.case;
    if !opened.named {
        case.target = Target { name };
    }
    Ok(Found { case, strays: opened.strays })
}

/// A log is a case of its own: often there is nothing else.
fn one_log(source: &LogSource, name: String) -> Result<Found, OpenError> {
    let taken = take_log(source)?;
    if let Some(why) = why_illegible(&taken.log.text) {
        return Err(OpenError::Io { path: name.into(), why: why.to_string() });
    }
    let mut case = Case { target: Target { name }, ..Case::default() };
    case.notes.extend(taken.cut);
    case.add_log(taken.log);
    Ok(Found { case, strays: Vec::new() })
}

/// A log as its file has it, unpacked.
fn take_log(source: &LogSource) -> Result<TakenLog, LogError> {
    source.take(&LogLimits { bytes: MAX_LOG, time: None, since: Duration::ZERO })
}

fn is_known_log(log: &LogText) -> bool {
    let read = LogReadings::of(log);
    !read.events.is_empty() || !read.series.is_empty() || !read.answers.is_empty()
}

fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned())
}

/// A file that cannot be read costs that file: the others are evidence, and the case says which is missing.
fn folder(path: &Path) -> Result<Found, OpenError> {
    let mut case = Case { target: Target { name: name_of(path) }, ..Case::default() };
    let (mut strays, mut unread) = (Vec::new(), Vec::new());
    for file in files_of(path, &mut unread)? {
        let name = file.strip_prefix(path).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        if is_rotated(&name) {
            rotated_log(&mut case, &file, &name);
            continue;
        }
        if name != file::MANIFEST && !layout::wants(&name) {
            strays.push(format!("{name:?}"));
            continue;
        }
        if name.strip_suffix(".log").is_some() {
            match take_log(&LogSource::File(file.clone())) {
                Ok(taken) => {
                    case.notes.extend(taken.cut.map(|cut| format!("{name}: {cut}")));
                    layout::add(&mut case, &name, taken.log.text.into_bytes());
                }
                Err(LogError::Encoding { why, .. }) => {
                    case.notes.push(format!("{name} was left out: {why}"));
                }
                Err(LogError::Io { why, .. }) => unread.push(OpenError::Io { path: file, why }),
                Err(why) => unread.push(why.into()),
            }
            continue;
        }
        match read_limited(&file) {
            Ok(bytes) if name == file::MANIFEST => {
                file::put_manifest(&bytes, &mut case)
                    .map_err(|why| OpenError::NotACase { path: file, why })?;
            }
            Ok(bytes) => {
                layout::add(&mut case, &name, bytes);
            }
            Err(why) => unread.push(why),
        }
    }
    if !case.is_empty() {
        case.notes.extend(unread.iter().map(|why| format!("left out, since it cannot be read: {why}")));
        return Ok(Found { case, strays });
    }
    if let Some(why) = unread.into_iter().next() {
        return Err(why);
    }
    let inner: Vec<PathBuf> = entries(path)?.into_iter().filter(|p| p.join("metrics").is_dir()).collect();
    match inner.first() {
        Some(example) => {
            Err(OpenError::Several { folder: path.to_owned(), count: inner.len(), example: example.clone() })
        }
        None => Err(OpenError::Empty(path.to_owned())),
    }
}

/// Adds a log that a rotation renamed, and perhaps packed.
fn rotated_log(case: &mut Case, file: &Path, name: &str) {
    match take_log(&LogSource::File(file.to_owned())) {
        Ok(taken) => {
            case.notes.extend(taken.cut.map(|cut| format!("{name}: {cut}")));
            match why_illegible(&taken.log.text) {
                Some(why) => case.notes.push(format!("{name} was left out: {why}")),
                None => case.add_log(taken.log),
            }
        }
        Err(why) => case.notes.push(format!("left out, since it cannot be read: {why}")),
    }
}

/// The first bytes of a file: a log may be far too long to be looked at whole for what it is.
fn read_start(path: &Path) -> Result<Vec<u8>, OpenError> {
    let mut bytes = Vec::new();
    let opened = File::open(path).map_err(|e| io(path, &e))?;
    opened.take(START).read_to_end(&mut bytes).map_err(|e| io(path, &e))?;
    Ok(bytes)
}

fn read_limited(path: &Path) -> Result<Vec<u8>, OpenError> {
    let mut bytes = Vec::new();
    let opened = File::open(path).map_err(|e| io(path, &e))?;
    opened.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(|e| io(path, &e))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(OpenError::TooLarge(path.to_owned()));
    }
    Ok(bytes)
}

/// A log's start (settings) and end (what happened last) where it is too long to be read whole.
fn read_log_text(path: &Path) -> Result<Result<String, EncodingError>, OpenError> {
    let failed = |e: std::io::Error| io(path, &e);
    let mut opened = File::open(path).map_err(failed)?;
    let length = opened.metadata().map_err(failed)?.len();
    if length <= MAX_FILE {
        return Ok(decoded(read_limited(path)?, false));
    }
    let half = MAX_FILE / 2;
    let mut bytes = Vec::new();
    Read::by_ref(&mut opened).take(half).read_to_end(&mut bytes).map_err(failed)?;
    opened.seek(SeekFrom::Start(length - half)).map_err(failed)?;
    let mut tail = Vec::new();
    opened.take(half).read_to_end(&mut tail).map_err(failed)?;
    Ok(decoded(around_gap(bytes, &tail).0, true))
}

/// Reads a log for the case.
pub fn read_log(path: &Path) -> Result<LogText, OpenError> {
    let text = read_log_text(path)?;
    let text = text.map_err(|why| OpenError::Io { path: path.to_owned(), why: why.to_string() })?;
    Ok(LogText { name: log_name(path), text })
}

/// Adds what a GPU tool printed, wherever it was saved, to a case; tells which tool it was.
pub fn read_gpu_file(case: &mut Case, path: &Path) -> Result<GpuText, OpenError> {
    let bytes = read_limited(path)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let kind = recognise_gpu_text(&text).ok_or_else(|| OpenError::NotGpu(path.to_owned()))?;
    let gpu = &mut case.gpu;
    match kind {
        GpuText::SmiQ => gpu.smi_q = Some(text),
        GpuText::Dmon => gpu.dmon = Some(text),
        GpuText::SmiCsv => gpu.smi_csv = Some(text),
        GpuText::AmdStatic => gpu.amd_static = Some(text),
        GpuText::AmdMetric => gpu.amd_metric = Some(text),
        // When it was saved is not known; the order of the files is.
        GpuText::Dcgm => {
            let at = Millis(gpu.dcgm.last().map_or(1, |page| page.at.0 + 1));
            gpu.dcgm.push(Scrape { at, outcome: ScrapeOutcome::Body(bytes) });
        }
    }
    Ok(kind)
}

#[cfg(test)]
mod tests;
