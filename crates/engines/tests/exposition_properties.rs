//! What must hold for any exposition, and for any bytes at all.

#![expect(clippy::unwrap_used, reason = "a test may fail")]

use std::fmt::Write as _;

use intriage_engines::exposition::{Exposition, Format, Sample, Timestamp, looks_like_exposition, parse};
use proptest::prelude::*;

type Pairs = Vec<(String, String)>;

/// A sample to be written out and found again.
#[derive(Debug, Clone)]
struct Written {
    name: String,
    quoted: bool,
    labels: Pairs,
    value: f64,
    millis: Option<i64>,
    exemplar: Option<(Pairs, f64, Option<i64>)>,
}

fn written() -> impl Strategy<Value = Written> {
    // Few names, so that lines of one name, and names that begin like others, follow one another.
    let name = prop_oneof!["[a-c]{1,2}(_total|_bucket|_sum)?", "[a-zA-Z_:][a-zA-Z0-9_:]{0,12}"];
    let bare = name.prop_map(|name| (name, false));
    let quoted = "[a-c .#{},=é日]{1,8}".prop_map(|name| (name, true));
    let exemplar = (labels(), value(), prop::option::of(millis()));
    (
        prop_oneof![4 => bare, 1 => quoted],
        labels(),
        value(),
        prop::option::of(millis()),
        prop::option::of(exemplar),
    )
        .prop_map(|((name, quoted), labels, value, millis, exemplar)| Written {
            name,
            quoted,
            labels,
            value,
            millis,
            exemplar,
        })
}

fn labels() -> impl Strategy<Value = Pairs> {
    let value = prop_oneof!["[a-z0-9.+]{0,6}", "[\"\\\\\n{}#,= \tn]{0,8}", any::<String>()];
    prop::collection::vec(("[a-zA-Z_][a-zA-Z0-9_]{0,6}", value), 0..4)
}

fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        (0..100_000_u32).prop_map(f64::from),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
        Just(f64::NAN)
    ]
}

fn millis() -> impl Strategy<Value = i64> {
    -100_000_000_000_000..100_000_000_000_000_i64
}

/// How a server may write the same thing in more than one way.
#[derive(Debug, Clone, Copy)]
struct Manner {
    openmetrics: bool,
    sloppy: bool,
}

fn manner() -> impl Strategy<Value = Manner> {
    any::<(bool, bool)>().prop_map(|(openmetrics, sloppy)| Manner { openmetrics, sloppy })
}

fn write_all(samples: &[Written], manner: Manner) -> String {
    let mut text = String::new();
    for (at, sample) in samples.iter().enumerate() {
        if manner.sloppy && at % 2 == 0 {
            text += "# HELP a A \\\\ help\\n text.\n\n# TYPE a histogram\n# and a comment\n";
        }
        text += &write_line(sample, manner);
        text.push('\n');
    }
    if manner.openmetrics {
        text += "# EOF\n";
    }
    text
}

fn write_line(sample: &Written, manner: Manner) -> String {
    let mut labels: Vec<String> = sample.labels.iter().map(|pair| write_label(pair, manner)).collect();
    if sample.quoted {
        labels.insert(0, format!("\"{}\"", sample.name));
    }
    let name = if sample.quoted { "" } else { &sample.name };
    let end = if manner.sloppy && !labels.is_empty() { " , }\t" } else { "}" };
    let mut line = if labels.is_empty() && manner.sloppy {
        name.to_owned()
    } else {
        format!("{name}{{{}{end}", labels.join(","))
    };
    write!(line, " {}", write_number(sample.value)).unwrap();
    if let Some(millis) = sample.millis {
        write!(line, " {}", write_time(millis, manner.openmetrics)).unwrap();
    }
    if let Some((labels, value, millis)) = sample.exemplar.as_ref().filter(|_| manner.openmetrics) {
        let labels: Vec<String> = labels.iter().map(|pair| write_label(pair, manner)).collect();
        write!(line, " # {{{}}} {}", labels.join(","), write_number(*value)).unwrap();
        if let Some(millis) = millis {
            write!(line, " {}", write_time(*millis, true)).unwrap();
        }
    }
    line
}

fn write_label((name, value): &(String, String), manner: Manner) -> String {
    let value = value.replace('\\', "\\\\").replace('\n', "\\n").replace('"', "\\\"");
    if manner.sloppy { format!("\t\"{name}\" = \"{value}\"") } else { format!("{name}=\"{value}\"") }
}

fn write_number(number: f64) -> String {
    match number {
        number if number.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        number => format!("{number:?}"),
    }
}

fn write_time(millis: i64, openmetrics: bool) -> String {
    if openmetrics { format!("{:?}", millis as f64 / 1000.0) } else { millis.to_string() }
}

