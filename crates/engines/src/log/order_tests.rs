use proptest::prelude::*;

use super::*;
use crate::config::Config;
use crate::log::{LogReadings, read_logs};
use crate::{Engine, Meaning, Setting, dialect};

const DEATH: &str = "ERROR 11-15 02:09:00 [core.py:1] EngineCore encountered a fatal error.\n";

fn log(name: &str, text: &str) -> LogText {
    LogText { name: name.into(), text: text.into() }
}

/// A line every minute of an hour, from one minute to another.
fn lines(hour: u32, from: u32, to: u32) -> String {
    let line = |minute: u32| {
        format!(
            "INFO 11-15 {hour:02}:{minute:02}:00 [x.py:1] Avg prompt throughput: 1.0 tokens/s, Running: 2 reqs, Waiting: {minute} reqs\n"
        )
    };
    (from..to).map(line).collect::<Vec<String>>().concat()
}

fn start(hour: u32, minute: u32, cap: u32) -> String {
    format!("INFO 11-15 {hour:02}:{minute:02}:00 [x.py:1] non-default args: {{'max_num_seqs': {cap}}}\n")
}

/// The names of each chain, and what it was ordered by.
fn order(logs: &[LogText]) -> Vec<(Vec<String>, LogOrder)> {
    let all: Vec<&LogText> = logs.iter().collect();
    chains(&all, Known::default())
        .iter()
        .map(|chain| (chain.logs.iter().map(|log| log.name.clone()).collect(), chain.by))
        .collect()
}

fn read(logs: &[LogText]) -> (LogReadings, Config) {
    let mut config = Config::default();
    (read_logs(Some(dialect(Engine::Vllm)), logs, Known::default(), &mut config), config)
}

#[test]
fn times_order_files_however_they_were_given() {
    let logs = [
        log("vllm.log", &lines(4, 0, 9)),
        log("vllm.log.2.log", &lines(2, 0, 9)),
        log("vllm.log.1.log", &lines(3, 0, 9)),
    ];
    let names = ["vllm.log.2.log", "vllm.log.1.log", "vllm.log"].map(str::to_owned).to_vec();
    assert_eq!(order(&logs), [(names.clone(), LogOrder::Times)]);
    // Of other names, too: a case is of one server.
    let renamed = [log("new.log", &lines(4, 0, 9)), log("old.log", &lines(2, 0, 9))];
    assert_eq!(order(&renamed)[0].0, ["old.log", "new.log"]);
    assert_eq!(
        log_order(&logs),
        [
            "read as one log, the oldest first (by the times of their lines): vllm.log.2.log, vllm.log.1.log, vllm.log"
        ]
    );
}

#[test]
fn without_times_a_rotation_tells_by_its_numbers_or_dates_and_else_the_order_given_stays() {
    let line = "INFO:     10.0.0.1:1 - \"POST /v1/completions HTTP/1.1\" 200 OK\n";
    for (given, expected, by) in [
        (
            ["vllm.log", "vllm.log.10.log", "vllm.log.9.log"],
            ["vllm.log.10.log", "vllm.log.9.log", "vllm.log"],
            LogOrder::Rotation,
        ),
        (
            ["vllm.log", "vllm.log-20261115.log", "vllm.log-20261114.log"],
            ["vllm.log-20261114.log", "vllm.log-20261115.log", "vllm.log"],
            LogOrder::Rotation,
        ),
        (
            ["vllm.log", "vllm.log.2026-11-15.log", "vllm.log.2026-11-14.log"],
            ["vllm.log.2026-11-14.log", "vllm.log.2026-11-15.log", "vllm.log"],
            LogOrder::Rotation,
        ),
        (
            ["vllm-b2.log", "vllm-b1.log", "vllm-b3.log"],
            ["vllm-b2.log", "vllm-b1.log", "vllm-b3.log"],
            LogOrder::Given,
        ),
    ] {
        let logs = given.map(|name| log(name, line));
        assert_eq!(order(&logs), [(expected.map(str::to_owned).to_vec(), by)]);
    }
}

