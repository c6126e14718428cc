//! Text that cannot be read to its end, and text that is no exposition at all.

use super::ProblemKind as Kinds;
use super::*;

#[test]
fn other_notations_are_not_numbers() {
    for text in ["0x1F", "1_000", "1,5", "--1", "1e", ".", "+", "abc", "1.2.3", "\"1\"", "١"] {
        assert_eq!(problem(&format!("up 1\nx {text}\n")), (2, 3, Kinds::ValueNotANumber), "{text}");
    }
}

#[test]
fn a_timestamp_is_a_finite_number() {
    for text in ["soon", "NaN", "+Inf", "1e999", "0x10"] {
        assert_eq!(problem(&format!("x 1 {text}")), (1, 5, Kinds::TimestampNotANumber), "{text}");
    }
    assert_eq!(problem("x 1 2 3"), (1, 7, Kinds::TextAfterSample));
}

#[test]
fn damaged_exemplars() {
    assert_eq!(problem("x 1 # comment"), (1, 7, Kinds::ExemplarWithoutLabels));
    assert_eq!(problem("x 1 # {a=\"b\"}"), (1, 14, Kinds::ValueMissing));
    assert_eq!(problem("x 1 # {a=\"b\"} one"), (1, 15, Kinds::ValueNotANumber));
    assert_eq!(problem("x 1 # {a=\"b\"} 1 2 3"), (1, 19, Kinds::TextAfterSample));
    assert_eq!(problem("x 1 # {a=\"b"), (1, 10, Kinds::LabelValueNotClosed));
    assert_eq!(problem("x # {a=\"b\"} 1"), (1, 3, Kinds::ValueNotANumber));
}

#[test]
fn a_quoted_name_does_not_make_its_text_a_bare_name() {
    assert_eq!(problem("{\"llm.tokens\"} 1\nllm.tokens 2"), (2, 4, Kinds::NameCharacter));
    assert_eq!(problem("{\"llm.tokens\" a=\"b\"} 1"), (1, 15, Kinds::LabelSeparatorExpected));
    assert_eq!(problem("{a=\"b\"} 1"), (1, 2, Kinds::NameExpected));
    assert_eq!(problem("{\"\"} 1"), (1, 2, Kinds::NameExpected));
    assert_eq!(problem("{\"llm"), (1, 2, Kinds::NameNotClosed));
    assert_eq!(problem("x{\"llm\"} 1"), (1, 8, Kinds::LabelEqualsExpected));
}

#[test]
fn only_blank_lines_may_follow_eof() {
    assert_eq!(names(&whole("up 1\n# EOF\n\n \n")), ["up"]);
    assert_eq!(problem("up 1\n# EOF\nup 2\n"), (3, 1, Kinds::TextAfterEof));
    assert_eq!(problem("up 1\n# EOF\n# more\n"), (3, 1, Kinds::TextAfterEof));
}

#[test]
fn openmetrics_without_eof_is_partial_though_readable() {
    for sign in ["# UNIT x seconds\nx 1\n", "x 1 # {} 1\n", "x 1 12.5\n"] {
        let exposition = parse(sign.as_bytes());
        assert_eq!((exposition.format, exposition.samples.len()), (Format::OpenMetrics1, 1));
        assert_eq!(exposition.problem.map(|problem| problem.what), Some(Kinds::EofMissing));
    }
}

#[test]
fn damage_keeps_what_stands_before_it_and_nothing_after() {
    let exposition = parse(b"running 3\nwaiting{engine=\"0} 2\nswapped 1\n");
    assert!(exposition.is_partial());
    assert_eq!(names(&exposition), ["running"]);
    assert_eq!(exposition.problem.unwrap().to_string(), "line 2, column 16: label value is not closed");
}

#[test]
fn a_line_cut_anywhere_is_reported_at_the_right_place() {
    let line = "a_total{k=\"v\",l=\"w\"} 1.5e3";
    for (length, column, what) in [
        (4, 5, Kinds::ValueMissing),
        (8, 9, Kinds::LabelsNotClosed),
        (9, 10, Kinds::LabelEqualsExpected),
        (10, 11, Kinds::LabelValueExpected),
        (11, 11, Kinds::LabelValueNotClosed),
        (12, 11, Kinds::LabelValueNotClosed),
        (13, 14, Kinds::LabelsNotClosed),
        (14, 15, Kinds::LabelsNotClosed),
        (20, 21, Kinds::ValueMissing),
        (21, 22, Kinds::ValueMissing),
        (25, 22, Kinds::ValueNotANumber),
    ] {
        let text = format!("up 1\n{}", &line[..length]);
        assert_eq!(problem(&text), (2, column, what), "{text}");
        assert_eq!(names(&parse(text.as_bytes())), ["up"]);
    }
}

