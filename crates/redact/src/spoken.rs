//! Prompts and outputs without quotes: behind a name such as `Prompt:`, or behind whoever said them.

mod lines;
mod strings;

use crate::hits::{Hit, With, is_mask};
use crate::prefixes::Own;
use crate::quotations::quotation;
use crate::rules::Part;
use crate::scan::rule_name;

pub(crate) use lines::Spoken;
use strings::Strings;

/// What follows a prompt in the lines of engines; in lower case.
const NEXT: [&str; 14] = [
    ", params:",
    ", sampling_params",
    ", prompt_token",
    ", prompt_tokens",
    ", completion_tokens",
    ", generated text",
    ", generated_text",
    ", lora_request",
    ", max_tokens",
    ", max_new_tokens",
    ", n_predict",
    ", temperature",
    ", request_id",
    ", finish_reason",
];

/// Words that are all there is where there is no text, or that tell of a type in a program's own lines.
const NO_TEXT: [&str; 24] = [
    "none",
    "null",
    "nil",
    "true",
    "false",
    "n/a",
    "empty",
    "missing",
    "required",
    "ok",
    "on",
    "off",
    "enabled",
    "disabled",
    "str",
    "string",
    "int",
    "bool",
    "any",
    "list",
    "dict",
    "bytes",
    "prompttype",
    "unknown",
];

/// How a sentence about a prompt begins, or a type; in lower case.
const ABOUT: [&str; 16] = [
    "field required",
    "input should",
    "too long",
    "must be",
    "must not",
    "must have",
    "should be",
    "exceeds",
    "cannot be",
    "length of",
    "length ",
    "optional[",
    "union[",
    "list[",
    "str |",
    "str =",
];

/// What counts: behind a number these make no text of it.
const UNITS: [&str; 16] = [
    "token",
    "tokens",
    "tok",
    "id",
    "ids",
    "char",
    "chars",
    "characters",
    "words",
    "bytes",
    "kib",
    "mib",
    "ms",
    "s",
    "reqs",
    "requests",
];

/// The texts of one line, looked for from left to right.
pub(crate) struct Texts<'a> {
    line: &'a str,
    own: Own,
    strings: Strings<'a>,
    /// Up to here everything is hidden.
    done: usize,
}

impl<'a> Texts<'a> {
    pub(crate) fn new(line: &'a str, own: Own) -> Self {
        Self { line, own, strings: Strings::new(line), done: 0 }
    }

    /// Looks behind a prompt's name and its sign, which stand between two places: `Prompt: `.
    pub(crate) fn named(&mut self, at: usize, behind: usize, hits: &mut Vec<Hit>) {
        let sign = self.line.as_bytes()[behind - 1];
        let rest = &self.line[behind..];
        if at < self.done || !is_apart(self.line, at) || rest.starts_with(char::from(sign)) {
            return;
        }
        let start = self.line.len() - rest.trim_start_matches([' ', '\t']).len();
        let code = sign == b'=' && is_code(&self.line[start..]);
        if !code {
            self.take(start, at, rule_name(Part::BarePrompt), hits);
        }
    }

    /// Looks behind the name of somebody who speaks, where it begins the line: `Assistant: `.
    pub(crate) fn said(&mut self, at: usize, behind: usize, hits: &mut Vec<Hit>) {
        let first = self.own.start <= at
            && self.line[self.own.start..at]
                .bytes()
                .all(|b| matches!(b, b' ' | b'\t' | b'-' | b'*' | b'#' | b'>'));
        if !first || at < self.done {
            return;
        }
        let value = self.line[behind..self.own.end.max(behind)].trim_start_matches(['*', ' ', '\t']);
        let start = self.own.end.max(behind) - value.len();
        // A user alone is an account, and a system has a name; both speak in sentences.
        let speaks = match self.line.as_bytes()[at].to_ascii_lowercase() {
            b'u' => value.trim_end().contains(' '),
            b's' => value.starts_with("You ") || value.starts_with("you "),
            _ => true,
        };
        if speaks {
            self.take(start, at, rule_name(Part::Dialogue), hits);
        }
    }

