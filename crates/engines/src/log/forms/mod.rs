//! The forms in which people hand a log on, made plain again: lines a terminal broke at its edge, several containers in
//! one stream, exports with the newest line first, records that a log collector wrote behind each other.
//!
//! A few hundred lines decide; a log that is plain costs no more than that look. What is made plain keeps the numbers its
//! lines have in the file.

mod begins;
mod columns;
mod records;
mod renumber;
mod reversed;
mod streams;

use std::borrow::Cow;
use std::collections::BTreeMap;

use intriage_case::LogText;

/// Lines from the start of a text that are looked at to tell its form.
const LOOKED_AT: usize = 400;
/// Bytes of them.
const LOOKED_AT_BYTES: usize = 128 << 10;

/// Logs made plain, and which lines of their files they consist of.
pub(crate) struct Pasted {
    /// The logs; those of one file are called after it and their container: `server.log[vllm-1]`.
    pub(crate) logs: Vec<LogText>,
    /// What a reader should know.
    pub(crate) notes: Vec<String>,
    /// By name of a log: the number in the file of each of its lines. Absent where they are the same.
    numbers: BTreeMap<String, Vec<u32>>,
}

impl Pasted {
    /// Makes logs plain; `None` where all of them are.
    pub(crate) fn of<'a>(logs: impl IntoIterator<Item = &'a LogText> + Clone) -> Option<Self> {
        let forms: Vec<Option<Form<'_>>> = logs.clone().into_iter().map(|log| Form::of(&log.text)).collect();
        if forms.iter().all(Option::is_none) {
            return None;
        }
        let mut pasted = Self { logs: Vec::new(), notes: Vec::new(), numbers: BTreeMap::new() };
        for (log, form) in logs.into_iter().zip(forms) {
            match form {
                None => pasted.logs.push(log.clone()),
                Some(form) => pasted.add(&log.name, form),
            }
        }
        Some(pasted)
    }

    fn add(&mut self, file: &str, form: Form<'_>) {
        let names: Vec<&str> =
            form.streams.iter().map(|s| s.name.as_str()).filter(|n| !n.is_empty()).collect();
        if names.len() > 1 {
            let all = names.join(", ");
            self.notes.push(format!("{file} holds several containers, each read as a log of its own: {all}"));
        }
        if form.turned {
            self.notes.push(format!("{file} begins with its newest line: it was read from its end"));
        }
        if form.joined {
            self.notes.push(format!("lines of {file} were broken at a fixed width: they were joined"));
        }
        let several = form.streams.len() > 1;
        for stream in form.streams {
            let name = if several { format!("{file}[{}]", stream.name) } else { file.to_owned() };
            if let Some(numbers) = stream.numbers {
                self.numbers.insert(name.clone(), numbers);
            }
            self.logs.push(LogText { name, text: stream.text.into_owned() });
        }
    }

    /// The number in its file of a line of a plain log.
    fn number(&self, log: &str, line: u32) -> u32 {
        let Some(numbers) = self.numbers.get(log) else { return line };
        let at = (line as usize).saturating_sub(1).min(numbers.len().saturating_sub(1));
        numbers.get(at).copied().unwrap_or(line)
    }
}

/// Whether a log is a container's share of a file: it is of no rotation.
pub(super) fn is_share(name: &str) -> bool {
    name.ends_with(']') && name.contains('[')
}

/// One writer's lines.
struct Stream<'a> {
    /// Whose; empty where nobody says.
    name: String,
    text: Cow<'a, str>,
    /// The number in the file of each line; absent where they are the same.
    numbers: Option<Vec<u32>>,
}

impl Stream<'_> {
    /// The same writer's lines, changed: `order` has for each line the one it was before, from 1.
    fn becomes(&mut self, text: String, order: Option<Vec<u32>>) {
        self.text = Cow::Owned(text);
        let Some(order) = order else { return };
        self.numbers = Some(match &self.numbers {
            None => order,
            Some(before) => order.iter().map(|line| at(before, *line)).collect(),
        });
    }
}

/// The entry of a line, from 1.
fn at(numbers: &[u32], line: u32) -> u32 {
    numbers.get((line as usize).saturating_sub(1)).copied().unwrap_or(line)
}

/// A text that is not plain.
struct Form<'a> {
    streams: Vec<Stream<'a>>,
    joined: bool,
    turned: bool,
}

impl<'a> Form<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let whole = || vec![Stream { name: String::new(), text: Cow::Borrowed(text), numbers: None }];
        let mut form = Self { streams: Vec::new(), joined: false, turned: false };
        for mut stream in records::streams(text).unwrap_or_else(whole) {
            form.join(&mut stream);
            if let Some((turned, order)) = reversed::turned(&stream.text) {
                stream.becomes(turned, Some(order));
                form.turned = true;
            }
            let Some(shares) = streams::shares(&stream.text) else {
                form.streams.push(stream);
                continue;
            };
            for share in shares {
                let mut part =
                    Stream { name: share.name, text: Cow::Borrowed(""), numbers: stream.numbers.clone() };
                part.becomes(share.text, Some(share.lines));
                form.join(&mut part);
                form.streams.push(part);
            }
        }
        let plain = form.streams.len() == 1 && matches!(form.streams[0].text, Cow::Borrowed(_));
        (!plain).then_some(form)
    }

    fn join(&mut self, stream: &mut Stream<'_>) {
        if let Some(text) = columns::joined(&stream.text) {
            stream.becomes(text, None);
            self.joined = true;
        }
    }
}

/// The first lines of a text that hold anything, without carriage returns.
fn first_lines(text: &str) -> Vec<&str> {
    let mut room = LOOKED_AT_BYTES;
    let lines = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    lines
        .take_while(|line| {
            let fits = line.len() < room;
            room = room.saturating_sub(line.len() + 1);
            fits
        })
        .filter(|line| !line.trim().is_empty())
        .take(LOOKED_AT)
        .collect()
}

/// The last lines of a text.
fn last_lines(text: &str) -> Vec<&str> {
    let from = text.len().saturating_sub(LOOKED_AT_BYTES);
    let from = (from..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let lines: Vec<&str> = text[from..].split('\n').skip(usize::from(from > 0)).collect();
    lines[lines.len().saturating_sub(LOOKED_AT)..].to_vec()
}

#[cfg(test)]
mod tests;
