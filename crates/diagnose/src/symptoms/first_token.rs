//! The parts of the time to first token.

use intriage_case::{ObjectiveMetric, Profile, Ratio, Requests, Seconds, Signal, Statistic, Tokens};
use intriage_engines::Setting;

use super::held_up::{held_up_prefill, held_up_slowest};
use super::stated::{Stated, in_words, stated};
use super::steady::longest_wait;
use super::{Aspect, Harm, Symptom, Yardstick};
use crate::account::Part;
use crate::causes::{cut_into_steps, prefix_caching_is_off, through_lines};
use crate::clients::Clients;
use crate::evidence::Evidence;
use crate::thresholds::Limit;
use crate::timeline::{Event, EventKind};

/// Queue, prefill and front end.
pub(super) fn parts(e: &Evidence<'_>) -> Vec<Symptom> {
    vec![queue(e), prefill(e), front_end(e)]
}

fn queue(e: &Evidence<'_>) -> Symptom {
    if e.observed.times.is_empty() {
        // Where nobody scraped the server, the lines of its log tell who waited.
        return through_lines(e, queue).unwrap_or_else(|| unseen(e, Aspect::Queue, Signal::LatencyQueue));
    }
    if e.wants_throughput() {
        return Symptom::new(Aspect::Queue, Harm::Fine, Yardstick::Profile, "a batch job plans its queue");
    }
    if let Some(judged) = by_objective(e, Aspect::Queue, e.account.queue, &[ObjectiveMetric::Queue]) {
        return judged;
    }
    let stretch = queue_in_a_stretch(e);
    if let Some(judged) = by_objective(e, Aspect::Queue, e.account.queue, &[ObjectiveMetric::Ttft]) {
        // An objective that the window meets does not speak for those who still wait at its end.
        let outgrows = |s: &Symptom| {
            let limit = e.objective(ObjectiveMetric::Ttft);
            s.end == e.observed.times.last().copied()
                && s.measured.zip(limit).is_some_and(|(w, l)| w.value > l.get())
        };
        return stretch.filter(outgrows).filter(|_| judged.harm != Harm::Hurts).unwrap_or(judged);
    }
    if e.intent.profile == Profile::Bursty {
        return recovery(e);
    }
    let whole = queue_on_average(e);
    match stretch {
        Some(stretch) if whole.harm != Harm::Hurts => stretch,
        _ => whole,
    }
}

/// The queue of the whole window.
fn queue_on_average(e: &Evidence<'_>) -> Symptom {
    let waiting = e.observed.series(Signal::RequestsWaiting, None, None).and_then(|s| s.mean_at(e.busy()));
    let Some(queue) = e.account.queue else {
        // Without times, Little's law still tells the queue's share of a request's life.
        let (Some(share), Some(waiting)) = (e.account.waiting_share, waiting) else {
            return unseen(e, Aspect::Queue, Signal::LatencyQueue);
        };
        let limit = Ratio(e.limit(Limit::WaitingShare));
        let hurts = share >= limit.get() && waiting >= e.limit(Limit::NobodyWaits);
        let says =
            format!("{} of the requests in the server wait: that much of their life is queue", Ratio(share));
        return Symptom::new(Aspect::Queue, harm(hurts), Yardstick::Share, says)
            .costs(Ratio(share))
            .against(Ratio(share), limit);
    };
    let least = Seconds(e.limit(Limit::QueueFelt));
    let share = e.account.queue_share();
    let large = share.is_none_or(|s| s >= e.limit(Limit::SegmentShare));
    let of_first =
        share.map_or(String::new(), |s| format!(", {} of the time to first token", Ratio(s.min(1.0))));
    let who = waiting.filter(|w| *w >= e.limit(Limit::NobodyWaits));
    let who = who.map_or(String::new(), |w| format!("{} wait on average; ", Requests(w)));
    let says = format!("{who}queue {}{of_first}", Seconds(queue.value));
    Symptom::new(Aspect::Queue, harm(queue.value >= least.get() && large), Yardstick::Share, says)
        .costs(e.account.share_of_life(queue.value))
        .against(Seconds(queue.value), least)
}

