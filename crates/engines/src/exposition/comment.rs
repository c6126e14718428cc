//! Lines that begin with `#`: some declare a family, the rest is prose.

use super::cursor::{Cursor, Stop, take_bare_name, take_quoted_name};
use super::family::Kind;
use super::problem::ProblemKind;

/// What a `#` line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comment<'a> {
    /// `# HELP name text`; the text is as written, escapes and all.
    Help { name: &'a str, text: &'a str },
    /// `# TYPE name kind`.
    Type { name: &'a str, kind: Kind },
    /// `# UNIT name unit` (OpenMetrics).
    Unit { name: &'a str, unit: &'a str },
    /// `# EOF` (OpenMetrics).
    Eof,
    /// Anything else.
    Prose,
}

/// Reads a line of which the cursor has reached the `#`; for `known` see [`take_bare_name`].
pub(super) fn read<'a>(mut cursor: Cursor<'a>, known: &mut &'a str) -> Result<Comment<'a>, Stop> {
    // Only the exact form ends a document: the older format may have any prose here.
    if cursor.rest().trim_end_matches([' ', '\t']) == "# EOF" {
        return Ok(Comment::Eof);
    }
    cursor.eat(b'#');
    cursor.skip_blanks();
    let keyword = cursor.take_word();
    cursor.skip_blanks();
    // A bare `# HELP` is prose to Prometheus as well.
    if cursor.at_end() || !matches!(keyword, "HELP" | "TYPE" | "UNIT") {
        return Ok(Comment::Prose);
    }
    let name = match cursor.peek() {
        Some(b'"') => take_quoted_name(&mut cursor)?,
        _ => take_bare_name(&mut cursor, known)?,
    };
    if !matches!(cursor.peek(), None | Some(b' ' | b'\t')) {
        return Err(cursor.stop(ProblemKind::NameCharacter));
    }
    cursor.skip_blanks();
    match keyword {
        "HELP" => Ok(Comment::Help { name, text: cursor.rest() }),
        "UNIT" => Ok(Comment::Unit { name, unit: cursor.rest().trim_end_matches([' ', '\t']) }),
        _ => match cursor.rest().trim_end_matches([' ', '\t']) {
            "" => Err(cursor.stop(ProblemKind::TypeMissing)),
            word => match Kind::from_word(word) {
                Some(kind) => Ok(Comment::Type { name, kind }),
                None => Err(cursor.stop(ProblemKind::TypeUnknown)),
            },
        },
    }
}
