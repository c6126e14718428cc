//! Every flag of an engine's release, from a table made of its own parser (`lab/flag_rows`).

use std::sync::LazyLock;

use crate::Engine;

/// The flags one release takes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KnownFlags {
    /// The release, such as `0.32.0`.
    pub version: &'static str,
    /// Its flags.
    pub flags: Vec<KnownFlag>,
    /// The least compute capability, times ten, that a quantization method asks of a card.
    pub capabilities: Vec<(&'static str, u32)>,
}

/// One flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownFlag {
    /// Its spellings, the long one first.
    pub names: Vec<&'static str>,
    /// What it takes.
    pub takes: Takes,
    /// Whether it takes several values, or may go without one.
    pub many: bool,
    /// The words it takes, where it takes only some.
    pub choices: Vec<&'static str>,
}

/// What a flag takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Nothing: it is a switch.
    Nothing,
    /// A whole number.
    Whole,
    /// A number.
    Number,
    /// A whole number, or one such as `16k`.
    Size,
    /// One of some words.
    Choice,
    /// JSON.
    Json,
    /// Any text.
    Text,
}

static VLLM: LazyLock<KnownFlags> = LazyLock::new(|| read(include_str!("../../data/vllm_flags.txt")));

/// The table of an engine's flags, where there is one.
pub fn known_flags(engine: Engine) -> Option<&'static KnownFlags> {
    (engine == Engine::Vllm).then(|| &*VLLM)
}

impl KnownFlag {
    /// The spelling people use.
    pub fn name(&self) -> &'static str {
        self.names.iter().copied().find(|name| name.starts_with("--")).unwrap_or_default()
    }

    /// Whether a value can be taken; `None` where only the engine knows.
    pub fn accepts(&self, value: &str) -> Option<bool> {
        let whole = |text: &str| text.parse::<i64>().is_ok();
        match self.takes {
            Takes::Nothing => Some(false),
            Takes::Whole => Some(whole(value)),
            Takes::Number => Some(value.parse::<f64>().is_ok()),
            // Releases differ in the words they take beside sizes, such as auto.
            Takes::Size if value.chars().all(char::is_alphabetic) && value != "auto" => Some(false),
            Takes::Choice => Some(self.choices.contains(&value)),
            Takes::Size | Takes::Json | Takes::Text => None,
        }
    }
}

impl KnownFlags {
    /// The flag of this spelling; Python's parser also takes the beginning of one, if it is the beginning of no other.
    pub fn find(&self, name: &str) -> Result<&KnownFlag, Vec<&'static str>> {
        let exact = self.flags.iter().find(|flag| flag.names.contains(&name));
        if let Some(flag) = exact {
            return Ok(flag);
        }
        let begun =
            |flag: &&KnownFlag| name.starts_with("--") && flag.names.iter().any(|n| n.starts_with(name));
        let mut begun = self.flags.iter().filter(begun);
        match (begun.next(), begun.next()) {
            (Some(only), None) => Ok(only),
            (Some(first), Some(second)) => Err(vec![first.name(), second.name()]),
            _ => Err(Vec::new()),
        }
    }

    /// The flag that a misspelled one is nearest to, where one is near.
    pub fn nearest(&self, name: &str) -> Option<&'static str> {
        let all =
            self.flags.iter().flat_map(|flag| flag.names.iter().copied()).filter(|n| n.starts_with("--"));
        let near = all.map(|known| (likeness(name, known), known)).max_by(|a, b| a.0.total_cmp(&b.0))?;
        (near.0 >= LIKE).then_some(near.1)
    }
}

/// From which likeness on a flag is offered in place of another: below it, offers were no help to a reader.
const LIKE: f64 = 0.7;