/// A queue that stood for a part of the window only.
fn queue_in_a_stretch(e: &Evidence<'_>) -> Option<Symptom> {
    let found = longest_wait(e)?;
    let limit = Seconds(e.limit(Limit::StretchWait));
    // On average over all its users a flicker is nothing; three waiting are no flicker.
    let real = found.peak >= e.limit(Limit::StretchRequests) && found.wait >= limit.get();
    real.then(|| {
        let still = if found.open { ", and some still wait at its end" } else { "" };
        let says = format!(
            "for {} of the window up to {} wait, {} each{still}",
            Seconds(found.seconds),
            Requests(found.peak),
            Seconds(found.wait)
        );
        let life = found.wait + e.account.decode.unwrap_or(0.0) + e.account.prefill.map_or(0.0, |p| p.value);
        Symptom::new(Aspect::Queue, Harm::Hurts, Yardstick::CalmPart, says)
            .costs(Ratio(found.part * found.wait / life.max(found.wait)))
            .against(Seconds(found.wait), limit)
            .during(found.start, found.end)
    })
}

/// Bursts are this profile's nature: what counts is how long the queue stands after one.
fn recovery(e: &Evidence<'_>) -> Symptom {
    let limit = Seconds(e.limit(Limit::Recovery));
    let Some(found) = longest_wait(e).filter(|w| w.wait >= e.limit(Limit::StretchWait)) else {
        let says = "no burst left a queue behind";
        return Symptom::new(Aspect::Queue, Harm::Fine, Yardstick::Profile, says);
    };
    let says = format!(
        "after a burst requests wait for {}, up to {} at once",
        Seconds(found.seconds),
        Requests(found.peak)
    );
    Symptom::new(Aspect::Queue, harm(found.seconds > limit.get()), Yardstick::Profile, says)
        .costs(e.account.queue.map_or(Ratio(found.part), |q| e.account.share_of_life(q.value)))
        .against(Seconds(found.seconds), limit)
        .during(found.start, found.end)
}

fn prefill(e: &Evidence<'_>) -> Symptom {
    let part = e.account.prefill;
    if e.wants_throughput() {
        let says = "a batch job does not wait for first tokens";
        return Symptom::new(Aspect::Prefill, Harm::Fine, Yardstick::Profile, says);
    }
    if let Some(judged) = by_objective(e, Aspect::Prefill, part, &[ObjectiveMetric::Ttft]) {
        // A bound for the slowest few does not speak for the middle.
        let middle = held_up_prefill(e).filter(|_| judged.harm == Harm::Fine && only_tails(e));
        return middle.unwrap_or(judged);
    }
    let Some(ttft) = e.account.ttft.or_else(|| e.mean(Signal::LatencyTtft)) else {
        return unseen(e, Aspect::Prefill, Signal::LatencyTtft);
    };
    // Engines that do not tell queue and prefill apart tell at least their sum.
    let own = part.map_or(ttft - e.account.queue.map_or(0.0, |q| q.value), |p| p.value).max(0.0);
    let share = Ratio((own / ttft).clamp(0.0, 1.0));
    let cost = e.account.share_of_life(own);
    let says = format!("first token after {}, {share} of it prefill", Seconds(ttft));
    let judged = |hurts, yardstick, limit: f64, says: String| {
        Symptom::new(Aspect::Prefill, harm(hurts), yardstick, says)
            .costs(cost)
            .against(Seconds(own), Seconds(limit))
    };
    let in_time = || {
        slower_first_tokens(e, ttft)
            .or_else(|| late_behind_a_burst(e))
            .or_else(|| held_up_prefill(e).or_else(|| held_up_slowest(e)))
    };
    if let Some(hurt) = warm_up(e).or_else(in_time) {
        return hurt;
    }
    let large = share.get() >= e.limit(Limit::PrefillShare);
    let published = e.limit(Limit::PublishedTtft);
    let late = e
        .histogram(Signal::LatencyTtft)
        .and_then(|h| h.quantile(0.95))
        .is_some_and(|b| b.surely_above(published));
    let slow_anywhere = ttft >= e.limit(Limit::LongestTtft);
    let device = e.observed.config.text(Setting::Device);
    let (on_cpu, has_gpu) = (device == Some("cpu"), device.is_some_and(|d| d != "cpu"));
    if large && ((late && has_gpu) || slow_anywhere) {
        let limit = if slow_anywhere { e.limit(Limit::LongestTtft) } else { published };
        return judged(true, Yardstick::Published, limit, says);
    }
    if large && cache_would_help(e, own) {
        let says =
            format!("{says}, which a prefix cache would save: prompts are long and alike, and it is off");
        return judged(true, Yardstick::Floor, e.limit(Limit::CachedPrefill), says);
    }
    let floor = e.floor.as_ref().ok().and_then(|f| f.prefill);
    if let Some(steps) = cut_into_steps(e).filter(|_| large)
        && steps >= e.limit(Limit::ManySteps)
        && own >= e.limit(Limit::AvoidablePrefill) + floor.unwrap_or(0.0)
        && own >= e.limit(Limit::CutOverFloor) * floor.unwrap_or(0.0)
    {
        let says = format!("{says}: a prompt is read in {steps:.0} steps that have room for more");
        return judged(true, Yardstick::Floor, e.limit(Limit::AvoidablePrefill), says);
    }
    if let Some(floor) = floor {
        // A prompt shares its steps with everybody's tokens: the one it comes with and the one it waits for.
        let steps = 2.0 * e.account.ordinary_step().unwrap_or(0.0);
        let limit =
            (floor * e.limit(Limit::PrefillOverFloor)).max(floor + e.limit(Limit::PrefillExcess)) + steps;
        let says = format!("{says}; computing the prompt alone takes at least {}", Seconds(floor));
        return judged(own > limit, Yardstick::Floor, limit, says);
    }
    if device.is_some() {
        let limit = if on_cpu { e.limit(Limit::LongestTtft) } else { published };
        return judged(false, Yardstick::Published, limit, says);
    }
    Symptom {
        measured: Some(Seconds(own).into()),
        ..Symptom::unseen(
            Aspect::Prefill,
            format!("{says}; what this machine needs for a prompt is not known"),
        )
    }
}

