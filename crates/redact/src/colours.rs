//! Terminal colours: engines write them into files, too, in the middle of names and values.

use std::borrow::Cow;

use memchr::memchr;

/// The line with every colour code made blank, byte for byte, so that places in it are places in the line.
pub(crate) fn blank(line: &str) -> Cow<'_, str> {
    let Some(first) = memchr(0x1b, line.as_bytes()) else { return Cow::Borrowed(line) };
    let mut plain = String::with_capacity(line.len());
    plain.push_str(&line[..first]);
    let mut rest = &line[first..];
    while let Some(at) = memchr(0x1b, rest.as_bytes()) {
        let length = code_length(&rest.as_bytes()[at..]);
        plain.push_str(&rest[..at]);
        plain.extend(std::iter::repeat_n(' ', length));
        rest = &rest[at + length..];
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// The length of the code that begins with this escape; of the escape alone where it is no code.
fn code_length(bytes: &[u8]) -> usize {
    if bytes.get(1) != Some(&b'[') {
        return 1;
    }
    let parameters = bytes[2..].iter().take_while(|byte| matches!(byte, 0x20..=0x3f)).count();
    match bytes.get(2 + parameters) {
        Some(0x40..=0x7e) => 3 + parameters,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_become_blanks_of_their_length() {
        assert_eq!(blank("a\u{1b}[1;36mb\u{1b}[0mé"), "a       b    é");
        assert_eq!(blank("\u{1b}\u{1b}[é \u{1b}["), "  [é  [");
        assert_eq!(blank("plain"), "plain");
    }
}
