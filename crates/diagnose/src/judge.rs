//! The whole path: account, symptoms, causes, rank, verdict.

use intriage_case::{Case, Ratio, Requests, StartEnd};
use intriage_engines::{LogStory, Observed, read};

use crate::benign::benign;
use crate::calibration::calibrated;
use crate::causes::{Cause, Class, catalogue, machine_notes, silent_hops, unfelt};
use crate::context::Context;
use crate::diagnosis::{
    Diagnosis, EngineSummary, Finding, ImpactOn, Outcome, RuledOut, SCHEMA, Unjudged, WindowSummary,
};
use crate::evidence::Evidence;
use crate::notes::window_notes;
use crate::rank::{Held, rank};
use crate::remedies::remedies;
use crate::segments::segments;
use crate::symptoms::{Aspect, Symptom, Symptoms};
use crate::thresholds::{Limit, Thresholds};
use crate::verdict::{Others, verdict};
use crate::weighing::Judgement;

/// Diagnoses a case. The same case and thresholds give the same answer on any machine.
pub fn diagnose(case: &Case, thresholds: &Thresholds) -> Diagnosis {
    diagnose_observed(&read(case), case, thresholds)
}

/// Diagnoses a case that was read before: account, symptoms, causes, rank, verdict.
pub fn diagnose_observed(observed: &Observed, case: &Case, thresholds: &Thresholds) -> Diagnosis {
    let e = Evidence::new(observed, &case.intent, thresholds);
    let mut symptoms = Symptoms::of(&e);
    // A process that ended before it served hurts, whatever its log says.
    if let Some(start) =
        case.start.as_ref().filter(|start| !start.end.came_up() && start.end != StartEnd::Interrupted)
    {
        symptoms.learn(Aspect::Availability, Ratio(1.0), &start.end.says(start.took));
    }
    let causes = explain(&e, &mut symptoms);
    let held = rank(&e, causes.held);
    let others = Others { unfelt: &causes.unfelt, cannot_tell: &causes.cannot_tell };
    let verdict = verdict(&e, &symptoms, &held, &others);
    let ids: Vec<&str> = held.iter().chain(&causes.unfelt).map(|h| h.cause.id).collect();
    let benign = benign(&e, &ids);
    let mut notes = observed.notes.clone();
    notes.extend(window_notes(&e));
    notes.extend(unfelt(&e));
    notes.extend(machine_notes(&e));
    if !held.iter().any(|h| h.cause.class == Class::Network) {
        notes.extend(silent_hops(&e));
    }
    notes.extend(
        causes
            .unfelt
            .iter()
            .map(|h| format!("{} (nothing that it explains hurts): {}", h.cause.id, h.judgement.says)),
    );
    let remedies = held
        .first()
        .filter(|h| verdict.primary.cause.as_deref() == Some(h.cause.id))
        .map_or(Vec::new(), |h| remedies(observed, h.cause, &h.judgement.advice));
    Diagnosis {
        schema: SCHEMA.into(),
        intriage: env!("CARGO_PKG_VERSION").into(),
        target: case.target.name.clone(),
        profile: case.intent.profile,
        engine: engine_summary(observed),
        model: observed.model.clone(),
        start: case.start.clone(),
        window: window_summary(&e),
        verdict,
        context: Context::of(&e),
        symptoms: symptoms.0,
        timeline: e.timeline.events.clone(),
        segments: segments(&e),
        objectives: e.objectives.clone(),
        findings: held.into_iter().map(finding).collect(),
        ruled_out: causes.ruled_out,
        cannot_tell: causes.cannot_tell,
        remedies,
        predictions: Vec::new(),
        no_prediction: None,
        benign,
        log_story: LogStory::of(observed),
        config: observed.table.clone(),
        notes,
    }
}

/// What the catalogue makes of the evidence.
#[derive(Default)]
struct Causes {
    /// Those that hold and explain something that hurts.
    held: Vec<Held>,
    /// Those that hold while nothing they explain hurts.
    unfelt: Vec<Held>,
    ruled_out: Vec<RuledOut>,
    cannot_tell: Vec<Unjudged>,
}

