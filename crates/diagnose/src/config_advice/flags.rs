//! Rules about flags and variables that the release does not have.

use intriage_engines::{FlagMatch, GivenFlag, known_flags};

use super::scene::{Hit, Scene};
use super::{AdviceRule, Severity};
use crate::preflight::arguments::same_release;

pub(super) const RULES: &[AdviceRule] = &[
    AdviceRule {
        id: "flag-removed",
        summary: "a flag that a release removed or ignores",
        severity: Severity::Error,
        source: "the table of flags of vLLM 0.32.0 (crates/engines/data/vllm_flags.txt) lacks it; first release without it, where named, by the project's notes on vLLM's defaults",
        judge: removed,
    },
    AdviceRule {
        id: "flag-unknown",
        summary: "a flag that the engine does not have: a typing mistake",
        severity: Severity::Error,
        source: "the table of flags of vLLM 0.32.0 (crates/engines/data/vllm_flags.txt)",
        judge: unknown,
    },
    AdviceRule {
        id: "flag-value-refused",
        summary: "a value that the flag does not take",
        severity: Severity::Error,
        source: "the table of flags of vLLM 0.32.0 (crates/engines/data/vllm_flags.txt)",
        judge: refused,
    },
    AdviceRule {
        id: "variable-ignored",
        summary: "an environment variable that the release does not read",
        severity: Severity::Warning,
        source: "crates/engines/src/vllm/variables.rs: the first release whose envs.py lacks it",
        judge: variables,
    },
];

/// A flag that is gone: the first release without it ("" where only 0.32.0 is known to lack it), and what to do.
struct Gone {
    name: &'static str,
    since: &'static str,
    why: &'static str,
}

const GONE: &[Gone] = &[
    Gone { name: "--swap-space", since: "0.18.0", why: "the V1 engine recomputes and does not swap" },
    Gone { name: "--num-scheduler-steps", since: "0.11.0", why: "it was of the V0 engine" },
    Gone { name: "--preemption-mode", since: "0.11.0", why: "it was of the V0 engine" },
    Gone { name: "--use-v2-block-manager", since: "", why: "it was of the V0 engine" },
    Gone { name: "--num-lookahead-slots", since: "", why: "it was of the V0 engine" },
    Gone { name: "--multi-step-stream-outputs", since: "", why: "it was of the V0 engine" },
    Gone {
        name: "--disable-log-requests",
        since: "",
        why: "requests are not logged by default since 0.10.1",
    },
    Gone { name: "--speculative-model", since: "", why: "--speculative-config does its work" },
    Gone { name: "--num-speculative-tokens", since: "", why: "--speculative-config does its work" },
    Gone { name: "--guided-decoding-backend", since: "", why: "--structured-outputs-config does its work" },
];

/// Whether the release is that of the table of flags; `None` where the release is not known.
fn of_table(scene: &Scene<'_>) -> Option<bool> {
    let table = known_flags(scene.start.line.engine)?;
    scene.release().map(|release| same_release(&release.short(), table.version))
}

fn strange<'a>(scene: &Scene<'a>) -> impl Iterator<Item = &'a GivenFlag> {
    scene.start.line.flags.iter().filter(|flag| flag.known == FlagMatch::Unknown)
}

fn gone(flag: &GivenFlag) -> Option<&'static Gone> {
    GONE.iter().find(|gone| gone.name == flag.name)
}

fn removed(scene: &Scene<'_>) -> Vec<Hit> {
    let told = |flag: &GivenFlag| {
        let gone = gone(flag)?;
        let is_gone = if gone.since.is_empty() { of_table(scene) } else { scene.is_from(gone.since) };
        let (severity, what) = match is_gone {
            Some(true) => (Severity::Error, "this release does not have it: the start fails"),
            None => (Severity::Warning, "newer releases do not have it, and do not start with it"),
            Some(false) if gone.name == "--swap-space" => (Severity::Note, "this release ignores it"),
            Some(false) => return None,
        };
        let since = if gone.since.is_empty() { String::new() } else { format!(" (gone in {})", gone.since) };
        let reason = format!("{what}{since}; {}", gone.why);
        Some(Hit::flag(scene, severity, flag, reason, format!("remove {}", flag.written)))
    };
    strange(scene).filter_map(told).collect()
}

