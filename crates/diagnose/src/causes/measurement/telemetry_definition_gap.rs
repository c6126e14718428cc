//! The figures contradict each other, or some are missing.

use intriage_case::{Ratio, Requests, Seconds, Signal};
use intriage_engines::{Engine, dialect};

use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "telemetry-definition-gap",
    class: Class::Measurement,
    layer: Layer::Application,
    hurts: &[Aspect::Measurement],
    summary: "The figures compared are not the same thing, or a series is missing, renamed, stale or too coarse to judge by.",
    symptoms: &[
        "two dashboards disagree",
        "a slowdown shows in one tool only",
        "a panel is empty since an upgrade",
    ],
    confirmed_by: &[
        "requests in the server differ from completions per second times their time, over a steady load",
        "a series stops while the others go on",
    ],
    refuted_by: &["requests in the server agree with completions per second times their time"],
    look_alikes: &[
        LookAlike {
            cause: "engine-stalled-not-admitting",
            tell: "there the counters themselves stand still",
        },
        LookAlike {
            cause: "network-path-latency",
            tell: "there client and server differ because of the way between them",
        },
        LookAlike { cause: "engine-upgrade-regression", tell: "there a client sees the slowdown too" },
    ],
    probe: Probe {
        name: "cross-check",
        steps: "Take the mean first-token time and token gap of the same fifty requests from the counters, from the per-request figures and from the client.",
        if_so: "The offsets follow from where each clock starts and what each one counts.",
        if_not: "They do not: the gap is real.",
    },
    remedies: &[
        Remedy::any(
            "bring both figures to one definition first: where the clock starts, per step or per token, finished requests or all",
            "none",
        ),
        Remedy::any("use sum over count where a quantile falls into the first bucket", "none"),
        Remedy::of(
            Engine::Vllm,
            "--enable-per-request-metrics puts queue, first-token and token times into each answer",
            "a little CPU",
        ),
        Remedy::of(
            Engine::Vllm,
            "--show-hidden-metrics-for-version=X.Y brings deprecated names back for one release while dashboards move",
            "two names for one thing",
        ),
        Remedy::of(
            Engine::Sglang,
            "--enable-metrics on every replica; --enable-metrics-for-all-schedulers only if sums are taken per rank",
            "a little CPU",
        ),
    ],
    effect: "No alarm comes from names or definitions any more.",
    confirm: "Requests in the server, completions per second and their time agree within a quarter.",
    explains: &[],
    judge,
};

/// Series every diagnosis leans on.
const CORE: [Signal; 6] = [
    Signal::RequestsRunning,
    Signal::RequestsWaiting,
    Signal::RequestsFinished,
    Signal::TokensGenerated,
    Signal::LatencyTtft,
    Signal::KvUsage,
];

/// A series missing from so many last scrapes has stopped.
const STALE_SCRAPES: usize = 3;

fn judge(e: &Evidence<'_>) -> Judgement {
    let w = Weighing::new();
    if let Some((signal, metric)) = stopped(e) {
        let says = format!("{metric} stops in the middle of the window while other series go on");
        let mut fact = e.fact(signal, says.clone(), 0.0);
        fact.value = None;
        return w
            .requires(Test::Holds(fact))
            .conclude(format!("{says}: what rests on {signal} cannot be judged"), impact(1.0));
    }
    let absent = absent(e);
    if !absent.is_empty() {
        let version = e.observed.identity.version.as_ref().map(|v| format!(" {v}")).unwrap_or_default();
        let why = format!(
            "{}{version} has {} and the scrapes do not: is a filter in between?",
            e.observed.engine_name(),
            absent.join(", ")
        );
        return w.requires(Test::Unknown(why)).conclude("", impact(0.0));
    }
    let gap = little(e).map_or(0.0, |l| l.gap());
    // The law says that something is wrong, not which figure.
    w.requires(figures_disagree(e)).at_most_likely(0.6).conclude(disagreement(e), impact(gap))
}

fn impact(share: f64) -> Impact {
    let share = Ratio(share.clamp(0.0, 1.0));
    Impact {
        on: ImpactOn::Measurement,
        share,
        time: None,
        says: "figures of this window cannot be relied on".into(),
    }
}

