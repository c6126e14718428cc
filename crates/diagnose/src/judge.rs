//! The whole path: read, account, judge every cause, rank, answer.

use intriage_case::{Case, Requests, Seconds, Signal};
use intriage_engines::{Observed, read};

use crate::benign::benign;
use crate::causes::{Cause, catalogue};
use crate::diagnosis::{
    Diagnosis, EngineSummary, Finding, ImpactOn, Named, ObjectiveResult, Outcome, Primary, RemedyOut,
    RuledOut, SCHEMA, Status, Unjudged, Verdict, WindowSummary,
};
use crate::evidence::Evidence;
use crate::objectives::judge_objectives;
use crate::rank::{Held, rank};
use crate::segments::segments;
use crate::thresholds::Thresholds;

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
            Outcome::Confirmed | Outcome::Likely => held.push(Held { cause, judgement, effect_of: None }),
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
    let (harmless, held) = split_by_objectives(held, &objectives);
    let held = rank(&e, held);
    let verdict = verdict(&e, &held, &objectives);
    let mut notes = observed.notes.clone();
    notes.extend(window_notes(&e));
    notes.extend(harmless.iter().map(|h| {
        format!("{} (every stated objective is met, so this is a note): {}", h.cause.id, h.judgement.says)
    }));
    let remedies = held
        .first()
        .filter(|_| verdict.status == Status::Finding)
        .map_or(Vec::new(), |h| remedies(&observed, h));
    Diagnosis {
        schema: SCHEMA.into(),
        target: case.target.name.clone(),
        engine: engine_summary(&observed),
        window: window_summary(&e),
        verdict,
        segments: segments(&e),
        objectives,
        findings: held.into_iter().map(finding).collect(),
        ruled_out,
        cannot_tell,
        remedies,
        benign,
        notes,
    }
}

/// A latency condition that moves no stated objective is a note, not an alarm.
fn split_by_objectives(held: Vec<Held>, objectives: &[ObjectiveResult]) -> (Vec<Held>, Vec<Held>) {
    let all_met = !objectives.is_empty() && objectives.iter().all(|o| o.met == Some(true));
    held.into_iter().partition(|h| {
        let on = h.judgement.impact.as_ref().map(|i| i.on);
        all_met && matches!(on, Some(ImpactOn::Ttft | ImpactOn::Tpot | ImpactOn::E2e | ImpactOn::Throughput))
    })
}

fn verdict(e: &Evidence<'_>, held: &[Held], objectives: &[ObjectiveResult]) -> Verdict {
    let none = Primary { cause: None, confidence: 0.0 };
    if let Some(first) = held.first() {
        let runner_up = held
            .iter()
            .skip(1)
            .find(|h| h.effect_of.is_none())
            .map(|h| Named { id: h.cause.id.into(), says: h.judgement.says.clone() });
        let primary = Primary { cause: Some(first.cause.id.into()), confidence: first.judgement.confidence };
        return Verdict {
            status: Status::Finding,
            answer: sentence(&first.judgement.says),
            primary,
            runner_up,
        };
    }
    let (status, answer) = if let Some(why) = why_not_judged(e) {
        (Status::CannotTell, why)
    } else if let Some(missed) = objectives.iter().find(|o| o.met == Some(false)) {
        (
            Status::CannotTell,
            format!(
                "The objective {} is missed ({}), and no cause this evidence can show explains it.",
                missed.objective, missed.measured
            ),
        )
    } else {
        (Status::Healthy, healthy_answer(e))
    };
    Verdict { status, answer, primary: none, runner_up: None }
}

/// Why the window allows no verdict, if it does not.
fn why_not_judged(e: &Evidence<'_>) -> Option<String> {
    let o = e.observed;
    if o.times.is_empty() {
        let why = o.failed.last().map_or("nothing was collected".to_owned(), |(_, why)| why.clone());
        return Some(format!("There is no readable scrape: {why}."));
    }
    if o.identity.engine.is_none() {
        return Some("These metrics belong to no engine known here.".into());
    }
    if o.times.len() < 2 {
        return Some("One scrape shows no change: take at least two, some seconds apart.".into());
    }
    if e.busy().is_empty() {
        return Some(format!("Nothing was running: no request was seen in {}.", e.elapsed()));
    }
    None
}

fn healthy_answer(e: &Evidence<'_>) -> String {
    let mut parts = Vec::new();
    if let Some(waiting) =
        e.observed.series(Signal::RequestsWaiting, None, None).and_then(|s| s.mean_at(e.busy()))
    {
        parts.push(if waiting < 0.5 {
            "nobody waits".to_owned()
        } else {
            format!("{} wait on average without harm", Requests(waiting))
        });
    }
    if let Some(ttft) = e.mean(Signal::LatencyTtft) {
        parts.push(format!("first token after {}", Seconds(ttft)));
    }
    if let Some(itl) = e.account.itl {
        parts.push(format!("then one every {}", Seconds(itl)));
    }
    if parts.is_empty() {
        parts.push("requests are served".into());
    }
    sentence(&format!("nothing is wrong: {}", parts.join(", ")))
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    // An engine's name keeps its own spelling.
    let keeps = text.starts_with("vLLM") || text.starts_with("llama.cpp");
    let body = if keeps { text.to_owned() } else { format!("{first}{}", chars.as_str()) };
    if body.ends_with('.') { body } else { format!("{body}.") }
}

fn window_notes(e: &Evidence<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let o = e.observed;
    if o.times.len() >= 2 && e.busy().is_empty() {
        notes.push("nothing was running in the window; put load on the server and check again".into());
    }
    if e.restarts() > 0 {
        notes.push(format!(
            "counters fell back {} time(s): the process restarted inside the window",
            e.restarts()
        ));
    }
    if let Some(Requests(n)) = e.finished()
        && !e.busy().is_empty()
        && n < 30.0
    {
        notes.push(format!("only {n:.0} requests finished in the window: means are rough"));
    }
    if let (Some(seen), Some(accounted)) = (e.mean(Signal::LatencyTtft), e.account.ttft)
        && (seen - accounted).abs() > 0.2 * seen
    {
        notes.push(format!(
            "all first tokens of the window came after {} on average; the account covers the requests whose queue and prefill times are known, those that finished ({})",
            Seconds(seen),
            Seconds(accounted)
        ));
    }
    if let Some(scope) = e.scope() {
        let engine = scope.engine.as_deref().unwrap_or("?");
        let model = scope.model.as_deref().unwrap_or("?");
        notes.push(format!(
            "{} engines answer here; limits were judged on the fullest one (engine {engine}, model {model})",
            o.instances().len()
        ));
    }
    for (limit, value) in e.thresholds.changed() {
        notes.push(format!(
            "threshold {} was set to {value} (default {})",
            limit.key(),
            limit.default_value()
        ));
    }
    notes
}

fn engine_summary(observed: &Observed) -> EngineSummary {
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
        engine && observed.identity.release().is_none_or(|v| r.range.holds(v))
    };
    let rows: Vec<_> = cause.remedies.iter().filter(fits).collect();
    let out = |change: &str, cost: &str| RemedyOut {
        cause: cause.id.into(),
        change: change.to_owned(),
        effect: cause.effect.into(),
        cost: cost.to_owned(),
        confirm: cause.confirm.into(),
        undo: "Put the old value back and restart the server.".into(),
    };
    held.judgement
        .advice
        .iter()
        .map(|a| out(&a.change, &a.cost))
        .chain(rows.iter().map(|r| out(r.change, r.cost)))
        .collect()
}
