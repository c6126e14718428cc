//! `docker compose logs`: the container's name, a bar, the message.

use super::Piece;

/// The message behind `name-1  | `.
pub(super) fn piece(line: &str) -> Option<Piece<'_>> {
    named(line).map(|(_, message)| Piece::whole(message))
}

/// The name and the message. A table of a program has a bar at the start of its lines, or several.
pub(super) fn named(line: &str) -> Option<(&str, &str)> {
    let (name, message) = line.split_once('|')?;
    let name = name.trim_end();
    // The node stands behind an `@` where a swarm prints its services.
    let is_part = |c: char| c.is_ascii_alphanumeric() || "._-@".contains(c);
    let named = name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(is_part);
    let spaced = message.is_empty() || message.starts_with(' ');
    (named && spaced).then(|| (name, message.strip_prefix(' ').unwrap_or(message)))
}
