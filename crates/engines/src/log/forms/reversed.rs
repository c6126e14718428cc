//! Exports that begin with the newest line, turned round.
//!
//! Nearly every stamp must lie before the one above it. A log of several processes, a restart or a clock that was set has
//! single steps back among many forward.

use std::cmp::Ordering;

use super::{first_lines, last_lines};
use crate::log::stamp::{self, Stamp};

/// Steps back that must be seen.
const SEEN: usize = 4;
/// Of this many steps one may go forward: processes that write side by side overtake each other.
const OF: usize = 10;
/// Steps forward before any back after which a log goes forward.
const ENOUGH: usize = 16;

/// The text from its last line to its first, and for each line the one it was before, from 1; `None` where the text does
/// not begin with its newest line.
pub(super) fn turned(text: &str) -> Option<(String, Vec<u32>)> {
    let first = first_lines(text);
    if !falls(text, &first) {
        return None;
    }
    let lines: Vec<&str> = text.strip_suffix('\n').unwrap_or(text).split('\n').collect();
    let mut out = String::with_capacity(text.len() + 1);
    let mut numbers = Vec::with_capacity(lines.len());
    let mut push = |at: usize| {
        out.push_str(lines[at]);
        out.push('\n');
        numbers.push(u32::try_from(at + 1).unwrap_or(u32::MAX));
    };
    let mut end = lines.len();
    for begin in entries(&lines, kept(&first)).into_iter().rev() {
        (begin..end).for_each(&mut push);
        end = begin;
    }
    Some((out, numbers))
}

/// Whether nearly all stamps lie before the one above, in the first lines and, where few of those have one, in the last.
fn falls(text: &str, first: &[&str]) -> bool {
    let mut steps = Steps::default();
    steps.take(first);
    // Cheap to refuse: most logs go forward.
    if steps.forward * OF > steps.back + steps.forward {
        return false;
    }
    let last = last_lines(text);
    if steps.back < SEEN {
        steps.take(&last);
    }
    // A start that fails within a second has one stamp only, and a traceback that stands on its head.
    let on_its_head = steps.forward == 0 && [first, &last].into_iter().any(tracebacks_stand_on_their_heads);
    on_its_head || steps.back >= SEEN && steps.forward * OF <= steps.back + steps.forward
}

/// Whether frames stand above the headings of tracebacks, and none below.
fn tracebacks_stand_on_their_heads(lines: &[&str]) -> bool {
    let (below, above) = frames(lines);
    below.is_empty() && above > 0
}

/// Steps from each stamp to the next.
#[derive(Default)]
struct Steps {
    back: usize,
    forward: usize,
}

impl Steps {
    fn take(&mut self, lines: &[&str]) {
        let mut above: Option<Stamp> = None;
        for stamp in lines.iter().filter_map(|line| stamp::of_line(line)) {
            match above.and_then(|above| order(above, stamp)) {
                Some(Ordering::Greater) => self.back += 1,
                Some(Ordering::Less) => self.forward += 1,
                _ => {}
            }
            above = Some(stamp);
            if self.back == 0 && self.forward > ENOUGH {
                return;
            }
        }
    }
}

/// How two stamps of one kind lie.
fn order(a: Stamp, b: Stamp) -> Option<Ordering> {
    match (a, b) {
        (Stamp::Full(a) | Stamp::Zoneless(a), Stamp::Full(b) | Stamp::Zoneless(b))
        | (Stamp::SinceStart(a), Stamp::SinceStart(b))
        | (Stamp::SinceBoot(a), Stamp::SinceBoot(b)) => Some(a.cmp(&b)),
        (Stamp::Yearless(month, day, at), Stamp::Yearless(other_month, other_day, other)) => {
            Some((month, day, at).cmp(&(other_month, other_day, other)))
        }
        _ => None,
    }
}

/// What of the order in which lines were written an export kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    Nothing,
    /// That of lines of one entry, which has one stamp.
    Entries,
    /// That of lines of one instant: it was sorted by time alone.
    Instants,
}

