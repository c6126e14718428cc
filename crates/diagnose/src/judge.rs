//! The whole path: read, account, judge every cause, rank, answer.

use intriage_case::{Case, Requests, Signal};
use intriage_engines::{Observed, Setting, read};

use crate::benign::benign;
use crate::causes::{Cause, Class, catalogue, machine_notes, silent_hops, unfelt};
use crate::diagnosis::{
    Diagnosis, EngineSummary, Finding, Outcome, RemedyOut, RuledOut, SCHEMA, Status, Unjudged, WindowSummary,
};
use crate::evidence::Evidence;
use crate::notes::window_notes;
use crate::objectives::judge_objectives;
use crate::rank::{Held, rank, split_unfelt_demand};
use crate::segments::segments;
use crate::thresholds::Thresholds;
use crate::verdict::{split_by_objectives, verdict};

/// Diagnoses a case. The same case and thresholds give the same answer on any machine.
pub fn diagnose(case: &Case, thresholds: &Thresholds) -> Diagnosis {
    let observed = read(case);
    let e = Evidence::new(&observed, &case.intent, thresholds);
    let objectives = judge_objectives(&e);
    let mut held = Vec::new();
    let (mut ruled_out, mut cannot_tell) = (Vec::new(), Vec::new());
    for cause in catalogue() {
        let judgement = (cause.judge)(&e);
        match judgement.outcome {
            Outcome::Confirmed | Outcome::Likely => {
                held.push(Held { cause, judgement, effect_of: None, drives: None });
            }
            Outcome::RuledOut => {
                ruled_out.push(RuledOut { cause: cause.id.into(), because: judgement.against });
            }
            Outcome::CannotTell => {
                cannot_tell.push(Unjudged {
                    cause: cause.id.into(),
                    missing: judgement.missing,
                    probe: probe_text(cause),
                });
            }
        }
    }
    let ids: Vec<&str> = held.iter().map(|h| h.cause.id).collect();
    let benign = benign(&e, &ids);
    let (harmless, held) = split_by_objectives(&e, held, &objectives);
    let missed = objectives.iter().any(|o| o.met == Some(false));
    let (unfelt_demand, held) = if missed { (Vec::new(), held) } else { split_unfelt_demand(&e, held) };
    let held = rank(&e, held);
    let verdict = verdict(&e, &held, &cannot_tell, &objectives);
    let mut notes = observed.notes.clone();
    notes.extend(window_notes(&e));
    notes.extend(unfelt(&e));
    notes.extend(machine_notes(&e));
    if !held.iter().any(|h| h.cause.class == Class::Network) {
        notes.extend(silent_hops(&e));
    }
    notes.extend(harmless.iter().map(|h| {
        format!("{} (every stated objective is met, so this is a note): {}", h.cause.id, h.judgement.says)
    }));
    notes.extend(unfelt_demand.iter().map(|h| {
        let felt = h.judgement.impact.as_ref().map_or("", |i| i.says.as_str());
        format!("{} (hardly felt, so this is a note): {}; {felt}", h.cause.id, h.judgement.says)
    }));
    let remedies = held
        .first()
        .filter(|_| verdict.status == Status::Finding)
        .map_or(Vec::new(), |h| remedies(&observed, h));
    Diagnosis {
        schema: SCHEMA.into(),
        intriage: env!("CARGO_PKG_VERSION").into(),
        target: case.target.name.clone(),
        profile: case.intent.profile,
        engine: engine_summary(&observed),
        model: observed.model.clone(),
        window: window_summary(&e),
        verdict,
        segments: segments(&e),
        objectives,
        findings: held.into_iter().map(finding).collect(),
        ruled_out,
        cannot_tell,
        remedies,
        predictions: Vec::new(),
        no_prediction: None,
        benign,
        config: observed.table.clone(),
        notes,
    }
}

/// Who answered, as a diagnosis names it.
pub(crate) fn engine_summary(observed: &Observed) -> EngineSummary {
    EngineSummary {
        name: observed.identity.engine.map(|e| e.key().to_owned()),
        title: observed.identity.engine.map(|e| e.to_string()),
        version: observed.identity.version.as_ref().map(ToString::to_string),
        models: observed.identity.models.clone(),
        instances: observed.instances().len() as u32,
    }
}

fn window_summary(e: &Evidence<'_>) -> WindowSummary {
    WindowSummary {
        start: e.observed.times.first().copied(),
        end: e.observed.times.last().copied(),
        seconds: e.elapsed(),
        scrapes: e.observed.times.len() as u32,
        failed_scrapes: e.observed.failed.len() as u32,
        busy_scrapes: e.busy().len() as u32,
        finished_requests: e.finished().map(Requests::get),
    }
}

fn finding(held: Held) -> Finding {
    let j = held.judgement;
    Finding {
        cause: held.cause.id.into(),
        outcome: j.outcome,
        confidence: j.confidence,
        says: j.says,
        impact: j.impact,
        facts_for: j.facts_for,
        against: j.against,
        missing: j.missing,
        effect_of: held.effect_of.map(str::to_owned),
        drives: held.drives.map(str::to_owned),
    }
}

fn probe_text(cause: &Cause) -> String {
    format!("{}: {}", cause.probe.name, cause.probe.steps)
}

/// The case's own advice first, then the catalogue's rows for this engine and release.
fn remedies(observed: &Observed, held: &Held) -> Vec<RemedyOut> {
    let cause = held.cause;
    let fits = |r: &&crate::causes::Remedy| {
        let engine = r.engine.is_none() || r.engine == observed.identity.engine;
        let device = observed.config.text(Setting::Device);
        engine
            && (r.device.is_empty() || device.is_none_or(|d| d == r.device))
            && observed.identity.release().is_none_or(|v| r.range.holds(v))
    };
    let rows: Vec<_> = cause.remedies.iter().filter(fits).collect();
    let out = |change: &str, cost: &str| RemedyOut {
        cause: cause.id.into(),
        change: change.to_owned(),
        effect: cause.effect.into(),
        cost: cost.to_owned(),
        confirm: in_engine_words(observed, cause.confirm),
        undo: "Put the old value back and restart the server.".into(),
    };
    held.judgement
        .advice
        .iter()
        .map(|a| out(&a.change, &a.cost))
        .chain(rows.iter().map(|r| out(r.change, r.cost)))
        .collect()
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
