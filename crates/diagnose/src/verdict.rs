//! The answer: a finding, nothing wrong, or why it cannot be told, in one sentence.

use intriage_case::{Ratio, Requests, Seconds, Signal};
use intriage_engines::{Meaning, Thrown};

use crate::calibration::calibrated;
use crate::causes::{find, lines_show};
use crate::diagnosis::{Candidate, Outcome, Primary, RunnerUp, Status, Unjudged, Verdict};
use crate::evidence::Evidence;
use crate::log_alone::nothing_in_this_log;
use crate::rank::Held;
use crate::silence::Silence;
use crate::symptoms::{Aspect, Harm, Symptom, Symptoms};
use crate::thresholds::Limit;

/// The answer in one sentence: why nothing can be told, else what hurts and why, else that all is well.
pub(crate) fn verdict(e: &Evidence<'_>, symptoms: &Symptoms, held: &[Held], others: &Others<'_>) -> Verdict {
    let gone = symptoms.hurting().any(|s| s.aspect == Aspect::Availability);
    if let Some(why) = too_short(e).filter(|_| !gone) {
        return without_cause(Status::CannotTell, why);
    }
    let says_why = |h: &Held| h.cause.hurts.contains(&Aspect::Availability);
    if let Some(why) = why_not_judged(e).filter(|_| never_came_up(e) && !held.iter().any(says_why)) {
        return without_cause(Status::CannotTell, why);
    }
    if let Some(first) = held.first().filter(|first| explains_enough(e, symptoms, first)) {
        return finding(symptoms, first, held, others);
    }
    if let Some(worst) = symptoms.worst() {
        let answer = sentence(&format!("{}, and no known cause fits completely", worst.says));
        return Verdict {
            primary: Primary { segment: Some(worst.aspect), ..nobody() },
            candidates: others.nearest(symptoms, MOST_NAMED),
            ..without_cause(Status::Finding, answer)
        };
    }
    if let Some(answer) = nothing_in_this_log(e) {
        return without_cause(Status::Healthy, answer);
    }
    if let Some(why) = why_not_judged(e).or_else(|| unexplained_harm(e)).or_else(|| open_objective(e)) {
        return without_cause(Status::CannotTell, why);
    }
    let healthy = healthy(e, symptoms);
    Verdict { proven: healthy.proven, ..without_cause(Status::Healthy, healthy.answer) }
}

/// A log, all there is, ends with an error before the server came up: what would have made it slow is no answer to that.
fn never_came_up(e: &Evidence<'_>) -> bool {
    let log = &e.observed.log;
    let ended = log.of_running(Meaning::StartFailed).is_some() || log.root().is_some();
    e.observed.times.is_empty() && ended && !log.is_up() && log.answers.is_empty()
}

/// A cause of a small part that is only likely is no answer while a much larger part has none.
fn explains_enough(e: &Evidence<'_>, symptoms: &Symptoms, first: &Held) -> bool {
    let Some(worst) = symptoms.worst() else { return true };
    let own = symptoms.worst_of(first.cause.hurts).map_or(0.0, Symptom::weight);
    let share = first.judgement.impact.as_ref().map_or(0.0, |impact| impact.share.get());
    let sure = first.judgement.outcome == Outcome::Confirmed;
    // What is known to cost next to nothing does not explain what costs much, even where it could.
    let next_to_nothing = share > 0.0 && share < e.limit(Limit::NextToNothing);
    if !sure
        && next_to_nothing
        && worst.share.get() >= e.limit(Limit::MuchLarger) * e.limit(Limit::NextToNothing)
    {
        return false;
    }
    sure || first.cause.hurts.contains(&worst.aspect)
        || e.limit(Limit::MuchLarger) * own.max(share) >= worst.weight()
}

fn nobody() -> Primary {
    Primary { cause: None, confidence: 0.0, segment: None, class: None, layer: None }
}

fn without_cause(status: Status, answer: String) -> Verdict {
    Verdict { status, proven: false, answer, primary: nobody(), runner_up: None, candidates: Vec::new() }
}

fn finding(symptoms: &Symptoms, first: &Held, held: &[Held], others: &Others<'_>) -> Verdict {
    let rival = |h: &&Held| h.effect_of.is_none() && h.drives.is_none();
    let rivals = held.iter().skip(1).filter(rival).count();
    let runner_up = held.iter().skip(1).find(rival).map(|h| RunnerUp {
        cause: h.cause.id.into(),
        confidence: calibrated(h.judgement.confidence),
        says: h.judgement.says.clone(),
    });
    Verdict {
        status: Status::Finding,
        proven: first.judgement.outcome == Outcome::Confirmed,
        answer: sentence(&match failing_besides(symptoms, held) {
            Some(failing) => format!(
                "{}; besides, {}, and no known cause of that fits",
                first.judgement.says, failing.says
            ),
            None => first.judgement.says.clone(),
        }),
        primary: Primary {
            cause: Some(first.cause.id.into()),
            confidence: calibrated(first.judgement.confidence),
            segment: symptoms.worst_of(first.cause.hurts).map(|s| s.aspect),
            class: Some(first.cause.class.name().into()),
            layer: Some(first.cause.layer.name().into()),
        },
        runner_up,
        candidates: others.nearest(symptoms, MOST_NAMED.saturating_sub(1 + rivals)),
    }
}

/// No service or failed requests that none of the causes that hold explains: slowness must not hide them.
fn failing_besides<'s>(symptoms: &'s Symptoms, held: &[Held]) -> Option<&'s Symptom> {
    let worst = symptoms.worst_of(&[Aspect::Availability, Aspect::Errors])?;
    (!held.iter().any(|h| h.cause.hurts.contains(&worst.aspect))).then_some(worst)
}

