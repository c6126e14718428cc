//! Many requests come at once; on average the server keeps up.

use intriage_case::{Histogram, Ratio, Requests, Seconds, Signal};
use intriage_engines::Engine;

use super::clumps::Clumps;
use crate::causes::shared::{queue_impact, unknown};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::few_long::FewLong;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::timeline::{Event, Interval};
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "burst-arrival-transient",
    class: Class::Queueing,
    layer: Layer::Application,
    hurts: &[Aspect::Queue, Aspect::Prefill, Aspect::DecodeStep, Aspect::Interference, Aspect::Stalls],
    summary: "Requests arrive in a burst that is larger than the server can take at once, although on average it keeps up.",
    symptoms: &[
        "now and then the first token is very late, mostly it is not",
        "waiting rises for seconds and falls back to zero",
    ],
    confirmed_by: &[
        "many times the usual number of requests arrive within seconds",
        "most of the waiting, or of what first tokens took beyond the calm, lies behind such bursts",
    ],
    refuted_by: &[
        "requests come evenly",
        "most of the waiting lies elsewhere than behind the bursts: that is a limit, not a burst",
    ],
    look_alikes: &[
        LookAlike { cause: "offered-load-exceeds-capacity", tell: "there the queue does not drain" },
        LookAlike {
            cause: "max-num-seqs-limited-queue",
            tell: "there the queue stands as long as the load does",
        },
        LookAlike { cause: "cold-start-warmup", tell: "there only a freshly started process is slow" },
        LookAlike { cause: "retry-storm", tell: "there the burst consists of repeats" },
    ],
    probe: Probe {
        name: "replay-smoothed",
        steps: "Replay the same requests evenly spaced over the same time.",
        if_so: "The spikes of the first-token time are gone.",
        if_not: "They stay.",
    },
    remedies: &[
        Remedy::any(
            "smooth the source (spread cron jobs, token bucket in the gateway), or queue in front with a deadline",
            "some requests start later",
        ),
        Remedy::any("keep a warm spare replica for the peak", "capacity that idles between bursts"),
        Remedy::of(
            Engine::Vllm,
            "keep VLLM_CACHE_ROOT between starts, so that an added replica is ready before the burst is over",
            "disk space",
        ),
    ],
    effect: "The longest wait is bounded by the size of the burst over the service rate.",
    confirm: "latency.ttft p99 comes near its median; requests.waiting stays at 0 through the next burst.",
    explains: &["head-of-line-blocking"],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let (burst, s) = (largest(e), Suffered::of(e));
    let alone = users_waited_for_it(e, burst, &s);
    // A queue that stands is another matter than clumps that come and go.
    if !matches!(alone, Test::Holds(_))
        && e.mean_busy(Signal::RequestsWaiting).unwrap_or(0.0) < 1.0
        && let Some(clumps) = Clumps::of(e)
    {
        return in_clumps(e, &clumps);
    }
    let says = burst.map_or(String::new(), |b| b.says.clone());
    let mut w = Weighing::new().requires(came_at_once(e, burst)).requires(alone).at_most_likely(0.8);
    // Where nobody waits but behind the burst, whatever limit its crowd ran into is not the fault.
    if s.waiting.max(s.first_tokens) >= e.limit(Limit::BurstsQueue) && crowd(e) >= 0.5 * s.most {
        w = w.explains(CROWD);
    }
    w.conclude(says, impact(e, s.later))
}

/// Limits that a crowd runs into.
const CROWD: &[&str] = &[
    "max-num-seqs-limited-queue",
    "kv-capacity-limited-queue",
    "token-budget-limited-queue",
    "offered-load-exceeds-capacity",
    "workload-mix-shift",
    "long-prompt-compute-bound",
    "prefill-decode-interference",
];

