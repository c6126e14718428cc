//! `key=value` pairs of a query.

use std::borrow::Cow;

/// The pairs of a query, with `%XX` and `+` undone.
pub(crate) fn pairs(query: &str) -> Vec<(String, String)> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    parts
        .map(|part| part.split_once('=').unwrap_or((part, "")))
        .map(|(key, value)| (plain(key), plain(value)))
        .collect()
}

fn plain(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        out.push(match (byte, after) {
            (b'+', _) => b' ',
            (b'%', [high, low, ..]) => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => {
                    rest = after.get(2..).unwrap_or_default();
                    high * 16 + low
                }
                _ => byte,
            },
            _ => byte,
        });
    }
    match String::from_utf8_lossy(&out) {
        Cow::Borrowed(text) => text.to_owned(),
        Cow::Owned(text) => text,
    }
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    #[test]
    fn escapes_are_undone_and_broken_ones_kept() {
        let read = super::pairs("a=1&&b=x%20y+z&%63=%4&d");
        let want = [("a", "1"), ("b", "x y z"), ("c", "%4"), ("d", "")];
        assert_eq!(read, want.map(|(k, v)| (k.to_owned(), v.to_owned())));
    }
}