    /// Hides the text that begins at `start`, behind a name at `name`.
    fn take(&mut self, start: usize, name: usize, rule: &'static str, hits: &mut Vec<Hit>) {
        let with = With::Characters { quoted: false };
        if start >= self.own.end {
            return;
        }
        if let Some(quoted) = quotation(self.line, start) {
            if quoted.start < quoted.end {
                hits.push(Hit { start: quoted.start, end: quoted.end, with, rule });
            }
            self.done = quoted.next;
            return;
        }
        if !is_text(&self.line[start..self.own.end]) {
            return;
        }
        let end = self.strings.end_at(name).min(self.own.end);
        let Some(value) = self.line.get(start..end).filter(|value| is_text(value)) else { return };
        let value = before_next(value).trim_end();
        let value = value.strip_suffix("\\n").unwrap_or(value).trim_end();
        if !value.is_empty() && !is_mask(value) {
            hits.push(Hit { start, end: start + value.len(), with, rule });
            self.done = start + value.len();
        }
    }
}

/// Whether no word goes on here: `_prompt` ends one, and so does `\n` of a quoted text.
fn is_apart(line: &str, at: usize) -> bool {
    let before = &line.as_bytes()[..at];
    !before.last().is_some_and(u8::is_ascii_alphanumeric) || matches!(before, [.., b'\\', b'n' | b't' | b'r'])
}

/// The value up to the next field of an engine's line.
fn before_next(value: &str) -> &str {
    let end = value.match_indices(", ").find(|(at, _)| {
        let rest = &value.as_bytes()[*at..];
        NEXT.iter()
            .any(|next| rest.len() >= next.len() && rest[..next.len()].eq_ignore_ascii_case(next.as_bytes()))
    });
    end.map_or(value, |(at, _)| &value[..at])
}

/// Whether a value can be what somebody said: no count, no word for nothing, no type and no list.
fn is_text(value: &str) -> bool {
    let value = value.trim();
    let Some(first) = value.chars().next() else { return false };
    if matches!(first, '[' | '{' | '"' | '\'' | '\\' | ',' | ';' | ')' | ']' | '}' | '|' | '=' | '%') {
        return false;
    }
    let near = value[..value.floor_char_boundary(64)].to_ascii_lowercase();
    let word = near.trim_end_matches([',', '.', ')', ';', '}', ']']);
    let listed = near.split([',', ')', ';', '}', ']']).next().unwrap_or_default();
    let nothing = NO_TEXT.contains(&word) || ["none", "null", "true", "false"].contains(&listed);
    !(nothing || ABOUT.iter().any(|about| near.starts_with(about)) || is_figure(&near))
}

/// `512`, `512 tokens`, `7,max=9`, `0.4 s | 12`: a number, and behind it a unit, a sign or another name.
fn is_figure(near: &str) -> bool {
    let signed = near.trim_start_matches(['-', '+', '~', '<', '>', '$']);
    let digits = signed.bytes().take_while(|b| b.is_ascii_digit() || b".,:/".contains(b)).count();
    if digits == 0 || !signed.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let rest = &signed[digits..];
    let word = rest.trim_start_matches(' ').split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next();
    let word = word.unwrap_or_default();
    let behind = &rest.trim_start_matches(' ')[word.len()..];
    match rest.as_bytes().first() {
        None => true,
        Some(b' ') if word.is_empty() => true,
        Some(b' ') => UNITS.contains(&word) || behind.starts_with(['=', ':']),
        Some(byte) => !byte.is_ascii_alphabetic() || UNITS.contains(&word) || behind.starts_with(['=', ':']),
    }
}

/// Whether a line of a program gives a prompt on, as a traceback quotes it: `prompt=request.prompt,`.
fn is_code(rest: &str) -> bool {
    let word = rest.trim_end().trim_end_matches([',', ')', ']']);
    let of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_.()[]".contains(&byte);
    let joined =
        word.contains(['_', '(', '[']) || word.split_once('.').is_some_and(|(_, name)| !name.is_empty());
    let same = ["prompt", "prompts", "text", "inputs", "value"].contains(&word);
    !word.is_empty() && word.bytes().all(of_name) && (joined || same)
}

#[cfg(test)]
mod tests;
