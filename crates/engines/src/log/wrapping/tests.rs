//! Given a log in each wrapping, the lines are its own and keep their numbers.

use proptest::prelude::*;

use super::*;

fn unwrapped(raw: &str) -> (Wrapping, String) {
    let log = unwrap(raw);
    (log.wrapping, log.text.into_owned())
}

#[test]
fn a_plain_log_is_borrowed() {
    let log = unwrap("(APIServer pid=1232) INFO 11-15 02:47:32 [loggers.py:335] Engine 000: ready\n");
    assert_eq!(log.wrapping, Wrapping::None);
    assert!(matches!(log.text, Cow::Borrowed(_)));
}

#[test]
fn dockers_records_are_read_and_cut_lines_joined_without_moving_the_next() {
    let raw = "{\"log\":\"INFO: \\\"POST /v1\\\" 200\\n\",\"stream\":\"stdout\",\"time\":\"2026-11-15T02:26:49.5Z\"}\n\
               {\"log\":\"EngineDead\",\"stream\":\"stderr\",\"time\":\"2026-11-15T02:26:50Z\"}\n\
               {\"log\":\"Error\\n\",\"stream\":\"stderr\",\"time\":\"2026-11-15T02:26:50Z\"}\n\
               {\"log\":\"fourth\\n\",\"stream\":\"stdout\",\"time\":\"2026-11-15T02:26:51Z\"}\n";
    let mut log = unwrap(raw);
    assert_eq!(log.wrapping, Wrapping::Docker);
    assert_eq!(log.text, "INFO: \"POST /v1\" 200\nEngineDeadError\n\nfourth\n");
    assert_eq!(log.written_at(1), Some(Millis(1_794_709_609_500)));
    assert_eq!(log.written_at(4), Some(Millis(1_794_709_611_000)));
}

#[test]
fn pieces_of_two_streams_are_not_joined() {
    let raw = "{\"log\":\"out\",\"stream\":\"stdout\",\"time\":\"\"}\n{\"log\":\"err\\n\",\"stream\":\"stderr\",\"time\":\"\"}\n";
    assert_eq!(unwrapped(raw), (Wrapping::Docker, "out\nerr\n".into()));
}

#[test]
fn a_nodes_lines_lose_time_stream_and_mark() {
    let raw = "2026-11-15T02:26:49.123456789Z stderr F first\n\
               2026-11-15T02:26:49.2Z stderr P cut \n\
               2026-11-15T02:26:49.3+00:00 stderr F here\n\
               2026-11-15T02:26:50Z stdout F\n";
    assert_eq!(unwrapped(raw), (Wrapping::Cri, "first\ncut here\n\n\n".into()));
    assert_eq!(unwrap(raw).written_at(1), Some(Millis(1_794_709_609_123)));
}

#[test]
fn compose_puts_a_name_and_a_bar_before_each_line() {
    let raw = "vllm-1   | INFO: ready\nvllm-1   | Xid 79 | again\nproxy-1  | GET /\n";
    assert_eq!(unwrapped(raw), (Wrapping::Compose, "INFO: ready\nXid 79 | again\nGET /\n".into()));
    let table = "| GPU  Name | Persistence |\n|   0  H200 | On          |\n+-----------+\n";
    assert_eq!(unwrapped(table).0, Wrapping::None);
}

#[test]
fn a_printed_journal_keeps_only_time_and_message() {
    let raw = "-- Boot 3c --\n\
               Nov 15 02:26:49 node1 vllm[811]: INFO: ready\n\
               Nov 15 02:26:50 node1 kernel: Xid 79\n\
               2026-11-15T02:26:51+0000 node1 vllm[811]: done\n\
               Nov  5 02:26:50 node1 vllm[811]: x\n";
    let text = "-- Boot 3c --\nNov 15 02:26:49 INFO: ready\nNov 15 02:26:50 Xid 79\n2026-11-15T02:26:51+0000 done\nNov  5 02:26:50 x\n";
    assert_eq!(unwrapped(raw), (Wrapping::JournalShort, text.into()));
}

