//! Who wrote a line: the process, its rank and the place in its source, and what stands behind them.

use super::super::stamp;

/// What stands in front of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Speaker<'a> {
    /// vLLM's `EngineCore_DP0 pid=9`; empty where the line names none.
    pub(super) process: &'a str,
    /// As the line spells it: `1` of `[rank1]:`, SGLang's `DP0 TP3`; empty where it names none.
    pub(super) rank: &'a str,
    /// The logger's place, such as `core.py:1512`; empty where the line has none.
    pub(super) place: &'a str,
}

impl Speaker<'_> {
    /// Whether the line had nothing in front of it.
    pub(super) fn is_nobody(&self) -> bool {
        *self == Self::default()
    }

    /// The rank in words: `rank 1`, `TP3`.
    pub(super) fn rank(&self) -> Option<String> {
        let named = |part: &str| {
            let digits = |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
            ["TP", "DP", "PP", "EP"].iter().any(|kind| part.strip_prefix(kind).is_some_and(digits))
        };
        if let Some((_, rank)) = self.process.split_once("rank=") {
            let end = rank.find(|c: char| !c.is_ascii_digit()).unwrap_or(rank.len());
            return (end > 0).then(|| format!("rank {}", &rank[..end]));
        }
        let of_name: Vec<&str> = self.process.split([' ', ',', '_']).filter(|part| named(part)).collect();
        match (self.rank, of_name.is_empty()) {
            ("", true) => None,
            ("", false) => Some(of_name.join(" ")),
            (rank, _) if rank.bytes().all(|b| b.is_ascii_digit()) => Some(format!("rank {rank}")),
            (rank, _) => Some(rank.to_owned()),
        }
    }

    /// The process without its number: `EngineCore_DP0`.
    pub(super) fn name(&self) -> Option<&str> {
        self.process.split([' ', ',']).next().filter(|name| !name.is_empty())
    }
}

/// The levels loggers write in front of a message.
const LEVELS: [&str; 6] = ["ERROR", "WARNING", "INFO", "DEBUG", "CRITICAL", "FATAL"];
/// A logger's place ends this far into what it is looked for in, in bytes.
const PREFIX: usize = 80;

/// Takes a line apart: who wrote it, and what it says with its indentation.
pub(super) fn speaker(line: &str) -> (Speaker<'_>, &str) {
    let mut said = Speaker::default();
    let mut rest = line;
    // Each part at most once, in any order; more than these never stand in front of a line.
    for _ in 0..6 {
        let Some(behind) = part(rest, &mut said) else { break };
        rest = behind;
    }
    (said, rest)
}

/// Whether a line begins a message of its own: it has a stamp, a level or a place in front.
pub(super) fn begins(line: &str) -> bool {
    let (said, rest) = speaker(line);
    !said.place.is_empty() || rest.len() < line.len() || LEVELS.iter().any(|level| is_level(line, level))
}

fn is_level(line: &str, level: &str) -> bool {
    line.strip_prefix(level).is_some_and(|behind| behind.starts_with([' ', ':']))
}

fn part<'a>(rest: &'a str, said: &mut Speaker<'a>) -> Option<&'a str> {
    if let Some(inner) = rest.strip_prefix('(') {
        let (process, behind) = inner.split_once(')')?;
        if !process.contains("pid=") {
            return None;
        }
        said.process = process;
        return Some(behind.strip_prefix(' ').unwrap_or(behind));
    }
    if let Some(inner) = rest.strip_prefix("[rank") {
        let (rank, behind) = inner.split_once("]:")?;
        if rank.is_empty() || !rank.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        said.rank = rank;
        return Some(behind.strip_prefix(' ').unwrap_or(behind));
    }
    if let Some(inner) = rest.strip_prefix('[') {
        return bracket(inner, said);
    }
    if LEVELS.iter().any(|level| rest.strip_prefix(level).is_some_and(|behind| behind.starts_with(' '))) {
        return place(rest, said);
    }
    let (_, end) = stamp::leading(rest)?;
    let behind = rest.get(end..)?.trim_start();
    // TGI writes its level and its module behind the stamp.
    let module = LEVELS.iter().find_map(|level| behind.strip_prefix(level)).map(str::trim_start);
    Some(module.and_then(|m| m.split_once("launcher: ")).map_or(behind, |(_, message)| message))
}

/// `2025-06-01 10:06:00 TP0] …` of SGLang, `RANK 0] …`, `E] …` of TensorRT-LLM.
fn bracket<'a>(inner: &'a str, said: &mut Speaker<'a>) -> Option<&'a str> {
    let (held, behind) = inner.split_once(']')?;
    let behind = behind.strip_prefix(' ').unwrap_or(behind);
    if let Some(rank) = held.strip_prefix("RANK ") {
        said.rank = rank;
        return Some(behind);
    }
    let dated = held.len() >= 19 && held.as_bytes()[0].is_ascii_digit() && held.contains(':');
    if dated {
        if let Some((_, rank)) = held.split_once(' ').and_then(|(_, time)| time.split_once(' ')) {
            said.rank = rank;
        }
        return Some(behind);
    }
    matches!(held, "TRT-LLM" | "TensorRT-LLM" | "E" | "I" | "W").then_some(behind)
}

/// `ERROR 11-15 03:53:11 [core.py:1512] …`; before vLLM 0.8 without the first bracket.
fn place<'a>(rest: &'a str, said: &mut Speaker<'a>) -> Option<&'a str> {
    let end = rest.bytes().take(PREFIX).position(|byte| byte == b']')?;
    let head = rest.get(..end)?;
    let name = head.rsplit([' ', '[']).next()?;
    if !name.contains(".py:") {
        return None;
    }
    said.place = name;
    let behind = rest.get(end + 1..)?;
    Some(behind.strip_prefix(' ').unwrap_or(behind))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_engine_puts_something_else_in_front_of_a_line() {
        for (line, rank, says) in [
            (
                "(Worker_TP1 pid=9) ERROR 11-15 03:53:11 [multiproc_executor.py:1512]   File \"x\"",
                Some("TP1"),
                "  File \"x\"",
            ),
            (
                "(VllmWorker rank=3 pid=9) ERROR 05-09 00:49:33 [multiproc_executor.py:470] KeyError: 1",
                Some("rank 3"),
                "KeyError: 1",
            ),
            ("(EngineCore_DP1 pid=9)   File \"x\"", Some("DP1"), "  File \"x\""),
            (
                "ERROR 10-24 15:18:24 engine.py:158] Traceback (most recent call last):",
                None,
                "Traceback (most recent call last):",
            ),
            ("[rank0]:   File \"x\"", Some("rank 0"), "  File \"x\""),
            (
                "[2025-06-01 10:06:00 DP0 TP3] Scheduler hit an exception: x",
                Some("DP0 TP3"),
                "Scheduler hit an exception: x",
            ),
            ("[01/16/2026-06:20:17] [TRT-LLM] [RANK 2] [E] Failed", Some("rank 2"), "Failed"),
            (
                "2024-05-01T01:17:02.618817Z ERROR text_generation_launcher: Error when initializing model",
                None,
                "Error when initializing model",
            ),
            ("  File \"x\"", None, "  File \"x\""),
        ] {
            let (said, rest) = speaker(line);
            assert_eq!((said.rank().as_deref(), rest), (rank, says), "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_survived(line in "([(\\[\\]) :=]|rank|pid=|ERROR|TP|é|[0-9]|\\PC){0,30}") {
            let (said, rest) = speaker(&line);
            prop_assert!(line.ends_with(rest));
            let _ = (said.rank(), said.name(), begins(&line));
        }
    }
}
