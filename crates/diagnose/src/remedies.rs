//! Which remedies are printed: the case's own advice, then the rows of the catalogue that make sense here.
//!
//! A row makes sense where it is for this engine, release and device, where no setting in force makes it useless
//! ([`CONFLICTS`]), and where the advice before it does not say the same already.

use std::collections::BTreeSet;

use intriage_case::Signal;
use intriage_engines::{Meaning, Observed, Setting};

use crate::causes::{Cause, Remedy};
use crate::diagnosis::RemedyOut;
use crate::weighing::Advice;

/// What to change: the most direct first.
pub(crate) fn remedies(observed: &Observed, cause: &Cause, advice: &[Advice]) -> Vec<RemedyOut> {
    let advised: BTreeSet<&str> = advice.iter().flat_map(|a| names(&a.change)).collect();
    let rows = cause
        .remedies
        .iter()
        .filter(|row| fits(observed, row))
        .filter(|row| conflict(observed, row.change).is_none())
        .filter(|row| !repeats(&advised, row.change));
    let out = |change: &str, cost: &str| RemedyOut {
        cause: cause.id.into(),
        change: change.to_owned(),
        effect: cause.effect.into(),
        cost: cost.to_owned(),
        confirm: in_engine_words(observed, cause.confirm),
        undo: "Put the old value back and restart the server.".into(),
    };
    advice.iter().map(|a| out(&a.change, &a.cost)).chain(rows.map(|r| out(r.change, r.cost))).collect()
}

/// The engine died and its log holds no exception that it died of: somebody else ended it.
pub(crate) fn died_without_exception(observed: &Observed) -> bool {
    let log = &observed.log;
    let died = |event: &&intriage_engines::LogEvent| event.meaning == Meaning::EngineDied;
    log.events.iter().any(|event| died(&event)) && log.root().is_none()
}

/// A change that a setting in force makes useless.
struct Conflict {
    /// What the change names.
    names: &'static str,
    /// Where it is useless.
    when: fn(&Observed) -> bool,
    /// Why, for whoever reads this table.
    why: &'static str,
}

const CONFLICTS: &[Conflict] = &[
    Conflict {
        names: "--kv-cache-dtype",
        when: pool_is_fixed,
        why: "--num-gpu-blocks-override counts blocks: smaller tokens leave memory unused and admit nobody",
    },
    Conflict {
        names: "--gpu-memory-utilization",
        when: pool_is_fixed,
        why: "--num-gpu-blocks-override counts blocks: more memory is not used",
    },
    Conflict {
        names: "VLLM_CPU_KVCACHE_SPACE",
        when: pool_is_fixed,
        why: "--num-gpu-blocks-override counts blocks: more memory is not used",
    },
    Conflict {
        names: "--kv-cache-dtype fp8",
        when: |o| o.config.text(Setting::KvDtype).is_some_and(|dtype| dtype.starts_with("fp8")),
        why: "the pool holds 8-bit values already",
    },
    Conflict {
        names: "--enable-prefix-caching",
        when: |o| o.config.switch(Setting::PrefixCaching) == Some(true),
        why: "it is on already",
    },
    Conflict {
        names: "last good version",
        when: died_without_exception,
        why: "what was ended from outside is not mended by another version",
    },
];

fn pool_is_fixed(observed: &Observed) -> bool {
    observed.config.number(Setting::KvBlocksOverride).is_some()
}

/// Why a change is useless here.
fn conflict(observed: &Observed, change: &str) -> Option<&'static str> {
    CONFLICTS.iter().find(|c| change.contains(c.names) && (c.when)(observed)).map(|c| c.why)
}

fn fits(observed: &Observed, row: &Remedy) -> bool {
    let device = observed.config.text(Setting::Device);
    (row.engine.is_none() || row.engine == observed.identity.engine)
        && (row.device.is_empty() || device.is_none_or(|d| d == row.device))
        && observed.identity.release().is_none_or(|v| row.range.holds(v))
}

/// Whether all that a change names is advised already, with its value for this case.
fn repeats(advised: &BTreeSet<&str>, change: &str) -> bool {
    let mut named = names(change).peekable();
    named.peek().is_some() && named.all(|name| advised.contains(name))
}

/// The flags and the paths of the API that a text names.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let bare =
        |word: &'_ str| word.trim_matches(|c: char| matches!(c, '(' | ')' | ',' | ';' | ':' | '.')).len();
    text.split_whitespace()
        .map(move |word| {
            let word = word.trim_start_matches('(');
            &word[..bare(word).min(word.len())]
        })
        .filter(|word| {
            let rest = word.strip_prefix('/').or_else(|| word.strip_prefix('-'));
            rest.is_some_and(|rest| {
                rest.trim_start_matches('-').starts_with(|c: char| c.is_ascii_alphabetic())
            })
        })
}

