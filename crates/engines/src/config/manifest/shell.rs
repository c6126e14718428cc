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

/// What is known of the variables a command line is filled in with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Values<'a> {
    pub(super) variables: &'a [Variable],
    /// Whether these are all: nothing that stands elsewhere can set another.
    pub(super) all: bool,
}

/// `sh -c "exec vllm serve …"` runs what stands in the quotes: those words are added behind it, as the shell would fill
/// them in.
pub(super) fn opened(mut words: Vec<Word>, values: Values<'_>) -> Vec<Word> {
    let is_shell = words.first().is_some_and(|word| {
        matches!(word.text.rsplit('/').next(), Some("sh" | "bash" | "dash" | "ash" | "zsh"))
    });
    let given = words.get(1).is_some_and(|word| word.text.starts_with('-') && word.text.ends_with('c'));
    if is_shell && given {
        let inner: Vec<Word> = words.iter().skip(2).flat_map(|word| split(&word.text, word.at)).collect();
        words.truncate(2);
        // A file that is read in may set anything.
        let sources = inner.iter().any(|word| matches!(word.text.as_str(), "source" | "."));
        let is_set = |name: &str| inner.iter().any(|word| assigned(&word.text) == Some(name));
        let kept: Vec<Variable> =
            values.variables.iter().filter(|v| !sources && !is_set(&v.name)).cloned().collect();
        let all = values.all && !sources && !inner.iter().any(|word| assigned(&word.text).is_some());
        words.extend(filled(inner, Values { variables: &kept, all }, Style::Shell));
    }
    words.truncate(MAX_WORDS);
    words
}

/// The name in `NAME=value`, which sets a variable of a shell.
fn assigned(word: &str) -> Option<&str> {
    word.split_once('=').map(|(name, _)| name).filter(|name| is_name(name))
}

/// Who fills variables in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// `${NAME}`; `$NAME` alone as a word is split into words. It knows no defaults.
    Systemd,
    /// `$(NAME)`.
    Kubernetes,
    /// `$NAME`, `${NAME}`, `${NAME:-default}`.
    Shell,
}

/// Variables filled in where their values are known; the rest stays as it is written, and [`is_open`] tells it.
pub(super) fn filled(words: Vec<Word>, values: Values<'_>, style: Style) -> Vec<Word> {
    let mut out = Vec::new();
    for word in words {
        let alone = word.text.strip_prefix('$').filter(|name| is_name(name));
        if style != Style::Kubernetes
            && let Some(variable) = alone.and_then(|name| value_of(values.variables, name))
        {
            out.extend(split(&variable.value, variable.at));
            continue;
        }
        out.push(Word { text: fill(&word.text, values, style), at: word.at });
    }
    out.truncate(MAX_WORDS);
    out
}

/// Whether a text holds a variable or a command whose value stands elsewhere.
pub(crate) fn is_open(text: &str) -> bool {
    text.contains(['$', '`'])
}

