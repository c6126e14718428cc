//! The systemd journal: as `journalctl` prints it, as JSON, and in its export format.

use intriage_case::Millis;
use memchr::memmem;
use serde_json::Value;

use super::Piece;
use crate::log::stamp::{self, Stamp};

const MICROSECONDS: &str = "__REALTIME_TIMESTAMP";

/// `Nov 15 02:26:49 host unit[1]: message`, also with an ISO time; the kernel has no number. The time is kept in front
/// of the message: nothing else tells it.
pub(super) fn short(line: &str) -> Option<Piece<'_>> {
    let (stamp, time) = stamp::leading(line)?;
    if matches!(stamp, Stamp::SinceStart(_) | Stamp::SinceBoot(_)) {
        return None;
    }
    let rest = line.get(time..)?.strip_prefix(' ')?;
    let (host, rest) = rest.split_once(' ')?;
    let (unit, message) = rest.split_once(": ").or_else(|| Some((rest.strip_suffix(':')?, "")))?;
    let named = unit == "kernel" || (unit.ends_with(']') && unit.contains('['));
    let plain = !host.is_empty() && !host.contains([':', '[', '(']) && !unit.contains(' ');
    (named && plain).then(|| Piece::whole(format!("{} {message}", &line[..time])))
}

/// One object a line; a message that is not text is a list of its bytes.
pub(super) fn json(line: &str) -> Option<Piece<'_>> {
    let record = object(line)?;
    record.get(MICROSECONDS)?;
    Some(Piece::whole(match record.get("MESSAGE")? {
        Value::String(text) => text.clone(),
        Value::Array(bytes) => {
            let bytes: Vec<u8> =
                bytes.iter().map(|byte| byte.as_u64().map_or(b'?', |byte| byte as u8)).collect();
            String::from_utf8_lossy(&bytes).into_owned()
        }
        _ => String::new(),
    }))
}

/// The record's own time.
pub(super) fn json_written_at(line: &str) -> Option<Millis> {
    microseconds(object(line)?.get(MICROSECONDS)?.as_str()?)
}

/// Whether these first lines are the fields of an entry.
pub(super) fn is_export(lines: &[&str]) -> bool {
    lines
        .first()
        .is_some_and(|line| line.starts_with("__CURSOR=") || line.starts_with("__REALTIME_TIMESTAMP="))
}

/// The message, or nothing for any other field.
pub(super) fn export(line: &str) -> Piece<'_> {
    Piece::whole(line.strip_prefix("MESSAGE=").unwrap_or_default())
}

/// The time of the entry that holds the byte at `at`; entries are separated by empty lines.
pub(super) fn export_written_at(raw: &str, at: usize) -> Option<Millis> {
    let (before, behind) = (raw.as_bytes().get(..at)?, raw.as_bytes().get(at..)?);
    let start = memmem::rfind(before, b"\n\n").map_or(0, |i| i + 2);
    let end = memmem::find(behind, b"\n\n").map_or(raw.len(), |i| at + i);
    let entry = raw.get(start..end)?;
    entry.lines().find_map(|line| microseconds(line.strip_prefix(MICROSECONDS)?.strip_prefix('=')?))
}

fn object(line: &str) -> Option<Value> {
    line.starts_with('{').then(|| serde_json::from_str(line).ok())?
}

fn microseconds(text: &str) -> Option<Millis> {
    text.parse::<u64>().ok().map(|us| Millis(us / 1000))
}