#[test]
fn a_file_without_times_stays_in_its_rotation() {
    let access = "INFO:     10.0.0.1:1 - \"POST /v1/completions HTTP/1.1\" 200 OK\n";
    let logs =
        [log("v.log", &lines(4, 0, 9)), log("v.log.1.log", access), log("v.log.2.log", &lines(2, 0, 9))];
    let expected = ["v.log.2.log", "v.log.1.log", "v.log"].map(str::to_owned).to_vec();
    assert_eq!(order(&logs), [(expected, LogOrder::Rotation)]);
}

#[test]
fn files_that_overlap_and_a_kernels_log_stand_for_themselves() {
    let side = [log("rank0.log", &lines(2, 0, 9)), log("rank1.log", &lines(2, 0, 9))];
    assert_eq!(order(&side).len(), 2);
    let kernel = "2026-11-15T01:00:00Z NVRM: Xid (PCI:0000:19:00): 79, pid=1\n";
    assert_eq!(order(&[log("kernel.log", kernel), log("vllm.log", &lines(2, 0, 9))]).len(), 2);
    // Two servers' rotations stay apart.
    let both = [
        log("a.log", &lines(3, 0, 9)),
        log("a.log.1.log", &lines(2, 0, 9)),
        log("b.log", &lines(3, 0, 9)),
        log("b.log.1.log", &lines(2, 0, 9)),
    ];
    let names: Vec<_> = order(&both).into_iter().map(|(names, _)| names).collect();
    assert_eq!(names, [["a.log.1.log", "a.log"], ["b.log.1.log", "b.log"]]);
}

#[test]
fn december_comes_before_january_where_no_line_tells_the_year() {
    let on = |date: &str| lines(2, 0, 3).replace("11-15", date);
    let logs = [log("v.log", &on("01-02")), log("v.log.1.log", &on("12-30"))];
    assert_eq!(order(&logs)[0].0, ["v.log.1.log", "v.log"]);
}

#[test]
fn a_start_in_one_file_ends_the_process_of_the_file_before() {
    let old = [start(2, 0, 4), lines(2, 1, 9), DEATH.into()].concat();
    let new = [start(3, 0, 8), lines(3, 1, 5)].concat();
    let (readings, config) = read(&[log("v.log", &new), log("v.log.1.log", &old)]);
    let died = readings.first(Meaning::EngineDied).expect("it is told");
    assert_eq!((died.file.as_str(), died.starts_since), ("v.log.1.log", 1));
    assert_eq!(config.number(Setting::MaxSequences), Some(8.0));
    assert_eq!(readings.signal(intriage_case::Signal::RequestsWaiting).map(|s| s.times().len()), Some(4));
    // A process that began in the file before still runs in this one.
    let (readings, config) = read(&[log("v.log", &lines(3, 1, 5)), log("v.log.1.log", &old)]);
    assert_eq!(config.number(Setting::MaxSequences), Some(4.0));
    assert!(readings.of_running(Meaning::EngineDied).is_some());
    assert_eq!(readings.signal(intriage_case::Signal::RequestsWaiting).map(|s| s.times().len()), Some(12));
    // A server that came up in the next file is up after the death.
    let ready = [start(3, 0, 8), "INFO:     Application startup complete.\n".into()].concat();
    let (readings, _) = read(&[log("v.log", &ready), log("v.log.1.log", &old)]);
    assert!(readings.ready_after(readings.first(Meaning::EngineDied).expect("it is told")).is_some());
}

proptest! {
    #[test]
    fn every_log_is_in_one_chain_and_once(
        logs in prop::collection::vec(("[a-c]{1,2}(\\.log)?(\\.[0-9]{1,5}|-[0-9]{8})?\\.log", "(INFO 1[0-2]-1[0-9] 0[0-9]:00:00 \"POST /v1 HTTP/1.1\" 200\n|\\PC{0,30}\n){0,4}"), 0..7)
    ) {
        let logs: Vec<LogText> = logs.iter().map(|(name, text)| log(name, text)).collect();
        let mut names: Vec<String> = order(&logs).into_iter().flat_map(|(names, _)| names).collect();
        let mut given: Vec<String> = logs.iter().map(|log| log.name.clone()).collect();
        names.sort();
        given.sort();
        prop_assert_eq!(names, given);
    }
}
