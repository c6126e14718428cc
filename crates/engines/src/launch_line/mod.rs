//! A command that starts a server, word by word: which engine, which flags with which values, which model.

mod known;

pub use known::{KnownFlag, KnownFlags, Takes, known_flags};

use crate::config::engine_words;
use crate::port::usual_port;
use crate::{Engine, dialect, port_in};

/// A command that starts a server.
#[derive(Debug, Clone, PartialEq)]
pub struct LaunchLine {
    /// The engine it starts.
    pub engine: Engine,
    /// The engine's own words, behind its program.
    pub words: Vec<String>,
    /// Its flags in order.
    pub flags: Vec<GivenFlag>,
    /// Words that belong to no flag, without the subcommand.
    pub loose: Vec<String>,
}

/// A flag on a command line.
#[derive(Debug, Clone, PartialEq)]
pub struct GivenFlag {
    /// As it was written, without its value.
    pub written: String,
    /// With dashes for underscores.
    pub name: String,
    /// What the table of the engine's flags says of it.
    pub known: FlagMatch,
    /// Its values; none where none is given.
    pub values: Vec<String>,
    /// Which of the engine's own words it is, counted from 0.
    pub word: usize,
}

/// Whether an engine has a flag.
#[derive(Debug, Clone, PartialEq)]
pub enum FlagMatch {
    /// It has.
    Known(&'static KnownFlag),
    /// It is the beginning of several.
    Ambiguous(Vec<&'static str>),
    /// It has not.
    Unknown,
    /// There is no table of this engine's flags.
    Untold,
}

/// Words between a program and its flags that are no values.
const SUBCOMMANDS: &[&str] = &["serve", "launch", "api_server"];

impl LaunchLine {
    /// Reads the words of a command; `None` where it starts no engine that is known.
    pub fn read<S: AsRef<str>>(words: &[S]) -> Option<Self> {
        let all: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
        let (engine, own) = engine_words(&all)?;
        Some(Self::of_words(engine, &own))
    }

    /// Reads an engine's own words, without the program before them.
    pub(crate) fn of_words(engine: Engine, own: &[&str]) -> Self {
        let mut line = Self {
            engine,
            words: own.iter().map(|word| (*word).to_owned()).collect(),
            flags: Vec::new(),
            loose: Vec::new(),
        };
        let mut rest = own.iter().copied().enumerate().peekable();
        while let Some((at, word)) = rest.next() {
            if !is_flag(word) {
                if !(line.loose.is_empty() && line.flags.is_empty() && SUBCOMMANDS.contains(&word)) {
                    line.loose.push(word.to_owned());
                }
                continue;
            }
            let (written, attached) = word.split_once('=').map_or((word, None), |(n, v)| (n, Some(v)));
            let name = if written.starts_with("--") { written.replace('_', "-") } else { written.to_owned() };
            let known = of_table(engine, &name);
            let most = match &known {
                _ if attached.is_some() => 0,
                FlagMatch::Known(flag) if flag.takes == Takes::Nothing => 0,
                FlagMatch::Known(flag) if flag.many => usize::MAX,
                FlagMatch::Known(_) | FlagMatch::Ambiguous(_) | FlagMatch::Unknown | FlagMatch::Untold => 1,
            };
            let mut values: Vec<String> = attached.map(str::to_owned).into_iter().collect();
            while values.len() < most
                && let Some((_, value)) = rest.next_if(|(_, next)| !is_flag(next))
            {
                values.push(value.to_owned());
            }
            line.flags.push(GivenFlag { written: written.to_owned(), name, known, values, word: at });
        }
        line
    }

    /// The value of a flag by any of its spellings; of two the last counts.
    pub fn value(&self, names: &[&str]) -> Option<&str> {
        self.flag(names)?.values.first().map(String::as_str)
    }

    /// The flag itself, by any of its spellings; of two the last counts.
    pub fn flag(&self, names: &[&str]) -> Option<&GivenFlag> {
        let is = |flag: &&GivenFlag| match &flag.known {
            FlagMatch::Known(known) => known.names.iter().any(|name| names.contains(name)),
            _ => names.contains(&flag.name.as_str()),
        };
        self.flags.iter().rev().find(is)
    }

    /// The number behind a flag, with a size such as `16k` counted out.
    pub fn number(&self, names: &[&str]) -> Option<f64> {
        let text = self.value(names)?;
        let scale = match text.chars().last()? {
            'k' => 1e3,
            'K' => 1024.0,
            'm' => 1e6,
            'M' => 1_048_576.0,
            'g' => 1e9,
            'G' => 1_073_741_824.0,
            _ => return text.parse().ok().filter(|n: &f64| n.is_finite()),
        };
        Some(text[..text.len() - 1].parse::<f64>().ok()? * scale).filter(|n| n.is_finite())
    }

    /// The model: behind its flag, else the first word that belongs to no flag.
    pub fn model(&self) -> Option<&str> {
        const FLAGS: &[&str] = &["--model", "--model-path", "--model-id", "-m"];
        self.value(FLAGS).or_else(|| self.loose.first().map(String::as_str))
    }

    /// The port it will listen on.
    pub fn port(&self) -> Option<u16> {
        let named = self.words.iter().any(|w| w == "--port" || w.starts_with("--port="));
        if named { port_in(&self.words) } else { usual_port(dialect(self.engine).name) }
    }
}

fn of_table(engine: Engine, name: &str) -> FlagMatch {
    let Some(table) = known_flags(engine) else { return FlagMatch::Untold };
    // `--speculative-config.method ngram` is a part of a flag.
    let whole = name.split_once('.').map_or(name, |(whole, _)| whole);
    match table.find(whole) {
        Ok(flag) => FlagMatch::Known(flag),
        // vLLM's own spelling of a level: -O3 for --optimization-level 3.
        Err(_) if whole.starts_with("-O") => {
            table.find("--optimization-level").map_or(FlagMatch::Unknown, FlagMatch::Known)
        }
        Err(several) if !several.is_empty() => FlagMatch::Ambiguous(several),
        Err(_) => FlagMatch::Unknown,
    }
}

/// A number below zero is a value.
fn is_flag(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-') && word.parse::<f64>().is_err()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(line: &str) -> LaunchLine {
        LaunchLine::read(&line.split(' ').collect::<Vec<_>>()).expect("it starts an engine")
    }

    #[test]
    fn a_line_is_read_as_the_engine_would() {
        let line = read(
            "/opt/bin/vllm serve org/m --enforce-eager --max_num_seqs=4 -tp 2 --served-model-name a b --max-model-len 16k -O3",
        );
        assert_eq!((line.engine, line.model()), (Engine::Vllm, Some("org/m")));
        assert_eq!(line.number(&["--max-num-seqs"]), Some(4.0));
        assert_eq!(line.number(&["--tensor-parallel-size"]), Some(2.0));
        assert_eq!(line.number(&["--max-model-len"]), Some(16_000.0));
        assert_eq!(line.flag(&["--served-model-name"]).unwrap().values, ["a", "b"]);
        assert!(line.flags.iter().all(|flag| matches!(flag.known, FlagMatch::Known(_))), "{:?}", line.flags);
        assert_eq!(line.port(), Some(8000));
    }

    #[test]
    fn an_unknown_flag_keeps_its_value() {
        let line = read("vllm serve m --max-num-sequences 4 --port 8451");
        assert_eq!(line.flags[0].known, FlagMatch::Unknown);
        assert_eq!((line.model(), line.port()), (Some("m"), Some(8451)));
    }

    #[test]
    fn an_engine_without_a_table_is_read_all_the_same() {
        let line = read("llama-server -m /x.gguf -ngl 99 --host 127.0.0.1");
        assert_eq!((line.engine, line.model()), (Engine::LlamaCpp, Some("/x.gguf")));
        assert_eq!(line.value(&["-ngl"]), Some("99"));
        assert_eq!(line.flags[0].known, FlagMatch::Untold);
        assert_eq!(line.port(), Some(8080));
    }

    #[test]
    fn what_starts_no_engine_is_none() {
        assert_eq!(LaunchLine::read(&["ls", "-l"]), None);
        assert_eq!(LaunchLine::read::<&str>(&[]), None);
    }

    proptest! {
        #[test]
        fn any_words_are_survived(words in proptest::collection::vec("(--?[a-z=._0-9]{0,12}|\\PC{0,8})", 0..12)) {
            let all = ["vllm", "serve"].into_iter().chain(words.iter().map(String::as_str)).collect::<Vec<_>>();
            let line = LaunchLine::read(&all);
            if let Some(line) = line {
                for flag in &line.flags {
                    let _ = line.number(&[flag.name.as_str()]);
                }
                let _ = (line.model(), line.port());
            }
        }
    }
}