/// How alike two flags are, 0 to 1: pairs of neighbouring letters they share (Dice's coefficient).
fn likeness(a: &str, b: &str) -> f64 {
    let pairs = |text: &str| -> Vec<(char, char)> {
        let letters: Vec<char> = text.trim_start_matches('-').chars().collect();
        letters.windows(2).map(|pair| (pair[0], pair[1])).collect()
    };
    let (a, mut b) = (pairs(a), pairs(b));
    let all = a.len() + b.len();
    let shared = a
        .iter()
        .filter(|pair| b.iter().position(|other| other == *pair).map(|at| b.swap_remove(at)).is_some());
    let shared = shared.count();
    if all == 0 { 0.0 } else { 2.0 * shared as f64 / all as f64 }
}

/// Reads the table; a row that is none is left out, and a test counts them.
fn read(text: &'static str) -> KnownFlags {
    let mut table = KnownFlags::default();
    for row in text.lines() {
        let fields: Vec<&'static str> = row.split('\t').collect();
        match fields.as_slice() {
            [head] => table.version = head.split(' ').nth(1).unwrap_or_default(),
            ["capability", method, least] => {
                table.capabilities.extend(least.parse().ok().map(|least| (*method, least)));
            }
            [names, takes, choices @ ..] => table.flags.extend(flag(names, takes, choices.first().copied())),
            [] => {}
        }
    }
    table
}

fn flag(names: &'static str, takes: &str, choices: Option<&'static str>) -> Option<KnownFlag> {
    let kind = takes.trim_end_matches(['+', '*', '?']);
    let takes_what = match kind {
        "switch" => Takes::Nothing,
        "whole" => Takes::Whole,
        "number" => Takes::Number,
        "size" => Takes::Size,
        "choice" => Takes::Choice,
        "json" => Takes::Json,
        "text" => Takes::Text,
        _ => return None,
    };
    let choices = choices.map_or(Vec::new(), |words| words.split(' ').collect());
    Some(KnownFlag {
        names: names.split(' ').collect(),
        takes: takes_what,
        many: kind.len() < takes.len(),
        choices,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vllm() -> &'static KnownFlags {
        known_flags(Engine::Vllm).unwrap()
    }

    #[test]
    fn every_row_of_the_table_is_read() {
        let rows = include_str!("../../data/vllm_flags.txt").lines().count();
        assert_eq!(vllm().flags.len() + vllm().capabilities.len() + 1, rows);
        assert_eq!(vllm().version, "0.32.0");
        assert!(vllm().flags.iter().all(|flag| (flag.takes == Takes::Choice) != flag.choices.is_empty()));
    }

    #[test]
    fn a_flag_is_found_by_any_spelling_and_by_its_beginning() {
        assert_eq!(vllm().find("-tp").unwrap().name(), "--tensor-parallel-size");
        assert_eq!(vllm().find("--max-num-seqs").unwrap().takes, Takes::Whole);
        assert_eq!(vllm().find("--max-num-se").unwrap().name(), "--max-num-seqs");
        assert_eq!(vllm().find("--max-num").unwrap_err().len(), 2);
        assert_eq!(vllm().find("--max-num-sequences"), Err(Vec::new()));
        assert_eq!(vllm().find("--ctx-size"), Err(Vec::new()));
    }

    #[test]
    fn a_misspelled_flag_has_a_nearest_one_and_a_foreign_one_has_none() {
        assert_eq!(vllm().nearest("--max-num-sequences"), Some("--max-num-seqs"));
        assert_eq!(vllm().nearest("--tensor-paralel-size"), Some("--tensor-parallel-size"));
        assert_eq!(vllm().nearest("--n-gpu-layers"), None);
    }

    #[test]
    fn values_are_held_against_what_a_flag_takes() {
        let accepts = |flag: &str, value: &str| vllm().find(flag).unwrap().accepts(value);
        assert_eq!(accepts("--max-num-seqs", "many"), Some(false));
        assert_eq!(accepts("--max-num-seqs", "4"), Some(true));
        assert_eq!(accepts("--dtype", "int3"), Some(false));
        assert_eq!(accepts("--max-model-len", "16k"), None);
        assert_eq!(accepts("--max-model-len", "auto"), None);
        assert_eq!(accepts("--max-model-len", "long"), Some(false));
        assert_eq!(accepts("--chat-template", "x"), None);
    }
}
