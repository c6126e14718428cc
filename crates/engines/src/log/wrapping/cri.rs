//! A Kubernetes node's log files: time, stream, a mark for whole or partial, message.

use intriage_case::Millis;

use super::Piece;
use crate::log::stamp;

/// The message; `P` marks a part that goes on in the next line.
pub(super) fn piece(line: &str) -> Option<Piece<'_>> {
    let (time, rest) = line.split_once(' ')?;
    stamp::full(time.as_bytes())?;
    let (stream, rest) = rest.split_once(' ')?;
    let stream = match stream {
        "stdout" => 0,
        "stderr" => 1,
        _ => return None,
    };
    let (mark, message) = rest.split_once(' ').unwrap_or((rest, ""));
    let ends = match mark {
        "F" => true,
        "P" => false,
        _ => return None,
    };
    Some(Piece { message: message.into(), stream, ends })
}

/// The line's own time.
pub(super) fn written_at(line: &str) -> Option<Millis> {
    stamp::full(line.split(' ').next()?.as_bytes())
}