/// No burst stands out, but requests come in clumps: they hold where late first tokens lie in the fullest intervals.
fn in_clumps(e: &Evidence<'_>, clumps: &Clumps) -> Judgement {
    let says = clumps.says();
    let part = Ratio(clumps.first_tokens);
    let behind = format!("{part} of what first tokens took beyond the usual lies in the fullest intervals");
    let test = if part.get() < e.limit(Limit::QueueShare) {
        Test::Unknown(format!("{says}, but only {behind}"))
    } else if clumps.later < e.limit(Limit::ClumpCost) * e.mean(Signal::LatencyTtft).unwrap_or(0.0) {
        Test::Unknown(format!("{says}, which costs a first token {} on average", Seconds(clumps.later)))
    } else if FewLong::of(e).is_some() {
        Test::Unknown(format!(
            "{says}, and some prompts are far longer than the rest, which takes time as well"
        ))
    } else {
        Test::Holds(e.derived(behind, part, "first tokens per interval"))
    };
    Weighing::new()
        .requires(Test::Holds(e.derived(says.clone(), part, "arrivals per interval")))
        .requires(test)
        .at_most_likely(0.7)
        .conclude(says, impact(e, clumps.later))
}

/// What the wait behind bursts costs a request on average: its queue, or where prompts share their steps without one the time
/// by which first tokens came later.
fn impact(e: &Evidence<'_>, later: f64) -> Impact {
    let (queue, share) = (queue_impact(e), e.account.share_of_life(later));
    if queue.share.get() >= share.get() {
        return queue;
    }
    let later = Seconds(later);
    let says = format!("first tokens come {later} later on average, {share} of a request's life");
    Impact { on: ImpactOn::Ttft, share, time: Some(later), says }
}

/// The burst with most requests.
fn largest<'a>(e: &'a Evidence<'_>) -> Option<&'a Event> {
    let size = |b: &Event| b.size.map_or(0.0, |s| s.value);
    e.timeline.bursts().max_by(|a, b| size(a).total_cmp(&size(b)))
}

/// Requests that arrived in the interval before each scrape: those that got a first token, and those
/// by which the queue grew. `None` where first tokens are not counted.
pub(in crate::causes) fn arrivals(e: &Evidence<'_>) -> Option<Vec<f64>> {
    let first = e.observed.histograms(Signal::LatencyTtft, None)?;
    let waiting = e.observed.series(Signal::RequestsWaiting, None, None)?;
    // A scrape that lacks the histogram has seen no fewer than the one before.
    let mut last = first.iter().flatten().next().map_or(0.0, Histogram::count);
    let tokens: Vec<f64> = first
        .iter()
        .map(|h| {
            last = h.as_ref().map_or(last, Histogram::count);
            last
        })
        .collect();
    let queued = |i: usize| waiting.at(i).unwrap_or(0.0);
    let gained = |i: usize| (tokens[i] - tokens[i - 1] + queued(i) - queued(i - 1)).max(0.0);
    Some((0..tokens.len()).map(|i| if i == 0 { 0.0 } else { gained(i) }).collect())
}

/// Requests that came in bursts beyond those that usually come.
fn crowd(e: &Evidence<'_>) -> f64 {
    let beyond = |b: &Event| b.size.map_or(0.0, |s| s.value) - b.usual.map_or(0.0, |u| u.value);
    e.timeline.bursts().map(beyond).sum()
}

/// What the bursts of the window did: each part is theirs of all that was suffered, 0 to 1.
struct Suffered {
    /// Of the time requests waited.
    waiting: f64,
    /// Of the first-token time above the calm level.
    first_tokens: f64,
    /// Most that waited behind one.
    most: f64,
    /// Seconds by which a first token of the window came later for them on average.
    later: f64,
}

impl Suffered {
    fn of(e: &Evidence<'_>) -> Self {
        let all = &e.timeline.intervals;
        let behind = |i: &Interval| e.timeline.bursts().any(|b| i.end > b.start && i.start <= b.end());
        let waited = |i: &Interval| i.waiting.unwrap_or(0.0) * i.seconds;
        let calm: Vec<f64> = all.iter().filter(|i| !behind(i)).filter_map(|i| i.ttft).collect();
        let calm = if calm.is_empty() { 0.0 } else { calm.iter().sum::<f64>() / calm.len() as f64 };
        let late = |i: &Interval| (i.ttft.unwrap_or(0.0) - calm).max(0.0) * i.first_tokens.unwrap_or(0.0);
        let part = |of: &dyn Fn(&Interval) -> f64| {
            let whole: f64 = all.iter().map(of).sum();
            let theirs: f64 = all.iter().filter(|i| behind(i)).map(of).sum();
            if whole > 0.0 { theirs / whole } else { 0.0 }
        };
        let most = all.iter().filter(|i| behind(i)).filter_map(|i| i.waiting).fold(0.0, f64::max);
        let begun: f64 = all.iter().filter_map(|i| i.first_tokens).sum();
        let later = all.iter().filter(|i| behind(i)).map(&late).sum::<f64>() / begun.max(1.0);
        Self { waiting: part(&waited), first_tokens: part(&late), most, later }
    }
}

