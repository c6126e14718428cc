//! Lines that a terminal or a console broke at its edge, joined again.
//!
//! What is broken fills its line, and what follows begins no message. Where only one of the two holds, a line is what it
//! says it is.

use super::begins::begins;
use super::first_lines;

/// Widths that terminals have.
const WIDTHS: std::ops::RangeInclusive<usize> = 40..=300;
/// Pieces of one line at most: a text without any message would become one line.
const PIECES: usize = 64;
/// Broken lines that must be seen before any is joined.
const SEEN: usize = 3;
/// As many where they explain every line that begins no message.
const SEEN_IN_A_SHORT_ONE: usize = 2;

/// How lines are broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Broken {
    /// At the edge, in the middle of words, with this many characters a line.
    AtTheEdge(usize),
    /// At the last blank before the edge; no line is longer than this many characters.
    AtBlanks(usize),
}

/// The text with broken lines joined in the line of their first piece, the lines of the others left empty; `None` where
/// none is broken.
pub(super) fn joined(text: &str) -> Option<String> {
    let broken = Broken::found_in(&first_lines(text))?;
    let mut out = String::with_capacity(text.len());
    let mut pieces = 0;
    let mut before: Option<&str> = None;
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let goes_on = before.filter(|_| pieces < PIECES);
        if let Some(glue) = goes_on.and_then(|before| broken.glue(before, line)) {
            out.push_str(glue);
            pieces += 1;
        } else {
            out.extend(std::iter::repeat_n('\n', pieces));
            pieces = 1;
        }
        out.push_str(line);
        before = Some(line);
    }
    out.extend(std::iter::repeat_n('\n', pieces));
    Some(out)
}

impl Broken {
    /// From the first lines of a text.
    fn found_in(lines: &[&str]) -> Option<Self> {
        // Most plain logs have a line that no terminal shows in one.
        let width = lines.iter().map(|line| length(line, *WIDTHS.end() + 1)).max()?;
        if !WIDTHS.contains(&width) {
            return None;
        }
        let pairs = || lines.windows(2).map(|pair| (pair[0], pair[1]));
        let unmarked = pairs().filter(|(_, next)| !begins(next)).count();
        let broken = |how: Self| pairs().filter(|(line, next)| how.glue(line, next).is_some()).count();
        let enough = |broken| broken >= SEEN || (broken >= SEEN_IN_A_SHORT_ONE && broken == unmarked);
        let full = pairs().filter(|(line, _)| length(line, width + 1) == width).count();
        let (edge, blanks) = (broken(Self::AtTheEdge(width)), broken(Self::AtBlanks(width)));
        // A line broken at its edge is one broken at a blank, too; the other way round hardly any is.
        if enough(edge) && edge * 4 >= full * 3 && edge * 10 >= blanks * 9 {
            return Some(Self::AtTheEdge(width));
        }
        // Lines that end anywhere look alike: most that begin nothing must be explained.
        let explained = blanks * 5 >= unmarked * 4 && unmarked < lines.len() * 3 / 4;
        (enough(blanks) && explained).then_some(Self::AtBlanks(width))
    }

    /// What stood between two lines that were one; `None` where the second begins a message.
    fn glue(self, line: &str, next: &str) -> Option<&'static str> {
        // Below a frame of a traceback stands its line of code.
        let is_code = line.starts_with("  File \"") && next.starts_with("    ");
        // A message that comes again is no rest of itself.
        if next.trim().is_empty() || line.trim().is_empty() || is_code || line == next || begins(next) {
            return None;
        }
        match self {
            Self::AtTheEdge(width) => match width.checked_sub(length(line, width + 1))? {
                0 => Some(""),
                // A blank at the edge is lost when a terminal's text is copied.
                1 => Some(" "),
                _ => None,
            },
            Self::AtBlanks(width) => {
                let word = next.split(' ').next().filter(|word| !word.is_empty())?;
                let used = length(line, width + 1);
                let last = line.rsplit(' ').next().unwrap_or("");
                // A word longer than the line is broken, too.
                let is_one = used == width && length(last, width) + length(word, width) > width;
                let full = used + 1 + length(word, width + 1) > width;
                full.then_some(if is_one { "" } else { " " })
            }
        }
    }
}

