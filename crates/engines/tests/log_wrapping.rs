//! A real log tells the same, in the same lines, whatever a runtime or a journal wraps around it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::path::PathBuf;

use intriage_case::{Case, LogText, Signal};
use intriage_engines::{LogReadings, Meaning, read};

/// The log of a server whose worker was killed: colours, progress bars, access lines and periodic lines are in it.
fn recorded() -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/lab/killed/server.log");
    String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()
}

/// What does not depend on how the log is wrapped: events with their places, answers, and values without times.
#[derive(Debug, PartialEq)]
struct Told {
    events: Vec<(Meaning, u32, u32, u32)>,
    answers: Vec<(u16, u64)>,
    running: Vec<f64>,
}

fn told(text: String) -> Told {
    let readings = LogReadings::of(&LogText { name: "server.log".into(), text });
    let running = readings.signal(Signal::RequestsRunning);
    Told {
        events: readings.events.iter().map(|e| (e.meaning, e.line, e.last_line, e.count)).collect(),
        answers: readings.answers.into_iter().collect(),
        running: running.map(|s| s.known().map(|(_, v)| v).collect()).unwrap_or_default(),
    }
}

fn each_line(wrap: impl Fn(&str) -> String) -> String {
    recorded().lines().map(|line| wrap(line) + "\n").collect()
}

fn json(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

#[test]
fn every_wrapping_tells_what_the_plain_log_tells() {
    let plain = told(recorded());
    assert!(plain.events.iter().any(|e| e.0 == Meaning::EngineDied) && !plain.answers.is_empty());
    assert!(!plain.running.is_empty());
    let time = "2026-11-15T02:26:49.5Z";
    let docker = |line: &str| {
        format!("{{\"log\":{},\"stream\":\"stderr\",\"time\":\"{time}\"}}", json(&format!("{line}\n")))
    };
    assert_eq!(told(each_line(docker)), plain);
    assert_eq!(told(each_line(|line| format!("{time} stderr F {line}"))), plain);
    assert_eq!(told(each_line(|line| format!("[pod/vllm-0/server] {line}"))), plain);
    assert_eq!(told(each_line(|line| format!("Nov 15 02:26:49 node vllm[811]: {line}"))), plain);
    assert_eq!(told(each_line(|line| format!("2026-11-15T02:26:49+00:00 node vllm[811]: {line}"))), plain);
    let journal =
        |line: &str| format!("{{\"MESSAGE\":{},\"__REALTIME_TIMESTAMP\":\"1794709609500000\"}}", json(line));
    assert_eq!(told(each_line(journal)), plain);
}

#[test]
fn lines_cut_in_two_by_a_node_are_found_where_they_begin() {
    let cut = |line: &str| {
        let middle = (0..=line.len() / 2).rev().find(|at| line.is_char_boundary(*at)).unwrap();
        let (a, b) = line.split_at(middle);
        format!("2026-11-15T02:26:49Z stderr P {a}\n2026-11-15T02:26:49Z stderr F {b}")
    };
    let (plain, joined) = (told(recorded()), told(each_line(cut)));
    let doubled: Vec<_> = plain.events.iter().map(|e| (e.0, e.1 * 2 - 1, e.2 * 2 - 1, e.3)).collect();
    assert_eq!(joined.events, doubled);
    assert_eq!((joined.answers, joined.running), (plain.answers, plain.running));
}

#[test]
fn of_an_export_with_the_newest_line_first_places_are_those_of_the_file() {
    let turned: String = recorded().lines().rev().flat_map(|line| [line, "\n"]).collect();
    let last = recorded().lines().count() as u32 + 1;
    let (plain, read) = (told(recorded()), told(turned));
    let expected: Vec<_> = plain.events.iter().map(|e| (e.0, last - e.1, last - e.2, e.3)).collect();
    assert_eq!(read.events, expected);
    assert_eq!((read.answers, read.running), (plain.answers, plain.running));
}

#[test]
fn of_a_container_among_others_places_are_those_of_the_file() {
    let nginx = "nginx-1 | 10.0.0.9 - - \"POST /v1/completions HTTP/1.1\" 200 12";
    let both = each_line(|line| format!("{nginx}\nvllm-1  | {line}\n{nginx}"));
    let (plain, read) = (told(recorded()), told(both));
    let expected: Vec<_> = plain.events.iter().map(|e| (e.0, e.1 * 3 - 1, e.2 * 3 - 1, e.3)).collect();
    assert_eq!(read.events, expected);
    assert_eq!((read.answers, read.running), (plain.answers, plain.running));
}

#[test]
fn records_without_line_ends_all_stand_in_the_first_line() {
    let record = |line: &str| format!("{{\"log\":{},\"stream\":\"stderr\"}}", json(line));
    let records: String = recorded().lines().map(record).collect();
    let (plain, read) = (told(recorded()), told(records));
    let expected: Vec<_> = plain.events.iter().map(|e| (e.0, 1, 1, e.3)).collect();
    assert_eq!(read.events, expected);
    assert_eq!((read.answers, read.running), (plain.answers, plain.running));
}

#[test]
fn a_kernels_log_belongs_to_no_engine_and_still_tells() {
    let mut case = Case::default();
    case.add_log(LogText {
        name: "kernel.log".into(),
        text: "Nov 15 02:26:48 node kernel: link is up\nNov 15 02:26:49 node kernel: Xid 79\n".into(),
    });
    let o = read(&case);
    assert_eq!(o.identity.engine, None);
    let event = o.log.first(Meaning::Xid).unwrap();
    assert_eq!((event.number, event.line, event.file.as_str()), (Some(79), 2, "kernel.log"));
}
