//! The parts of the time per token.

use intriage_case::{ObjectiveMetric, Ratio, Seconds, Signal, Tokens};
use intriage_engines::Setting;

use super::first_token::harm;
use super::stated::{Stated, in_words, stated};
use super::{Aspect, Harm, Symptom, Yardstick};
use crate::causes::stopped_by_quota;
use crate::evidence::Evidence;
use crate::few_long::FewLong;
use crate::thresholds::Limit;
use crate::timeline::EventKind;

/// What a part takes beyond the least it could, in seconds a token.
struct Excess {
    aspect: Aspect,
    value: f64,
}

/// Decode step, interference, stalls and host gap.
pub(super) fn parts(e: &Evidence<'_>) -> Vec<Symptom> {
    let Some(itl) = e.account.itl.filter(|itl| *itl > 0.0) else {
        let why = match e.observed.metric(Signal::LatencyItl) {
            Some(metric) => format!("{metric} did not move in the window"),
            None => e.observed.why_missing(Signal::LatencyItl),
        };
        let mut all: Vec<Symptom> = Aspect::TOKEN.iter().map(|a| Symptom::unseen(*a, why.clone())).collect();
        replace(&mut all, slow_steps(e));
        return all;
    };
    let floor = e.floor.as_ref().ok().map(|f| f.decode);
    let excess = excesses(e, floor.unwrap_or(0.0));
    let judge = |verdict: &dyn Fn(&Excess) -> Symptom| excess.iter().map(verdict).collect();
    match stated(e, &[ObjectiveMetric::Itl, ObjectiveMetric::Tpot]) {
        Stated::Met(result) => judge(&|x| told(e, x, false, Yardstick::Objective, &in_words(result))),
        Stated::Missed(result) => {
            // Where the step alone takes longer than was asked for, all of it counts, however near to the floor it is.
            let asked = result.asked.map_or(f64::INFINITY, |asked| asked.limit);
            let step = e.account.step.map_or(itl, |step| step.value);
            let excess = if step > asked { excesses(e, 0.0) } else { excess };
            let hurts = |x: &Excess| is_large(e, x, &excess);
            excess.iter().map(|x| told(e, x, hurts(x), Yardstick::Objective, &in_words(result))).collect()
        }
        Stated::Nothing | Stated::Open => {
            let mut all = match floor {
                Some(floor) => against_floor(e, itl, floor, &excess),
                None => against_itself(e, itl, &excess),
            };
            replace(&mut all, slow_steps(e).or_else(|| silent_for_prompts(e)));
            let avoidable = wasted_drafts(e, itl)
                .or_else(|| graphs_would_help(e, itl))
                .or_else(|| stopped_steps(e, itl))
                .or_else(|| torn_by_few(e));
            replace(&mut all, avoidable);
            replace(&mut all, slower_tokens(e).filter(|_| !e.wants_throughput()));
            all
        }
    }
}

/// Puts what hurts in the place of its aspect, where nothing hurts yet.
fn replace(all: &mut Vec<Symptom>, found: Option<Symptom>) {
    if let Some(found) = found.filter(|_| !all.iter().any(|s| s.harm == Harm::Hurts)) {
        all.retain(|s| s.aspect != found.aspect);
        all.push(found);
    }
}

/// Steps so long that nobody calls them well, whatever the machine. Needs no finished request.
fn slow_steps(e: &Evidence<'_>) -> Option<Symptom> {
    // Requests at both ends: in between an engine is hardly idle.
    let runs = |n: Option<f64>| n.is_some_and(|n| n >= 1.0);
    let busy = e.timeline.intervals.iter().filter(|i| runs(i.running_before) && runs(i.running));
    let known = busy.filter_map(|i| Some((i.seconds, i.steps?)));
    let (seconds, steps) = known.fold((0.0, 0.0), |all, (seconds, n)| (all.0 + seconds, all.1 + n));
    let (each, limit) = (seconds / steps, e.limit(Limit::LongestStep));
    let enough = steps > 1.0 && seconds >= e.limit(Limit::ShortestWindow);
    (enough && each >= limit && !e.wants_throughput()).then(|| {
        let says = format!("a step every {} while requests run", Seconds(each));
        Symptom::new(Aspect::DecodeStep, Harm::Hurts, Yardstick::Published, says)
            .costs(Ratio(1.0 - limit / each))
            .against(Seconds(each), Seconds(limit))
    })
}

