//! Records of log collectors: JSON objects behind each other, with or without line ends, in lists, or inside an answer of
//! CloudWatch, Loki or Elasticsearch.
//!
//! Each record becomes a line of a node's log (`2026-11-15T02:26:49.1Z stderr F …`), which keeps its time and is read as
//! any other. Objects of Docker and of the journal, one a line, are read where they stand.

mod record;
mod time;

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::Stream;
use crate::log::wrapping::is_one_record_a_line;
use record::{Record, entries};

/// Writers of one text at most.
const MOST: usize = 64;
/// How often a damaged text may be read over while its next record is looked for.
const READINGS: usize = 4;

/// The writers of a text that consists of records; `None` for any other text.
pub(super) fn streams(text: &str) -> Option<Vec<Stream<'static>>> {
    let start = text.trim_start();
    let listed = start.strip_prefix('[').is_some_and(|rest| rest.trim_start().starts_with(['{', '[']));
    if !listed && !start.starts_with('{') {
        return None;
    }
    let first = first(start)?;
    if first.writer.is_empty() && is_one_record_a_line(text) {
        return None;
    }
    let mut writers = Writers::default();
    let mut lines = LineNumbers { text, at: 0, number: 1 };
    values(text, |part| match part {
        Part::Value(value) => entries(value, &mut |record, at| writers.add(&record, lines.of(at))),
        Part::Other(rest, at) => writers.add(&Record::text(rest), lines.of(at)),
    });
    Some(writers.streams())
}

/// The first record of a text.
fn first(text: &str) -> Option<Record> {
    let value = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>().next()?.ok()?;
    let mut found = None;
    entries(value, &mut |record, _| {
        found.get_or_insert(record);
    });
    found
}

enum Part<'a> {
    Value(&'a RawValue),
    /// A line that is no record, and where it stands.
    Other(&'a str, *const u8),
}

/// Calls `found` for every value and for the lines between them that are none.
fn values<'a>(text: &'a str, mut found: impl FnMut(Part<'a>)) {
    let (mut at, mut wasted) = (0, 0);
    while at < text.len() {
        let rest = &text[at..];
        let readable = wasted <= READINGS * text.len() && rest.trim_start().starts_with(['{', '[']);
        let mut read = 0;
        if readable {
            let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
            let damaged = loop {
                match stream.next() {
                    Some(Ok(value)) => found(Part::Value(value)),
                    Some(Err(error)) => break Some(error.line()),
                    None => break None,
                }
                read = stream.byte_offset();
            };
            let looked = damaged.and_then(|line| memchr::memchr_iter(b'\n', rest.as_bytes()).nth(line - 1));
            wasted += looked.unwrap_or(rest.len()).saturating_sub(read);
        }
        let other = &rest[read..];
        let end = other.find('\n').unwrap_or(other.len());
        // Commas between records are nobody's message.
        let line = other[..end].trim_matches([',', ' ', '\r', '\t']);
        if !line.is_empty() {
            found(Part::Other(line, line.as_ptr()));
        }
        at += read + end + 1;
    }
}

/// Numbers of lines, asked for in order.
struct LineNumbers<'a> {
    text: &'a str,
    at: usize,
    number: u32,
}

impl LineNumbers<'_> {
    /// The line that holds this place of the text.
    fn of(&mut self, place: *const u8) -> u32 {
        let place = (place as usize).saturating_sub(self.text.as_ptr() as usize);
        if let Some(between) = self.text.as_bytes().get(self.at..place) {
            self.number += memchr::memchr_iter(b'\n', between).count() as u32;
            self.at = place;
        }
        self.number
    }
}

#[derive(Default)]
struct Writers {
    all: BTreeMap<String, (String, Vec<u32>)>,
}

impl Writers {
    fn add(&mut self, record: &Record, line: u32) {
        let room = self.all.len() < MOST || self.all.contains_key(&record.writer);
        // One writer too many speaks for nobody.
        let name = if room { record.writer.clone() } else { String::new() };
        let (text, lines) = self.all.entry(name).or_default();
        for message in record.lines() {
            text.push_str(&message);
            text.push('\n');
            lines.push(line);
        }
    }

    fn streams(self) -> Vec<Stream<'static>> {
        let stream = |(name, (text, lines)): (String, (String, Vec<u32>))| Stream {
            name,
            text: text.into(),
            numbers: Some(lines),
        };
        self.all.into_iter().map(stream).collect()
    }
}

#[cfg(test)]
mod tests;
