use std::fmt::Write as _;

use intriage_case::LogText;
use proptest::prelude::*;

use super::*;
use crate::log::readings::LogReadings;

const ACCESS: &str = "INFO:     10.0.0.1:59600 - \"POST /v1/completions HTTP/1.1\" 200 OK";

fn statistics(second: u32, waiting: u32) -> String {
    format!(
        "INFO 11-15 {:02}:{:02}:{:02} [loggers.py:259] Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 1.0 tokens/s, Running: 2 reqs, Waiting: {waiting} reqs, GPU KV cache usage: 1.0%, Prefix cache hit rate: 0.0%",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

/// A text through a sieve in blocks of whole lines of about so many bytes.
fn sieved(text: &str, most: usize, block: usize) -> (String, LeftOut) {
    let mut sieve = Sieve::behind(b"", most);
    let mut rest = text;
    while !rest.is_empty() {
        let from = (0..=block.min(rest.len() - 1)).rev().find(|at| rest.is_char_boundary(*at)).unwrap_or(0);
        let end = rest[from..].find('\n').map_or(rest.len(), |at| from + at + 1);
        sieve.lines(&rest.as_bytes()[..end]);
        rest = &rest[end..];
    }
    sieve.finish()
}

fn read(text: &str) -> LogReadings {
    LogReadings::of(&LogText { name: "server.log".into(), text: text.into() })
}

/// What a reading says that no thinning may change.
fn told(readings: &LogReadings) -> impl PartialEq + std::fmt::Debug + use<> {
    let events: Vec<_> = readings
        .events
        .iter()
        .map(|e| (e.meaning, e.number, e.line, e.last_line, e.count, e.excerpt.clone(), e.starts_since))
        .collect();
    (events, readings.answers.clone())
}

#[test]
fn answers_are_counted_and_lines_keep_their_numbers() {
    let text =
        [&format!("{ACCESS}\n").repeat(5000), "x\nEngineDeadError\n", &format!("{ACCESS}\n").repeat(7)]
            .concat();
    let (kept, left_out) = sieved(&text, 1 << 20, 4096);
    assert!(kept.len() < 1000, "{kept}");
    assert_eq!(left_out.lines, 5007);
    let readings = read(&kept);
    assert_eq!(readings.answers.get(&200), Some(&5007));
    assert_eq!(readings.events[0].line, 5002);
    assert_eq!(told(&readings), told(&read(&text)));
}

#[test]
fn too_many_lines_that_tell_are_thinned_and_counted() {
    let mut text = String::new();
    for n in 0..20_000 {
        let _ =
            writeln!(text, "Aborted request cmpl-{n}.\n{}", statistics(n, if n == 777 { 99 } else { n % 3 }));
    }
    let (kept, left_out) = sieved(&text, 64 << 10, 8192);
    assert!(kept.len() < 2 * (64 << 10), "{}", kept.len());
    assert!(left_out.bytes as usize > text.len() / 2);
    let (whole, thinned) = (read(&text), read(&kept));
    assert_eq!(told(&thinned), told(&whole));
    // The extreme and both ends stay.
    let waiting = |r: &LogReadings| r.signal(Signal::RequestsWaiting).unwrap();
    assert_eq!(waiting(&thinned).max(), Some(99.0));
    assert_eq!(waiting(&thinned).last(), waiting(&whole).last());
    assert!(waiting(&thinned).times().len() < 2000);
}

#[test]
fn sums_over_lines_stay_sums() {
    let mut text = String::new();
    for n in 0..5000 {
        let _ = writeln!(
            text,
            "0.{:02}.{:03}.000 I slot print_timing: id  3 | task 2 |        eval time =     633.71 ms /    12 tokens (   57.61 ms per token,    17.36 tokens per second)",
            n / 1000,
            n % 1000
        );
    }
    let (kept, _) = sieved(&text, 32 << 10, 4096);
    assert!(kept.len() < 64 << 10);
    let sum = |text: &str| read(text).signal(Signal::TokensGenerated).and_then(|s| s.last());
    assert_eq!(sum(&kept), Some(60_000.0));
    assert_eq!(sum(&text), Some(60_000.0));
}

#[test]
fn a_kernels_line_in_a_prompt_whose_start_is_left_out_is_no_fault() {
    let dumped = "INFO 11-15 02:47:32 [logger.py:42] Received request cmpl-1: prompt: 'What is this?";
    let xid = "NVRM: Xid (PCI:0000:19:00): 79, GPU has fallen off the bus.";
    let filler = format!("{ACCESS}\n").repeat(300);
    for (before, fault) in [(dumped, false), (ACCESS, true)] {
        let start = format!("{filler}{before}\n");
        let (kept, _) = sieved(&format!("{start}{xid}\n"), 1 << 20, 1000);
        assert_eq!(!read(&kept).events.is_empty(), fault, "{kept}");
        // The start is in the middle, the line itself in the end that is kept as it is.
        let (kept, _) = sieved(&start, 1 << 20, 1000);
        let readings = read(&[&kept, xid].concat());
        assert_eq!(!readings.events.is_empty(), fault, "{kept}");
        assert!(readings.events.iter().all(|event| event.line == 302));
    }
}

#[test]
fn wrapped_lines_are_kept_as_they_stand_in_the_file() {
    let wrap = |message: &str| format!("2026-11-15T02:26:49.1Z stderr F {message}\n");
    let text = [wrap(ACCESS).repeat(400), wrap("EngineDeadError"), wrap(ACCESS).repeat(400)].concat();
    let (kept, _) = sieved(&text, 1 << 20, 5000);
    assert!(kept.contains(&wrap("EngineDeadError")) && kept.len() < 1000, "{kept}");
    let head = wrap("INFO ready").repeat(16);
    assert_eq!(told(&read(&[head.as_str(), &kept].concat())), told(&read(&[head, text].concat())));
}

/// Stands for a line of statistics in a drawn log, before the number that wait.
const STATISTICS: &str = "statistics ";

proptest! {
    /// What a log tells does not depend on where it was cut into pieces, nor on whether it was kept whole. Every line begins a
    /// message: what a terminal broke is joined where both halves are kept.
    #[test]
    fn a_log_read_in_pieces_tells_what_it_tells_whole(
        lines in prop::collection::vec(
            prop_oneof![
                6 => Just(ACCESS.to_owned()),
                2 => Just(ACCESS.replace("200 OK", "500 Internal Server Error")),
                3 => "INFO [a-zé .:]{0,30}",
                1 => Just("ERROR é EngineDeadError".to_owned()),
                1 => Just("INFO Xid 13".to_owned()),
                1 => Just("INFO Aborted request a.".to_owned()),
                1 => (0u32..9).prop_map(|waiting| format!("{STATISTICS}{waiting}")),
            ],
            0..120,
        ),
        block in 1usize..600,
        returns: bool,
    ) {
        let end = if returns { "\r\n" } else { "\n" };
        // Time passes: a log whose times fall is read from its end.
        let line = |(second, line): (u32, &String)| match line.strip_prefix(STATISTICS) {
            Some(waiting) => statistics(second, waiting.parse().unwrap()) + end,
            None => [line, end].concat(),
        };
        let text: String = (0..).zip(&lines).map(line).collect();
        let (kept, left_out) = sieved(&text, 1 << 20, block);
        let (whole, pieces) = (read(&text), read(&kept));
        prop_assert_eq!(told(&pieces), told(&whole));
        prop_assert_eq!(pieces.series, whole.series);
        let stand = kept.lines().filter(|line| !line.starts_with(gap::MARK)).count() as u64;
        prop_assert_eq!(left_out.lines + stand, lines.len() as u64);
    }
}