/// Whether every objective on first tokens is one on the slowest of them.
fn only_tails(e: &Evidence<'_>) -> bool {
    let asked = e.objectives.iter().filter_map(|o| o.asked).filter(|o| o.metric == ObjectiveMetric::Ttft);
    asked.into_iter().all(|o| matches!(o.statistic, Statistic::Quantile(q) if q > 0.5))
}

/// First answers many times slower than later ones.
fn warm_up(e: &Evidence<'_>) -> Option<Symptom> {
    let event = e.timeline.of_kind(EventKind::WarmUp).next()?;
    let (size, usual) = (event.size?, event.usual?);
    let symptom = Symptom::new(Aspect::Prefill, Harm::Hurts, Yardstick::CalmPart, event.says.clone());
    Some(
        symptom
            .costs(e.account.share_of_life(warm_up_cost(e, event)))
            .against(size, usual)
            .during(event.start, event.end()),
    )
}

/// What a warm-up costs a request of the window on average, in seconds.
pub(crate) fn warm_up_cost(e: &Evidence<'_>, event: &Event) -> f64 {
    let slow = |i: usize| e.observed.times.get(i).is_some_and(|at| *at > event.start && *at <= event.end());
    let usual = event.usual.map_or(0.0, |u| u.value);
    let cold = e.histogram_where(Signal::LatencyTtft, slow);
    let all = e.histogram(Signal::LatencyTtft).map_or(0.0, |h| h.count());
    cold.map_or(0.0, |h| (h.sum() - usual * h.count()).max(0.0) / all.max(1.0))
}

/// First tokens that became slower inside the window without more load.
fn slower_first_tokens(e: &Evidence<'_>, ttft: f64) -> Option<Symptom> {
    let event = e.timeline.of_kind(EventKind::SlowFirstTokens).next()?;
    let (size, usual) = (event.size?, event.usual?);
    let much = size.value >= usual.value * e.limit(Limit::SlowerThanCalm);
    (much && size.value - usual.value >= e.limit(Limit::PrefillExcess)).then(|| {
        Symptom::new(Aspect::Prefill, Harm::Hurts, Yardstick::CalmPart, event.says.clone())
            .costs(e.account.share_of_life((size.value - usual.value).min(ttft)))
            .against(size, usual)
            .during(event.start, event.end())
    })
}

/// First tokens of those who came at once, far later than in the calm.
fn late_behind_a_burst(e: &Evidence<'_>) -> Option<Symptom> {
    if e.intent.profile == Profile::Bursty {
        return None;
    }
    let size = |b: &Event| b.size.map_or(0.0, |s| s.value);
    let burst = e.timeline.bursts().max_by(|a, b| size(a).total_cmp(&size(b)))?;
    let mean = |inside: bool| {
        let part =
            e.timeline.intervals.iter().filter(|i| (i.end > burst.start && i.start <= burst.end()) == inside);
        let known = part.filter_map(|i| Some((i.ttft?, i.first_tokens?)));
        let (sum, n) = known.fold((0.0, 0.0), |all, (ttft, n)| (all.0 + ttft * n, all.1 + n));
        (n > 0.0).then(|| (sum / n, n))
    };
    let ((late, hit), (calm, others)) = (mean(true)?, mean(false)?);
    let much = late >= e.limit(Limit::BurstPeak) * calm && late - calm >= e.limit(Limit::BurstLate);
    much.then(|| {
        let says =
            format!("{}; first tokens took {} there and {} else", burst.says, Seconds(late), Seconds(calm));
        Symptom::new(Aspect::Prefill, Harm::Hurts, Yardstick::CalmPart, says)
            .costs(e.account.share_of_life((late - calm) * hit / (hit + others)))
            .against(Seconds(late), Seconds(calm))
            .during(burst.start, burst.end())
    })
}

