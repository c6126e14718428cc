//! The running server does not have the configuration people believe.

use intriage_case::{Fact, Ratio, Seconds, Source};
use intriage_engines::{ConfigAnswer, ConfigRow, ConfigTable, RowVerdict};

use super::change::change;
use super::effects::{Felt, felt};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn, Outcome};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "config-not-applied",
    class: Class::Release,
    layer: Layer::Configuration,
    hurts: Aspect::OF_A_RELEASE,
    summary: "The running server does not have the configuration people believe: an old process, another way of starting it, a flag that was ignored, overridden or switched off.",
    symptoms: &[
        "a change of the configuration changed nothing",
        "two servers with the same configuration behave differently",
    ],
    confirmed_by: &[
        "the running process's command line or release differs from its manifest, or the manifest was changed after it started",
        "the engine says another value is in force than the one asked for",
        "what that value brings about is seen",
    ],
    refuted_by: &["every value asked for is in force", "what is not in force costs nothing in this window"],
    look_alikes: &[
        LookAlike {
            cause: "engine-default-change",
            tell: "there nobody asked for the value, and an upgrade changed it",
        },
        LookAlike {
            cause: "max-num-seqs-limited-queue",
            tell: "there the cap in force is the one asked for",
        },
        LookAlike { cause: "replica-version-skew", tell: "there only some replicas differ" },
    ],
    probe: Probe {
        name: "effective-diff",
        steps: "On the serving machine run `intriage config URL --host --log server.log --manifest FILE`: what is asked for, what the process was started with, what is in force.",
        if_so: "A row is stale, overridden, dropped or auto-disabled.",
        if_not: "Every row agrees.",
    },
    remedies: &[
        Remedy::any(
            "deploy again from the manifest, and compare the effective configuration afterwards (`intriage config`)",
            "a restart",
        ),
        Remedy::any(
            "let the roll-out fail where the effective configuration differs from the one asked for",
            "a check more in the roll-out",
        ),
    ],
    effect: "The configuration people believe in is in force, and what it was meant to do happens.",
    confirm: "`intriage config` shows no row that is stale, overridden, dropped or auto-disabled.",
    explains: &[],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let table = &e.observed.table;
    let found = first_felt(e, table);
    let mut w = Weighing::new().requires(differs(table, found.as_ref().map(|(row, _)| *row)));
    let Some((row, felt)) = found else {
        return w.requires(costs_nothing(table)).conclude("", nothing());
    };
    let effect = &felt.judgement;
    w = w.requires(Test::Holds(Fact {
        says: format!("what that brings about is seen: {}", effect.says),
        value: effect.impact.as_ref().map(|i| i.share.into()),
        limit: None,
        signal: None,
        source: Source::Derived { from: felt.cause.id.to_owned() },
    }));
    if row.verdict == RowVerdict::Stale {
        w = w.supports(changed_since(table));
    }
    if effect.outcome == Outcome::Likely {
        w = w.at_most_likely(effect.confidence);
    }
    // What is seen in a window may have another reason; the process's own word has none.
    let seen_alone = [&row.started_with, &row.resolved, &row.replaced].into_iter().all(Option::is_none);
    if seen_alone && row.verdict != RowVerdict::Stale {
        w = w.at_most_likely(effect.confidence.min(0.8));
    }
    w = w.explains(&[felt.cause.id]).explains(felt.cause.explains);
    w = w.advise(change(table, row), "a restart");
    let impact = effect.impact.clone().unwrap_or_else(nothing);
    w.conclude(format!("{}: {}", row.says, effect.says), impact)
}

/// The row that is felt most: of two the one whose effect takes the larger share.
fn first_felt<'a>(e: &Evidence<'_>, table: &'a ConfigTable) -> Option<(&'a ConfigRow, Felt)> {
    let off = table.rows.iter().filter(|row| row.is_off());
    let felt = off.filter_map(|row| {
        // What is asked for against what happens; a stale process has its own flags in force.
        let meant = if row.verdict == RowVerdict::Stale { row.requested.as_ref() } else { row.believed() };
        let believed = meant.or(row.default.as_ref())?;
        let now = match row.verdict {
            RowVerdict::Stale => row.started_with.as_ref().or(row.in_force().filter(|s| *s != believed)),
            _ => row.in_force().filter(|s| *s != believed),
        };
        let (believed, now) = (row.of_setting(believed), row.of_setting(now.or(row.default.as_ref())?));
        Some((row, felt(e, row.setting?, &believed, &now)?))
    });
    let share = |f: &Felt| f.judgement.impact.as_ref().map_or(0.0, |i| i.share.get());
    felt.max_by(|(_, a), (_, b)| share(a).total_cmp(&share(b)))
}