/// Prompts are read in steps of seconds, and others in the server sit through them.
fn silent_for_prompts(e: &Evidence<'_>) -> Option<Symptom> {
    let silent = &e.timeline.readings;
    let seconds: f64 = silent.iter().map(|r| r.seconds).sum();
    let share = Ratio::of(seconds, e.busy_time().get())?;
    let limit = Ratio(e.limit(Limit::SegmentShare));
    (silent.len() >= 2 && share.get() >= limit.get() && !e.wants_throughput()).then(|| {
        let longest = silent.iter().map(|r| r.seconds).fold(0.0, f64::max);
        let tokens = silent.iter().map(|r| r.tokens).sum::<f64>() / silent.len() as f64;
        let says = format!(
            "{} times no token came for up to {}, {share} of the time, while prompts of {} were read and others waited",
            silent.len(),
            Seconds(longest),
            Tokens(tokens.round())
        );
        Symptom::new(Aspect::Interference, Harm::Hurts, Yardstick::Share, says).costs(share).against(share, limit)
    })
}

/// The kernel itself counts the time in which a quota let no step go on.
fn stopped_steps(e: &Evidence<'_>, itl: f64) -> Option<Symptom> {
    let (stopped, limit) = (stopped_by_quota(e)?, Ratio(e.limit(Limit::SegmentShare)));
    (stopped.get() >= limit.get()).then(|| {
        let says =
            format!("a token every {}; a CPU quota stops the server {stopped} of the time", Seconds(itl));
        let x = Excess { aspect: Aspect::DecodeStep, value: itl * stopped.get() };
        told(e, &x, true, Yardstick::Told, &says).against(stopped, limit)
    })
}

/// One gap in a hundred is many times the usual one and long enough to be seen, because a few prompts are far longer than the
/// rest: whoever is being answered meanwhile waits for them.
fn torn_by_few(e: &Evidence<'_>) -> Option<Symptom> {
    if e.wants_throughput() {
        return None;
    }
    let (gaps, few) = (e.histogram(Signal::LatencyItl)?, FewLong::of(e)?);
    let (usual, long) = (gaps.quantile(0.5)?.estimate, gaps.quantile(0.99)?.low);
    let torn = long >= e.limit(Limit::TornGap) * usual && long >= e.limit(Limit::TornGapTime);
    torn.then(|| {
        let says = format!(
            "one gap between tokens in a hundred is {} or longer, the usual one {}; one prompt in twenty has {:.0} tokens or more, the usual one {:.0}",
            Seconds(long),
            Seconds(usual),
            few.long.get(),
            few.usual.get()
        );
        let part = |p: Option<crate::account::Part>| p.map_or(0.0, |p| p.value);
        let x = Excess {
            aspect: Aspect::Interference,
            value: part(e.account.stalls) + part(e.account.interference),
        };
        let limit = e.limit(Limit::TornGap) * usual;
        told(e, &x, true, Yardstick::Share, &says).against(Seconds(long), Seconds(limit))
    })
}

/// Graphs are off on a GPU whose floor is not known, and tokens are slow enough for the host's launches to matter.
fn graphs_would_help(e: &Evidence<'_>, itl: f64) -> Option<Symptom> {
    let eager = e.observed.config.switch(Setting::EagerMode) == Some(true);
    let on_gpu = e.observed.config.text(Setting::Device).is_some_and(|d| d != "cpu");
    let limit = e.limit(Limit::EagerToken);
    (eager && on_gpu && e.floor.is_err() && itl >= limit).then(|| {
        let says = format!("a token every {} without CUDA graphs", Seconds(itl));
        let x = Excess { aspect: Aspect::HostGap, value: itl - limit / 2.0 };
        told(e, &x, true, Yardstick::Floor, &says).against(Seconds(itl), Seconds(limit))
    })
}

