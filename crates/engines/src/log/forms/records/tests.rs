use proptest::prelude::*;

use super::*;

fn told(text: &str) -> Vec<(String, String, Vec<u32>)> {
    let told =
        |stream: Stream<'_>| (stream.name, stream.text.into_owned(), stream.numbers.unwrap_or_default());
    streams(text).unwrap_or_default().into_iter().map(told).collect()
}

/// The one writer's text and the numbers of its lines.
fn one(text: &str) -> (String, Vec<u32>) {
    let all = told(text);
    assert_eq!(all.len(), 1, "{all:?}");
    all.into_iter().next().map(|(_, text, lines)| (text, lines)).unwrap_or_default()
}

const TWO: &str = "2026-11-15T02:26:49.500Z stderr F INFO ready\n2026-11-15T02:26:50.000Z stderr F Xid 79\n";

#[test]
fn records_without_line_ends_are_read() {
    let text = "{\"log\":\"INFO ready\\n\",\"stream\":\"stderr\",\"time\":\"2026-11-15T02:26:49.5Z\"}{\"log\":\"Xid 79\\n\",\"stream\":\"stderr\",\"time\":\"2026-11-15T02:26:50Z\"}";
    assert_eq!(one(text), (TWO.into(), vec![1, 1]));
}

#[test]
fn lists_of_records_keep_the_lines_they_stand_in() {
    let text = "[\n  {\"date\": 1794709609.5,\n   \"log\": \"INFO ready\", \"stream\": \"stderr\"},\n  {\"date\": 1794709610.0, \"log\": \"Xid 79\", \"stream\": \"stderr\"}\n]\n";
    assert_eq!(one(text), (TWO.into(), vec![2, 4]));
}

#[test]
fn answers_of_cloudwatch_loki_and_elasticsearch_are_read() {
    let expected = TWO.replace("stderr", "stdout");
    for text in [
        "{\"events\":[{\"timestamp\":1794709609500,\"message\":\"INFO ready\"},{\"timestamp\":1794709610000,\"message\":\"Xid 79\"}]}",
        "{\"status\":\"success\",\"data\":{\"resultType\":\"streams\",\"result\":[{\"stream\":{},\"values\":[[\"1794709609500000000\",\"INFO ready\"],[\"1794709610000000000\",\"Xid 79\"]]}]}}",
        "{\"hits\":{\"total\":2,\"hits\":[{\"_source\":{\"@timestamp\":\"2026-11-15T02:26:49.5Z\",\"message\":\"INFO ready\"}},{\"_source\":{\"@timestamp\":\"2026-11-15T02:26:50Z\",\"message\":\"Xid 79\"}}]}}",
        "{\"results\":[[{\"field\":\"@timestamp\",\"value\":\"2026-11-15 02:26:49.500\"},{\"field\":\"@message\",\"value\":\"INFO ready\"}],[{\"field\":\"@timestamp\",\"value\":\"2026-11-15 02:26:50.000\"},{\"field\":\"@message\",\"value\":\"Xid 79\"}]]}",
        "{\"labels\":{},\"line\":\"INFO ready\",\"timestamp\":\"2026-11-15T02:26:49.5Z\"}\n{\"labels\":{},\"line\":\"Xid 79\",\"timestamp\":\"2026-11-15T02:26:50Z\"}\n",
    ] {
        assert_eq!(one(text).0, expected, "{text}");
    }
}

#[test]
fn writers_are_told_apart_by_pod_and_container() {
    let record = |pod: &str, says: &str| {
        format!("{{\"log\":\"{says}\",\"kubernetes\":{{\"pod_name\":\"{pod}\",\"container_name\":\"c\"}}}}\n")
    };
    let text = [record("a", "x"), record("b", "y"), record("a", "z")].concat();
    let expected = [("a/c", "x\nz\n", vec![1, 3]), ("b/c", "y\n", vec![2])];
    assert_eq!(told(&text), expected.map(|(name, text, lines)| (name.into(), text.into(), lines)));
}

#[test]
fn a_loggers_level_and_target_are_put_in_front() {
    let tgi = "{\"timestamp\":\"2026-11-15T02:26:49.5Z\",\"level\":\"ERROR\",\"fields\":{\"message\":\"Shard 0 failed to start\"},\"target\":\"text_generation_launcher\"}\n";
    assert!(one(tgi).0.ends_with("ERROR text_generation_launcher: Shard 0 failed to start\n"));
}

#[test]
fn a_record_of_several_lines_is_several_lines() {
    assert_eq!(
        one("{\"message\":\"Traceback\\n  File\\nValueError: no\\n\"}").0,
        "Traceback\n  File\nValueError: no\n"
    );
}

#[test]
fn what_is_damaged_costs_its_own_line() {
    let text = "{\"line\":\"a\"}\n{\"line\":\"b\nnot a record\n{\"line\":\"c\"}\n";
    assert_eq!(one(text), ("a\n{\"line\":\"b\nnot a record\nc\n".into(), vec![1, 2, 3, 4]));
}

#[test]
fn other_texts_are_no_records() {
    for text in [
        "[2026-11-15 02:26:49 TP0] Decode batch\n",
        "{\"error\":{\"code\":400}}\n",
        "[1, 2]\n",
        "{\"log\":\"a\\n\",\"stream\":\"stderr\",\"time\":\"2026-11-15T02:26:49.5Z\"}\n{\"log\":\"b\\n\",\"stream\":\"stderr\",\"time\":\"\"}\n",
        "",
    ] {
        assert!(streams(text).is_none(), "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_survived(parts in prop::collection::vec(
        prop_oneof![
            Just("{\"log\":\"a\\n\"}"), Just("["), Just("]"), Just("{\"events\":["), Just("\n"), Just(","), Just("{"),
            Just("\"values\":[[\"1\",\"x\"]]"), Just("é"), Just("}"),
        ],
        0..40,
    )) {
        let text = parts.concat();
        let lines = text.split('\n').count() as u32;
        for stream in streams(&text).unwrap_or_default() {
            let numbers = stream.numbers.unwrap_or_default();
            prop_assert_eq!(stream.text.matches('\n').count(), numbers.len());
            prop_assert!(numbers.iter().all(|number| (1..=lines).contains(number)));
        }
    }
}
