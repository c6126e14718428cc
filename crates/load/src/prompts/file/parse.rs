//! The formats of files, read into conversations.

use serde::Deserialize;

use super::{FileError, Format};

/// Who speaks, by the names that published files use.
const USER: [&str; 5] = ["user", "human", "tool", "function", "observation"];
const ANSWER: [&str; 6] = ["assistant", "gpt", "chatgpt", "bing", "bard", "model"];
const SYSTEM: [&str; 2] = ["system", "developer"];

/// What a file says of one session.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    pub(super) system: Option<String>,
    /// What the user said, and what was answered where it is recorded.
    pub(super) turns: Vec<(String, Option<String>)>,
    /// Tokens to ask for, where told.
    pub(super) output: Option<u32>,
}

/// An entry of a file, in any of the shapes.
#[derive(Debug, Deserialize)]
struct Entry {
    conversations: Option<Vec<Said>>,
    messages: Option<Vec<Said>>,
    prompt: Option<String>,
    output_len: Option<u32>,
    max_tokens: Option<u32>,
    output_tokens: Option<u32>,
}

#[derive(Debug, Deserialize)]
struct Said {
    #[serde(alias = "from")]
    role: String,
    #[serde(alias = "value", default)]
    content: Option<Content>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Debug, Deserialize)]
struct Part {
    #[serde(default)]
    text: String,
}

/// Reads a file's bytes; `file` is what errors call it.
pub(super) fn parse(bytes: &[u8], file: &str, format: Format) -> Result<Vec<Conversation>, FileError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let bad = |line: usize, why: String| FileError::Line { file: file.to_owned(), line, why };
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let lines = memchr::memchr_iter(b'\n', bytes.get(..e.valid_up_to()).unwrap_or_default()).count();
        bad(lines + 1, "not UTF-8".to_owned())
    })?;
    let format = match (format, text.trim_start().as_bytes().first()) {
        (Format::Detect, Some(b'[')) => Format::Json,
        (Format::Detect, Some(b'{')) => Format::JsonLines,
        (Format::Detect, _) => Format::Text,
        (told, _) => told,
    };
    let lines = || text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    match format {
        Format::Json => {
            let entries: Vec<Entry> = serde_json::from_str(text).map_err(|e| bad(e.line(), e.to_string()))?;
            let read = entries.into_iter().enumerate().map(|(index, entry)| {
                let bad = |why| FileError::Entry { file: file.to_owned(), entry: index + 1, why };
                conversation(entry).map_err(bad)
            });
            read.collect()
        }
        Format::JsonLines => lines()
            .map(|(index, line)| {
                let entry = serde_json::from_str(line).map_err(|e| e.to_string());
                entry.and_then(conversation).map_err(|why| bad(index + 1, why))
            })
            .collect(),
        Format::Text | Format::Detect => {
            let prompt = |line: &str| (line.trim().to_owned(), None);
            Ok(lines()
                .map(|(_, line)| Conversation { turns: vec![prompt(line)], ..Conversation::default() })
                .collect())
        }
    }
}

fn conversation(entry: Entry) -> Result<Conversation, String> {
    let mut read = Conversation {
        output: entry.output_len.or(entry.max_tokens).or(entry.output_tokens),
        ..Conversation::default()
    };
    match (entry.conversations.or(entry.messages), entry.prompt) {
        (Some(said), _) => said.into_iter().try_for_each(|said| read.hear(said))?,
        (None, Some(prompt)) if !prompt.trim().is_empty() => read.turns.push((prompt, None)),
        (None, Some(_)) => {}
        (None, None) => return Err("none of \"prompt\", \"messages\", \"conversations\" is there".to_owned()),
    }
    Ok(read)
}

impl Conversation {
    fn hear(&mut self, said: Said) -> Result<(), String> {
        let text = match said.content {
            Some(Content::Text(text)) => text,
            Some(Content::Parts(parts)) => parts.into_iter().map(|p| p.text).collect::<Vec<_>>().join("\n"),
            None => String::new(),
        };
        let role = said.role.as_str();
        let known = |names: &[&str]| names.contains(&role);
        if !known(&USER) && !known(&ANSWER) && !known(&SYSTEM) {
            let all = [&SYSTEM[..], &USER, &ANSWER].concat().join(", ");
            return Err(format!("nobody is called \"{role}\"; known are {all}"));
        }
        if text.trim().is_empty() {
            return Ok(());
        }
        match self.turns.last_mut() {
            None if known(&SYSTEM) => append(&mut self.system, text),
            // What is said before the first question is no answer to anything.
            None if known(&ANSWER) => {}
            Some((_, answer)) if known(&ANSWER) => append(answer, text),
            Some((user, None)) => {
                user.push('\n');
                user.push_str(&text);
            }
            _ => self.turns.push((text, None)),
        }
        Ok(())
    }
}

fn append(to: &mut Option<String>, text: String) {
    *to = Some(match to.take() {
        Some(before) => format!("{before}\n{text}"),
        None => text,
    });
}