/// Fills in one text.
pub(super) fn fill(text: &str, values: Values<'_>, style: Style) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        let (value, behind) = one(after, values, style);
        if let Some(value) = value {
            out.push_str(&value);
        } else {
            out.push('$');
            out.push_str(&after[..after.len() - behind.len()]);
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// What the variable behind a `$` becomes, where that is known, and what stands behind it.
fn one<'a>(after: &'a str, values: Values<'_>, style: Style) -> (Option<String>, &'a str) {
    let known = |name: &str| value_of(values.variables, name).map(|variable| variable.value.clone());
    let (open, close) = if style == Style::Kubernetes { ('(', ')') } else { ('{', '}') };
    if let Some(behind) = after.strip_prefix('$') {
        // Two are one that means nothing; it stays open, since what is run may fill it in.
        return (None, behind);
    }
    if let Some((inside, behind)) = after.strip_prefix(open).and_then(|rest| rest.split_once(close)) {
        let cut = inside.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(inside.len());
        let (name, sign) = inside.split_at(cut);
        let value = match (style, sign) {
            (_, "") => known(name),
            (Style::Shell, sign) => {
                let otherwise = [":-", "-", ":=", "="].into_iter().find_map(|mark| sign.strip_prefix(mark));
                let set = known(name).filter(|value| !(sign.starts_with(':') && value.is_empty()));
                otherwise.and_then(|otherwise| set.or_else(|| values.all.then(|| otherwise.to_owned())))
            }
            _ => None,
        };
        return (value, behind);
    }
    if style == Style::Shell {
        let end = after.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(after.len());
        let (name, behind) = after.split_at(end);
        return (known(name), behind);
    }
    (None, after)
}

fn value_of<'a>(variables: &'a [Variable], name: &str) -> Option<&'a Variable> {
    variables.iter().rev().find(|variable| variable.name == name)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const AT: Place = Place { file: 0, line: 3 };
    const NOTHING: Values<'_> = Values { variables: &[], all: true };

    fn texts(words: &[Word]) -> Vec<&str> {
        words.iter().map(|word| word.text.as_str()).collect()
    }

    fn variables() -> [Variable; 2] {
        [
            Variable { name: "ARGS".into(), value: "--a 1 --b".into(), at: AT },
            Variable { name: "N".into(), value: "4".into(), at: AT },
        ]
    }

    #[test]
    fn a_shell_is_opened() {
        let given = split("/bin/sh -c 'exec vllm serve m \\\n  --max-num-seqs 4'", AT);
        assert_eq!(
            texts(&opened(given, NOTHING)),
            ["/bin/sh", "-c", "exec", "vllm", "serve", "m", "--max-num-seqs", "4"]
        );
        let plain = split("vllm serve m -c 4", AT);
        assert_eq!(opened(plain.clone(), NOTHING), plain);
    }

    #[test]
    fn variables_are_filled_in_where_the_file_tells_them() {
        let variables = variables();
        let of = |text: &str, style, all| {
            let values = Values { variables: &variables, all };
            filled(split(text, AT), values, style).into_iter().map(|w| w.text).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            of("x $ARGS --n=${N} $NO ${NO} --n=$N ${N:-7}", Style::Systemd, true),
            "x --a 1 --b --n=4 $NO ${NO} --n=$N ${N:-7}"
        );
        assert_eq!(of("'$(N)' '$(NO)' '$$(N)'", Style::Kubernetes, true), "4 $(NO) $$(N)");
        assert_eq!(
            of("--n=$N$N ${N:-7} ${NO:-7} ${NO-8} ${NO:?x} $NO", Style::Shell, true),
            "--n=44 4 7 8 ${NO:?x} $NO"
        );
        assert_eq!(of("${N:-7} ${NO:-7}", Style::Shell, false), "4 ${NO:-7}");
    }

    #[test]
    fn what_the_shell_sets_or_reads_in_is_not_what_the_file_says() {
        let variables = variables();
        let of = |script: &str| {
            let words = vec![
                Word { text: "bash".into(), at: AT },
                Word { text: "-lc".into(), at: AT },
                Word { text: script.into(), at: AT },
            ];
            texts(&opened(words, Values { variables: &variables, all: true }))[2..].join(" ")
        };
        assert_eq!(of("vllm serve ${N:-7}"), "vllm serve 4");
        assert_eq!(of("source /etc/env && vllm serve ${N:-7}"), "source /etc/env && vllm serve ${N:-7}");
        assert_eq!(of("N=9; vllm serve $N"), "N=9; vllm serve $N");
    }

    proptest! {
        #[test]
        fn what_cannot_be_filled_in_stays_as_it_is_written(text in "[a-z$(){}:=`-]{0,30}|\\PC{0,10}") {
            for style in [Style::Systemd, Style::Kubernetes, Style::Shell] {
                prop_assert_eq!(&fill(&text, Values { variables: &[], all: false }, style), &text);
            }
        }
    }
}