/// Drafts of which hardly any is accepted make every step longer for nothing.
fn wasted_drafts(e: &Evidence<'_>, itl: f64) -> Option<Symptom> {
    let (drafted, rounds) = (e.delta(Signal::SpecDraftTokens)?, e.delta(Signal::SpecDrafts)?);
    let accepted = Ratio::of(e.delta(Signal::SpecAcceptedTokens)?, drafted)?;
    let limit = Ratio(e.limit(Limit::DraftsWasted));
    let generated = e.delta(Signal::TokensGenerated).unwrap_or(0.0);
    // A round gives its accepted drafts and one token more.
    let spoken = rounds + drafted * accepted.get();
    let often = rounds >= e.limit(Limit::MeanSample) && spoken >= e.limit(Limit::DraftsOften) * generated;
    let deep = often && drafted >= e.limit(Limit::SpecDepth) * rounds;
    (deep && accepted.get() < limit.get()).then(|| {
        let says =
            format!("a token every {}; of {drafted:.0} drafted tokens {accepted} are accepted", Seconds(itl));
        let x = Excess { aspect: Aspect::DecodeStep, value: itl * e.limit(Limit::SegmentShare) };
        Symptom { says: says.clone(), ..told(e, &x, true, Yardstick::Share, &says) }
    })
}

/// Tokens that became slower inside the window without more load.
fn slower_tokens(e: &Evidence<'_>) -> Option<Symptom> {
    let event = e
        .timeline
        .of_kind(EventKind::SlowTokens)
        .max_by(|a, b| a.seconds.get().total_cmp(&b.seconds.get()))?;
    let (size, usual) = (event.size?, event.usual?);
    let more = size.value - usual.value;
    (size.value >= usual.value * e.limit(Limit::SlowerThanCalm) && more >= e.limit(Limit::TokenExcess)).then(
        || {
            let part = event.seconds.get() / e.busy_time().get().max(event.seconds.get());
            let x = Excess { aspect: Aspect::DecodeStep, value: more * part };
            told(e, &x, true, Yardstick::CalmPart, &event.says)
                .against(size, usual)
                .during(event.start, event.end())
        },
    )
}

/// By the least time the card needs for a step.
fn against_floor(e: &Evidence<'_>, itl: f64, floor: f64, excess: &[Excess]) -> Vec<Symptom> {
    let batch = e.wants_throughput();
    // A batch job fills steps with prompts on purpose: only the step itself can be too slow.
    let (pace, times) = if batch {
        (e.account.ordinary_step().unwrap_or(itl), e.limit(Limit::BatchOverFloor))
    } else {
        (itl, e.limit(Limit::TokenOverFloor))
    };
    let limit = (floor * times).max(floor + e.limit(Limit::TokenExcess));
    let says = format!(
        "a token every {}, {:.1} times the {} this GPU needs",
        Seconds(pace),
        pace / floor,
        Seconds(floor)
    );
    let slow = pace > limit;
    let of = |x: &Excess| {
        let own = !batch || matches!(x.aspect, Aspect::DecodeStep | Aspect::HostGap);
        let torn = !batch && is_torn(e, x, itl);
        // Prompts in the steps are the price of traffic: they hurt from a larger gap on than a slow step.
        let of_prompts = matches!(x.aspect, Aspect::Interference | Aspect::Stalls);
        let slow = slow && (!of_prompts || pace > floor * e.limit(Limit::PromptsOverFloor));
        Symptom {
            measured: Some(Seconds(pace).into()),
            limit: Some(Seconds(limit).into()),
            ..told(e, x, own && (torn || slow && is_large(e, x, excess)), Yardstick::Floor, &says)
        }
    };
    excess.iter().map(of).collect()
}

/// Without a floor the ordinary step is the measure of the rest.
fn against_itself(e: &Evidence<'_>, itl: f64, excess: &[Excess]) -> Vec<Symptom> {
    let says = format!("a token every {}", Seconds(itl));
    let device = e.observed.config.text(Setting::Device);
    let published = e.limit(Limit::PublishedItl);
    let late = e
        .histogram(Signal::LatencyItl)
        .and_then(|h| h.quantile(0.95))
        .is_some_and(|b| b.surely_above(published));
    let known = e.account.step.is_some();
    let of = |x: &Excess| match x.aspect {
        Aspect::DecodeStep if device.is_some_and(|d| d != "cpu") && !e.wants_throughput() => Symptom {
            measured: Some(Seconds(itl).into()),
            limit: Some(Seconds(published).into()),
            ..told(e, x, late && is_large(e, x, excess), Yardstick::Published, &says)
        },
        Aspect::DecodeStep => {
            let why = e.floor.as_ref().err().map_or("", String::as_str);
            Symptom::unseen(x.aspect, format!("{says}; the least a step could take is not known: {why}"))
        }
        Aspect::HostGap if e.account.host.is_none() => {
            Symptom::unseen(x.aspect, "whether the GPU waits for the host is not shown: add --host")
        }
        _ if !known => Symptom::unseen(x.aspect, "the engine keeps no buckets of the gaps between tokens"),
        _ => {
            let share = Ratio::of(x.value, itl).unwrap_or(Ratio(0.0));
            let torn = !e.wants_throughput() && is_torn(e, x, itl) && !everybody_reads(e, itl);
            let limit = if x.aspect == Aspect::Stalls { Limit::StallShare } else { Limit::TornShare };
            let says = format!("{says}, {share} of it {}", x.aspect);
            told(e, x, torn, Yardstick::Share, &says).against(share, Ratio(e.limit(limit)))
        }
    };
    excess.iter().map(of).collect()
}

