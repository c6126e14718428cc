//! Removes what is meant for a terminal: colours, and all but the last state of a progress bar.

use std::borrow::Cow;

use memchr::{memchr, memchr2, memrchr};

const ESCAPE: u8 = 0x1b;

/// The text without ANSI sequences, each line from behind its last carriage return on; borrowed where there are none.
pub(super) fn clean(text: &str) -> Cow<'_, str> {
    if memchr2(ESCAPE, b'\r', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        push_without_escapes(last_state(line), &mut out);
        out.push_str(end);
    }
    Cow::Owned(out)
}

/// What a terminal would show of a line: the part behind the last carriage return that is followed by anything.
fn last_state(line: &str) -> &str {
    let line = line.trim_end_matches('\r');
    memrchr(b'\r', line.as_bytes()).map_or(line, |at| &line[at + 1..])
}

fn push_without_escapes(line: &str, out: &mut String) {
    let mut rest = line;
    while let Some(at) = memchr(ESCAPE, rest.as_bytes()) {
        out.push_str(&rest[..at]);
        rest = behind_sequence(&rest[at + 1..]);
    }
    out.push_str(rest);
}

/// What follows an escape sequence: `[` parameters and one letter, or a single character.
fn behind_sequence(text: &str) -> &str {
    let Some(parameters) = text.strip_prefix('[') else {
        let mut characters = text.chars();
        characters.next();
        return characters.as_str();
    };
    let end =
        parameters.find(|c: char| ('@'..='~').contains(&c) || c == '\u{1b}').unwrap_or(parameters.len());
    let rest = &parameters[end..];
    rest.strip_prefix(|c: char| c != '\u{1b}').unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_without_colours_is_not_copied() {
        assert!(matches!(clean("INFO 11-15 ready\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn colours_of_vllm_0_11_are_removed() {
        assert_eq!(
            clean("\x1b[1;36m(APIServer pid=6716)\x1b[0;0m INFO ready\nx"),
            "(APIServer pid=6716) INFO ready\nx"
        );
        assert_eq!(clean("a\x1b[\x1b[0mb\x1b"), "ab");
    }

    #[test]
    fn of_a_progress_bar_the_last_state_counts() {
        assert_eq!(clean("bar 0%\rbar 50%\rbar 100%\nnext\r\n"), "bar 100%\nnext\n");
        assert_eq!(clean("bar 0%\rbar 100%\r\r\n"), "bar 100%\n");
    }
}
