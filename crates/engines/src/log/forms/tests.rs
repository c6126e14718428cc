//! Given a log in a form people paste, it tells what the plain one tells, in the file's own lines.

use intriage_case::LogText;

use super::*;
use crate::{LogReadings, Meaning};

fn read(text: &str) -> LogReadings {
    LogReadings::of(&LogText { name: "server.log".into(), text: text.into() })
}

#[test]
fn a_plain_log_is_not_touched() {
    let log = LogText { name: "server.log".into(), text: "INFO 11-15 02:26:49 [a.py:1] ready\n".repeat(9) };
    assert!(Pasted::of([&log]).is_none());
}

#[test]
fn two_containers_of_a_stream_are_two_logs() {
    let line = |who: &str, says: &str| format!("{who}  | {says}\n");
    let text = [
        line("vllm-1", "INFO vLLM API server version 0.15.0"),
        line("vllm-2", "INFO vLLM API server version 0.15.0"),
        line(
            "vllm-2",
            "(EngineCore pid=2) ERROR 11-15 02:27:46 [core.py:1] EngineCore encountered a fatal error.",
        ),
    ]
    .concat();
    let log = read(&text);
    let files: Vec<_> = log.chains.iter().flat_map(|chain| &chain.files).collect();
    assert_eq!(files, ["server.log[vllm-1]", "server.log[vllm-2]"]);
    let died = log.first(Meaning::EngineDied).expect("it died");
    assert_eq!((died.file.as_str(), died.line, died.starts_since), ("server.log[vllm-2]", 3, 0));
}

#[test]
fn of_an_export_with_the_newest_line_first_events_are_in_the_order_they_happened() {
    let line = |second: u32, says: &str| format!("INFO 11-15 02:27:{second} [core.py:1] {says}\n");
    let text = [
        line(46, "EngineCore encountered a fatal error."),
        line(45, "y"),
        line(44, "Application startup complete."),
        line(43, "x"),
        line(42, "w"),
        line(41, "v"),
    ]
    .concat();
    let log = read(&text);
    let (ready, died) = (log.first(Meaning::Ready), log.first(Meaning::EngineDied));
    let (ready, died) = (ready.expect("it started"), died.expect("it died"));
    assert_eq!((ready.line, died.line), (3, 1));
    assert!(died.is_after(ready) && log.ready_after(died).is_none());
}