/// Frames right below the headings of tracebacks, and how many stand right above one.
fn frames<'l>(lines: &[&'l str]) -> (Vec<&'l str>, usize) {
    let heading = |line: &str| line.contains("Traceback (most recent call last)");
    let frame = |at: Option<usize>| at.and_then(|at| lines.get(at)).filter(|line| line.contains("  File \""));
    let headings = || (0..lines.len()).filter(|at| heading(lines[*at]));
    let below = headings().filter_map(|at| frame(Some(at + 1)).copied()).collect();
    let above = headings().filter(|at| frame(at.checked_sub(1)).is_some()).count();
    (below, above)
}

/// Where anything was kept, a traceback's frames stand below its heading.
fn kept(lines: &[&str]) -> Kept {
    let (below, above) = frames(lines);
    match below.first() {
        Some(first) if below.len() > above => {
            if stamp::of_line(first).is_some() {
                Kept::Instants
            } else {
                Kept::Entries
            }
        }
        _ => Kept::Nothing,
    }
}

/// Where what was kept begins.
fn entries(lines: &[&str], kept: Kept) -> Vec<usize> {
    let mut above = None;
    let mut begins = |line: &str| {
        let stamp = stamp::of_line(line);
        let begins = stamp.is_some() && (kept == Kept::Entries || stamp != above);
        above = stamp.or(above);
        begins
    };
    let places = (0..lines.len()).filter(|at| kept == Kept::Nothing || begins(lines[*at]) || *at == 0);
    places.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RISING: &str = "INFO 11-15 04:34:38 [a.py:1] a\nINFO 11-15 04:34:39 [a.py:1] b\nINFO 11-15 04:34:39 [a.py:1] c\nINFO 11-15 04:34:41 [a.py:1] d\nINFO 11-15 04:34:42 [a.py:1] e\nINFO 11-15 04:34:43 [a.py:1] f\n";

    fn upside_down(text: &str) -> String {
        text.lines().rev().flat_map(|line| [line, "\n"]).collect()
    }

    #[test]
    fn an_export_with_the_newest_line_first_is_turned_round() {
        let (text, numbers) = turned(&upside_down(RISING)).unwrap_or_default();
        assert_eq!(text, RISING);
        assert_eq!(numbers, [6, 5, 4, 3, 2, 1]);
    }

    #[test]
    fn a_traceback_that_was_turned_with_the_rest_is_turned_back() {
        let stamped = |(line, second): (&str, u32)| format!("ERROR 11-15 04:34:{second} [a.py:1] {line}\n");
        let traceback: String =
            "Traceback (most recent call last):\n  File \"a.py\", line 1, in a\nValueError: no\n"
                .lines()
                .zip(44..)
                .map(stamped)
                .collect();
        let plain = format!("{RISING}{traceback}");
        assert_eq!(turned(&upside_down(&plain)).unwrap_or_default().0, plain);
    }

    #[test]
    fn a_start_of_one_second_is_turned_by_its_traceback() {
        let start = "INFO 11-15 04:34:38 [a.py:1] a\nINFO 11-15 04:34:38 [a.py:1] b\nTraceback (most recent call last):\n  File \"a.py\", line 1, in main\nValueError: no\n";
        assert_eq!(turned(start), None);
        assert_eq!(turned(&upside_down(start)).map(|(text, _)| text).as_deref(), Some(start));
    }

    #[test]
    fn entries_of_several_lines_stay_as_they_are() {
        let entry = "ERROR 11-15 04:34:44 [a.py:1] no\nTraceback (most recent call last):\n  File \"a.py\", line 1, in a\nValueError: no\n";
        let (text, numbers) = turned(&format!("{entry}{}", upside_down(RISING))).unwrap_or_default();
        assert_eq!(text, format!("{RISING}{entry}"));
        assert_eq!(numbers, [10, 9, 8, 7, 6, 5, 1, 2, 3, 4]);
    }

    #[test]
    fn several_processes_restarts_and_clocks_that_were_set_go_forward() {
        let two: String = (0..20)
            .flat_map(|i| {
                let line = |name: &str, second: u32| {
                    format!("({name} pid=1) INFO 11-15 04:34:{:02} [a.py:1] x\n", second % 60)
                };
                [line("EngineCore", i + 1), line("APIServer", i)]
            })
            .collect();
        for text in [RISING, &RISING.repeat(5), &two, "", "no stamp\nat all\n"] {
            assert_eq!(turned(text), None, "{text}");
        }
    }
}
