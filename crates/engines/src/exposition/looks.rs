//! Tells an exposition from the other things a wrong address answers with.

use super::comment::{self, Comment};
use super::cursor::Cursor;
use super::sample::looks_like_sample;

/// What a response body seems to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Looks {
    /// Metrics, though perhaps damaged: [`super::parse`] will tell.
    Exposition,
    /// A web page: a login form, a proxy's error, a dashboard.
    Html,
    /// JSON: an API error, or an engine that reports metrics as JSON.
    Json,
    /// Nothing but white space.
    Empty,
    /// Something else, such as `404 page not found`.
    Other,
}

/// Says what a body seems to be, for the message when there are no metrics in it.
///
/// This looks no further than the first line that is not a comment, and is no proof that the rest can be read.
#[must_use]
pub fn looks_like_exposition(bytes: &[u8]) -> Looks {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii();
    match bytes.first() {
        None => Looks::Empty,
        Some(b'<') => Looks::Html,
        Some(b'[' | b'"') => Looks::Json,
        Some(b'{') => object_or_series(bytes),
        Some(_) => first_line(bytes),
    }
}

/// `{"name"` begins both a JSON object and a series with a quoted name; what follows the string decides.
fn object_or_series(bytes: &[u8]) -> Looks {
    let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut cursor = Cursor::new(&line);
    cursor.eat(b'{');
    cursor.skip_blanks();
    let quoted = cursor.eat(b'"') && cursor.take_quoted().is_some();
    cursor.skip_blanks();
    if quoted && matches!(cursor.peek(), Some(b',' | b'}')) { Looks::Exposition } else { Looks::Json }
}

fn first_line(bytes: &[u8]) -> Looks {
    for line in bytes.split(|&byte| byte == b'\n') {
        let line = String::from_utf8_lossy(line.trim_ascii());
        if line.starts_with('#') {
            match comment::read(Cursor::new(&line), &mut "") {
                Ok(Comment::Prose) => {}
                Ok(_) | Err(_) => return Looks::Exposition,
            }
        } else if !line.is_empty() {
            return if looks_like_sample(&line) { Looks::Exposition } else { Looks::Other };
        }
    }
    // Comments only: an exporter with nothing to say.
    Looks::Exposition
}
