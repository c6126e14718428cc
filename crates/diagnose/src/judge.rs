//! The whole path: read, account, judge every cause, rank, answer.

use intriage_case::{Case, Requests, Seconds, Signal};
use intriage_engines::{Observed, Setting, read};

use crate::benign::benign;
use crate::causes::{Cause, Class, a_queue_is_felt, catalogue, find, silent_hops, unfelt};
use crate::diagnosis::{
    Diagnosis, EngineSummary, Finding, ImpactOn, ObjectiveResult, Outcome, Primary, RemedyOut, RuledOut,
    RunnerUp, SCHEMA, Status, Unjudged, Verdict, WindowSummary,
};
use crate::evidence::Evidence;
use crate::objectives::judge_objectives;
use crate::rank::{Held, rank, split_unfelt_demand};
use crate::segments::segments;
use crate::silence::Silence;
use crate::thresholds::{Limit, Thresholds};

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

fn all_met(objectives: &[ObjectiveResult]) -> bool {
    !objectives.is_empty() && objectives.iter().all(|o| o.met == Some(true))
}

/// A latency condition that moves no stated objective is a note, not an alarm.
fn split_by_objectives(
    e: &Evidence<'_>,
    held: Vec<Held>,
    objectives: &[ObjectiveResult],
) -> (Vec<Held>, Vec<Held>) {
    let all_met = all_met(objectives);
    held.into_iter().partition(|h| {
        let on = h.judgement.impact.as_ref().map(|i| i.on);
        // The server's own figures say nothing about the way to it; the pace of tokens they do show.
        let unseen = h.cause.class == Class::Network && on != Some(ImpactOn::Tpot) && e.clients.is_err();
        all_met
            && !unseen
            && matches!(on, Some(ImpactOn::Ttft | ImpactOn::Tpot | ImpactOn::E2e | ImpactOn::Throughput))
    })
}

fn verdict(
    e: &Evidence<'_>,
    held: &[Held],
    cannot_tell: &[Unjudged],
    objectives: &[ObjectiveResult],
) -> Verdict {
    let none = Primary { cause: None, confidence: 0.0 };
    let crashed = held
        .first()
        .is_some_and(|h| h.judgement.impact.as_ref().is_some_and(|i| i.on == ImpactOn::Availability));
    if let Some(why) = too_short(e).filter(|_| !crashed) {
        return Verdict { status: Status::CannotTell, answer: why, primary: none, runner_up: None };
    }
    if let Some(first) = held.first() {
        let rival = |h: &&Held| h.effect_of.is_none() && h.drives.is_none();
        let runner_up = held.iter().skip(1).find(rival).map(|h| RunnerUp {
            cause: h.cause.id.into(),
            confidence: h.judgement.confidence,
            says: h.judgement.says.clone(),
        });
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
        let answer = format!(
            "The objective {} is missed ({}), and no cause this evidence can show explains it.",
            missed.objective, missed.measured
        );
        (Status::Finding, answer)
    } else if let Some(open) =
        unexplained_harm(e).or_else(|| unexplained_queue(e, cannot_tell).filter(|_| !all_met(objectives)))
    {
        (Status::CannotTell, open)
    } else {
        (Status::Healthy, healthy_answer(e))
    };
    Verdict { status, answer, primary: none, runner_up: None }
}

