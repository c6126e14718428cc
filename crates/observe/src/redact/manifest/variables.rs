//! Variables that only a command makes secrets: `--api-key $(K)`, whatever `K` is called.

use std::collections::BTreeSet;

use intriage_engines::{ManifestTexts, Passage};
use intriage_redact::Redactor;

use super::draft::{Draft, MASK};

/// Hides the values of variables that stand where a command has a secret.
pub(super) fn hide(draft: &mut Draft<'_>, said: &ManifestTexts, redactor: &Redactor) {
    for name in secret_names(said, redactor) {
        for (_, value) in said.variables.iter().filter(|(known, _)| *known == name) {
            draft.hide(value);
        }
        // `NAME=value`, as a unit and a list of compose write it.
        for text in said.words.iter().flatten().chain(&said.lines).filter(|text| text.text.contains(&name)) {
            draft.rewrite(text, |line| without_value(line, &name));
        }
    }
}

/// The variables whose place in some command is hidden.
fn secret_names(said: &ManifestTexts, redactor: &Redactor) -> BTreeSet<String> {
    let mut secret = BTreeSet::new();
    let listed = said.words.iter().map(|words| words.iter().collect::<Vec<_>>());
    for words in listed.chain(said.lines.iter().map(|line| vec![line])) {
        let mut names = Vec::new();
        let texts: Vec<String> = words.iter().map(|word| marked(word, &mut names)).collect();
        if names.is_empty() {
            continue;
        }
        let safe = match &texts[..] {
            [line] => redactor.command_line(line),
            _ => redactor.command_line(&texts.join("\0")),
        };
        let gone = names.into_iter().enumerate().filter(|(i, _)| !safe.contains(&marker(*i)));
        secret.extend(gone.map(|(_, name)| name));
    }
    secret
}

/// What stands for a variable while a command is looked at: a word no rule knows.
fn marker(number: usize) -> String {
    format!("variable-{number}-of-it")
}

/// The text with a marker in place of `$(NAME)`, `${NAME}`, `${NAME:-default}` and `$NAME`, and the names in order.
fn marked(text: &Passage, names: &mut Vec<String>) -> String {
    let mut out = String::new();
    let mut rest = text.text.as_str();
    while let Some((before, behind)) = rest.split_once('$') {
        out.push_str(before);
        let (inside, close) = match behind.chars().next() {
            Some('(') => (&behind[1..], Some(')')),
            Some('{') => (&behind[1..], Some('}')),
            _ => (behind, None),
        };
        let length = inside.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        let end = match close {
            Some(close) => inside.find(close).map(|at| at + 1),
            None => Some(length),
        };
        if let Some(end) = end.filter(|end| length > 0 && *end >= length) {
            out.push_str(&marker(names.len()));
            names.push(inside[..length].to_owned());
            rest = &inside[end..];
        } else {
            out.push('$');
            rest = behind;
        }
    }
    out + rest
}

/// The line with what is assigned to a variable hidden.
fn without_value(line: &str, name: &str) -> String {
    let set = [name, "="].concat();
    let Some(at) = line.match_indices(&set).map(|(at, _)| at).find(|at| {
        line[..*at].chars().next_back().is_none_or(|c| c.is_whitespace() || matches!(c, '"' | '\''))
    }) else {
        return line.to_owned();
    };
    let (before, value) = line.split_at(at + set.len());
    let quote = line[..at].chars().next_back().filter(|c| matches!(c, '"' | '\''));
    let end = match quote {
        Some(quote) => value.find(quote),
        None => value.find(char::is_whitespace),
    };
    [before, MASK, &value[end.unwrap_or(value.len())..]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_ends_where_its_word_does() {
        assert_eq!(without_value("A=1 K=x y", "K"), "A=1 K=[redacted] y");
        assert_eq!(without_value("\"K=x y\" B=2", "K"), "\"K=[redacted]\" B=2");
        assert_eq!(without_value("MONK=x", "K"), "MONK=x");
    }
}
