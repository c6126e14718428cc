//! The answer: a finding, nothing wrong, or why it cannot be told, in one sentence.

use intriage_case::{Requests, Seconds, Signal};
use intriage_engines::Meaning;

use crate::causes::{Class, a_queue_is_felt, find, lines_show};
use crate::diagnosis::{ImpactOn, ObjectiveResult, Primary, RunnerUp, Status, Unjudged, Verdict};
use crate::evidence::Evidence;
use crate::rank::Held;
use crate::silence::Silence;
use crate::thresholds::Limit;

/// The ranked answer in one sentence: what holds, else why nothing can be told, else that all is well.
pub(crate) fn verdict(
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

/// A latency condition that moves no stated objective is a note, not an alarm.
pub(crate) fn split_by_objectives(
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

fn all_met(objectives: &[ObjectiveResult]) -> bool {
    !objectives.is_empty() && objectives.iter().all(|o| o.met == Some(true))
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
        let none = match o.log.last(Meaning::ErrorTold) {
            Some(error) if error.is_earlier() => {
                format!("the last error in the log is {:?}, and the server was started since", error.excerpt)
            }
            Some(error) => format!("the last error in the log is {:?}", error.excerpt),
            None if o.log.present => {
                let shows = lines_show(e).map_or(String::new(), |shows| format!("{shows}, "));
                format!("a log is all there is, {shows}and it names no cause known here")
            }
            None => "nothing was collected".to_owned(),
        };
        let why = o.failed.last().map_or(none, |(_, why)| why.clone());
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
