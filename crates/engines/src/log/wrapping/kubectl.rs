//! `kubectl logs --prefix`: the pod and container in brackets.

use super::Piece;

/// The message behind `[pod/name/container] `.
pub(super) fn piece(line: &str) -> Option<Piece<'_>> {
    named(line).map(|(_, message)| Piece::whole(message))
}

/// The pod and container, and the message.
pub(super) fn named(line: &str) -> Option<(&str, &str)> {
    let (place, message) = line.strip_prefix("[pod/")?.split_once(']')?;
    (!place.contains(' ') && place.contains('/'))
        .then(|| (place, message.strip_prefix(' ').unwrap_or(message)))
}
