//! What stands before a program's own text in a line: the marks of runtimes, journals and loggers.

use memchr::memchr;

use crate::records::{Record, json_text};
use crate::system_log;

/// Most marks before one text: a runtime's, a journal's, a process's, a time's and a level's.
const MOST: usize = 6;
/// Longest mark in brackets, in bytes.
const LONGEST: usize = 96;

/// Levels as loggers write them.
const LEVELS: [&str; 9] =
    ["INFO", "WARNING", "WARN", "ERROR", "DEBUG", "TRACE", "CRITICAL", "FATAL", "NOTICE"];

/// How a record begins that has no mark before it.
const FIRST_WORDS: [&str; 25] = [
    "slot ",
    "srv ",
    "que ",
    "main: ",
    "llama_",
    "print_info:",
    "load_",
    "time=",
    "level=",
    "ts=",
    "{\"timestamp",
    "{\"level",
    "{\"time",
    "{\"ts",
    "Traceback (most recent call last)",
    "terminate called",
    "Fatal Python error",
    "CUDA error",
    "NCCL ",
    "Process ",
    "Killed",
    "Segmentation fault",
    "Bus error",
    "slurmstepd: error",
    "*** SIG",
];

/// Where a program's own text stands in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Own {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Whether a logger's time or level stands before it: lines that follow without one belong to it.
    pub(crate) record: bool,
}

impl Own {
    pub(crate) fn of<'a>(&self, line: &'a str) -> &'a str {
        &line[self.start..self.end]
    }

    /// Whether a record begins with this text of its own: behind a mark, or with a word that needs none.
    pub(crate) fn begins_record(&self, text: &str) -> bool {
        self.record || is_first(text)
    }
}

/// The program's own text of a line.
pub(crate) fn own_text(line: &str) -> &str {
    own(line).of(line)
}

/// Where a program's own text stands in a line. This is asked of every line.
pub(crate) fn own(line: &str) -> Own {
    let mut own = match Record::of(line) {
        Some(record) => record.own(line),
        None => json_text(line).unwrap_or(Own { start: 0, end: line.len(), record: false }),
    };
    for _ in 0..MOST {
        let Some((length, record)) = mark(own.of(line), own.start > 0) else { break };
        own.start += length;
        own.record |= record;
    }
    own
}

/// The length of the mark a text begins with, and whether it is a record's.
fn mark(text: &str, behind_another: bool) -> Option<(usize, bool)> {
    // Colours before a mark are blanks here.
    let blanks = text.bytes().take_while(|byte| *byte == b' ').count();
    let bare = &text[blanks..];
    let found = match bare.as_bytes().first()? {
        b'(' => Some((process(bare)?, false)),
        b'[' if blanks == 0 => bracketed(bare),
        b'0'..=b'9' if blanks == 0 => dated(bare),
        b'-' | b'|' if blanks == 0 && behind_another => Some((fields(bare)?, true)),
        b'<' if blanks == 0 => Some((system_log::length(bare)?, false)),
        b'A'..=b'Z' | b'a'..=b'z' => named(bare, blanks, behind_another),
        _ => None,
    };
    found.map(|(length, record)| (blanks + length, record))
}

/// `(APIServer pid=1) `, `(RayWorker pid=7, ip=10.0.0.7) `.
fn process(text: &str) -> Option<usize> {
    let near = &text.as_bytes()[..text.len().min(LONGEST)];
    let close = memchr(b')', near)?;
    let sign = memchr(b'=', &near[..close])?;
    near[..sign].ends_with(b"pid").then(|| with_blank(text, close + 1))
}

/// `[pod/vllm-0/server] `, `[rank0]: `, `[2026-11-16 07:40:20 TP0] `, `[core.py:12] `.
fn bracketed(text: &str) -> Option<(usize, bool)> {
    let close = memchr(b']', &text.as_bytes()[..text.len().min(LONGEST)])?;
    let inside = &text.as_bytes()[1..close];
    let closed = close + 1 + usize::from(text[close + 1..].starts_with(':'));
    let digits = inside.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let colon = memchr(b':', inside);
    let time = digits == 4 && inside.get(4) == Some(&b'-') && colon.is_some();
    let code = colon.is_some_and(|colon| inside[..colon].ends_with(b".py")) && memchr(b' ', inside).is_none();
    let outer = inside.starts_with(b"pod/") || inside.starts_with(b"rank");
    (time || code || outer).then(|| (with_blank(text, closed), time || code))
}