/// Why the window is too short for any verdict, if it is.
fn too_short(e: &Evidence<'_>) -> Option<String> {
    let short = e.observed.times.len() >= 2 && e.elapsed().get() < e.limit(Limit::ShortestWindow);
    short.then(|| {
        format!("The window of {} shows a moment, not a state: watch for some seconds.", e.elapsed())
    })
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

/// Failing requests and a standstill are not healthy because no cause was found.
fn unexplained_harm(e: &Evidence<'_>) -> Option<String> {
    if let Some(failed) = e.failed_share().filter(|f| f.get() > e.limit(Limit::ErrorShare)) {
        return Some(format!("{failed} of the requests fail, and nothing here says why: give --log."));
    }
    if let Some(standstill) = standstill(e) {
        return Some(standstill);
    }
    let held = e.mean_busy(Signal::RequestsRunning).filter(|r| *r >= 1.0)?;
    let still = e.delta(Signal::TokensGenerated) == Some(0.0) && e.delta(Signal::TokensPrompt) == Some(0.0);
    still.then(|| {
        format!(
            "{} are in the batch and no token moved in {}: a long step, or a standstill.",
            Requests(held),
            e.elapsed()
        )
    })
}

/// An engine that holds requests and has given no token for a while: too short to call it hung, too long to
/// call it healthy.
fn standstill(e: &Evidence<'_>) -> Option<String> {
    let uneasy = e.limit(Limit::UneasySilence);
    let silences = Silence::each(e).into_iter();
    // Slow engines are often silent for a while: only a silence longer than any before it counts.
    let mut long = silences.filter(|s| s.held >= 1.0 && s.seconds >= uneasy && s.seconds > s.earlier);
    long.next().map(|s| {
        let who = s.engine.as_ref().map_or("The engine".to_owned(), |name| format!("Engine {name}"));
        let (held, still) = (Requests(s.held), Seconds(s.seconds));
        format!("{who} holds {held} and has given no token for {still}: watch longer, it may hang.")
    })
}

/// A queue people feel is not healthy because nobody can say which limit makes it.
fn unexplained_queue(e: &Evidence<'_>, cannot_tell: &[Unjudged]) -> Option<String> {
    if e.wants_throughput() || !a_queue_is_felt(e) {
        return None;
    }
    let waiting = e.observed.series(Signal::RequestsWaiting, None, None)?.mean_at(e.busy())?;
    let open = cannot_tell.iter().find(|u| find(&u.cause).is_some_and(|c| c.class == Class::Queueing));
    let why = open.and_then(|u| u.missing.first()).map_or(String::new(), |m| format!(": {m}"));
    Some(sentence(&format!(
        "{} wait on average, and which limit binds cannot be told{why}",
        Requests(waiting)
    )))
}

fn healthy_answer(e: &Evidence<'_>) -> String {
    let mut parts = Vec::new();
    if let Some(waiting) =
        e.observed.series(Signal::RequestsWaiting, None, None).and_then(|s| s.mean_at(e.busy()))
    {
        parts.push(match waiting {
            w if w < 0.5 => "nobody waits".to_owned(),
            w if e.wants_throughput() => format!("{} wait on average, as a batch job plans", Requests(w)),
            w => format!("{} wait on average, too short to matter", Requests(w)),
        });
    }
    match (e.mean(Signal::LatencyTtft), e.account.itl) {
        (Some(ttft), Some(itl)) => {
            parts.push(format!("first token after {}, then one every {}", Seconds(ttft), Seconds(itl)));
        }
        (Some(ttft), None) => parts.push(format!("first token after {}", Seconds(ttft))),
        (None, Some(itl)) => parts.push(format!("a token every {}", Seconds(itl))),
        (None, None) => parts.push("requests are served".into()),
    }
    let objective = if e.intent.objectives.is_empty() { " (no objective was given)" } else { "" };
    sentence(&format!("nothing is wrong: {}{objective}", parts.join(", ")))
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    // A name with a spelling of its own (capitals or a dot inside) keeps it.
    let word = text.split(' ').next().unwrap_or_default();
    let keeps = word.trim_end_matches('.').chars().skip(1).any(|c| c.is_uppercase() || c == '.');
    let body = if keeps { text.to_owned() } else { format!("{first}{}", chars.as_str()) };
    if body.ends_with('.') { body } else { format!("{body}.") }
}

fn window_notes(e: &Evidence<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let o = e.observed;
    if o.times.len() >= 2 && e.busy().is_empty() {
        notes.push("nothing was running in the window; put load on the server and check again".into());
    }
    if let Some(quiet) = quiet_end(e) {
        notes.push(format!("nothing moved in the last {quiet} of the window: no traffic, or a paused engine (its log, or /is_paused in dev mode, tells)"));
    }
    match e.restarts() {
        0 => {}
        1 => notes.push("counters fell back: the process restarted inside the window".into()),
        n => notes.push(format!("counters fell back {n} times: the process restarted inside the window")),
    }
    match e.finished() {
        Some(Requests(n)) if !e.busy().is_empty() && n == 0.0 => {
            notes.push("no request finished in the window: phase times are unknown".into());
        }
        Some(Requests(n)) if !e.busy().is_empty() && n < e.limit(Limit::MeanSample) => {
            notes.push(format!("only {} finished in the window: means are rough", Requests(n)));
        }
        _ => {}
    }
    if let (Some(seen), Some(accounted)) = (e.mean(Signal::LatencyTtft), e.account.ttft)
        && (seen - accounted).abs() > 0.1 * seen
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

/// How long nothing moved at the end of a window that had traffic before, if that is long.
fn quiet_end(e: &Evidence<'_>) -> Option<Seconds> {
    let (last_busy, last) = (e.busy().last()?, e.observed.times.last()?);
    let quiet = last.since(e.observed.times[*last_busy]);
    let long = quiet.get() >= e.limit(Limit::StallSeconds)
        && quiet.get() >= e.limit(Limit::Quiet) * e.elapsed().get();
    long.then_some(quiet)
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