#[test]
fn a_journal_as_json_is_read_even_where_a_message_is_bytes() {
    let raw = "{\"MESSAGE\":\"two\\nlines\",\"__REALTIME_TIMESTAMP\":\"1794709609500000\"}\n\
               {\"MESSAGE\":[88,105,100,32,55,57],\"__REALTIME_TIMESTAMP\":\"1794709610000000\"}\n";
    assert_eq!(unwrapped(raw), (Wrapping::JournalJson, "two lines\nXid 79\n".into()));
    assert_eq!(unwrap(raw).written_at(2), Some(Millis(1_794_709_610_000)));
}

#[test]
fn of_an_exported_journal_the_messages_stay() {
    let raw = "__CURSOR=s=1\n__REALTIME_TIMESTAMP=1794709609500000\nMESSAGE=first\nPRIORITY=6\n\n\
               __CURSOR=s=2\n__REALTIME_TIMESTAMP=1794709610000000\nPRIORITY=6\nMESSAGE=Xid 79\n\n";
    let mut log = unwrap(raw);
    assert_eq!(log.wrapping, Wrapping::JournalExport);
    assert_eq!(log.text.lines().nth(8), Some("Xid 79"));
    assert_eq!(log.text.lines().filter(|line| !line.is_empty()).count(), 2);
    assert_eq!(
        (log.written_at(3), log.written_at(9)),
        (Some(Millis(1_794_709_609_500)), Some(Millis(1_794_709_610_000)))
    );
}

#[test]
fn a_pods_name_is_removed() {
    let raw = "[pod/vllm-0/server] INFO ready\n[pod/vllm-0/server] \x1b[32mXid 79\x1b[0m\n";
    assert_eq!(unwrapped(raw), (Wrapping::Kubectl, "INFO ready\nXid 79\n".into()));
}

#[test]
fn lines_of_engines_are_not_taken_for_a_journals() {
    for line in [
        "[W1115 06:28:46.009392610 utils.cpp:68] Warning: NUMA binding",
        "0.03.803.226 I slot print_timing: id  3 | task 2 | prompt eval time",
        "(EngineCore pid=1) INFO 11-15 02:47:32 [core.py:1]: x",
        "2026-11-15 07:17:02,123 - INFO - autotuner.py:1 - flashinfer.jit: [Autotuner]: starts",
        "{\"error\":{\"code\":400}}",
    ] {
        assert_eq!(unwrapped(&format!("{line}\n").repeat(3)).0, Wrapping::None, "{line}");
    }
}

proptest! {
    #[test]
    fn an_unwrapped_log_has_as_many_lines_as_its_file(
        lines in prop::collection::vec(
            prop_oneof![
                "\\{\"log\":\"[a-z\\\\ ]{0,9}(\\\\n)?\",\"stream\":\"std(out|err)\"\\}",
                "2026-11-15T02:26:49Z std(out|err) [FP] [a-z\r]{0,5}",
                "Nov 15 02:26:49 host (kernel|vllm\\[1\\]): .{0,9}",
                "\\{\"MESSAGE\":\"a\\\\nb\",\"__REALTIME_TIMESTAMP\":\"17\"\\}",
                "\\[pod/a/b\\] .{0,20}",
                "(MESSAGE|__CURSOR|__REALTIME_TIMESTAMP)=[a-z0-9]{0,9}",
                "[^\n]{0,40}",
            ],
            0..30,
        ),
        same in prop::bool::ANY,
    ) {
        let lines: Vec<&String> = if same { lines.iter().take(1).cycle().take(lines.len()).collect() } else { lines.iter().collect() };
        let raw: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
        let mut log = unwrap(&raw);
        prop_assert_eq!(log.text.matches('\n').count(), raw.matches('\n').count());
        for number in 1..=lines.len() as u32 + 2 {
            let _ = log.written_at(number);
        }
    }
}