fn came_at_once(e: &Evidence<'_>, burst: Option<&Event>) -> Test {
    if let Some(burst) = burst {
        let size = burst.size.unwrap_or_else(|| Requests(0.0).into());
        return Test::Holds(e.derived(burst.says.clone(), size, "arrivals per interval"));
    }
    if arrivals(e).is_none() {
        return unknown(e, Signal::LatencyTtft);
    }
    Test::Fails(e.derived("requests came evenly", Requests(0.0), "arrivals per interval"))
}

/// The waiting, or the late first tokens, lie behind bursts.
fn users_waited_for_it(e: &Evidence<'_>, burst: Option<&Event>, s: &Suffered) -> Test {
    if burst.is_none() {
        return Test::Unknown("no burst to measure".into());
    }
    let says = format!(
        "behind bursts lie {} of all waiting (up to {} at once) and {} of what first tokens took beyond the calm",
        Ratio(s.waiting),
        Requests(s.most),
        Ratio(s.first_tokens)
    );
    let larger = e.limit(Limit::QueueShare);
    let holds = s.waiting >= larger || (s.most < 1.0 && s.first_tokens >= larger);
    Test::when(holds, e.fact(Signal::RequestsWaiting, says, s.most))
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::diagnosis::{Outcome, Status};
    use crate::testing::Given;

    /// Scenario F06: 300 at once on a server that is otherwise at ease; 80 wait at most, then nobody.
    fn cron_job() -> Given {
        Given::vllm("0.28.0")
            .gauge(RequestsRunning, 60.0)
            .gauges(RequestsWaiting, &[0.0, 0.0, 0.0, 0.0, 80.0, 60.0, 30.0, 10.0, 0.0])
            .gauge(KvUsage, 0.4)
            .observed(LatencyTtft, &[(0.07, 160.0), (6.1, 60.0)])
            .observed(LatencyQueue, &[(0.01, 160.0), (6.0, 60.0)])
            .observed(LatencyPrefill, &[(0.05, 220.0)])
            .finished("stop", 220.0)
    }

    #[test]
    fn a_queue_that_comes_with_a_peak_and_drains_is_a_burst() {
        let j = cron_job().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.says.contains("100 requests came within 5 s where 20"), "{}", j.says);
        let limit = cron_job().flags("--max-num-seqs 60").verdict();
        assert_eq!(limit.verdict.primary.cause.as_deref(), Some(CAUSE.id), "the cap binds its crowd alone");
    }

    #[test]
    fn a_queue_that_stands_is_the_look_alike() {
        let j = cron_job().gauge(RequestsWaiting, 40.0).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
        assert!(j.against[0].says.contains("evenly"), "{:?}", j.against);
    }

    #[test]
    fn a_burst_on_top_of_a_standing_queue_is_not_what_they_wait_for() {
        let on_top = [90.0, 90.0, 90.0, 90.0, 170.0, 120.0, 90.0];
        let j = cron_job().gauges(RequestsWaiting, &on_top).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut, "{j:#?}");
        assert!(j.against[0].says.contains("behind bursts lie"), "{:?}", j.against);
    }

    #[test]
    fn a_burst_still_waiting_at_the_end_of_the_window_is_one_too() {
        let open = cron_job().gauges(RequestsWaiting, &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 80.0, 60.0]);
        let j = open.judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.says.contains("when the window ended"), "{}", j.says);
    }

    #[test]
    fn a_server_made_for_bursts_is_judged_by_how_long_their_queue_stands() {
        assert_eq!(cron_job().bursty().verdict().verdict.status, Status::Finding, "20 s");
        let soon = cron_job()
            .gauges(RequestsWaiting, &[0.0, 0.0, 0.0, 0.0, 80.0, 0.0])
            .observed(LatencyQueue, &[(0.01, 220.0)])
            .observed(LatencyTtft, &[(0.07, 220.0)]);
        assert_eq!(soon.bursty().verdict().verdict.status, Status::Healthy);
    }
}
