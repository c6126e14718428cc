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

/// Names of a program's own line in the JSON that journals, clouds and shippers make of it.
const MESSAGES: [&str; 6] =
    ["\"log\"", "\"MESSAGE\"", "\"textPayload\"", "\"message\"", "\"msg\"", "\"event\""];

/// The program's own text where a whole line is one JSON object around it: `{"MESSAGE":"…","_PID":"1"}`.
pub(crate) fn json_text(line: &str) -> Option<Own> {
    if !line.starts_with('{') || !line.trim_end().ends_with('}') {
        return None;
    }
    MESSAGES.iter().find_map(|name| {
        let at = line.find(name)? + name.len();
        let value = line[at..].trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
        let start = line.len() - value.len();
        let text = &value[..string_end(value)?];
        let text = text.strip_suffix("\\n").unwrap_or(text);
        Some(Own { start, end: start + text.len(), record: false })
    })
}

/// Where a program's text ends behind a place: at the line's end, or where the record around it has its own.
pub(crate) fn text_end(line: &str, from: usize) -> usize {
    if let Some(own) = json_text(line).filter(|own| (own.start..=own.end).contains(&from)) {
        return own.end;
    }
    let Some(end) = docker_end(line).filter(|end| *end >= from) else { return line.len() };
    line[from..end].strip_suffix("\\n").map_or(end, |text| from + text.len())
}

/// Where the text of docker's record ends; `None` where this is none.
fn docker_end(line: &str) -> Option<usize> {
    Some(DOCKER.len() + string_end(line.strip_prefix(DOCKER)?)?)
}

/// Where a JSON string ends that begins with this text.
fn string_end(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| match byte {
        _ if escaped => {
            escaped = false;
            false
        }
        b'\\' => {
            escaped = true;
            false
        }
        byte => byte == b'"',
    })
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

    #[test]
    fn secrets_and_prompts_in_a_journals_or_a_clouds_records_are_hidden_and_nothing_behind_them() {
        let key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\ncanary07bGljIGtleSBvZiBub2JvZHkgYXQgYWxsLCByZWFsbHk=\n-----END PRIVATE KEY-----";
        let asked = "User: canary08 is what I asked\nPrompt: canary09\nINFO 11-15 02:45:00 [logger.py:40] Received request 1: prompt: 'canary10 cut he";
        let line = "INFO 11-15 02:45:10 [loggers.py:259] Engine 000: Running: 4 reqs, Waiting: 60 reqs";
        for (before, behind) in [
            ("{\"MESSAGE\":\"", "\",\"_PID\":\"1\"}"),
            ("{\"_PID\": \"1\", \"MESSAGE\": \"", "\"}"),
            ("{\"textPayload\":\"", "\",\"severity\":\"INFO\"}"),
            ("{\"log\": \"", "\\n\", \"stream\": \"stderr\", \"time\": \"2026-11-15T02:43:00Z\"}"),
        ] {
            let record = |text: &str| format!("{before}{text}{behind}\n");
            let text: String = [key, asked, line].iter().flat_map(|text| text.lines()).map(record).collect();
            let safe = Redactor::new().text(&text).into_owned();
            assert!(!safe.contains("canary") && !safe.contains("MIIEvQ"), "{safe}");
            assert!(safe.ends_with(&record(line)), "{safe}");
            assert_eq!(safe.lines().filter(|line| line.ends_with(behind)).count(), 8, "{safe}");
            assert_eq!(Redactor::new().text(&safe), safe);
        }
    }
}
