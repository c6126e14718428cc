//! Words of a command line: what a shell would make of a text, and what a shell given as a program would run.

use super::{Place, Variable, Word};

/// Most words of one command line.
const MAX_WORDS: usize = 4096;

/// A text as a shell splits it; every word stands on this line.
pub(super) fn split(text: &str, at: Place) -> Vec<Word> {
    // A backslash at the end of a line joins it to the next.
    let text = text.replace("\\\n", " ");
    let words = shlex::split(&text).unwrap_or_else(|| text.split_whitespace().map(str::to_owned).collect());
    words.into_iter().take(MAX_WORDS).map(|text| Word { text, at }).collect()
}

/// `sh -c "exec vllm serve …"` runs what stands in the quotes: those words are added behind it, as the shell would fill
/// them in.
pub(super) fn opened(mut words: Vec<Word>, variables: &[Variable]) -> Vec<Word> {
    let is_shell = words.first().is_some_and(|word| {
        matches!(word.text.rsplit('/').next(), Some("sh" | "bash" | "dash" | "ash" | "zsh"))
    });
    let given = words.get(1).is_some_and(|word| word.text.starts_with('-') && word.text.ends_with('c'));
    if is_shell && given {
        let inner: Vec<Word> = words.iter().skip(2).flat_map(|word| split(&word.text, word.at)).collect();
        words.truncate(2);
        words.extend(filled(inner, variables, Style::Systemd));
    }
    words.truncate(MAX_WORDS);
    words
}

/// How a kind of file writes a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// `${NAME}`; `$NAME` alone as a word is split into words.
    Systemd,
    /// `$(NAME)`.
    Kubernetes,
    /// `${NAME}`, `${NAME:-default}`.
    Compose,
}

/// Variables filled in where their values are known; the rest stays as it is written.
pub(super) fn filled(words: Vec<Word>, variables: &[Variable], style: Style) -> Vec<Word> {
    let mut out = Vec::new();
    for word in words {
        let alone = word.text.strip_prefix('$').filter(|name| is_name(name));
        if style == Style::Systemd
            && let Some(variable) = alone.and_then(|name| value_of(variables, name))
        {
            out.extend(split(&variable.value, variable.at));
            continue;
        }
        out.push(Word { text: fill(&word.text, variables, style), at: word.at });
    }
    out.truncate(MAX_WORDS);
    out
}

fn fill(text: &str, variables: &[Variable], style: Style) -> String {
    let (open, close) = if style == Style::Kubernetes { ("$(", ')') } else { ("${", '}') };
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open) {
        out.push_str(before);
        let Some((inside, behind)) = after.split_once(close) else {
            out.push_str(open);
            rest = after;
            continue;
        };
        let (name, otherwise) = match inside.split_once(":-").or_else(|| inside.split_once('-')) {
            Some((name, otherwise)) if style == Style::Compose => (name, Some(otherwise)),
            _ => (inside, None),
        };
        let value = value_of(variables, name).map(|variable| variable.value.as_str()).or(otherwise);
        if let Some(value) = value {
            out.push_str(value);
        } else {
            out.push_str(open);
            out.push_str(inside);
            out.push(close);
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

fn value_of<'a>(variables: &'a [Variable], name: &str) -> Option<&'a Variable> {
    variables.iter().rev().find(|variable| variable.name == name)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Place = Place { file: 0, line: 3 };

    fn texts(words: &[Word]) -> Vec<&str> {
        words.iter().map(|word| word.text.as_str()).collect()
    }

    #[test]
    fn a_shell_is_opened() {
        let given = split("/bin/sh -c 'exec vllm serve m \\\n  --max-num-seqs 4'", AT);
        assert_eq!(
            texts(&opened(given, &[])),
            ["/bin/sh", "-c", "exec", "vllm", "serve", "m", "--max-num-seqs", "4"]
        );
        let plain = split("vllm serve m -c 4", AT);
        assert_eq!(opened(plain.clone(), &[]), plain);
    }

    #[test]
    fn variables_are_filled_in_where_the_file_tells_them() {
        let variables = [
            Variable { name: "ARGS".into(), value: "--a 1 --b".into(), at: AT },
            Variable { name: "N".into(), value: "4".into(), at: AT },
        ];
        let of = |text: &str, style| {
            filled(split(text, AT), &variables, style).into_iter().map(|w| w.text).collect::<Vec<_>>()
        };
        assert_eq!(
            of("x $ARGS --n=${N} $NO ${NO}", Style::Systemd),
            ["x", "--a", "1", "--b", "--n=4", "$NO", "${NO}"]
        );
        assert_eq!(of("'$(N)' '$(NO)'", Style::Kubernetes), ["4", "$(NO)"]);
        assert_eq!(of("${N:-7} ${NO:-7} ${NO-8}", Style::Compose), ["4", "7", "8"]);
    }
}
