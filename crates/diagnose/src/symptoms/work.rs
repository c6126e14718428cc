//! Work done, work done twice, work for nothing, and the clock it is done at.

use intriage_case::{Quantity, Ratio, Requests, Signal, Unit};
use intriage_engines::Setting;

use super::first_token::harm;
use super::{Aspect, Harm, Symptom, Yardstick, backlog};
use crate::causes::{busy_clocks, worthwhile_batch};
use crate::evidence::Evidence;
use crate::thresholds::Limit;

/// Running requests thrown back and computed again.
pub(super) fn preemption(e: &Evidence<'_>) -> Symptom {
    let Some(count) = e.delta(Signal::RequestsPreempted) else {
        return Symptom::unseen(Aspect::Preemption, e.observed.why_missing(Signal::RequestsPreempted));
    };
    let per_request = e.finished().and_then(|n| Ratio::of(count, n.get().max(1.0))).unwrap_or(Ratio(0.0));
    let minutes = (e.busy_time().get() / 60.0).max(f64::MIN_POSITIVE);
    let limit = Ratio(e.limit(Limit::PreemptionsPerRequest));
    let often =
        count >= e.limit(Limit::ThrashEvents) && count / minutes > e.limit(Limit::PreemptionsPerMinute);
    let says = format!(
        "{count:.0} times a running request was thrown back, {:.2} per finished request",
        per_request.get()
    );
    Symptom::new(Aspect::Preemption, harm(often && per_request.get() > limit.get()), Yardstick::Share, says)
        .costs(Ratio(per_request.get().min(1.0) * e.limit(Limit::SegmentShare)))
        .against(per_request, limit)
}

/// Work done against work offered: a batch job's use of the server, or requests that pile up in one for quick answers.
pub(super) fn throughput(e: &Evidence<'_>) -> Symptom {
    let unseen = |why: &str| Symptom::unseen(Aspect::Throughput, why);
    if !e.wants_throughput() {
        let Some(grows) = backlog(e) else {
            let says = "a server for quick answers is judged by its queue, and by requests that pile up in its batch";
            return Symptom::new(Aspect::Throughput, Harm::Fine, Yardstick::Profile, says);
        };
        let says =
            format!("requests pile up, from {} in the server to {}: {}", grows.first, grows.last, grows.felt);
        return Symptom::new(Aspect::Throughput, Harm::Hurts, Yardstick::CalmPart, says)
            .costs(grows.share)
            .against(grows.last, grows.first)
            .during(grows.start, grows.end);
    }
    let Some(running) = e.observed.series(Signal::RequestsRunning, None, None) else {
        return unseen("how many requests run is not shown");
    };
    let room = worthwhile_batch(e);
    let busy: Vec<f64> = e.busy().iter().filter_map(|&i| running.at(i)).collect();
    let mean = running.mean_at(e.busy()).unwrap_or(0.0);
    // A job that replaces every answer by the next request keeps its number; one that runs out of work does not.
    let held = busy
        .iter()
        .filter(|r| (**r - mean).abs() <= 1.0_f64.max(e.limit(Limit::FigureDiffers) * mean))
        .count();
    let steady = held as f64 >= e.limit(Limit::Mostly) * busy.len() as f64;
    let limit = Ratio(e.limit(Limit::Underbatched));
    let used = Ratio((mean / room).clamp(0.0, 1.0));
    let says = format!("the job keeps {} in flight where about {room:.0} would fit", Requests(mean));
    let starved = steady && used.get() <= limit.get() && busy.len() >= 3;
    let mut symptom = Symptom::new(Aspect::Throughput, harm(starved), Yardstick::Profile, says)
        .costs(Ratio(1.0 - used.get()));
    (symptom.measured, symptom.limit) = (Some(used.into()), Some(limit.into()));
    symptom
}

/// Answers that all end at their limit although real weights write them.
pub(super) fn answer_lengths(e: &Evidence<'_>) -> Symptom {
    let aspect = Aspect::AnswerLengths;
    let (Some(all), Some(length)) = (e.finished(), e.delta_by(Signal::RequestsFinished, "length")) else {
        return Symptom::unseen(aspect, e.observed.why_missing(Signal::RequestsFinished));
    };
    let Some(share) = Ratio::of(length, all.get()) else {
        return Symptom::unseen(aspect, "no request finished in the window");
    };
    let limit = Ratio(e.limit(Limit::RunawayShare));
    let says = format!("{share} of the answers end at their limit");
    let generous = e.mean(Signal::TokensMaxParam).is_some_and(|m| m >= e.limit(Limit::RunawayCap));
    let enough = all.get() >= e.limit(Limit::RunawaySample);
    if share.get() < limit.get() || !generous || !enough {
        return Symptom::new(aspect, Harm::Fine, Yardstick::Share, says).against(share, limit);
    }
    match e.observed.config.text(Setting::LoadFormat) {
        Some("dummy") => {
            Symptom::new(aspect, Harm::Fine, Yardstick::Told, format!("{says}: made-up weights never stop"))
        }
        Some(_) => Symptom::new(aspect, Harm::Hurts, Yardstick::Share, says)
            .costs(e.account.share_of_life(e.account.decode.unwrap_or(0.0)))
            .against(share, limit),
        None => Symptom::unseen(
            aspect,
            format!("{says}; whether real weights write them is stated nowhere: give --log"),
        ),
    }
}

/// The SM clock while kernels run, against the highest the card has.
pub(super) fn gpu_clock(e: &Evidence<'_>) -> Symptom {
    let aspect = Aspect::GpuClock;
    let Some(card) = busy_clocks(e) else {
        return Symptom::unseen(aspect, "no GPU was read at work: add --host on the serving machine");
    };
    let limit = Ratio(e.limit(Limit::ClockDrop));
    let says = format!("SM clock {} of {} while busy", card.now, card.most);
    // A card at its power limit slows down by design: full load, not a fault.
    let low = card.speed.get() < limit.get() && !card.at_power_limit;
    let mut symptom =
        Symptom::new(aspect, harm(low), Yardstick::Floor, says).costs(Ratio(1.0 - card.speed.get()));
    // The lower the clock, the worse: the margin is turned round.
    symptom.measured = Some(Quantity::new(limit.get() / card.speed.get().max(0.01), Unit::Ratio));
    symptom.limit = Some(Quantity::new(1.0, Unit::Ratio));
    symptom
}