/// Rows that are off and cost nothing seen here: a reader should know of them, and nobody be alarmed.
pub(crate) fn unfelt(e: &Evidence<'_>) -> Vec<String> {
    let table = &e.observed.table;
    let felt = first_felt(e, table).map(|(row, _)| row.name.clone());
    let off = table.rows.iter().filter(|row| row.is_off() && Some(&row.name) != felt.as_ref());
    off.map(|row| format!("configuration, {}: {}", row.verdict.name(), row.says)).collect()
}

fn differs(table: &ConfigTable, felt: Option<&ConfigRow>) -> Test {
    if !table.asked {
        return Test::Unknown(
            "nothing says what was asked for: give the unit, compose file or manifest (--manifest), the start-up log (--log) or the flags (--engine-args)".into(),
        );
    }
    if let Some(row) = felt.or_else(|| table.rows.iter().find(|row| row.is_off())) {
        return Test::Holds(fact(row.says.clone(), source(row)));
    }
    let agree = table.rows.iter().filter(|row| row.verdict == RowVerdict::Agrees).count();
    if table.answer() == ConfigAnswer::Nothing {
        return Test::Unknown(
            "nothing of the running server shows whether what was asked for is in force: give its start-up log (--log), or run with --host on its machine".into(),
        );
    }
    let values = if agree == 1 { "the value".to_owned() } else { format!("the {agree} values") };
    let says =
        format!("{values} asked for that can be compared {} in force", if agree == 1 { "is" } else { "are" });
    Test::Fails(fact(says, Source::Derived { from: "requested against resolved".into() }))
}

/// Something is off, and nothing it would bring about is seen.
fn costs_nothing(table: &ConfigTable) -> Test {
    match table.rows.iter().find(|row| row.is_off()) {
        Some(row) => {
            let says = format!("nothing that {} would bring about is seen in this window", row.name);
            Test::Fails(fact(says, source(row)))
        }
        None => Test::Unknown("nothing is known to be off".into()),
    }
}

fn changed_since(table: &ConfigTable) -> Test {
    let Some(start) = table.start else {
        return Test::Unknown(
            "whether the manifest was changed after the server started is not known".into(),
        );
    };
    let file = table.manifest.as_deref().unwrap_or("the manifest");
    let (earlier, later) = (start.server.min(start.manifest), start.server.max(start.manifest));
    let apart = Seconds(later.since(earlier).get().round());
    let says = if start.is_older_than_manifest() {
        format!("the server started {apart} before {file} was last changed")
    } else {
        format!("the server started {apart} after {file} was last changed: it was started in another way")
    };
    Test::Holds(fact(says, Source::Derived { from: "process start against the file's last change".into() }))
}

fn source(row: &ConfigRow) -> Source {
    let said = row.started_with.as_ref().or(row.resolved.as_ref()).or(row.requested.as_ref());
    said.map_or(Source::CommandLine, |said| said.from.clone())
}

fn fact(says: String, source: Source) -> Fact {
    Fact { says, value: None, limit: None, signal: None, source }
}