/// Causes that an engine writes down each time and nothing else shows, beside those of the start.
const WRITTEN_DOWN: [&str; 2] = ["silent-context-truncation", "kv-transfer-failure"];

fn only_lines_tell(cause: &Cause) -> bool {
    cause.class == Class::Startup || WRITTEN_DOWN.contains(&cause.id)
}

/// Asks every cause, and keeps as findings those that explain a symptom that hurts.
fn explain(e: &Evidence<'_>, symptoms: &mut Symptoms) -> Causes {
    let mut causes = Causes::default();
    let mut holding = Vec::new();
    for cause in catalogue() {
        let judgement = (cause.judge)(e);
        match judgement.outcome {
            Outcome::Confirmed | Outcome::Likely => {
                learn_what_words_tell(e, symptoms, cause, &judgement);
                holding.push(Held { cause, judgement, effect_of: None, drives: None });
            }
            Outcome::RuledOut => {
                causes.ruled_out.push(RuledOut { cause: cause.id.into(), because: judgement.against });
            }
            // What no line tells of did not happen: two dozen such causes would bury what is open.
            Outcome::CannotTell if only_lines_tell(cause) => {}
            Outcome::CannotTell => causes.cannot_tell.push(Unjudged {
                cause: cause.id.into(),
                missing: judgement.missing,
                probe: probe_text(cause),
            }),
        }
    }
    let explains = |h: &Held| symptoms.any_hurts(h.cause.hurts);
    (causes.held, causes.unfelt) = holding.into_iter().partition(explains);
    causes
}

/// A log, a kernel or a probe tells of harm that no figure of the window shows: a start that failed, refusals, a slow way.
fn learn_what_words_tell(e: &Evidence<'_>, symptoms: &mut Symptoms, cause: &Cause, judgement: &Judgement) {
    let Some(impact) = &judgement.impact else { return };
    let can_hurt = |aspect: &&Aspect| cause.hurts.contains(aspect);
    let outside = cause.hurts.iter().copied().find(|aspect| Aspect::OUTSIDE.contains(aspect));
    let measured_here = |s: &Symptom| cause.hurts.contains(&s.aspect) && !Aspect::OUTSIDE.contains(&s.aspect);
    let seen = symptoms.hurting().any(measured_here);
    let told = match (impact.on, cause.class) {
        (ImpactOn::Availability, _) => Some(Aspect::Availability),
        (ImpactOn::Errors, _) => Some(Aspect::Errors),
        (ImpactOn::Measurement, _) => Some(Aspect::Measurement),
        // What the server's own figures show of it needs no words.
        (_, Class::Network | Class::Client) if outside.is_some() && !seen => outside,
        // Where nobody scraped the server, the words of its log and of its machine are all there is.
        (on, _) if e.observed.times.is_empty() => {
            felt_in(on).iter().find(can_hurt).copied().filter(|aspect| symptoms.is_unseen(*aspect))
        }
        _ => None,
    };
    // What clients and probes measured is told from a fair part on; what does not serve is told at once.
    let measured = !matches!(impact.on, ImpactOn::Availability | ImpactOn::Errors | ImpactOn::Measurement);
    let small = impact.share.get() < e.limit(Limit::WorthNaming);
    if let Some(told) = told.filter(|_| !(measured && small && !e.observed.times.is_empty())) {
        symptoms.learn(told, impact.share, &impact.says);
    }
}

/// Where an impact is felt, the likeliest aspect first.
const fn felt_in(on: ImpactOn) -> &'static [Aspect] {
    match on {
        ImpactOn::Ttft => Aspect::FIRST_TOKEN,
        ImpactOn::Tpot => {
            &[Aspect::Preemption, Aspect::DecodeStep, Aspect::Interference, Aspect::Stalls, Aspect::HostGap]
        }
        ImpactOn::E2e => &[Aspect::DecodeStep, Aspect::HostGap, Aspect::AnswerLengths, Aspect::Prefill],
        ImpactOn::Throughput => &[Aspect::Throughput, Aspect::Queue],
        ImpactOn::Availability | ImpactOn::Errors | ImpactOn::Measurement | ImpactOn::Memory => &[],
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
        confidence: calibrated(j.confidence),
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