/// Prefix caching is off although prompts are long and of one length, as those with a common beginning are.
fn cache_would_help(e: &Evidence<'_>, prefill: f64) -> bool {
    if !prefix_caching_is_off(e) || prefill < e.limit(Limit::CachedPrefill) {
        return false;
    }
    let Some(prompts) = e.histogram(Signal::TokensPromptEach) else { return false };
    let long = prompts.mean().is_some_and(|m| Tokens(m).get() >= e.limit(Limit::LongPrompt));
    // Within one bucket an estimate is a guess: nothing shows that they differ.
    let alike = prompts.quantile(0.1).zip(prompts.quantile(0.9)).is_some_and(|(low, high)| {
        high.low <= low.low || high.estimate <= e.limit(Limit::OrdinaryPrompt) * low.estimate.max(1.0)
    });
    long && alike
}

fn front_end(e: &Evidence<'_>) -> Symptom {
    if e.wants_throughput() {
        let says = "a batch job does not wait for first tokens";
        return Symptom::new(Aspect::FrontEnd, Harm::Fine, Yardstick::Profile, says);
    }
    if let Some(judged) = by_objective(e, Aspect::FrontEnd, e.account.frontend, &[ObjectiveMetric::Ttft]) {
        return judged;
    }
    let (Some(rest), Some(ttft)) = (e.account.frontend, e.account.ttft) else {
        return unseen(e, Aspect::FrontEnd, Signal::LatencyTtft);
    };
    // Only what cannot be the wait for a running step is surely the front end's.
    let sure = rest.low;
    let least = e.limit(Limit::ResidualTime);
    let hurts = sure >= least && sure >= e.limit(Limit::ResidualShare) * ttft;
    let says = format!(
        "{} of the first token's {} lie outside queue, prefill and one step",
        Seconds(sure),
        Seconds(ttft)
    );
    Symptom::new(Aspect::FrontEnd, harm(hurts), Yardstick::Share, says)
        .costs(e.account.share_of_life(sure))
        .against(Seconds(sure), Seconds(least.max(e.limit(Limit::ResidualShare) * ttft)))
}

/// A part by the objectives on its metric; `None` where none was given, or where none can be judged: what else shows harm
/// still speaks, and the verdict says what stays open.
fn by_objective(
    e: &Evidence<'_>,
    aspect: Aspect,
    part: Option<Part>,
    on: &[ObjectiveMetric],
) -> Option<Symptom> {
    let value = part.map_or(0.0, |p| p.value);
    let cost = e.account.share_of_life(value);
    let judged =
        |hurts, result| Symptom::new(aspect, harm(hurts), Yardstick::Objective, in_words(result)).costs(cost);
    match stated(e, on) {
        Stated::Nothing | Stated::Open => None,
        Stated::Met(result) => Some(judged(false, result)),
        Stated::Missed(result) => {
            let all = [e.account.queue, e.account.prefill, e.account.frontend];
            let server: f64 = all.iter().map(|p| p.map_or(0.0, |p| p.value)).sum();
            // What clients wait beyond the server is part of what they miss, and none of these parts.
            let sum = server + e.clients.as_ref().map_or(0.0, Clients::later);
            let most = all.iter().map(|p| p.map_or(0.0, |p| p.value)).fold(sum - server, f64::max);
            let large = value >= most || value >= e.limit(Limit::SegmentShare) * sum;
            Some(judged(large && value > 0.0, result))
        }
    }
}

fn unseen(e: &Evidence<'_>, aspect: Aspect, signal: Signal) -> Symptom {
    let why = match e.observed.metric(signal) {
        Some(metric) => format!("{metric} did not move in the window"),
        None => e.observed.why_missing(signal),
    };
    Symptom::unseen(aspect, why)
}

/// Whether it hurts.
pub(super) const fn harm(hurts: bool) -> Harm {
    if hurts { Harm::Hurts } else { Harm::Fine }
}
