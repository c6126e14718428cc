//! An upgrade changed a default, and nobody had set it.

use intriage_case::{Fact, Ratio, Source};
use intriage_engines::{
    Before, ChangedDefault, ConfigRow, Engine, Observed, Setting, SettingValue, changed_defaults,
};

use super::effects::{Felt, felt};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn, Outcome};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "engine-default-change",
    class: Class::Release,
    layer: Layer::Configuration,
    hurts: Aspect::OF_A_RELEASE,
    summary: "An upgrade changed a default that nobody had set, so the same command line now gives another capacity or behaviour.",
    symptoms: &[
        "the KV pool, the batch or the pace differ after an upgrade with the same flags",
        "nobody changed the configuration",
    ],
    confirmed_by: &[
        "a value nobody set differs between the two releases, in their logs or in the table of defaults",
        "what the new value brings about is seen",
    ],
    refuted_by: &[
        "the values in force are the same before and after",
        "what changed costs nothing in this window",
    ],
    look_alikes: &[
        LookAlike {
            cause: "engine-upgrade-regression",
            tell: "there the configurations are the same and the speed is not",
        },
        LookAlike { cause: "config-not-applied", tell: "there somebody did ask for the value" },
    ],
    probe: Probe {
        name: "config-freeze",
        steps: "Start the new release with every value of the old one written out, on one replica.",
        if_so: "The effect is gone.",
        if_not: "It stays: the release itself is slower.",
    },
    remedies: &[
        Remedy::any(
            "write the values that matter on the command line, and compare the effective configuration in CI",
            "a flag that no longer follows the engine's own advice",
        ),
        Remedy::of(
            Engine::Vllm,
            "set --gpu-memory-utilization, --max-num-seqs, --max-num-batched-tokens and --generation-config explicitly",
            "the engine no longer chooses by hardware",
        ),
    ],
    effect: "The old capacity and behaviour are back on the new release.",
    confirm: "`intriage config` shows the old value in force, and what was felt is gone.",
    explains: &[],
    judge,
};

/// A value nobody set, before and after.
struct Change {
    flag: String,
    was: SettingValue,
    is: SettingValue,
    source: Source,
}

/// The old release's default is known, not that anybody relied on it.
const CEILING: f64 = 0.8;

fn judge(e: &Evidence<'_>) -> Judgement {
    let w = Weighing::new();
    let Some(before) = &e.observed.before else {
        let why =
            "only one release of this server is known: give the log of the one before, too (--log old.log)";
        return w.requires(Test::Unknown(why.into())).conclude("", nothing());
    };
    let changes = changes(e.observed, before);
    let release = e.observed.identity.version.as_ref().map_or(String::new(), ToString::to_string);
    let w = w.requires(changed(&changes, before, &release));
    let found = changes.iter().find_map(|(setting, c)| Some((c, felt(e, *setting, &c.was, &c.is)?)));
    let Some((change, Felt { cause, judgement: effect })) = found else {
        let says = "nothing that the changed defaults would bring about is seen in this window".to_owned();
        let source = Source::Derived { from: "defaults of two releases".into() };
        let fact = Fact { says, value: None, limit: None, signal: None, source };
        return w.requires(Test::Fails(fact)).conclude("", nothing());
    };
    let Change { flag, was, is, .. } = change;
    let says = format!(
        "{flag} was {was} under {} and is {is} under {release}, and nobody set it: {}",
        before.version, effect.says
    );
    let seen = Fact {
        says: format!("what that brings about is seen: {}", effect.says),
        value: effect.impact.as_ref().map(|i| i.share.into()),
        limit: None,
        signal: None,
        source: Source::Derived { from: cause.id.to_owned() },
    };
    let mut w = w
        .requires(Test::Holds(seen))
        .explains(&[cause.id])
        .explains(cause.explains)
        .advise(format!("{flag} {was}: the value of {} written out", before.version), "a restart");
    // Only setting the old value again tells an effect from a coincidence.
    let ceiling = if effect.outcome == Outcome::Likely { effect.confidence.min(CEILING) } else { CEILING };
    w = w.at_most_likely(ceiling);
    w.conclude(says, effect.impact.clone().unwrap_or_else(nothing))
}

