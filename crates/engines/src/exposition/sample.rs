//! One sample line: name, labels, value, timestamp, exemplar.

use super::cursor::{Cursor, Stop, take_bare_name, take_quoted_name};
use super::labels::{self, Labels};
use super::problem::ProblemKind;
use super::value::{Timestamp, read_timestamp, read_value};

/// One line of measurements.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample<'a> {
    /// The name as written, suffix and colons included: `vllm:e2e_request_latency_seconds_bucket`. A quoted name
    /// is given without its quotes; escapes in it stay as they are.
    pub name: &'a str,
    /// The labels, `le` and `quantile` among them.
    pub labels: Labels<'a>,
    /// The value, in the unit of the metric; may be `NaN` or infinite.
    pub value: f64,
    /// The time the server gives for it. Inference servers leave it out: the sample is then as old as the scrape.
    pub timestamp: Option<Timestamp>,
    /// An example observation (OpenMetrics only).
    pub exemplar: Option<Exemplar<'a>>,
    /// The index in [`super::Exposition::families`] of the family this belongs to, if one was declared above it.
    /// Suffixes are taken off as the declared type allows: `x_bucket` belongs to a histogram `x`.
    pub family: Option<u32>,
}

/// One observation, kept by the server as an example of those in a bucket or counter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exemplar<'a> {
    /// What identifies it, mostly `trace_id`.
    pub labels: Labels<'a>,
    /// The value observed, in the unit of the metric.
    pub value: f64,
    /// When it was observed.
    pub timestamp: Option<Timestamp>,
}

/// A sample, and what its line says about the format.
pub(super) struct SampleLine<'a> {
    /// Its family is not looked up yet.
    pub(super) sample: Sample<'a>,
    /// Whether the line has something that only OpenMetrics has.
    pub(super) openmetrics: bool,
}

/// Reads a line that is neither blank nor a comment; for `known` see [`take_bare_name`].
#[inline]
pub(super) fn read<'a>(mut cursor: Cursor<'a>, known: &mut &'a str) -> Result<SampleLine<'a>, Stop> {
    let (name, labels) = if cursor.peek() == Some(b'{') {
        quoted_series(&mut cursor)?
    } else {
        bare_series(&mut cursor, known)?
    };
    cursor.skip_blanks();
    let value = read_value(&mut cursor)?;
    let mut line = SampleLine {
        sample: Sample { name, labels, value, timestamp: None, exemplar: None, family: None },
        openmetrics: false,
    };
    if !cursor.at_end() {
        read_tail(&mut cursor, &mut line)?;
    }
    Ok(line)
}

/// `name value`, `name{…} value`.
#[inline]
fn bare_series<'a>(cursor: &mut Cursor<'a>, known: &mut &'a str) -> Result<(&'a str, Labels<'a>), Stop> {
    let name = take_bare_name(cursor, known)?;
    if !matches!(cursor.peek(), None | Some(b' ' | b'\t' | b'{')) {
        return Err(cursor.stop(ProblemKind::NameCharacter));
    }
    cursor.skip_blanks();
    let labels = if cursor.eat(b'{') { labels::read(cursor)? } else { Labels::default() };
    Ok((name, labels))
}

/// `{"name"} value`, `{"name",…} value`: how Prometheus 3 writes names with characters beyond the classic ones.
fn quoted_series<'a>(cursor: &mut Cursor<'a>) -> Result<(&'a str, Labels<'a>), Stop> {
    cursor.eat(b'{');
    cursor.skip_blanks();
    let name = take_quoted_name(cursor)?;
    cursor.skip_blanks();
    match cursor.peek() {
        None => return Err(cursor.stop(ProblemKind::LabelsNotClosed)),
        Some(b',') => {
            cursor.eat(b',');
        }
        Some(b'}') => {}
        Some(_) => return Err(cursor.stop(ProblemKind::LabelSeparatorExpected)),
    }
    Ok((name, labels::read(cursor)?))
}

/// What may follow the value: a timestamp, an exemplar.
fn read_tail<'a>(cursor: &mut Cursor<'a>, line: &mut SampleLine<'a>) -> Result<(), Stop> {
    cursor.skip_blanks();
    if !matches!(cursor.peek(), None | Some(b'#')) {
        let (timestamp, whole) = read_timestamp(cursor)?;
        line.sample.timestamp = Some(timestamp);
        line.openmetrics |= !whole;
        cursor.skip_blanks();
    }
    if cursor.eat(b'#') {
        line.sample.exemplar = Some(read_exemplar(cursor)?);
        line.openmetrics = true;
    }
    if cursor.at_end() { Ok(()) } else { Err(cursor.stop(ProblemKind::TextAfterSample)) }
}

/// Reads `{…} value [timestamp]`, from behind the `#`.
fn read_exemplar<'a>(cursor: &mut Cursor<'a>) -> Result<Exemplar<'a>, Stop> {
    cursor.skip_blanks();
    if !cursor.eat(b'{') {
        return Err(cursor.stop(ProblemKind::ExemplarWithoutLabels));
    }
    let labels = labels::read(cursor)?;
    cursor.skip_blanks();
    let value = read_value(cursor)?;
    cursor.skip_blanks();
    let timestamp = if cursor.at_end() { None } else { Some(read_timestamp(cursor)?.0) };
    cursor.skip_blanks();
    Ok(Exemplar { labels, value, timestamp })
}

/// Whether a line could begin a sample: enough to tell an exposition from some other text.
pub(super) fn looks_like_sample(line: &str) -> bool {
    let mut cursor = Cursor::new(line);
    if take_bare_name(&mut cursor, &mut "").is_err() {
        return false;
    }
    cursor.skip_blanks();
    cursor.peek() == Some(b'{') || read_value(&mut cursor).is_ok()
}