#[test]
fn a_value_cut_inside_its_digits_cannot_be_told() {
    assert_eq!(only("vllm:x 12").value, 12.0);
}

#[test]
fn damaged_declarations() {
    assert_eq!(problem("# TYPE up"), (1, 10, Kinds::TypeMissing));
    assert_eq!(problem("# TYPE up his"), (1, 11, Kinds::TypeUnknown));
    assert_eq!(problem("# TYPE up gauge gauge"), (1, 11, Kinds::TypeUnknown));
    assert_eq!(problem("# HELP 9up x"), (1, 8, Kinds::NameExpected));
    assert_eq!(problem("# HELP u.p x"), (1, 9, Kinds::NameCharacter));
    assert_eq!(problem("# HELP \"up x"), (1, 8, Kinds::NameNotClosed));
}

#[test]
fn damaged_names() {
    assert_eq!(problem("9up 1"), (1, 1, Kinds::NameExpected));
    assert_eq!(problem("  \"up\" 1"), (1, 3, Kinds::NameExpected));
    assert_eq!(problem("up-time 1"), (1, 3, Kinds::NameCharacter));
    assert_eq!(problem("up{9=\"x\"} 1"), (1, 4, Kinds::LabelNameExpected));
    assert_eq!(problem("up{a:b=\"x\"} 1"), (1, 5, Kinds::LabelEqualsExpected));
    assert_eq!(problem("up{a=x} 1"), (1, 6, Kinds::LabelValueExpected));
    assert_eq!(problem("up{a=\"x\" b=\"y\"} 1"), (1, 10, Kinds::LabelSeparatorExpected));
}

#[test]
fn columns_count_characters() {
    assert_eq!(problem("x{a=\"é日\"} 1 2 3"), (1, 15, Kinds::TextAfterSample));
}

#[test]
fn bad_utf8_ends_reading_at_its_line() {
    let exposition = parse(b"up 1\ndown{a=\"\xC3\xA9\xFF\"} 2\nlater 3\n");
    assert_eq!(names(&exposition), ["up"]);
    assert_eq!(exposition.problem, Some(Problem { line: 2, column: 10, what: Kinds::NotUtf8 }));
    // An earlier problem comes first; a character cut in two at the end is bad UTF-8 too.
    assert_eq!(parse(b"9\n\xFF").problem.map(|problem| problem.line), Some(1));
    assert_eq!(parse(b"up{a=\"\xC3").problem.map(|problem| problem.what), Some(Kinds::NotUtf8));
}

#[test]
fn hostile_shapes_take_linear_time() {
    // Each of these is about 1 MB; quadratic work would take minutes.
    let many = 50_000;
    let mut text = String::new();
    (0..many).for_each(|at| text.extend(["# TYPE m", &at.to_string(), " counter\n"]));
    (0..many).rev().for_each(|at| text.extend(["m", &at.to_string(), "_total 1\n"]));
    assert_eq!(whole(&text).samples.iter().filter(|sample| sample.family.is_some()).count(), many);
    let labels = format!("x{{{}}} 1", "a=\"\",".repeat(200_000));
    assert_eq!(only(&labels).labels.len(), 200_000);
    for text in ["\\", "{", "\n", "#", "{\"", "x{a=\"\\", "a 1\n", "# HELP a\n"] {
        let _ = parse(text.repeat(1_000_000 / text.len()).as_bytes());
    }
}

#[test]
fn other_bodies_are_told_apart() {
    for (body, looks) in [
        ("# HELP up x\n", Looks::Exposition),
        ("\n\n# by hand\nup 1\n", Looks::Exposition),
        ("up{job=\"x", Looks::Exposition),
        ("# TYPE up nonsense", Looks::Exposition),
        ("# nothing yet", Looks::Exposition),
        ("{\"llm.tokens\", a=\"b\"} 1", Looks::Exposition),
        ("{\"llm.tokens\"} 1", Looks::Exposition),
        ("<!DOCTYPE html><html>", Looks::Html),
        ("\u{feff} <html>", Looks::Html),
        ("{\"detail\":\"Not Found\"}", Looks::Json),
        ("{\"detail\" : 1}", Looks::Json),
        ("{\n  \"error\": 1\n}", Looks::Json),
        ("{}", Looks::Json),
        ("[{\"iter\": 1}]", Looks::Json),
        ("", Looks::Empty),
        (" \r\n\t", Looks::Empty),
        ("Not Found", Looks::Other),
        ("404 page not found", Looks::Other),
        ("# Title\n\nSome prose.", Looks::Other),
        ("\u{1f}\u{8b}", Looks::Other),
    ] {
        assert_eq!(looks_like_exposition(body.as_bytes()), looks, "{body:?}");
    }
    assert_eq!(looks_like_exposition(b"\xFF\xFE"), Looks::Other);
}
