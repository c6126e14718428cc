//! What a sample line may look like, and what is read from it.

use super::ProblemKind as Kinds;
use super::*;

#[test]
fn a_gauge_with_labels() {
    let sample = only("vllm:num_requests_running{engine=\"0\",model_name=\"smollm2-135m\"} 3.0\n");
    assert_eq!(sample.name, "vllm:num_requests_running");
    assert_eq!(sample.value, 3.0);
    assert_eq!(sample.labels.get("model_name").as_deref(), Some("smollm2-135m"));
    assert_eq!(sample.labels.get("model"), None);
    assert_eq!((sample.labels.len(), sample.labels.is_empty()), (2, false));
    assert_eq!(sample.labels.as_written(), "engine=\"0\",model_name=\"smollm2-135m\"");
    assert_eq!((sample.timestamp, sample.exemplar, sample.family), (None, None, None));
}

#[test]
fn no_labels_and_empty_labels_are_the_same() {
    assert_eq!(only("llamacpp:n_decode_total 836").labels, only("llamacpp:n_decode_total{} 836").labels);
    assert!(only("llamacpp:n_decode_total{ } 836").labels.is_empty());
}

#[test]
fn names_may_hold_colons_and_digits() {
    assert_eq!(only(":job:rate5m 1").name, ":job:rate5m");
    assert_eq!(only("_x9 1").name, "_x9");
}

#[test]
fn blanks_are_allowed_between_all_tokens() {
    let sample = only(" \tqueue_depth \t{ engine = \"0\" ,\tpool = \"a\" , }\t 4 \t 1700000000000 \t");
    assert_eq!(pairs(sample.labels), [("engine".into(), "0".into()), ("pool".into(), "a".into())]);
    assert_eq!(sample.value, 4.0);
    assert_eq!(sample.timestamp.unwrap().unix_millis(), 1_700_000_000_000);
    assert_eq!(only("queue_depth{engine=\"0\"}4").value, 4.0);
}

#[test]
fn a_trailing_comma_in_labels_is_allowed_but_only_one() {
    assert_eq!(only("up{job=\"tgi\",} 1").labels.len(), 1);
    assert_eq!(problem("up{job=\"tgi\",,} 1"), (1, 14, Kinds::LabelNameExpected));
    assert_eq!(problem("up{,} 1"), (1, 4, Kinds::LabelNameExpected));
}

