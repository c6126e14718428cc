//! Reads the text a metrics endpoint answers with: Prometheus text format 0.0.4 and OpenMetrics 1.0.
//!
//! [`parse`] takes the bytes of one scrape and returns values that borrow from them; it does no I/O and keeps
//! no state. What shaped it:
//!
//! * **Nothing readable is thrown away.** A scrape that breaks off in the middle (a server killed while
//!   answering, a proxy's size limit) is evidence too: every sample before the damage is returned, and
//!   [`Exposition::problem`] says where reading stopped and why. There is no resynchronisation after damage.
//! * **The server is not trusted.** Any bytes are accepted without panicking, and time and memory are linear in
//!   their number: at most about 50 bytes of memory for each byte of input (lines such as `a 1`), so the
//!   caller needs only to limit the size of the body.
//! * **It is cheap enough to forget.** One pass, no allocation for each line; labels stay as they were written
//!   and are unescaped when asked for.
//!
//! What a reader of truncated text cannot know: a last line without a line end may have been cut inside its
//! number (`vllm:x 12` from `vllm:x 123.0`), inside a comment, or before its timestamp or exemplar. Such a line
//! is complete by the grammar and is returned as it stands; only OpenMetrics' `# EOF` proves that text is whole.

mod comment;
mod cursor;
mod family;
mod labels;
mod looks;
mod problem;
mod reader;
mod sample;
#[cfg(test)]
mod tests;
mod value;

pub use family::{Family, Kind};
pub use labels::{LabelIter, Labels};
pub use looks::{Looks, looks_like_exposition};
pub use problem::{Problem, ProblemKind};
pub use sample::{Exemplar, Sample};
pub use value::Timestamp;

/// Reads as much of a scrape as is readable.
///
/// This never fails: damage is reported in [`Exposition::problem`], next to everything that stood before it.
///
/// ```
/// use intriage_engines::exposition::parse;
///
/// let scrape = parse(b"vllm:num_requests_running{engine=\"0\"} 3.0\nvllm:num_requests_wai");
/// assert_eq!(scrape.samples[0].value, 3.0);
/// let problem = scrape.problem.expect("the second line is cut off");
/// assert_eq!(problem.to_string(), "line 2, column 22: sample has no value");
/// ```
#[must_use]
pub fn parse(bytes: &[u8]) -> Exposition<'_> {
    match std::str::from_utf8(bytes) {
        Ok(text) => reader::read(text),
        Err(error) => reader::read_before_bad_byte(bytes, error.valid_up_to()),
    }
}

/// One scrape, as far as it could be read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Exposition<'a> {
    /// Which of the two formats the text is in.
    pub format: Format,
    /// All samples in the order of the text. A series that occurs twice is here twice: which one counts is the
    /// caller's decision.
    pub samples: Vec<Sample<'a>>,
    /// All families that a `# TYPE`, `# HELP` or `# UNIT` line declares, in the order of their first line.
    pub families: Vec<Family<'a>>,
    /// Where reading stopped, if it stopped before the end: the exposition is then partial.
    pub problem: Option<Problem>,
}

impl<'a> Exposition<'a> {
    /// Whether some of the text could not be read, so that an absent series proves nothing.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.problem.is_some()
    }

    /// The family a sample of this exposition belongs to.
    #[must_use]
    pub fn family_of(&self, sample: &Sample<'_>) -> Option<&Family<'a>> {
        self.families.get(usize::try_from(sample.family?).ok()?)
    }
}

/// The two exposition formats.
///
/// They share so much that the text itself must tell. It is OpenMetrics if it has a `# EOF` or `# UNIT` line, an
/// exemplar, or a timestamp with a fraction; OpenMetrics text of which the end is lost and that shows none of
/// these is taken for the older format, which matters only for the unit of whole-numbered timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Format {
    /// Prometheus text format 0.0.4, `text/plain; version=0.0.4`.
    #[default]
    Text004,
    /// OpenMetrics 1.0, `application/openmetrics-text`.
    OpenMetrics1,
}
