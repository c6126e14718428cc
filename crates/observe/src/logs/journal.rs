//! The journal of a unit, as `journalctl` prints it.

use std::io::{ErrorKind, Read as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use super::reading::within;
use super::{LogError, LogLimits, LogSource, TakenLog};

/// Most bytes of what journalctl says beside the journal.
const MAX_SAID: u64 = 4096;
/// How long its last words are waited for after it ended.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Whether a name can be a unit's: what begins with a dash would be an option.
pub(super) fn is_unit(unit: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b":-_.\\@".contains(&b);
    !unit.is_empty() && unit.len() <= 255 && !unit.starts_with('-') && unit.bytes().all(allowed)
}

/// Takes what the journal has of a unit. The child is killed when its time is over.
pub(super) fn take(unit: &str, limits: &LogLimits) -> Result<TakenLog, LogError> {
    let source = LogSource::Journal(unit.to_owned());
    let failed = |why: String| LogError::Io { from: source.to_string(), why };
    let since_s = limits.since.as_secs();
    let mut child = Command::new("journalctl")
        .args(["--no-pager", "--quiet", "--output=short-iso"])
        .arg(format!("--unit={unit}"))
        .arg(format!("--since=-{since_s}s"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| match e.kind() {
            ErrorKind::NotFound => LogError::NoJournal(unit.to_owned()),
            _ => failed(e.to_string()),
        })?;
    let said = said(&mut child);
    let Some(out) = child.stdout.take() else { return Err(failed("it gives no output".into())) };
    let ended = within(limits, move |ends| ends.stream(out));
    // It may have ended by itself: then there is nobody to kill. Waiting leaves no dead child behind.
    let _ = child.kill();
    let status = child.wait().map_err(|e| failed(e.to_string()))?;
    let said = said.recv_timeout(LAST_WORDS).unwrap_or_default();
    let said = said.trim();
    if ended.error.is_none() && !ended.late && ended.bytes.trim_ascii().is_empty() {
        let said = if said.is_empty() { String::new() } else { format!(": {said}") };
        return Err(LogError::EmptyJournal { unit: unit.to_owned(), since_s, said });
    }
    let late = ended.late;
    let mut taken = source.taken(ended, limits)?;
    // Ours killed it where it was late; a hint about rights means that entries are missing.
    let complaint =
        (!late && (!status.success() || !said.is_empty())).then(|| format!("journalctl says: {said}"));
    taken.cut = match (taken.cut, complaint) {
        (Some(cut), Some(complaint)) => Some(format!("{cut}; {complaint}")),
        (cut, complaint) => cut.or(complaint),
    };
    Ok(taken)
}

/// What it says on standard error, once it has ended.
fn said(child: &mut Child) -> mpsc::Receiver<String> {
    let (send, said) = mpsc::channel();
    if let Some(from) = child.stderr.take() {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            // What cannot be read was not said.
            let _ = from.take(MAX_SAID).read_to_end(&mut bytes);
            let _ = send.send(String::from_utf8_lossy(&bytes).replace('\n', " "));
        });
    }
    said
}