/// `2026-11-16T07:40:20.1Z `, as runtimes put it before every line; `2026-11-16 07:40:20,123 ` of a logger; llama.cpp's
/// `16.15.202.152 I `.
fn dated(text: &str) -> Option<(usize, bool)> {
    let bytes = text.as_bytes();
    let first = bytes.iter().take(LONGEST).take_while(|byte| **byte > b' ').count();
    if !matches!(bytes, [_, _, _, _, b'-' | b'/', ..]) {
        // llama.cpp's minutes, seconds, milliseconds and microseconds.
        let level = matches!(bytes.get(first..), Some([b' ', b'I' | b'W' | b'E' | b'D' | b'T', b' ', ..]));
        let dots = || bytes[..first].iter().filter(|byte| **byte == b'.').take(4).count();
        return (level && dots() == 3).then_some((first + 3, true));
    }
    if let Some(length) = system_log::length(text) {
        return Some((length, false));
    }
    let (first, rest) = text.split_at_checked(first)?;
    match first.as_bytes() {
        [_, _, _, _, b'-', _, _, b'-', _, _, b'T', time @ ..] if system_log::is_clock(time) => {
            Some((with_blank(text, first.len()), false))
        }
        [_, _, _, _, b'-' | b'/', _, _, b'-' | b'/', _, _] => {
            let time = rest.strip_prefix(' ')?.split(' ').next().unwrap_or_default();
            system_log::is_clock(time.as_bytes())
                .then(|| (with_blank(text, first.len() + 1 + time.len()), true))
        }
        _ => None,
    }
}

/// Behind a time: `- root - INFO - `, or loguru's `| INFO     | vllm.x:run:12 - `.
fn fields(text: &str) -> Option<usize> {
    let near = near(text);
    let mark = if near.starts_with("- ") { " - " } else { " | " };
    let level = |part: &str| LEVELS.contains(&part.trim().trim_start_matches(['-', '|', ' ']));
    let mut at = 0;
    for (end, _) in near.match_indices(mark).take(3) {
        if level(&near[at..end]) {
            let behind = end + mark.len();
            let module = near[behind..].find(" - ").filter(|_| mark == " | ");
            return Some(module.map_or(behind, |length| behind + length + 3));
        }
        at = end + mark.len();
    }
    None
}

/// What begins with a letter: a journal's time and host, a level, glog's letter, the name of a container.
fn named(text: &str, blanks: usize, behind_another: bool) -> Option<(usize, bool)> {
    let word = text.bytes().take(LONGEST).take_while(|b| b.is_ascii_alphanumeric() || b"_.-".contains(b));
    let length = word.count();
    let (word, rest) = text.split_at(length);
    let container = || {
        let cell = &rest[rest.bytes().take_while(|byte| *byte == b' ').count()..];
        // docker compose puts one blank behind its line; where the text is empty editors take it away.
        let behind = cell.strip_prefix('|').filter(|behind| behind.is_empty() || behind.starts_with(' '))?;
        (cell.len() < rest.len()).then(|| (with_blank(text, text.len() - behind.len()), false))
    };
    if LEVELS.contains(&word) && (blanks == 0 || behind_another) {
        return level(rest).map(|behind| (length + behind, true));
    }
    if blanks > 0 {
        return container();
    }
    if let [b'I' | b'W' | b'E' | b'F', digits @ ..] = word.as_bytes()
        && digits.len() == 4
        && digits.iter().all(u8::is_ascii_digit)
        && system_log::is_clock(rest.trim_start().as_bytes())
    {
        return near(rest).find("] ").map(|end| (length + end + 2, true));
    }
    if word.len() == 3
        && let Some(length) = system_log::length(text)
    {
        return Some((length, false));
    }
    container()
}