#[test]
fn punctuation_inside_a_quoted_value_is_text() {
    let sample = only(r#"http_requests_total{path="/v1/{id},a=\"b\" # x} 7",code="200"} 12"#);
    assert_eq!(sample.labels.get("path").as_deref(), Some("/v1/{id},a=\"b\" # x} 7"));
    assert_eq!(sample.labels.get("code").as_deref(), Some("200"));
    assert_eq!(sample.value, 12.0);
}

#[test]
fn escapes_in_label_values_are_resolved() {
    let sample = only(r#"x{path="C:\\models\\new",text="a\"b\nc",odd="\d\é"} 1"#);
    assert_eq!(sample.labels.get("path").as_deref(), Some(r"C:\models\new"));
    assert_eq!(sample.labels.get("text").as_deref(), Some("a\"b\nc"));
    assert_eq!(sample.labels.get("odd").as_deref(), Some(r"\d\é"));
}

#[test]
fn labels_are_equal_by_content() {
    assert_eq!(only("x{a=\"1\",b=\"2\"} 1").labels, only("x{ a = \"1\", b=\"2\",} 1").labels);
    assert_ne!(only("x{a=\"1\",b=\"2\"} 1").labels, only("x{b=\"2\",a=\"1\"} 1").labels);
    assert_eq!(format!("{:?}", only("x{a=\"1\"} 1").labels), "{\"a\": \"1\"}");
}

#[test]
fn values_are_decimal_numbers_and_the_special_words() {
    for (text, value) in [
        ("0", 0.0),
        ("-0", -0.0),
        ("15391.0", 15391.0),
        ("5.", 5.0),
        (".5", 0.5),
        ("-2.25", -2.25),
        ("+3", 3.0),
        ("1.7947107213397672e+09", 1_794_710_721.339_767_2),
        ("1E-3", 0.001),
        ("186.7916421530008", 186.791_642_153_000_8),
        ("999999999999999", 999_999_999_999_999.0),
        ("9007199254740993", 9_007_199_254_740_992.0),
        ("0.000000000000001", 1e-15),
        ("00000000000000000001", 1.0),
        ("1e400", f64::INFINITY),
        ("Inf", f64::INFINITY),
        ("+Inf", f64::INFINITY),
        ("-Inf", f64::NEG_INFINITY),
        ("+inf", f64::INFINITY),
    ] {
        let parsed = only(&format!("x {text}\n")).value;
        assert_eq!(parsed.to_bits(), value.to_bits(), "{text}: {parsed} is not {value}");
    }
    for text in ["NaN", "nan", "NAN"] {
        assert!(only(&format!("x {text}")).value.is_nan());
    }
}

#[test]
fn text_format_timestamps_are_milliseconds() {
    let time = only("x 1 1395066363000\n").timestamp.unwrap();
    assert_eq!((time.unix_seconds(), time.unix_millis()), (1_395_066_363.0, 1_395_066_363_000));
    assert_eq!(only("x 1 -3982045").timestamp.unwrap().unix_millis(), -3_982_045);
}

#[test]
fn openmetrics_timestamps_are_seconds_even_before_the_format_is_known() {
    let exposition = whole("x 1 1395066363\ny 2 1395066363.5\n# EOF\n");
    assert_eq!(exposition.format, Format::OpenMetrics1);
    assert_eq!(exposition.samples[0].timestamp.unwrap().unix_seconds(), 1_395_066_363.0);
    assert_eq!(exposition.samples[1].timestamp.unwrap().unix_millis(), 1_395_066_363_500);
}

#[test]
fn exemplars_follow_value_and_timestamp() {
    let text = "# TYPE ttft histogram\n\
        ttft_bucket{le=\"1.0\"} 5 # {trace_id=\"x}#\"} 0.5 123.4\n\
        ttft_bucket{le=\"+Inf\"} 6 1700000000.25 # {} 2.5\n\
        # EOF\n";
    let exposition = whole(text);
    let first = exposition.samples[0].exemplar.unwrap();
    assert_eq!(first.labels.get("trace_id").as_deref(), Some("x}#"));
    assert_eq!((first.value, first.timestamp.unwrap().unix_seconds()), (0.5, 123.4));
    let second = &exposition.samples[1];
    assert_eq!(second.timestamp.unwrap().unix_seconds(), 1_700_000_000.25);
    let second = second.exemplar.unwrap();
    assert_eq!((second.labels.len(), second.value, second.timestamp), (0, 2.5, None));
}

#[test]
fn quoted_names_of_prometheus_3() {
    let text =
        "# TYPE \"llm.tokens\" counter\n{\"llm.tokens_total\",\"gen ai\"=\"x\",b=\"2\"} 1\n{ \"a,}b\" } 2\n";
    let exposition = whole(text);
    assert_eq!(names(&exposition), ["llm.tokens_total", "a,}b"]);
    assert_eq!(families_of(&exposition), [Some("llm.tokens"), None]);
    assert_eq!(exposition.samples[0].labels.get("gen ai").as_deref(), Some("x"));
    assert_eq!(exposition.samples[0].labels.len(), 2);
    assert!(exposition.samples[1].labels.is_empty());
}

#[test]
fn a_name_that_prolongs_the_one_before_is_another_name() {
    let exposition = whole("kv_usage 1\nkv_usage_peak 2\nkv_usage 3\nkv 4\n");
    assert_eq!(names(&exposition), ["kv_usage", "kv_usage_peak", "kv_usage", "kv"]);
}

#[test]
fn comments_and_blank_lines_are_passed_over() {
    let exposition = whole("\n# scraped by hand\n#\n  \t\n# HELP\n#TYPE\n# EOF soon\nup 1\n\n");
    assert_eq!(names(&exposition), ["up"]);
    assert_eq!((exposition.format, exposition.families.len()), (Format::Text004, 0));
}

#[test]
fn a_series_that_occurs_twice_is_kept_twice() {
    let exposition = whole("up{a=\"1\"} 1\nup{a=\"1\"} 0\n");
    assert_eq!(exposition.samples.iter().map(|sample| sample.value).collect::<Vec<_>>(), [1.0, 0.0]);
}

#[test]
fn windows_line_ends_and_a_missing_last_one() {
    let unix = "# HELP up Whether.\n# TYPE up gauge\nup{a=\"1\"} 1 17\n\nup 2\n";
    let windows = unix.replace('\n', "\r\n");
    assert_eq!(whole(unix), whole(&windows));
    assert_eq!(whole(unix), whole(unix.trim_end()));
}

#[test]
fn nothing_is_an_exposition_without_samples() {
    assert_eq!(parse(b""), Exposition::default());
    assert_eq!(parse(b"\n\n"), Exposition::default());
    assert_eq!(whole("# EOF").format, Format::OpenMetrics1);
}
