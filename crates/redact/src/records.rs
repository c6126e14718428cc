//! Records of container runtimes: a long line is cut into several, and a quote that is open goes on in the next.

use crate::hits::{Hit, With, ends_in_mask, is_mask};
use crate::prefixes::Own;
use crate::values::Quote;

/// How docker's log driver begins a record.
const DOCKER: &str = "{\"log\":\"";

/// A quoted value that a runtime cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    quote: Quote,
    /// `o` or `e`.
    stream: u8,
    secret: bool,
}

/// One record: what of it is the program's own text.
pub(crate) struct Record {
    stream: u8,
    start: usize,
    end: usize,
    /// Whether the line goes on in the next record.
    partial: bool,
}

impl Cut {
    /// The value that is still open at the end of a record, judged by what stands there in its place.
    pub(crate) fn opened(written: &str) -> Option<Self> {
        let record = Record::of(written).filter(|record| record.partial)?;
        let content = &written[record.start..record.end];
        let mask = record.start + ends_in_mask(content)?;
        let quote = Quote::ending_at(written, mask)?;
        let secret = content.ends_with("[redacted]");
        Some(Self { quote, stream: record.stream, secret })
    }

    /// Adds what of this line belongs to it.
    pub(crate) fn find(self, line: &str, hits: &mut Vec<Hit>) {
        let Some(record) = Record::of(line).filter(|record| record.stream == self.stream) else { return };
        let end = self.quote.close(line, record.start).0.min(record.end);
        // What ends the line in the record is no part of the value.
        let text = line[record.start..end].strip_suffix("\\n").unwrap_or(&line[record.start..end]);
        if !text.is_empty() {
            let with = if self.secret { With::Mask } else { With::Characters { quoted: false } };
            hits.push(Hit { start: record.start, end: record.start + text.len(), with, rule: "cut-value" });
        }
    }

    /// Whether it is still open behind a line, as it is written.
    pub(crate) fn goes_on(self, written: &str) -> bool {
        let Some(record) = Record::of(written) else { return false };
        let all = || is_mask(&written[record.start..record.end]);
        record.stream != self.stream || record.partial && all()
    }
}

impl Record {
    /// Reads `2026-11-16T07:40:21.1Z stderr P …` or `{"log":"…","stream":"stderr",…}`.
    pub(crate) fn of(line: &str) -> Option<Self> {
        if is_docker(line) {
            let end = docker_end(line)?;
            let content = &line[DOCKER.len()..end];
            let stream = line[end..].split_once("\"stream\":\"std")?.1.bytes().next()?;
            return Some(Self { stream, start: DOCKER.len(), end, partial: !content.ends_with("\\n") });
        }
        if !line.starts_with(|c: char| c.is_ascii_digit()) || line.as_bytes().get(10) != Some(&b'T') {
            return None;
        }
        let (time, rest) = line.split_once(' ')?;
        let [b's', b't', b'd', stream @ (b'o' | b'e'), _, _, b' ', kind @ (b'P' | b'F'), b' ', ..] =
            rest.as_bytes()
        else {
            return None;
        };
        let start = time.len() + 1 + "stdout P ".len();
        let end = line.strip_suffix('\r').unwrap_or(line).len();
        Some(Self { stream: *stream, start, end, partial: *kind == b'P' })
            .filter(|record| record.start <= record.end)
    }

    /// The program's own text, without what ends its line.
    pub(crate) fn own(&self, line: &str) -> Own {
        let text = &line[self.start..self.end];
        let end = if is_docker(line) { text.strip_suffix("\\n").unwrap_or(text) } else { text };
        Own { start: self.start, end: self.start + end.len(), record: false }
    }
}

/// Whether this is a record of docker's log driver.
pub(crate) fn is_docker(line: &str) -> bool {
    line.starts_with(DOCKER)
}

/// Where a program's text ends behind a place: at the line's end, or where docker's record has its own.
pub(crate) fn text_end(line: &str, from: usize) -> usize {
    let Some(end) = docker_end(line).filter(|end| *end >= from) else { return line.len() };
    line[from..end].strip_suffix("\\n").map_or(end, |text| from + text.len())
}

/// Where the text of docker's record ends; `None` where this is none.
fn docker_end(line: &str) -> Option<usize> {
    let text = line.strip_prefix(DOCKER)?;
    let mut escaped = false;
    let end = text.bytes().position(|byte| match byte {
        _ if escaped => {
            escaped = false;
            false
        }
        b'\\' => {
            escaped = true;
            false
        }
        byte => byte == b'"',
    })?;
    Some(DOCKER.len() + end)
}

#[cfg(test)]
mod tests {
    use crate::Redactor;

    #[test]
    fn a_prompt_that_a_runtime_cut_is_hidden_in_all_its_records() {
        for (text, safe) in [
            (
                "2026-11-16T07:40:21.1Z stderr P Received request: prompt: 'who is\n2026-11-16T07:40:21.1Z stdout F other\n2026-11-16T07:40:21.1Z stderr P  it and\n2026-11-16T07:40:21.1Z stderr F  what', params: 7\n2026-11-16T07:40:21.1Z stderr F ready\n",
                "2026-11-16T07:40:21.1Z stderr P Received request: prompt: '[6 characters]\n2026-11-16T07:40:21.1Z stdout F other\n2026-11-16T07:40:21.1Z stderr P [7 characters]\n2026-11-16T07:40:21.1Z stderr F [5 characters]', params: 7\n2026-11-16T07:40:21.1Z stderr F ready\n",
            ),
            (
                "{\"log\":\"prompt: 'who is\",\"stream\":\"stderr\",\"time\":\"2026\"}\n{\"log\":\" it', n=7\\n\",\"stream\":\"stderr\",\"time\":\"2026\"}\n{\"log\":\"ready\\n\",\"stream\":\"stderr\",\"time\":\"2026\"}\n",
                "{\"log\":\"prompt: '[6 characters]\",\"stream\":\"stderr\",\"time\":\"2026\"}\n{\"log\":\"[3 characters]', n=7\\n\",\"stream\":\"stderr\",\"time\":\"2026\"}\n{\"log\":\"ready\\n\",\"stream\":\"stderr\",\"time\":\"2026\"}\n",
            ),
            (
                "{\"log\":\"api_key='let\",\"stream\":\"stdout\"}\n{\"log\":\"mein\\n\",\"stream\":\"stdout\"}\n",
                "{\"log\":\"api_key='[redacted]\",\"stream\":\"stdout\"}\n{\"log\":\"[redacted]\\n\",\"stream\":\"stdout\"}\n",
            ),
        ] {
            assert_eq!(Redactor::new().text(text), safe);
            assert_eq!(Redactor::new().text(safe), safe);
        }
    }
}
