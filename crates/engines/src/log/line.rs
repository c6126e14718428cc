//! One line of a log, and small readings of it.

use std::sync::LazyLock;

use memchr::memmem::Finder;

/// A line of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// Its text, without the line end.
    pub(super) text: &'a str,
    /// Its number in the file, from 1.
    pub(super) number: u32,
    /// Its number in the text that is left of the file, from 1.
    pub(super) row: u32,
}

/// The number directly behind `mark`.
pub(super) fn number_behind(line: &str, mark: &str) -> Option<f64> {
    leading_number(line.split_once(mark)?.1)
}

/// `931,104 tokens` is 931104, `99%, ` is 99.
pub(super) fn leading_number(text: &str) -> Option<f64> {
    let text = text.trim_start();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ',')).unwrap_or(text.len());
    let number = text[..end].trim_end_matches(['.', ',']);
    if number.contains(',') { number.replace(',', "").parse().ok() } else { number.parse().ok() }
}

/// Longest message kept, in characters: PyTorch's account of GPU memory has some 700.
const MESSAGE: usize = 1000;

/// The message without `(EngineCore pid=1) ERROR 11-15 03:53:11 [core.py:1512] ` or Ollama's `time=… level=INFO source=… msg=`.
pub(super) fn message(line: &str) -> String {
    let message = match (line.find(".py:"), line.find(" level=")) {
        (Some(at), _) => line[at..].find("] ").map_or(line, |end| &line[at + end + 2..]),
        (None, Some(at)) => line[at..].split_once(" msg=").map_or(line, |(_, message)| message),
        (None, None) => line,
    };
    message.trim().chars().take(MESSAGE).collect()
}

/// A message, cut to 160 characters.
pub(super) fn excerpt(message: &str) -> String {
    let mut short: String = message.chars().take(160).collect();
    if short.len() < message.len() {
        short.push('…');
    }
    short
}

/// The status of an access line such as `"POST /v1/… HTTP/1.1" 200`.
pub(super) fn answer_status(line: &str) -> Option<u16> {
    static VERSION: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(" HTTP/1."));
    let rest = &line[VERSION.find(line.as_bytes())? + VERSION.needle().len()..];
    rest.get(3..6)?.parse::<u16>().ok().filter(|status| (100..600).contains(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_of_a_line_is_not_its_message() {
        let line =
            "(EngineCore pid=9) ERROR 11-15 03:53:10 [core.py:1512] EngineCore encountered a fatal error.";
        assert_eq!(message(line), "EngineCore encountered a fatal error.");
        let ollama = "Jul 24 21:50:02 vega ollama[9]: time=2024-07-24T21:50:02.743+02:00 level=INFO source=memory.go:309 msg=\"offload to rocm\" layers.model=81";
        assert_eq!(message(ollama), "\"offload to rocm\" layers.model=81");
    }

    #[test]
    fn numbers_are_read_with_their_separators() {
        assert_eq!(number_behind("GPU KV cache size: 931,104 tokens", "size: "), Some(931_104.0));
        assert_eq!(number_behind("Running: 2 reqs, Waiting", "Running: "), Some(2.0));
        assert_eq!(number_behind("usage: 0.8%.", "usage: "), Some(0.8));
        assert_eq!(number_behind("usage: none", "usage: "), None);
        assert_eq!(number_behind("size: 1.2.3", "size: "), None);
    }
}
