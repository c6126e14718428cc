//! Command lines: flags that take secrets, and settings of the environment before them.

use crate::Redactor;
use crate::assigned::is_folder;
use crate::hits::{Hit, With};
use crate::names::{self, Meaning};
use crate::rules::Extent;

/// Flags that take a secret only in some programs.
const OF_PROGRAMS: [(&str, &str); 11] = [
    ("mysql", "-p"),
    ("mysqldump", "-p"),
    ("curl", "-u"),
    ("curl", "--user"),
    ("curl", "-U"),
    ("curl", "--proxy-user"),
    ("curl", "-b"),
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
        if start < end && !line[start..end].starts_with('$') {
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
        let (start, _) = unquoted(line, from, to);
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
}
