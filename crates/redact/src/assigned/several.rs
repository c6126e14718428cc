//! Flags that take several words: in a list, or behind one another.

use super::Finder;
use crate::hits::Hit;
use crate::values::{self, Quote};

impl Finder<'_> {
    /// The quoted words behind `'--api-key', ` in a list: the first, and those after it that can be keys.
    pub(super) fn listed(&self, from: usize, end: usize, next: usize, hits: &mut Vec<Hit>) -> Option<usize> {
        let (mut from, mut end, mut next) = (from, end, next);
        let mut last = None;
        while self.mask(from, end, hits) {
            last = Some(next);
            let rest = self.line[next..].trim_start_matches(',').trim_start_matches(' ');
            let Some((quote, start)) = Quote::open(self.line, self.line.len() - rest.len()) else { break };
            let closed = quote.close(self.line, start);
            let word = &self.line[start..closed.0];
            let key = word.len() >= 6 && word.bytes().any(|byte| byte.is_ascii_digit());
            let apart = self.line[next..].starts_with(',');
            if !apart || !key || word.starts_with('-') || word.contains('/') {
                break;
            }
            (from, end, next) = (start, closed.0, closed.1);
        }
        last
    }

    /// The words behind `--api-key`: the first, and those after it that can be keys.
    pub(super) fn words(&self, at: usize, hits: &mut Vec<Hit>) -> Option<usize> {
        let mut start = at;
        let mut last = None;
        loop {
            let end = values::bare(self.line, start);
            let word = &self.line[start..end];
            let key = word.len() >= 6 && word.bytes().any(|byte| byte.is_ascii_digit());
            if word.is_empty() || word.starts_with('-') || !(last.is_none() || key) {
                return last;
            }
            if !self.mask(start, end, hits) {
                return last;
            }
            last = Some(end);
            start = end + self.line[end..].len() - self.line[end..].trim_start_matches(' ').len();
            if start == end {
                return last;
            }
        }
    }
}
