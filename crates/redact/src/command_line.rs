//! Command lines: flags that take secrets, and settings of the environment before them.

use crate::Redactor;
use crate::assigned::is_folder;
use crate::hits::{Hit, With};
use crate::names::{self, Meaning};
use crate::rules::{Extent, Part};
use crate::scan::rule_name;
use crate::values;

/// Flags that take a secret only in some programs.
const OF_PROGRAMS: [(&str, &str); 13] = [
    ("mysql", "-p"),
    ("mysqldump", "-p"),
    ("curl", "-u"),
    ("curl", "--user"),
    ("curl", "-U"),
    ("curl", "--proxy-user"),
    ("curl", "-b"),
    ("mongo", "-p"),
    ("mongosh", "-p"),
    ("sshpass", "-p"),
    ("redis-cli", "-a"),
    ("login", "-p"),
    ("wget", "--http-passwd"),
];

/// The line with its secrets hidden.
pub(crate) fn redact(redactor: &Redactor, line: &str) -> String {
    redactor.lines(line, redactor.scope(), find).into_owned()
}

/// Adds the secrets that only a command line shows.
pub(crate) fn find(line: &str, hits: &mut Vec<Hit>) {
    let words = words(line);
    let mask = |start: usize, end: usize, hits: &mut Vec<Hit>| {
        let (start, end) = unquoted(line, start, end);
        if start < end && !is_reference(&line[start..end]) {
            hits.push(Hit { start, end, with: With::Mask, rule: "command-line" });
        }
    };
    let programs: Vec<(&str, &str)> = OF_PROGRAMS
        .into_iter()
        .filter(|(program, _)| {
            words.iter().any(|(from, to)| line[*from..*to].rsplit('/').next() == Some(*program))
        })
        .collect();
    for (i, (from, to)) in words.iter().copied().enumerate() {
        let (start, to) = unquoted(line, from, to);
        let word = &line[start..to];
        let (name, is_assigned) = word.split_once('=').map_or((word, false), |(name, _)| (name, true));
        let is_flag = name.starts_with('-') && name.len() > 1;
        let is_setting = is_assigned && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let following =
            words[i + 1..].iter().copied().take_while(|(from, _)| !line[*from..].starts_with('-'));
        if let Some((_, flag)) = programs.iter().find(|(_, flag)| word == *flag || is_short(word, flag)) {
            match words.get(i + 1) {
                _ if word != *flag => mask(start + flag.len(), to, hits),
                Some((from, to)) => mask(*from, *to, hits),
                None => {}
            }
        }
        if !is_flag && !is_setting {
            continue;
        }
        let behind = start + name.len() + 1;
        let named = names::meaning(name, |meaning| !matches!(meaning, Meaning::Prompt { .. }));
        match named.map(|named| named.meaning) {
            Some(Meaning::Secret(_)) if is_assigned => {
                let rule = named.map_or("", |named| named.rule.name);
                if !is_folder(rule, name, &line[behind..to]) {
                    mask(behind, to, hits);
                }
            }
            Some(Meaning::Secret(Extent::Several)) => following.for_each(|(from, to)| mask(from, to, hits)),
            Some(Meaning::Secret(_)) => following.take(1).for_each(|(from, to)| mask(from, to, hits)),
            Some(Meaning::Perhaps | Meaning::Text) if is_flag => {
                let value = if is_assigned { Some((behind, to)) } else { words.get(i + 1).copied() };
                let tells = |(from, to): &(usize, usize)| {
                    let value = &line[*from..*to];
                    !value.starts_with(['-', '/']) && !value.bytes().all(|byte| byte.is_ascii_digit())
                };
                if let Some((from, to)) = value.filter(tells) {
                    mask(from, to, hits);
                }
            }
            _ => {}
        }
    }
}

/// Adds the secrets of commands that were logged, from the program at `at` to the line's end.
pub(crate) fn in_text(line: &str, at: usize, hits: &mut Vec<Hit>) {
    let mut program = None;
    let mut words = words(&line[at..]).into_iter().map(|(from, to)| (at + from, at + to)).peekable();
    while let Some((from, to)) = words.next() {
        let word = &line[from..to];
        let called = word.rsplit(['/', '"', '\'', '(', '`', '=']).next().unwrap_or(word);
        if OF_PROGRAMS.iter().any(|(known, _)| *known == called) {
            program = Some(called);
        } else if matches!(word, "&&" | "||" | "|" | "&") || word.ends_with([';', '.', ',']) {
            program = None;
        }
        let own = |(known, flag): &&(&str, &str)| {
            // Attached to its flag only what looks like one: `-uann:pw`, not `-unknown`.
            Some(*known) == program
                && (word == *flag || is_short(word, flag) && (word.contains(':') || *flag == "-p"))
        };
        let Some((_, flag)) = OF_PROGRAMS.iter().find(own) else { continue };
        let value = if word == *flag { words.peek().map(|(from, _)| *from) } else { Some(from + flag.len()) };
        let Some(start) = value.filter(|start| !line[*start..].starts_with('-')) else { continue };
        let start = start + usize::from(line[start..].starts_with(['"', '\'']));
        let end = values::bare(line, start);
        if start < end && !is_reference(&line[start..end]) {
            hits.push(Hit { start, end, with: With::Mask, rule: rule_name(Part::Program) });
        }
    }
}