/// Signal names in a text become the metrics they were read from: what an engineer can look up.
fn in_engine_words(observed: &Observed, text: &str) -> String {
    let mut named: Vec<&Signal> = Signal::ALL.iter().filter(|s| text.contains(s.name())).collect();
    // `tokens.prompt` is the beginning of `tokens.prompt_computed`: the longer name first.
    named.sort_by_key(|s| std::cmp::Reverse(s.name().len()));
    named.into_iter().fold(text.to_owned(), |text, signal| match observed.metric(*signal) {
        Some(metric) => text.replace(signal.name(), metric),
        None => text,
    })
}

#[cfg(test)]
mod tests {
    use intriage_engines::{Engine, read};

    use super::*;
    use crate::causes::{catalogue, find};
    use crate::testing::Given;

    fn changes(given: &Given, cause: &str, advice: &[Advice]) -> Vec<String> {
        // Without a metric of its own no engine is recognised.
        let observed = read(&given.clone().gauge(Signal::RequestsRunning, 4.0).case());
        remedies(&observed, find(cause).unwrap(), advice).into_iter().map(|r| r.change).collect()
    }

    fn names_of(changes: &[String], name: &str) -> bool {
        changes.iter().any(|c| c.contains(name))
    }

    #[test]
    fn a_pool_fixed_by_hand_is_not_made_larger_by_memory_or_smaller_tokens() {
        for cause in ["kv-capacity-limited-queue", "preemption-thrash"] {
            let free = changes(&Given::vllm("0.26.0"), cause, &[]);
            assert!(
                names_of(&free, "--kv-cache-dtype") && names_of(&free, "--gpu-memory-utilization"),
                "{free:?}"
            );
            let fixed = Given::vllm("0.26.0").flags("vllm serve m --num-gpu-blocks-override 800");
            let fixed = changes(&fixed, cause, &[]);
            assert!(!fixed.is_empty());
            for useless in ["--kv-cache-dtype", "--gpu-memory-utilization", "VLLM_CPU_KVCACHE_SPACE"] {
                assert!(!names_of(&fixed, useless), "{cause}: {fixed:?}");
            }
        }
    }

    #[test]
    fn what_is_in_force_already_is_not_advised() {
        let given = Given::vllm("0.26.0").flags("vllm serve m --kv-cache-dtype fp8");
        let told = changes(&given, "kv-capacity-limited-queue", &[]);
        assert!(!names_of(&told, "--kv-cache-dtype"), "{told:?}");
        assert!(names_of(&told, "--gpu-memory-utilization"), "{told:?}");
    }

    #[test]
    fn a_row_that_says_the_same_as_the_advice_is_left_out() {
        let advice = [Advice {
            change: "--max-num-seqs 4 → 32: about 31 were there".into(),
            cost: "a restart".into(),
        }];
        let told = changes(&Given::vllm("0.26.0"), "max-num-seqs-limited-queue", &advice);
        assert_eq!(told, ["--max-num-seqs 4 → 32: about 31 were there"]);
        let told = changes(&Given::vllm("0.26.0"), "max-num-seqs-limited-queue", &[]);
        assert!(names_of(&told, "raise --max-num-seqs"), "{told:?}");
        // One that names more than the advice stays: it says how the other flag follows.
        let advice = [Advice { change: "-np 2 → 16".into(), cost: "a restart".into() }];
        let told = changes(&Given::engine(Engine::LlamaCpp, ""), "max-num-seqs-limited-queue", &advice);
        assert_eq!(told.len(), 2, "{told:?}");
    }

    #[test]
    fn what_was_ended_from_outside_is_not_sent_back_to_an_older_version() {
        let killed = "ERROR 11-18 12:00:00 [core_client.py:564] Engine core proc EngineCore_DP0 died unexpectedly, shutting down client.\n";
        let thrown = "ERROR 11-18 12:00:00 [core.py:710] EngineCore encountered a fatal error.\nTraceback (most recent call last):\n  File \"/v/vllm/v1/engine/core.py\", line 701, in run_engine_core\n    engine_core.run_busy_loop()\nRuntimeError: CUDA error: an illegal memory access was encountered\n";
        let back = |log: &str| {
            names_of(&changes(&Given::vllm("0.26.0").log(log), "engine-crash-5xx", &[]), "last good")
        };
        assert!(!back(killed));
        assert!(back(&format!("{thrown}{killed}")));
    }

    #[test]
    fn names_are_flags_and_paths_without_what_stands_around_them() {
        let found: Vec<&str> =
            names("raise -np, and -c in proportion (or --kv-unified); POST /resume: 1 - 2 and/or").collect();
        assert_eq!(found, ["-np", "-c", "--kv-unified", "/resume"]);
    }

    #[test]
    fn every_conflict_is_about_a_row_of_the_catalogue() {
        for conflict in CONFLICTS {
            let named = |r: &Remedy| r.change.contains(conflict.names);
            assert!(
                catalogue().any(|c| c.remedies.iter().any(named)),
                "{} ({})",
                conflict.names,
                conflict.why
            );
        }
    }
}
