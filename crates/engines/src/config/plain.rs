//! Flags that no setting here stands for, compared as they are written: the manifest's and the process's.

use intriage_case::Source;

use super::SettingValue;
use super::asked::Process;
use super::command_line::{is_flag, is_known};
use super::manifest::is_open;
use super::meant::Meant;
use super::program::{own_words, program};
use super::table::{ConfigRow, RowVerdict, Said};
use crate::dialect::Dialect;

/// Words of names whose values are nobody's business: they are there, or not.
const SECRET: [&str; 9] =
    ["key", "keys", "token", "tokens", "secret", "password", "auth", "credentials", "cookie"];

/// What stands in place of a secret.
const MASK: &str = "[redacted]";

/// A flag as it is written.
#[derive(Debug, Clone, PartialEq)]
struct Plain {
    name: String,
    /// Its words, parted by spaces; empty for a switch.
    value: String,
    /// Which word of the command line it is.
    word: usize,
}

/// The names of flags of a command line that no setting stands for.
pub(super) fn unknown(dialect: &Dialect, words: &[String]) -> Vec<String> {
    let texts: Vec<&str> = words.iter().map(String::as_str).collect();
    flags(dialect, &numbered(&texts)).into_iter().map(|flag| flag.name).collect()
}

/// Rows of the flags that can be compared, and the names of those that cannot.
pub(super) fn plain(
    dialect: &Dialect,
    meant: &Meant,
    process: Option<&Process>,
) -> (Vec<ConfigRow>, Vec<String>) {
    let texts: Vec<&str> = meant.launch.words.iter().map(|word| word.text.as_str()).collect();
    // What a script is given may never reach the engine.
    let asked = flags(dialect, &own_words(meant.program, &texts));
    let to_script = if asked.is_empty() { flags(dialect, &numbered(&texts)) } else { Vec::new() };
    let mut not_compared: Vec<String> = to_script.into_iter().map(|flag| flag.name).collect();
    let started = process.and_then(|process| {
        let words: Vec<&str> = process.words.iter().map(String::as_str).collect();
        let own = own_words(program(dialect.engine, &words, false), &words);
        (!own.is_empty()).then(|| (process, flags(dialect, &own)))
    });
    let Some((process, has)) = started else {
        not_compared.extend(asked.into_iter().map(|flag| flag.name));
        return (Vec::new(), not_compared);
    };
    let from = Source::Kernel { file: process.file.clone() };
    let more_elsewhere = has.iter().any(|flag| flag.name == "--config");
    let mut rows = Vec::new();
    for flag in &asked {
        let at = meant.launch.words.get(flag.word).map(|word| word.at).unwrap_or_default();
        let found = has.iter().find(|other| other.name == flag.name);
        if is_open(&flag.value) || (found.is_none() && more_elsewhere) {
            not_compared.push(flag.name.clone());
            continue;
        }
        let (file, name) = (meant.command_file(), &flag.name);
        let (verdict, says) = match found {
            Some(other) if same(flag, other) => (RowVerdict::Agrees, String::new()),
            Some(_) => (RowVerdict::Stale, format!("{file} and the running process have {name} otherwise")),
            None => (
                RowVerdict::Stale,
                format!("{file} has {name} and the running process was started without it"),
            ),
        };
        let asked = Said { value: shown(flag), from: meant.source(at) };
        let started_with = found.map(|other| Said { value: shown(other), from: from.clone() });
        rows.push(row(name, Some(asked), started_with, verdict, says));
    }
    if meant.is_whole() {
        for flag in has.iter().filter(|flag| !asked.iter().any(|other| other.name == flag.name)) {
            let (file, name) = (meant.command_file(), &flag.name);
            let says = format!("the running process was started with {name}, which {file} does not have");
            let started_with = Said { value: shown(flag), from: from.clone() };
            rows.push(row(name, None, Some(started_with), RowVerdict::Stale, says));
        }
    }
    (rows, not_compared)
}

fn row(
    name: &str,
    requested: Option<Said>,
    started_with: Option<Said>,
    verdict: RowVerdict,
    says: String,
) -> ConfigRow {
    ConfigRow { requested, started_with, verdict, says, ..ConfigRow::named(name) }
}

fn numbered<'a>(texts: &[&'a str]) -> Vec<(usize, &'a str)> {
    texts.iter().copied().enumerate().collect()
}

/// Each name once, in order.
pub(super) fn tidy(mut names: Vec<String>) -> Vec<String> {
    names.sort_unstable();
    names.dedup();
    names
}

/// The long flags that no setting stands for; of one given twice the last.
fn flags(dialect: &Dialect, words: &[(usize, &str)]) -> Vec<Plain> {
    let mut found: Vec<Plain> = Vec::new();
    for (i, (at, word)) in words.iter().enumerate() {
        let (name, attached) = word.split_once('=').map_or((*word, None), |(n, v)| (n, Some(v)));
        let name = name.replace('_', "-");
        if !name.starts_with("--") || name.len() < 3 || is_known(dialect, &name) {
            continue;
        }
        let behind = words[i + 1..].iter().map(|(_, word)| *word).take_while(|word| !is_flag(word));
        let value = attached.map_or_else(|| behind.collect::<Vec<_>>().join(" "), str::to_owned);
        found.retain(|earlier| earlier.name != name);
        found.push(Plain { name, value, word: *at });
    }
    found
}

fn is_secret(flag: &Plain) -> bool {
    flag.name.split('-').any(|word| SECRET.contains(&word)) || flag.value.contains(MASK)
}

fn shown(flag: &Plain) -> SettingValue {
    if flag.value.is_empty() {
        SettingValue::Switch(true)
    } else if is_secret(flag) {
        SettingValue::Text("given".into())
    } else {
        SettingValue::Text(flag.value.clone())
    }
}

/// Quotes and spaces are the shell's and JSON's; numbers may be written in more than one way.
fn same(a: &Plain, b: &Plain) -> bool {
    if is_secret(a) || is_secret(b) {
        return true;
    }
    let bare = |text: &str| text.replace(['\'', '"', '\\', ' '], "");
    let number = |text: &str| text.parse::<f64>().ok();
    bare(&a.value) == bare(&b.value) || number(&a.value).is_some_and(|n| Some(n) == number(&b.value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Engine, dialect};

    fn read(line: &str) -> Vec<(String, String)> {
        let words: Vec<&str> = line.split(' ').collect();
        flags(dialect(Engine::Vllm), &numbered(&words)).into_iter().map(|f| (f.name, f.value)).collect()
    }

    #[test]
    fn only_what_no_setting_stands_for_is_plain() {
        assert_eq!(
            read(
                "serve m --max-num-seqs 4 --swap_space=4 --trust-remote-code --allowed-origins a b -tp 2 --swap-space 8"
            ),
            [
                ("--trust-remote-code".into(), String::new()),
                ("--allowed-origins".into(), "a b".into()),
                ("--swap-space".into(), "8".into())
            ]
        );
    }

    #[test]
    fn a_secret_is_there_or_not_and_is_never_shown() {
        let of = |value: &str| Plain { name: "--api-key".into(), value: value.into(), word: 0 };
        assert!(same(&of("a"), &of("b")));
        assert_eq!(shown(&of("hunter2")), SettingValue::Text("given".into()));
    }

    #[test]
    fn quotes_and_zeros_make_no_difference() {
        let of = |value: &str| Plain { name: "--x".into(), value: value.into(), word: 0 };
        assert!(same(&of("{\"a\": 1}"), &of("{a:1}")) && same(&of("0.90"), &of("0.9")));
        assert!(!same(&of("a"), &of("b")));
    }
}
