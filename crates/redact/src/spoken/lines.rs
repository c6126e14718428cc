//! Texts of several lines that stand in a log as they came.

use crate::hits::{Hit, With, ends_in_mask, is_mask};
use crate::prefixes::Own;
use crate::quotations::Mark;

/// Most lines of a text without quotes, and of one in quotes.
const MOST_BARE: u16 = 200;
const MOST_QUOTED: u16 = 4000;

/// The row that hides what goes on.
const RULE: &str = "text-below";

/// A prompt or an output that the line before has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spoken {
    /// To the line that begins the next record.
    Bare { left: u16 },
    /// To its mark, or to the next record.
    Quoted { mark: Mark, left: u16 },
}

impl Spoken {
    /// What a line leaves open, judged by what stands in place of the text.
    pub(crate) fn opened(own: Own, written: &str) -> Option<Self> {
        let text = written.trim_end();
        let at = text.ends_with("characters]").then(|| ends_in_mask(text))??;
        match Mark::ending_at(text, at) {
            Some(mark) => Some(Self::Quoted { mark, left: MOST_QUOTED }),
            // Without a logger's mark before it nobody knows where it ends.
            None => (own.begins_record(written) && text[..at].ends_with([' ', '=', ':']))
                .then_some(Self::Bare { left: MOST_BARE }),
        }
    }

    /// Adds what of this line belongs to it.
    pub(crate) fn find(self, own: Own, line: &str, hits: &mut Vec<Hit>) {
        if own.begins_record(line) {
            return;
        }
        let end = match self {
            Self::Bare { .. } => line.len(),
            Self::Quoted { mark, .. } => mark.close(line).unwrap_or(line.len()),
        };
        let text = line[..end].trim();
        if !text.is_empty() && !is_mask(text) {
            let start = end - line[..end].trim_start().len();
            let (end, with) = (start + text.len(), With::Characters { quoted: false });
            hits.push(Hit { start, end, with, rule: RULE });
        }
    }

    /// What is still open behind a line, as it is written.
    pub(crate) fn after(self, own: Own, written: &str) -> Option<Self> {
        match self {
            _ if own.begins_record(written) => None,
            Self::Bare { left } => (left > 1).then(|| Self::Bare { left: left - 1 }),
            Self::Quoted { mark, left } => {
                (left > 1 && mark.close(written).is_none()).then(|| Self::Quoted { mark, left: left - 1 })
            }
        }
    }
}
