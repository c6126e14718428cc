//! Many requests come at once; on average the server keeps up.

use intriage_case::{Histogram, Profile, Ratio, Requests, Signal};
use intriage_engines::Engine;

use crate::causes::shared::{queue_impact, unknown};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "burst-arrival-transient",
    class: Class::Queueing,
    layer: Layer::Application,
    hurts: &[Aspect::Queue, Aspect::Prefill],
    summary: "Requests arrive in a burst that is larger than the server can take at once, although on average it keeps up.",
    symptoms: &[
        "now and then the first token is very late, mostly it is not",
        "waiting rises for seconds and falls back to zero",
    ],
    confirmed_by: &[
        "arrivals in the interval where the queue begins are several times their mean",
        "the queue falls back to zero while traffic goes on",
        "the queue is the larger half of the time to first token",
    ],
    refuted_by: &[
        "the queue stands in most scrapes: that is a limit, not a burst",
        "the queue ends only because the load ends",
        "the profile says that arrivals are bursty, or that the work is a batch job",
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
    let burst = burst(e);
    let says = match &burst {
        Burst::Seen { peak, mean, .. } => format!(
            "{} came in one interval where {} come on average, and they waited until the server had caught up",
            Requests(*peak),
            Requests(*mean)
        ),
        _ => String::new(),
    };
    // An hour would show whether bursts return; a window shows one.
    Weighing::new()
        .requires(queue_comes_and_goes(e, &burst))
        .requires(arrivals_peak(e, &burst))
        .at_most_likely(0.7)
        .conclude(says, queue_impact(e))
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

/// What the queue did over the window.
enum Burst {
    /// Nobody waited.
    NoQueue,
    /// It stood in this share of the busy scrapes.
    Stands(f64),
    /// It came with the load, or went with it.
    LoadEdge,
    /// It had not drained when the window ended.
    Open,
    /// It came, went, and traffic went on: arrivals of its fullest interval, and of the mean one.
    Seen { peak: f64, mean: f64, most: f64 },
    /// A signal is missing.
    Unknown(Signal),
}

fn burst(e: &Evidence<'_>) -> Burst {
    let Some(waiting) = e.observed.series(Signal::RequestsWaiting, None, None) else {
        return Burst::Unknown(Signal::RequestsWaiting);
    };
    let Some(Ratio(share)) = waiting.share_at(e.busy(), |w| w > 0.0) else { return Burst::NoQueue };
    if share == 0.0 {
        return Burst::NoQueue;
    }
    if share >= e.limit(Limit::Mostly) {
        return Burst::Stands(share);
    }
    let Some(arrivals) = arrivals(e) else { return Burst::Unknown(Signal::LatencyTtft) };
    let running = e.observed.series(Signal::RequestsRunning, None, None);
    let queued = |i: usize| waiting.at(i).unwrap_or(0.0) > 0.0;
    let mut best = Burst::LoadEdge;
    let mut i = 0;
    while i < arrivals.len() {
        if !queued(i) {
            i += 1;
            continue;
        }
        let end = (i..arrivals.len()).find(|&j| !queued(j)).unwrap_or(arrivals.len());
        let under_load = i > 0 && running.as_ref().and_then(|r| r.at(i - 1)).is_some_and(|r| r > 0.0);
        let goes_on = arrivals.iter().skip(end + 1).sum::<f64>() > 0.0;
        if under_load && goes_on {
            let (peak, mean) = peak_of(e, &arrivals, i, end);
            let most = (i..end).filter_map(|j| waiting.at(j)).fold(0.0, f64::max);
            if !matches!(best, Burst::Seen { peak: p, mean: m, .. } if p / m >= peak / mean) {
                best = Burst::Seen { peak, mean, most };
            }
        } else if under_load && end == arrivals.len() && matches!(best, Burst::LoadEdge) {
            best = Burst::Open;
        }
        i = end;
    }
    best
}

/// Arrivals of the fullest interval of the spell, and what such an interval brings on average.
fn peak_of(e: &Evidence<'_>, arrivals: &[f64], from: usize, to: usize) -> (f64, f64) {
    let times = &e.observed.times;
    let long = |i: usize| times[i].since(times[i - 1]).get();
    let rate = e.busy().iter().filter(|&&i| i > 0).map(|&i| arrivals[i]).sum::<f64>()
        / e.busy_time().get().max(f64::MIN_POSITIVE);
    let fullest = (from..to)
        .max_by(|&a, &b| (arrivals[a] / long(a)).total_cmp(&(arrivals[b] / long(b))))
        .unwrap_or(from);
    (arrivals[fullest], rate * long(fullest))
}

fn queue_comes_and_goes(e: &Evidence<'_>, burst: &Burst) -> Test {
    let fact = |says: String, value| e.fact(Signal::RequestsWaiting, says, value);
    match burst {
        Burst::NoQueue => Test::Fails(fact("no request waits".into(), 0.0)),
        Burst::Stands(share) => Test::Fails(fact(
            format!("requests wait in {} of the busy scrapes: the queue stands", Ratio(*share)),
            *share,
        )),
        Burst::LoadEdge => {
            Test::Fails(fact("the queue came with the start of the load or went with its end".into(), 0.0))
        }
        Burst::Open => Test::Unknown("the window ends before the queue has drained: watch for longer".into()),
        Burst::Seen { most, .. } => Test::Holds(fact(
            format!("up to {} wait, then nobody, while traffic goes on", Requests(*most)),
            *most,
        )),
        Burst::Unknown(signal) => unknown(e, *signal),
    }
}

fn arrivals_peak(e: &Evidence<'_>, burst: &Burst) -> Test {
    let Burst::Seen { peak, mean, .. } = burst else { return Test::Unknown("no burst to measure".into()) };
    let says = format!(
        "{} arrived in the fullest interval of the queue, {} in the mean one",
        Requests(*peak),
        Requests(*mean)
    );
    // With few arrivals chance alone makes a peak.
    let beyond_chance = *peak >= mean + e.limit(Limit::BurstNoise) * mean.sqrt();
    let holds = *peak >= e.limit(Limit::BurstPeak) * mean && beyond_chance;
    Test::when(holds, e.derived(says, Requests(*peak), "first tokens + growth of the queue, per interval"))
}

/// Bursts are this profile's nature, and a batch job plans its queue.
fn expected_by_profile(e: &Evidence<'_>) -> Test {
    match e.intent.profile {
        Profile::Interactive => Test::Unknown("the profile expects no bursts".into()),
        Profile::Bursty => Test::Holds(e.derived(
            "the profile expects bursts, and a queue that drains is their price",
            Ratio(1.0),
            "profile",
        )),
        Profile::Batch => Test::Holds(e.derived("a batch job plans its queue", Ratio(1.0), "profile")),
    }
}

#[cfg(test)]
mod tests {
    use intriage_case::Profile;
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::diagnosis::Outcome;
    use crate::evidence::Evidence;
    use crate::testing::Given;
    use crate::thresholds::Thresholds;

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
        assert!(j.says.contains("came in one interval"), "{}", j.says);
    }

    #[test]
    fn a_queue_that_stands_is_the_look_alike() {
        let j = cron_job().gauge(RequestsWaiting, 40.0).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
        assert!(j.against[0].says.contains("stands"), "{:?}", j.against);
    }

    #[test]
    fn a_queue_that_ends_with_the_load_is_no_burst() {
        let ends = cron_job()
            .gauges(RequestsRunning, &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4.0, 4.0, 4.0, 0.0])
            .gauges(RequestsWaiting, &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 80.0, 30.0, 0.0, 0.0]);
        assert_eq!(ends.judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_burst_still_waiting_at_the_end_of_the_window_is_left_open() {
        let j = cron_job()
            .gauges(RequestsWaiting, &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 80.0, 60.0])
            .judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("drained"), "{:?}", j.missing);
    }

    #[test]
    fn bursts_that_were_announced_are_no_alarm() {
        let mut case = cron_job().case();
        case.intent.profile = Profile::Bursty;
        let observed = intriage_engines::read(&case);
        let thresholds = Thresholds::default();
        let j = (CAUSE.judge)(&Evidence::new(&observed, &case.intent, &thresholds));
        assert_eq!(j.outcome, Outcome::RuledOut);
    }
}
