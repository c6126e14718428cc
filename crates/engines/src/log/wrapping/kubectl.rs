//! `kubectl logs --prefix`: the pod and container in brackets.

use super::Piece;

/// The message behind `[pod/name/container] `.
pub(super) fn piece(line: &str) -> Option<Piece<'_>> {
    let (place, message) = line.strip_prefix("[pod/")?.split_once("] ")?;
    (!place.contains(' ') && place.contains('/')).then(|| Piece::whole(message))
}