/// The length of what follows a level and belongs to it: vLLM's ` 11-16 07:40:20 [core.py:12] `, uvicorn's `:     `,
/// Python's `:root:`.
fn level(rest: &str) -> Option<usize> {
    if let [b' ', _, _, b'-', _, _, b' ', time @ ..] = rest.as_bytes()
        && system_log::is_clock(time)
    {
        let clock = 7 + rest.as_bytes()[7..].iter().take_while(|byte| **byte != b' ').count();
        let place = rest[clock..].strip_prefix(" [").and_then(|place| near(place).split_once("] "));
        return Some(place.map_or_else(|| with_blank(rest, clock), |(place, _)| clock + 2 + place.len() + 2));
    }
    if let Some(behind) = rest.strip_prefix(':') {
        let blanks = behind.bytes().take(5).take_while(|byte| *byte == b' ').count();
        let name = behind.bytes().take(64).take_while(|b| b.is_ascii_alphanumeric() || b"_.".contains(b));
        let name = name.count();
        let named = blanks == 0 && name > 0 && behind[name..].starts_with(':');
        return Some(1 + if named { name + 1 } else { blanks });
    }
    rest.starts_with(' ').then_some(1)
}

/// Whether a record begins that needs no mark: a word of llama.cpp's, a traceback, an error's name.
fn is_first(text: &str) -> bool {
    if FIRST_WORDS.iter().any(|word| text.starts_with(word)) {
        return true;
    }
    let near = near(text);
    let name = near.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '_')).next();
    let name = name.unwrap_or_default();
    let named = name.ends_with("Error") || name.ends_with("Exception") || name.ends_with("Warning");
    named && near[name.len()..].starts_with(':') || near.contains("] NCCL ")
}

/// The beginning of a text, as far as a mark may reach.
fn near(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST)]
}

/// The length with the one blank behind it, where there is one.
fn with_blank(text: &str, length: usize) -> usize {
    length + usize::from(text[length..].starts_with(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_of_runtimes_journals_and_loggers_is_told_from_the_text() {
        for (mark, record) in [
            ("", false),
            ("(APIServer pid=1) INFO 11-16 07:40:20 [core.py:12] ", true),
            ("(EngineCore_DP0 pid=12) ", false),
            ("       (APIServer pid=6716)       INFO 11-15 02:47:32 [api.py:3] ", true),
            ("2026-11-16T07:40:20.123Z ", false),
            ("2026-11-16T07:40:20.123456789Z stderr F ", false),
            ("2026-11-16T07:40:20.1Z stderr F INFO 11-16 07:40:20 [core.py:12] ", true),
            ("vllm-1  | ", false),
            ("     vllm-1  |     ", false),
            ("vllm-1  | (APIServer pid=1) INFO:     ", true),
            ("Nov 16 07:40:20 gpunode vllm[7]: ", false),
            ("2026-11-16T07:40:20+0000 gpunode vllm[7]: ", false),
            ("<34>Nov 16 07:40:20 gpunode kernel: ", false),
            ("[pod/vllm-0/server] ", false),
            ("[rank0]: ", false),
            ("[2026-11-16 07:40:20 TP0] ", true),
            ("2026-11-16 07:40:20,123 - root - INFO - ", true),
            ("2026-11-16 07:40:20.123 | INFO     | vllm.x:run:12 - ", true),
            ("2026-11-16T07:40:20.1Z  INFO ", true),
            ("INFO:     ", true),
            ("WARNING:root:", true),
            ("16.15.202.152 I ", true),
            ("I1116 07:40:20.123456       1 file.go:12] ", true),
        ] {
            for text in ["  password: |", "name: HF_TOKEN", "- name: x", "MIIEow", "    \"two\","] {
                let line = [mark, text].concat();
                let found = own(&line);
                // Blanks behind a level with a colon are uvicorn's own.
                assert_eq!(found.of(&line).trim_start(), text.trim_start(), "{line}");
                assert_eq!(found.record, record, "{line}");
            }
        }
    }

    #[test]
    fn docker_s_record_is_the_text_between_its_quotes() {
        let line = "{\"log\":\"INFO 11-16 07:40:20 [a.py:1]   password: |\\n\",\"stream\":\"stderr\"}";
        assert_eq!(own_text(line), "  password: |");
    }

    #[test]
    fn what_only_looks_like_a_mark_is_text() {
        for line in [
            "password: |",
            "(see pid 7) x",
            "[1, 2]",
            "INFORMATION x",
            "| api_key | x |",
            "I am 07:40:20",
            "",
        ] {
            assert_eq!(own(line), Own { start: 0, end: line.len(), record: false }, "{line}");
        }
    }
}