fn nothing() -> Impact {
    Impact { on: ImpactOn::Measurement, share: Ratio(0.0), time: None, says: String::new() }
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::*;
    use crate::testing::Given;

    /// Two running, twelve waiting, an empty pool.
    fn queueing() -> Given {
        Given::vllm("0.32.0")
            .gauge(RequestsRunning, 2.0)
            .gauge(RequestsWaiting, 12.0)
            .gauge(KvUsage, 0.06)
            .observed(LatencyTtft, &[(4.1, 400.0)])
            .observed(LatencyQueue, &[(4.0, 400.0)])
            .observed(LatencyPrefill, &[(0.05, 400.0)])
            .observed(LatencyItl, &[(0.02, 20_000.0)])
            .finished("stop", 400.0)
    }

    const UNIT: &str = "[Service]\nExecStart=vllm serve m --max-num-seqs 32\n";

    #[test]
    fn a_process_older_than_its_unit_is_the_cause_and_its_cap_the_effect() {
        let stale = queueing()
            .manifest("vllm.service", UNIT)
            .log("INFO non-default args: {'model_tag': 'm', 'max_num_seqs': 2}\n");
        let j = stale.judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.says.contains("vllm.service has --max-num-seqs 32"), "{}", j.says);
        assert!(j.advice[0].change.contains("systemctl restart vllm"), "{:?}", j.advice);
        let d = stale.verdict();
        assert_eq!(d.verdict.primary.cause.as_deref(), Some("config-not-applied"));
        let cap = d.findings.iter().find(|f| f.cause == "max-num-seqs-limited-queue").unwrap();
        assert_eq!(cap.effect_of.as_deref(), Some("config-not-applied"));
    }

    #[test]
    fn a_flag_given_twice_is_the_cause() {
        let j = queueing().flags("vllm serve m --max-num-seqs 32 --max-num-seqs 2").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(
            j.advice[0].change.contains("take the second --max-num-seqs off the command line"),
            "{:?}",
            j.advice
        );
    }

    #[test]
    fn a_server_that_runs_what_its_unit_says_is_not_it() {
        let fine = queueing()
            .manifest("vllm.service", "[Service]\nExecStart=vllm serve m --max-num-seqs 2\n")
            .log("INFO non-default args: {'model_tag': 'm', 'max_num_seqs': 2}\n");
        let j = fine.judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut, "{j:#?}");
        assert_eq!(fine.verdict().verdict.primary.cause.as_deref(), Some("max-num-seqs-limited-queue"));
    }

    #[test]
    fn what_is_off_and_costs_nothing_is_a_note() {
        let calm = queueing()
            .gauge(RequestsWaiting, 0.0)
            .observed(LatencyQueue, &[(0.001, 500.0)])
            .manifest("vllm.service", UNIT)
            .log("INFO non-default args: {'model_tag': 'm', 'max_num_seqs': 2}\n");
        assert_eq!(calm.judge(&CAUSE).outcome, Outcome::RuledOut);
        let d = calm.verdict();
        assert!(d.notes.iter().any(|n| n.starts_with("configuration, stale: ")), "{:?}", d.notes);
    }

    #[test]
    fn a_smaller_cap_asked_for_does_not_explain_a_queue() {
        let other_way = queueing()
            .manifest("vllm.service", "[Service]\nExecStart=vllm serve m --max-num-seqs 1\n")
            .log("INFO non-default args: {'model_tag': 'm', 'max_num_seqs': 2}\n");
        assert_eq!(other_way.judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_cap_that_only_the_unit_names_rules_nothing_out() {
        let wished = queueing()
            .manifest("vllm.service", "[Service]\nExecStart=vllm serve m --max-num-seqs 64\n")
            .verdict();
        let cap = wished.findings.iter().find(|f| f.cause == "max-num-seqs-limited-queue").unwrap();
        assert_ne!(cap.outcome, Outcome::RuledOut, "{cap:#?}");
        let told = serde_json::to_string(cap).unwrap();
        assert!(told.contains("a flat top at 2") && !told.contains("64"), "{told}");
    }

    #[test]
    fn a_cap_smaller_than_the_units_is_likely_the_cause_where_the_pool_has_room() {
        let d = queueing()
            .manifest("vllm.service", "[Service]\nExecStart=vllm serve m --max-num-seqs 64\n")
            .verdict();
        assert_eq!(d.verdict.primary.cause.as_deref(), Some("config-not-applied"));
        assert_eq!(d.findings[0].outcome, Outcome::Likely, "{:#?}", d.findings[0]);
    }

    #[test]
    fn a_unit_of_which_nothing_is_seen_rules_nothing_out() {
        let script = queueing()
            .manifest("vllm.service", "[Service]\nExecStart=/opt/start-vllm.sh\n")
            .log("INFO non-default args: {'model_tag': 'm', 'max_num_seqs': 2}\n");
        assert_eq!(script.judge(&CAUSE).outcome, Outcome::CannotTell);
    }

    #[test]
    fn nothing_asked_for_is_nothing_to_compare() {
        let j = queueing().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("--manifest"), "{:?}", j.missing);
    }
}