/// Prompts of one length, read one after the other on a CPU, explain what stalls: everybody waits for the others as they do
/// for him, and there is nobody to move elsewhere. A GPU reads prompts of one length too fast for that.
fn everybody_reads(e: &Evidence<'_>, itl: f64) -> bool {
    if e.observed.config.text(Setting::Device) != Some("cpu") {
        return false;
    }
    let Some(prompts) = e.histogram(Signal::TokensPromptEach) else { return false };
    let ends = prompts.quantile(0.1).zip(prompts.quantile(0.95));
    let alike = ends.is_some_and(|(short, long)| {
        long.low <= short.low || long.estimate <= e.limit(Limit::OrdinaryPrompt) * short.estimate
    });
    let part = |p: Option<crate::account::Part>| p.map_or(0.0, |p| p.value);
    let slowed = (part(e.account.stalls) + part(e.account.interference)) / itl;
    let read = e.histogram(Signal::LatencyPrefill).map_or(0.0, |h| h.sum());
    let reading = read / e.busy_time().get().max(1.0);
    alike && slowed <= reading * e.limit(Limit::Outgrown)
}

/// Stalls, or stalls and prompts together, take so much of a gap that the ordinary step is the lesser part.
fn is_torn(e: &Evidence<'_>, x: &Excess, itl: f64) -> bool {
    let part = |p: Option<crate::account::Part>| p.map_or(0.0, |p| p.value);
    let (stalls, prompts) = (part(e.account.stalls), part(e.account.interference));
    let felt = stalls + prompts >= e.limit(Limit::TokenExcess);
    let stalled = stalls >= e.limit(Limit::StallShare) * itl;
    let both = stalls + prompts >= e.limit(Limit::TornShare) * itl;
    felt && match x.aspect {
        Aspect::Stalls => stalled || both && stalls >= prompts,
        Aspect::Interference => both && prompts > stalls,
        _ => false,
    }
}

/// A fair part of everything above the floor, or the largest.
fn is_large(e: &Evidence<'_>, x: &Excess, all: &[Excess]) -> bool {
    let sum: f64 = all.iter().map(|x| x.value).sum();
    let most = all.iter().map(|x| x.value).fold(0.0, f64::max);
    x.value > 0.0 && (x.value >= most || x.value >= e.limit(Limit::SegmentShare) * sum)
}

fn excesses(e: &Evidence<'_>, floor: f64) -> [Excess; 4] {
    let a = &e.account;
    let part = |p: Option<crate::account::Part>| p.map_or(0.0, |p| p.value);
    // Without buckets the whole gap is the step.
    let step = a.step.map_or(a.itl.unwrap_or(0.0), |s| s.value);
    [
        Excess { aspect: Aspect::DecodeStep, value: (step - floor).max(0.0) },
        Excess { aspect: Aspect::Interference, value: part(a.interference) },
        Excess { aspect: Aspect::Stalls, value: part(a.stalls) },
        Excess { aspect: Aspect::HostGap, value: part(a.host) },
    ]
}

fn told(e: &Evidence<'_>, x: &Excess, hurts: bool, yardstick: Yardstick, says: &str) -> Symptom {
    let tokens = match (e.account.decode, e.account.itl) {
        (Some(decode), Some(itl)) if itl > 0.0 => decode / itl,
        _ => e.mean(Signal::TokensOutputEach).unwrap_or(0.0),
    };
    let says =
        if hurts { format!("{says}; {} of it {}", Seconds(x.value), x.aspect) } else { says.to_owned() };
    Symptom::new(x.aspect, harm(hurts), yardstick, says).costs(e.account.share_of_life(x.value * tokens))
}