/// How many causes a verdict names in all, with those that are only near.
const MOST_NAMED: usize = 3;

/// The causes that are no finding and not refuted.
pub(crate) struct Others<'a> {
    /// They hold, and nothing that they explain hurts.
    pub(crate) unfelt: &'a [Held],
    /// Nobody could judge them.
    pub(crate) cannot_tell: &'a [Unjudged],
}

impl Others<'_> {
    /// Those that come nearest to explaining what hurts, with what each lacks: what holds and is not seen to hurt before what
    /// nobody could judge, and of that the causes of the worst aspect first, those that lack least.
    fn nearest(&self, symptoms: &Symptoms, most: usize) -> Vec<Candidate> {
        let mut hurting: Vec<&Symptom> = symptoms.hurting().collect();
        hurting.sort_by(|a, b| b.weight().total_cmp(&a.weight()));
        let place = |id: &str| {
            let hurts = find(id)?.hurts;
            hurting.iter().position(|s| hurts.contains(&s.aspect))
        };
        let holds = |h: &Held| {
            let lacks = format!("{}, but what it explains does not hurt", h.judgement.says);
            (0, 0, Candidate { cause: h.cause.id.into(), lacks })
        };
        let lacks = |u: &Unjudged| {
            let candidate = Candidate { cause: u.cause.clone(), lacks: u.missing.first()?.clone() };
            Some((1 + place(&u.cause)?, u.missing.len(), candidate))
        };
        let mut near: Vec<(usize, usize, Candidate)> = self.unfelt.iter().map(holds).collect();
        near.extend(self.cannot_tell.iter().filter_map(lacks));
        near.sort_by_key(|(place, missing, _)| (*place, *missing));
        near.into_iter().map(|(.., candidate)| candidate).take(most).collect()
    }
}

/// An objective that was given and cannot be judged is not met.
fn open_objective(e: &Evidence<'_>) -> Option<String> {
    let open = e.objectives.iter().find(|o| o.met.is_none())?;
    Some(sentence(&format!(
        "whether the objective {} is met cannot be told: {}",
        open.objective, open.measured
    )))
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
        let none = match (o.log.root(), o.log.last(Meaning::ErrorTold)) {
            (Some(root), _) => first_error(root),
            (None, Some(error)) if error.is_earlier() => {
                format!("the last error in the log is {:?}, and the server was started since", error.excerpt)
            }
            (None, Some(error)) => format!("the last error in the log is {:?}", error.excerpt),
            (None, None) if o.log.present => {
                let shows = lines_show(e).map_or(String::new(), |shows| format!("{shows}, "));
                format!("a log is all there is, {shows}and it names no cause known here")
            }
            (None, None) => "nothing was collected".to_owned(),
        };
        let why = o.failed.last().map_or(none, |(_, why)| why.clone());
        // A log that is all that was given needs no word about scrapes.
        return Some(if o.log.present && o.failed.is_empty() {
            sentence(&why)
        } else {
            format!("There is no readable scrape: {why}.")
        });
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

/// The exception that the others follow from, its place in the engine and who said it.
fn first_error(root: &Thrown) -> String {
    let place = root.place().map_or(String::new(), |place| format!(", thrown at {place}"));
    let by = root.rank.as_ref().map_or(String::new(), |rank| format!(" by {rank}"));
    format!("no known cause fits; the first error in the log is {:?}{place}{by}", root.says())
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

/// Nothing hurts, and how far that is proven.
struct Healthy {
    proven: bool,
    answer: String,
}

/// What must have been seen for health to be proven.
const CORE: [Aspect; 5] =
    [Aspect::Availability, Aspect::Errors, Aspect::Queue, Aspect::Prefill, Aspect::DecodeStep];

fn healthy(e: &Evidence<'_>, symptoms: &Symptoms) -> Healthy {
    let mut parts = Vec::new();
    let waiting = e.observed.series(Signal::RequestsWaiting, None, None).and_then(|s| s.mean_at(e.busy()));
    if let Some(waiting) = waiting {
        parts.push(match waiting {
            w if w < e.limit(Limit::NobodyWaits) => "nobody waits".to_owned(),
            w if e.wants_throughput() => format!("{} wait on average, as a batch job plans", Requests(w)),
            w => format!("{} wait on average, for a moment each", Requests(w)),
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
    let core = |s: &&Symptom| CORE.contains(&s.aspect);
    let unseen: Vec<&str> =
        symptoms.0.iter().filter(core).filter(|s| s.harm == Harm::Unseen).map(|s| s.aspect.name()).collect();
    let few = e.finished().is_none_or(|n| n.get() < e.limit(Limit::MeanSample));
    let proven = unseen.is_empty() && !few;
    let how = if proven {
        let margins = symptoms.0.iter().filter_map(|s| Some((s.margin()?, s)));
        // Beyond its limit and fine all the same: something else acquits it, so the limit is not what it is near to.
        let tightest = margins.filter(|(margin, _)| *margin < 1.0).max_by(|a, b| a.0.total_cmp(&b.0));
        tightest.map_or(String::new(), |(margin, s)| {
            format!("; nearest to its limit is {} at {} of it", s.aspect, Ratio(margin))
        })
    } else if unseen.is_empty() {
        "; too few requests finished to prove it".to_owned()
    } else {
        format!("; not seen: {}", unseen.join(", "))
    };
    let word = if proven { "healthy" } else { "no harm seen" };
    Healthy { proven, answer: sentence(&format!("{word}: {}{how}", parts.join(", "))) }
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
