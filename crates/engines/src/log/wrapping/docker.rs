//! Docker's json-file driver: one object a line, long lines in several.

use std::borrow::Cow;

use intriage_case::Millis;
use serde::Deserialize;

use super::Piece;
use crate::log::stamp;

#[derive(Deserialize)]
struct Record<'a> {
    #[serde(borrow)]
    log: Cow<'a, str>,
    #[serde(borrow, default)]
    stream: Cow<'a, str>,
    #[serde(borrow, default)]
    time: Cow<'a, str>,
}

/// The message of a record; one that does not end its line is cut and goes on in the next.
pub(super) fn piece(line: &str) -> Option<Piece<'_>> {
    let record = record(line)?;
    let stream = u8::from(record.stream == "stderr");
    let ends = record.log.ends_with('\n');
    let message = match record.log {
        Cow::Borrowed(text) => Cow::Borrowed(text.strip_suffix('\n').unwrap_or(text)),
        Cow::Owned(mut text) => {
            if ends {
                text.pop();
            }
            Cow::Owned(text)
        }
    };
    Some(Piece { message, stream, ends })
}

/// The record's own time.
pub(super) fn written_at(line: &str) -> Option<Millis> {
    stamp::full(record(line)?.time.as_bytes())
}

fn record(line: &str) -> Option<Record<'_>> {
    // Cheap to refuse: most logs are not this.
    line.starts_with('{').then(|| serde_json::from_str(line).ok())?
}