fn same_number(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

fn owned<'a>(labels: impl IntoIterator<Item = (&'a str, std::borrow::Cow<'a, str>)>) -> Pairs {
    labels.into_iter().map(|(name, value)| (name.to_owned(), value.into_owned())).collect()
}

/// Equal in all but the time, of which the unit depends on text that may have been cut off.
fn same_sample(a: &Sample<'_>, b: &Sample<'_>) -> bool {
    a.name == b.name && a.labels == b.labels && same_number(a.value, b.value) && a.family == b.family
}

/// Equal to the last bit, though `NaN` is not equal to itself.
fn same_exposition(a: &Exposition<'_>, b: &Exposition<'_>) -> bool {
    a.format == b.format
        && a.families == b.families
        && a.samples.len() == b.samples.len()
        && a.samples.iter().zip(&b.samples).all(|(a, b)| same_sample(a, b) && a.timestamp == b.timestamp)
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(samples in prop::collection::vec(written(), 0..12), manner in manner()) {
        let text = write_all(&samples, manner);
        let exposition = parse(text.as_bytes());
        prop_assert_eq!(exposition.problem, None);
        let expected = if manner.openmetrics { Format::OpenMetrics1 } else { Format::Text004 };
        prop_assert_eq!(exposition.format, expected);
        prop_assert_eq!(exposition.samples.len(), samples.len());
        for (written, read) in samples.iter().zip(&exposition.samples) {
            prop_assert_eq!(&written.name, read.name);
            prop_assert_eq!(&written.labels, &owned(read.labels));
            prop_assert!(same_number(written.value, read.value));
            prop_assert_eq!(written.millis, read.timestamp.map(Timestamp::unix_millis));
            let Some((labels, value, millis)) = written.exemplar.as_ref().filter(|_| manner.openmetrics) else {
                prop_assert!(read.exemplar.is_none());
                continue;
            };
            let exemplar = read.exemplar.unwrap();
            prop_assert_eq!(labels, &owned(exemplar.labels));
            prop_assert!(same_number(*value, exemplar.value));
            prop_assert_eq!(*millis, exemplar.timestamp.map(Timestamp::unix_millis));
        }
    }

    #[test]
    fn a_prefix_gives_the_first_samples(
        samples in prop::collection::vec(written(), 1..8),
        manner in manner(),
        cut in any::<prop::sample::Index>(),
    ) {
        let text = write_all(&samples, manner);
        let prefix = &text.as_bytes()[..cut.index(text.len())];
        let (whole, part) = (parse(text.as_bytes()), parse(prefix));
        prop_assert!(part.samples.len() <= whole.samples.len());
        // Only a last line that was cut in the middle may read as something else.
        let sure = part.samples.len() - usize::from(!prefix.ends_with(b"\n")).min(part.samples.len());
        for (part, whole) in part.samples[..sure].iter().zip(&whole.samples) {
            prop_assert!(same_sample(part, whole));
        }
        // Every line that is whole was read.
        let lines = prefix.iter().rposition(|&byte| byte == b'\n').map_or(&prefix[..0], |end| &prefix[..=end]);
        prop_assert!(parse(lines).samples.len() <= part.samples.len());
        prop_assert!(part.samples.len() - parse(lines).samples.len() <= 1);
    }

    #[test]
    fn windows_line_ends_change_nothing(samples in prop::collection::vec(written(), 0..8), manner in manner()) {
        let text = write_all(&samples, manner);
        let windows = text.replace('\n', "\r\n");
        prop_assert!(same_exposition(&parse(text.as_bytes()), &parse(windows.as_bytes())));
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        survive(&bytes);
    }

    #[test]
    fn any_punctuation_is_survived(text in "[a1 \t\r\n\"\\\\{},=#.:_é+-]{0,60}|(# (HELP|TYPE|UNIT|EOF) ?[a\" \n]{0,4}){0,9}") {
        survive(text.as_bytes());
    }

    #[test]
    fn a_damaged_byte_is_survived(
        samples in prop::collection::vec(written(), 1..5),
        manner in manner(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = write_all(&samples, manner).into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        survive(&bytes);
    }
}

/// Touches everything that is computed from the text.
fn survive(bytes: &[u8]) {
    let _ = looks_like_exposition(bytes);
    let exposition = parse(bytes);
    for sample in &exposition.samples {
        assert_eq!(sample.labels.iter().count(), sample.labels.len());
        assert!(!sample.name.is_empty());
        assert!(sample.family.is_none() || exposition.family_of(sample).is_some());
    }
    for family in &exposition.families {
        let _ = family.help_text();
    }
    if let Some(problem) = exposition.problem {
        assert!(problem.line >= 1 && problem.column >= 1);
        assert!(problem.line as usize <= bytes.split(|&byte| byte == b'\n').count());
    }
}