/// What differs: by the two configurations where both tell, else by the table of defaults.
fn changes(observed: &Observed, before: &Before) -> Vec<(Setting, Change)> {
    let mut found = Vec::new();
    let nobody_asked = |row: &&ConfigRow| row.requested.is_none() && row.started_with.is_none();
    // A flag that switches something off has the opposite of the setting's values, and no release known here needs it.
    for row in observed.table.rows.iter().filter(|row| nobody_asked(row) && !row.opposite) {
        let Some(setting) = row.setting else { continue };
        let asked_before = before.config.is_asked(setting);
        let was = before.config.resolved(setting).next().filter(|_| !asked_before);
        if let (Some(was), Some(now)) = (was, row.resolved.as_ref())
            && was.value != now.value
        {
            let change = Change {
                flag: row.name.clone(),
                was: was.value.clone(),
                is: now.value.clone(),
                source: was.source.clone(),
            };
            found.push((setting, change));
        }
    }
    found.extend(by_table(observed, before));
    found
}

fn by_table(observed: &Observed, before: &Before) -> Vec<(Setting, Change)> {
    let Some(now) = &observed.identity.version else { return Vec::new() };
    let asked = |setting| observed.config.is_asked(setting);
    let unset = |c: &ChangedDefault| Some((c.setting.filter(|s| !asked(*s))?, c.clone()));
    let value = |text: &str| match text.parse::<f64>() {
        Ok(number) => SettingValue::Number(number),
        Err(_) => SettingValue::Switch(text.starts_with("on")),
    };
    let rows = changed_defaults(observed, &before.version, now);
    rows.iter()
        .filter_map(unset)
        .map(|(setting, c)| {
            let source =
                Source::Default { rule: format!("{} {} and {now}", observed.engine_name(), before.version) };
            (setting, Change { flag: c.flag.to_owned(), was: value(&c.was), is: value(&c.is), source })
        })
        .collect()
}

fn changed(changes: &[(Setting, Change)], before: &Before, now: &str) -> Test {
    let fact = |says, source| Fact { says, value: None, limit: None, signal: None, source };
    let Some((_, c)) = changes.first() else {
        let says = format!("no value that nobody set differs between {} and {now}", before.version);
        return Test::Fails(fact(says, Source::Log { file: before.file.clone(), line: 1 }));
    };
    let more = match changes.len() {
        1 => String::new(),
        n => format!(", and {} more changed", n - 1),
    };
    let says =
        format!("{} {} → {} from {} to {now}, not set by anybody{more}", c.flag, c.was, c.is, before.version);
    Test::Holds(fact(says, c.source.clone()))
}

fn nothing() -> Impact {
    Impact { on: ImpactOn::Measurement, share: Ratio(0.0), time: None, says: String::new() }
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::*;
    use crate::testing::Given;

    /// A queue at 256 on a small GPU; the release before ran 1024 everywhere.
    fn upgraded() -> Given {
        Given::vllm("0.9.2")
            .log_named(
                "old.log",
                "INFO Initializing a V1 LLM engine (v0.8.2) with config: model='m', max_seq_len=8192\n",
            )
            .small_gpu()
            .gauge(RequestsRunning, 256.0)
            .gauge(RequestsWaiting, 300.0)
            .gauge(KvUsage, 0.2)
            .observed(LatencyTtft, &[(4.1, 4000.0)])
            .observed(LatencyQueue, &[(4.0, 4000.0)])
            .observed(LatencyPrefill, &[(0.05, 4000.0)])
            .observed(LatencyItl, &[(0.02, 200_000.0)])
            .finished("stop", 4000.0)
    }

    #[test]
    fn a_smaller_default_cap_after_an_upgrade_is_likely_the_cause() {
        let j = upgraded().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.says.contains("--max-num-seqs was 1024 under 0.8.2 and is 256 under 0.9.2"), "{}", j.says);
        assert!(j.advice[0].change.contains("--max-num-seqs 1024"), "{:?}", j.advice);
    }

    #[test]
    fn a_value_that_was_set_did_not_change_by_itself() {
        let j = upgraded().flags("vllm serve m --max-num-seqs 256").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut, "{j:#?}");
    }

    #[test]
    fn without_a_queue_the_change_costs_nothing() {
        let calm = upgraded().gauge(RequestsWaiting, 0.0).observed(LatencyQueue, &[(0.001, 500.0)]);
        assert_eq!(calm.judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn one_release_alone_tells_nothing() {
        let j = Given::vllm("0.9.2").gauge(RequestsRunning, 4.0).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("--log old.log"), "{:?}", j.missing);
    }
}