fn unknown(scene: &Scene<'_>) -> Vec<Hit> {
    let Some(table) = known_flags(scene.start.line.engine) else { return Vec::new() };
    let severity = match of_table(scene) {
        Some(true) => Severity::Error,
        None => Severity::Warning,
        // Flags come and go: the table says nothing of another release.
        Some(false) => return Vec::new(),
    };
    let told = |flag: &GivenFlag| {
        let change = match table.nearest(&flag.name) {
            Some(near) => format!("write {near}, if that is meant, or remove {}", flag.written),
            None => format!("remove {}", flag.written),
        };
        let reason = format!(
            "{} {} has no such flag, and does not start with it",
            scene.start.dialect().name,
            table.version
        );
        Hit::flag(scene, severity, flag, reason, change)
    };
    strange(scene).filter(|flag| gone(flag).is_none() && !flag.written.contains('$')).map(told).collect()
}

fn refused(scene: &Scene<'_>) -> Vec<Hit> {
    if of_table(scene) != Some(true) {
        return Vec::new();
    }
    let mut hits = Vec::new();
    for flag in &scene.start.line.flags {
        let FlagMatch::Known(known) = &flag.known else { continue };
        // A part of a flag (`--compilation-config.level`) has values of its own.
        let Some(flag) = scene.flag(known.name()).filter(|last| *last == flag && !flag.name.contains('.'))
        else {
            continue;
        };
        for value in flag.values.iter().filter(|value| known.accepts(value) == Some(false)) {
            let reason = format!("{} does not take {value:?}: the start fails", flag.written);
            let change = if known.choices.is_empty() {
                format!("give {} a number", flag.written)
            } else {
                format!("one of {}", known.choices.join(", "))
            };
            hits.push(Hit::flag(scene, Severity::Error, flag, reason, change));
        }
    }
    hits
}

fn variables(scene: &Scene<'_>) -> Vec<Hit> {
    let rows = scene.start.dialect().variables_gone.iter();
    let told = rows.filter_map(|row| {
        let variable = scene.start.variable(row.name)?;
        let severity = match scene.is_from(row.gone_in) {
            Some(true) => Severity::Warning,
            None => Severity::Note,
            Some(false) => return None,
        };
        let reason = format!("it is not read from {} on", row.gone_in);
        let change = if row.instead.is_empty() {
            format!("remove {}", row.name)
        } else {
            format!("use {} instead", row.instead)
        };
        Some(Hit::variable(severity, variable, reason, change))
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use intriage_engines::Version;

    use super::super::testing::{ids, rules, unit};
    use super::super::{AdviceSurroundings, Severity};
    use super::*;

    fn release(text: &'static str) -> impl FnOnce(&mut AdviceSurroundings) {
        move |around| around.version = Version::parse(text)
    }

    #[test]
    fn every_flag_that_is_gone_is_not_in_the_table() {
        let table = known_flags(intriage_engines::Engine::Vllm).unwrap();
        for gone in GONE {
            assert!(table.find(gone.name).is_err(), "{} is a flag of {}", gone.name, table.version);
        }
    }

    #[test]
    fn a_removed_flag_is_as_bad_as_the_release_makes_it() {
        let severity = |text| {
            let advice = unit("ExecStart=vllm serve m --swap-space 4", release(text));
            advice.findings.first().map(|finding| finding.severity)
        };
        assert_eq!(severity("0.32.0"), Some(Severity::Error));
        assert_eq!(severity("0.11.0"), Some(Severity::Note));
        assert_eq!(rules("m --swap-space 4", |_| {}), ["flag-removed"]);
    }

    #[test]
    fn a_typing_mistake_is_found_with_what_is_near() {
        let advice = unit("ExecStart=vllm serve m --max-num-sequence 4", |_| {});
        assert_eq!(ids(&advice), ["flag-unknown"]);
        assert!(advice.findings[0].change.contains("--max-num-seqs"), "{advice:?}");
        assert!(rules("m --max-num-sequence 4", release("0.9.0")).is_empty());
    }

    #[test]
    fn a_value_is_judged_by_the_table_of_its_release() {
        assert_eq!(rules("m --max-num-seqs many", release("0.32.1")), ["flag-value-refused"]);
        assert!(rules("m --max-num-seqs many", |_| {}).is_empty());
        assert!(rules("m --max-num-seqs $N", release("0.32.0")).is_empty());
    }

    #[test]
    fn a_variable_that_is_not_read_is_found() {
        let of = |text| {
            let lines = "Environment=VLLM_ATTENTION_BACKEND=FLASHINFER\nExecStart=vllm serve m";
            ids(&unit(lines, release(text)))
        };
        assert_eq!(of("0.32.0"), ["variable-ignored"]);
        assert!(of("0.11.0").is_empty());
    }
}
