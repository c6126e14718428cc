//! What can be wrong with a scrape, and where.

use thiserror::Error;

/// The place where reading stopped, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("line {line}, column {column}: {what}")]
pub struct Problem {
    /// Line number, from 1.
    pub line: u32,
    /// Column, from 1, in characters (Unicode scalar values, as editors count), not in bytes.
    pub column: u32,
    /// What is wrong there.
    pub what: ProblemKind,
}

impl Problem {
    /// Turns a byte offset into a line and a column. Done once for a scrape, so that lines need no counting
    /// while all is well.
    pub(super) fn at(text: &str, offset: usize, what: ProblemKind) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = memchr::memrchr(b'\n', before.as_bytes()).map_or(0, |newline| newline + 1);
        let lines = memchr::memchr_iter(b'\n', before.as_bytes()).count();
        let columns = before.get(line_start..).unwrap_or_default().chars().count();
        Self { line: one_based(lines), column: one_based(columns), what }
    }
}

fn one_based(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX).saturating_add(1)
}

/// The kinds of damage, each worded as a fragment that can follow a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum ProblemKind {
    /// A byte that is not part of valid UTF-8.
    #[error("not valid UTF-8")]
    NotUtf8,
    /// A line that does not start with a metric name, or an empty quoted name.
    #[error("a metric name is expected")]
    NameExpected,
    /// A metric name is followed by something that is neither a blank nor `{`.
    #[error("character is not allowed in a metric name")]
    NameCharacter,
    /// A quoted metric or label name without its closing quote.
    #[error("quoted name is not closed")]
    NameNotClosed,
    /// Something else stands where a label name should.
    #[error("a label name is expected")]
    LabelNameExpected,
    /// A label name without `=`.
    #[error("`=` is expected after the label name")]
    LabelEqualsExpected,
    /// A label value that does not begin with a quote.
    #[error("label value is not in quotes")]
    LabelValueExpected,
    /// A label value without its closing quote; the position is that of the opening one.
    #[error("label value is not closed")]
    LabelValueNotClosed,
    /// Something else than `,` or `}` after a label.
    #[error("`,` or `}}` is expected after the label")]
    LabelSeparatorExpected,
    /// The line ends before the `}` of its labels.
    #[error("labels are not closed")]
    LabelsNotClosed,
    /// The line ends before the value.
    #[error("sample has no value")]
    ValueMissing,
    /// The value is not a decimal number, `NaN` or an infinity.
    #[error("value is not a number")]
    ValueNotANumber,
    /// What follows the value is not a finite decimal number.
    #[error("timestamp is not a number")]
    TimestampNotANumber,
    /// A `#` after a sample that is not followed by `{`.
    #[error("exemplar has no labels")]
    ExemplarWithoutLabels,
    /// More text on a line that is already complete.
    #[error("text after the end of the sample")]
    TextAfterSample,
    /// A `# TYPE` line that ends after the name.
    #[error("type is missing")]
    TypeMissing,
    /// A `# TYPE` line with a type that neither format has.
    #[error("type is not one of the known metric types")]
    TypeUnknown,
    /// More text after the line `# EOF`.
    #[error("text after `# EOF`")]
    TextAfterEof,
    /// OpenMetrics text without `# EOF`: its end is lost, though every line that is there could be read.
    #[error("OpenMetrics text ends without `# EOF`")]
    EofMissing,
}