/// A core series that was there and is gone, without a restart and under load.
fn stopped(e: &Evidence<'_>) -> Option<(Signal, &'static str)> {
    let scrapes = e.observed.times.len();
    let busy_to_the_end = e.busy().iter().filter(|i| **i + STALE_SCRAPES >= scrapes).count() == STALE_SCRAPES;
    if e.restarts() > 0 || scrapes < 2 * STALE_SCRAPES || !busy_to_the_end {
        return None;
    }
    CORE.into_iter().find_map(|signal| {
        let last_seen = match e.observed.series(signal, None, None) {
            Some(series) => series.known().last().map(|(i, _)| i),
            None => e.observed.histograms(signal, None)?.iter().rposition(Option::is_some),
        }?;
        (last_seen + STALE_SCRAPES < scrapes)
            .then(|| (signal, e.observed.metric(signal).unwrap_or(signal.name())))
    })
}

/// Core series this release exposes and the scrapes lack.
fn absent(e: &Evidence<'_>) -> Vec<&'static str> {
    let (Some(engine), Some(version)) = (e.observed.identity.engine, &e.observed.identity.version) else {
        return Vec::new();
    };
    let rows = dialect(engine).metrics;
    let missing = CORE.into_iter().filter(|s| e.observed.metric(*s).is_none());
    missing
        .filter_map(|s| rows.iter().find(|r| r.signal == s && r.range.holds(version)).map(|r| r.metric))
        .collect()
}

/// Little's law over the steady part: so many in the server, so many out per second, each so long inside.
struct Little {
    inside: f64,
    rate: f64,
    time: f64,
}

impl Little {
    fn gap(&self) -> f64 {
        (self.inside - self.rate * self.time).abs() / self.inside.max(self.rate * self.time)
    }
}

fn little(e: &Evidence<'_>) -> Option<Little> {
    let part = loaded_part(e);
    let (first, last) = (*part.first()?, *part.last()?);
    let elapsed = e.observed.times[last].since(e.observed.times[first]).get();
    let within = |signal| e.histogram_where(signal, |i| i > first && i <= last).filter(|h| h.count() > 0.0);
    // The gauges see a request from the queue on, so the time counts from there too.
    let seen = within(Signal::LatencyQueue).zip(within(Signal::LatencyInference));
    let (n, time) = match seen {
        Some((queue, rest)) => (rest.count(), queue.mean()? + rest.mean()?),
        None => within(Signal::LatencyE2e).and_then(|h| Some((h.count(), h.mean()?)))?,
    };
    let inside = in_server(e, &part)?;
    (elapsed > 0.0 && inside > 0.0 && time > 0.0).then(|| Little { inside, rate: n / elapsed, time })
}

/// The longest run of busy scrapes without its first and last, where the load may begin or end.
fn loaded_part(e: &Evidence<'_>) -> Vec<usize> {
    let longest = e.busy().chunk_by(|a, b| a + 1 == *b).max_by_key(|run| run.len()).unwrap_or(&[]);
    longest.get(1..longest.len().saturating_sub(1)).unwrap_or(&[]).to_vec()
}

/// Mean of running plus waiting over these scrapes.
fn in_server(e: &Evidence<'_>, scrapes: &[usize]) -> Option<f64> {
    let mean = |signal| e.observed.series(signal, None, None)?.mean_at(scrapes);
    Some(mean(Signal::RequestsRunning)? + mean(Signal::RequestsWaiting)?)
}

fn figures_disagree(e: &Evidence<'_>) -> Test {
    if let Some(why) = not_steady(e) {
        return Test::Unknown(format!("{why}, so the figures cannot be checked against each other"));
    }
    let Some(law) = little(e) else {
        return Test::Unknown("running, completions or their time are unknown, so the figures cannot be checked against each other".into());
    };
    Test::when(
        law.gap() > e.limit(Limit::Little),
        e.derived(disagreement(e), Ratio(law.gap()), "running + waiting against completions × time"),
    )
}

fn disagreement(e: &Evidence<'_>) -> String {
    let Some(law) = little(e) else { return String::new() };
    format!(
        "{} are in the server on average, and {:.1} completions a second of {} each make {:.1}",
        Requests(law.inside),
        law.rate,
        Seconds(law.time),
        law.rate * law.time
    )
}

/// Why the law does not apply to this window, if it does not.
fn not_steady(e: &Evidence<'_>) -> Option<String> {
    if e.busy().is_empty() {
        return Some("nothing was running".into());
    }
    let Some(Requests(finished)) = e.finished() else {
        return Some(e.observed.why_missing(Signal::RequestsFinished));
    };
    if finished < e.limit(Limit::P95Sample) {
        return Some(format!("only {finished:.0} requests finished in the window"));
    }
    if e.delta(Signal::RequestsPreempted).unwrap_or(0.0) > 0.0 || e.restarts() > 0 {
        return Some("requests were thrown back or the process restarted".into());
    }
    if let Some(first) = e.histogram(Signal::LatencyTtft).map(|h| h.count())
        && (first - finished).abs() > e.limit(Limit::Growth) * finished
    {
        return Some(format!("{first:.0} requests began to answer and {finished:.0} finished"));
    }
    let part = loaded_part(e);
    let (early, late) = part.split_at(part.len() / 2);
    let (Some(a), Some(b)) = (in_server(e, early), in_server(e, late)) else {
        return Some("running or waiting is unknown".into());
    };
    if (a - b).abs() > e.limit(Limit::Little) * a.max(b) {
        return Some(format!("the load changes from {a:.1} to {b:.1} requests in the server"));
    }
    // Each scrape is one look: few looks at few requests scatter too much.
    let looks = f64::midpoint(a, b) * part.len() as f64;
    (looks < e.limit(Limit::P95Sample))
        .then(|| format!("{} scrapes of {:.1} requests are too few looks", part.len(), f64::midpoint(a, b)))
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::diagnosis::{ImpactOn, Outcome};
    use crate::testing::Given;

    /// 55 seconds, 10 completions a second of 2 s each: 20 in the server.
    fn steady(running: f64) -> Given {
        Given::vllm("0.28.0")
            .gauge(RequestsRunning, running)
            .gauge(RequestsWaiting, 0.0)
            .gauge(KvUsage, 0.4)
            .counter(TokensGenerated, 55_000.0)
            .observed(LatencyTtft, &[(0.1, 550.0)])
            .observed(LatencyQueue, &[(0.01, 550.0)])
            .observed(LatencyInference, &[(1.99, 550.0)])
            .finished("stop", 550.0)
    }

    #[test]
    fn figures_that_agree_rule_it_out() {
        let j = steady(20.0).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut, "{j:#?}");
    }

    #[test]
    fn twice_as_many_in_the_server_as_the_law_allows_is_a_gap() {
        let j = steady(40.0).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert_eq!(
            j.says,
            "40 requests are in the server on average, and 10.0 completions a second of 2.00 s each make 20.0"
        );
        assert_eq!(j.impact.unwrap().on, ImpactOn::Measurement);
    }

    #[test]
    fn a_load_that_changes_is_no_contradiction() {
        let ramp: Vec<f64> = (0..12).map(|i| f64::from(i) * 8.0).collect();
        for given in [
            steady(20.0).gauges(RequestsRunning, &ramp),
            steady(40.0).observed(LatencyTtft, &[(0.1, 700.0)]),
            steady(40.0).counter(RequestsPreempted, 5.0),
            steady(4.0),
        ] {
            let j = given.judge(&CAUSE);
            assert_eq!(j.outcome, Outcome::CannotTell, "{j:#?}");
        }
    }

    #[test]
    fn idle_scrapes_around_the_load_do_not_count() {
        let idle_ends = [0.0, 20.0, 20.0, 20.0, 20.0, 20.0, 20.0, 20.0, 20.0, 20.0, 20.0, 0.0];
        let j = steady(20.0).without(TokensGenerated).gauges(RequestsRunning, &idle_ends).judge(&CAUSE);
        assert_ne!(j.outcome, Outcome::Likely, "{j:#?}");
    }

    #[test]
    fn too_few_requests_prove_nothing() {
        let j = steady(40.0).finished("stop", 50.0).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("only 50 requests"), "{:?}", j.missing);
    }

    #[test]
    fn a_series_the_release_has_and_the_scrapes_lack_is_named() {
        let j = steady(20.0).without(KvUsage).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("vLLM 0.28.0 has vllm:kv_cache_usage_perc"), "{:?}", j.missing);
    }

    #[test]
    fn a_renamed_series_is_read_under_its_old_name() {
        let j = steady(20.0)
            .without(KvUsage)
            .raw("vllm:gpu_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.4\n")
            .judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut, "{j:#?}");
    }

    #[test]
    fn a_series_that_stops_midway_is_a_finding() {
        let gone = [0.4, 0.4, 0.4, 0.4, f64::NAN];
        let j = steady(20.0).gauges(KvUsage, &gone).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.says.contains("kv_cache_usage_perc stops"), "{}", j.says);
    }
}