/// Characters of a line, counted up to a limit.
fn length(line: &str, limit: usize) -> usize {
    if line.is_ascii() { line.len().min(limit) } else { line.chars().take(limit).count() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "(APIServer pid=4719) INFO 11-15 04:34:38 [loggers.py:259] Engine 000: Avg prompt throughput: 108.9 tokens/s, Avg generation throughput: 10.9 tokens/s, Running: 6 reqs, Waiting: 4 reqs, GPU KV cache usage: 92.3%, Prefix cache hit rate: 0.0%\n\
        (EngineCore pid=4720) INFO 11-15 04:34:39 [kv_cache_utils.py:2177] GPU KV cache size: 931,104 tokens\n\
        INFO:     127.0.0.1:1 - \"GET /health HTTP/1.1\" 200 OK\n\
        (EngineCore pid=4720) ERROR 11-15 04:34:40 [core.py:1512] ValueError: To serve at least one request with the model's max seq len (131072), 16.00 GiB KV cache is needed, which is larger than the available KV cache memory (3.37 GiB).\n";

    /// Each line in pieces of at most this many characters.
    fn at_the_edge(text: &str, width: usize) -> String {
        let broken = |line: &str| {
            let letters: Vec<char> = line.chars().collect();
            let pieces = letters.chunks(width).map(|piece| piece.iter().collect::<String>() + "\n");
            pieces.collect::<String>()
        };
        text.lines().map(broken).collect()
    }

    fn at_blanks(text: &str, width: usize) -> String {
        let mut out = String::new();
        for line in text.lines() {
            let mut room = width;
            for (i, word) in line.split(' ').enumerate() {
                if i > 0 && word.len() + 1 > room {
                    out.push('\n');
                    room = width;
                } else if i > 0 {
                    out.push(' ');
                    room = room.saturating_sub(1);
                }
                out.push_str(word);
                room = room.saturating_sub(word.len());
            }
            out.push('\n');
        }
        out
    }

    fn without_empty(text: &str) -> String {
        text.lines().filter(|line| !line.is_empty()).flat_map(|line| [line, "\n"]).collect()
    }

    #[test]
    fn broken_lines_are_joined_and_the_number_of_lines_stays() {
        for width in [80, 100, 120, 132] {
            for broken in [at_the_edge(LINES, width), at_blanks(LINES, width)] {
                let joined = joined(&broken).unwrap_or_default();
                assert_eq!(without_empty(&joined), LINES, "{width}");
                assert_eq!(joined.matches('\n').count(), broken.matches('\n').count());
                // The second message stands in the line it begins in.
                let place = broken.lines().position(|line| line.starts_with("(EngineCore pid=4720) INFO"));
                assert!(
                    joined
                        .lines()
                        .nth(place.unwrap_or(0))
                        .is_some_and(|line| line.ends_with("931,104 tokens"))
                );
            }
        }
    }

    #[test]
    fn blanks_that_a_copy_lost_at_the_edge_are_put_back() {
        let broken: String =
            at_the_edge(LINES, 80).lines().map(|line| line.trim_end().to_owned() + "\n").collect();
        assert_eq!(without_empty(&joined(&broken).unwrap_or_default()), LINES);
    }

    #[test]
    fn lines_that_are_whole_are_left_alone() {
        let table = "+----------+-------+\n| GPU Name | Usage |\n+----------+-------+\n".repeat(9);
        let answers = "INFO:     127.0.0.1:1 - \"POST /v1/completions HTTP/1.1\" 200 OK\n".repeat(9);
        let traceback = "Traceback (most recent call last):\n  File \"/opt/vllm/engine/core.py\", line 1, in main\n    run()\n  File \"/opt/vllm/engine/core.py\", line 9, in run\n    raise ValueError(x)\nValueError: no\n".repeat(4);
        for text in [LINES, &table, &answers, &traceback, "", "\n\n"] {
            assert_eq!(joined(text), None, "{text}");
        }
    }
}