/// `$KEY`, `${KEY}`, `$(KEY)` and `$(cat file)` name a secret; `${KEY:-letmein}` has one in it.
fn is_reference(value: &str) -> bool {
    let Some(rest) = value.strip_prefix('$') else { return false };
    let name = rest.strip_prefix('{').map_or(rest, |inside| inside.strip_suffix('}').unwrap_or(inside));
    rest.starts_with('(') || name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// `-uann:pw` is `-u ann:pw`.
fn is_short(word: &str, flag: &str) -> bool {
    flag.len() == 2 && !word.starts_with("--") && word.len() > 2 && word.starts_with(flag)
}

/// The words of a line as byte ranges, quotes included: as a shell splits them, or at NUL.
fn words(line: &str) -> Vec<(usize, usize)> {
    let nul = line.contains('\0');
    let mut words = Vec::new();
    let mut start = None;
    let (mut quote, mut escaped) = (None, false);
    for (i, c) in line.char_indices() {
        let apart = if nul { c == '\0' } else { quote.is_none() && !escaped && c.is_whitespace() };
        if apart {
            words.extend(start.take().map(|start| (start, i)));
            continue;
        }
        start = start.or(Some(i));
        match (quote, c) {
            _ if escaped => escaped = false,
            (None | Some('"'), '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            _ => {}
        }
    }
    words.extend(start.map(|start| (start, line.len())));
    words
}

/// Without the quotes around it.
fn unquoted(line: &str, start: usize, end: usize) -> (usize, usize) {
    let text = &line[start..end];
    let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'')) else { return (start, end) };
    let closed = text.len() > 1 && text.ends_with(quote);
    (start + 1, if closed { end - 1 } else { end })
}

#[cfg(test)]
mod tests {
    use crate::Redactor;

    fn command(line: &str) -> String {
        Redactor::new().command_line(line)
    }

    #[test]
    fn flags_keep_their_names_and_lose_their_secrets() {
        for (line, hidden) in [
            (
                "vllm serve m --api-key one two three --port 8000 --hf-token=x --max-num-seqs 4",
                "vllm serve m --api-key [redacted] [redacted] [redacted] --port 8000 --hf-token=[redacted] --max-num-seqs 4",
            ),
            (
                "x --api-key 'a b' --token \"q r\" -t 4",
                "x --api-key '[redacted]' --token \"[redacted]\" -t 4",
            ),
            (
                "HF_TOKEN='a b' FOO=1 vllm serve m --tokenizer t --max-tokens 5",
                "HF_TOKEN='[redacted]' FOO=1 vllm serve m --tokenizer t --max-tokens 5",
            ),
            (
                "curl -u ann:pw -H 'Authorization: Bearer letmein' http://localhost:8000/v1 -uann:pw",
                "curl -u [redacted] -H 'Authorization: Bearer [redacted]' http://localhost:8000/v1 -u[redacted]",
            ),
            (
                "vllm serve m --config '{\"api_key\": \"letmein\", \"n\": 3}'",
                "vllm serve m --config '{\"api_key\": \"[redacted]\", \"n\": 3}'",
            ),
            (
                "'API_KEY=a b' x --api-key ${KEY:-letmein} --port ${PORT:-80}",
                "'API_KEY=[redacted]' x --api-key [redacted] --port ${PORT:-80}",
            ),
            ("a\0--api-key\0one\0two\0--port\080", "a\0--api-key\0[redacted]\0[redacted]\0--port\080"),
        ] {
            assert_eq!(command(line), hidden);
            assert_eq!(command(hidden), hidden);
        }
    }

    #[test]
    fn what_a_diagnosis_reads_stays() {
        let line = "python3 -m vllm.entrypoints.openai.api_server --model /models/meta-llama/Llama-3.1-8B --tokenizer-mode auto \
                    --max-num-batched-tokens 8192 --ssl-keyfile /etc/x.key --host 0.0.0.0 --port 8000 -tp 4 --api-key $API_KEY";
        assert_eq!(command(line), line);
    }

    #[test]
    fn commands_in_a_log_lose_their_secrets_and_prose_nothing() {
        for (line, hidden) in [
            (
                "+ docker login -u ann -p letmein reg && docker run -p 8000:8000 x",
                "+ docker login -u ann -p [redacted] reg && docker run -p 8000:8000 x",
            ),
            ("ran \"sshpass -pletmein ssh gpu\" twice", "ran \"sshpass -p[redacted] ssh gpu\" twice"),
            ("redis-cli -h x -a letmein ping", "redis-cli -h x -a [redacted] ping"),
            (
                "{\"cmd\":\"curl -uann:pw http://localhost\"}",
                "{\"cmd\":\"curl -u[redacted] http://localhost\"}",
            ),
        ] {
            assert_eq!(Redactor::new().text(line), hidden);
            assert_eq!(Redactor::new().text(hidden), hidden);
        }
        for line in
            ["curl: option -unknown: is unknown", "please login -p", "mysql is up, use -p 3306 for it"]
        {
            assert_eq!(Redactor::new().text(line), line);
        }
    }
}
