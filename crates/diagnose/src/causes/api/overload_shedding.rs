//! The server refuses work on purpose because a limit is reached.

use intriage_case::{Fact, Quantity, Ratio, Requests, Signal, Source, Unit};
use intriage_engines::{Engine, Meaning, Setting};

use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::lately::{death, lately};
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "overload-shedding",
    class: Class::Api,
    layer: Layer::Configuration,
    hurts: &[Aspect::Errors],
    summary: "The server refuses requests on purpose because a limit on waiting or accepted requests is reached.",
    symptoms: &[
        "quick 429, 503 or 529 answers under load",
        "requests that are accepted are served as usual",
        "refusals begin and end with the load",
    ],
    confirmed_by: &[
        "the engine counts requests refused by a limit, or answers 429, 503 or 529",
        "the queue stands at its limit meanwhile",
        "accepted requests go on",
    ],
    refuted_by: &["nobody was refused", "the engine died or restarted: its errors are not a choice"],
    look_alikes: &[
        LookAlike {
            cause: "engine-crash-5xx",
            tell: "there the errors come from a dead engine and nothing is served any more",
        },
        LookAlike {
            cause: "client-request-rejected",
            tell: "there single requests are at fault, whatever the load",
        },
        LookAlike {
            cause: "offered-load-exceeds-capacity",
            tell: "that is the reason behind it: more comes than the server can do",
        },
        LookAlike {
            cause: "retry-storm",
            tell: "there clients repeat refused requests at once and multiply them",
        },
    ],
    probe: Probe {
        name: "limit-read",
        steps: "Read the limit and compare it with the most that ever waited; double it on a spare replica.",
        if_so: "Refusals begin at the new limit.",
        if_not: "Refusals stay: something in front of the server refuses.",
    },
    remedies: &[
        Remedy::any(
            "add replicas, or remove what holds the server back (see the other findings)",
            "hardware or work",
        ),
        Remedy::any(
            "answer refusals with Retry-After, and let clients wait a random, growing time before they try again",
            "slower clients",
        ),
        Remedy::of(
            Engine::Vllm,
            "raise --max-num-queued-reqs or --max-num-queued-tokens if the first-token time has slack",
            "those requests wait instead",
        )
        .since("0.29.0"),
        Remedy::of(
            Engine::Sglang,
            "raise --max-queued-requests if the first-token time has slack",
            "those requests wait instead",
        ),
        Remedy::of(
            Engine::Tgi,
            "raise --max-concurrent-requests if the first-token time has slack",
            "those requests wait instead",
        ),
    ],
    effect: "Only what the server really cannot do is refused.",
    confirm: "requests.rejected stops growing at the same load while latency.ttft keeps its objective.",
    explains: &[],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let counted = e.delta(Signal::RequestsRejected).is_some();
    let refused = refused(e);
    let mut w = Weighing::new()
        .requires(someone_was_refused(e, refused.as_ref()))
        .supports(limit_was_reached(e))
        .supports(others_were_served(e));
    if !counted {
        // A status alone does not say who sent it and why.
        w = w.refuted_by(engine_died(e)).at_most_likely(0.7);
    }
    let n = refused.map_or(0.0, |r| r.count);
    let share = share(e, n);
    if let Some(limit) = e.setting(Setting::QueueLimit) {
        w = w.advise(
            format!("raise the queue limit of {limit:.0} only while the first token is on time; otherwise add capacity"),
            "those requests wait instead",
        );
    }
    let says = format!("{} refused {} on purpose, {share} of all", e.observed.engine_name(), Requests(n));
    let impact = Impact {
        on: ImpactOn::Errors,
        share,
        time: None,
        says: format!("{share} of the requests were refused"),
    };
    w.conclude(says, impact)
}

/// Requests refused by a limit, and who says so.
struct Refused {
    count: f64,
    source: Source,
}

/// The engine's own count, else exact statuses, else the access log.
fn refused(e: &Evidence<'_>) -> Option<Refused> {
    let metric = |signal: Signal| Source::Metric {
        name: e.observed.metric(signal).unwrap_or(signal.name()).to_owned(),
    };
    if let Some(count) = e.delta(Signal::RequestsRejected) {
        return Some(Refused { count, source: metric(Signal::RequestsRejected) });
    }
    let keys = e.observed.keys(Signal::HttpResponses);
    // vLLM counts 4xx and 5xx in groups: they tell the cause apart only while nothing fails.
    let exact = !keys.is_empty() && keys.iter().all(|k| k.parse::<u16>().is_ok());
    let none_failed = !keys.is_empty() && e.answered(|status| status >= 400) == 0.0;
    if exact || none_failed {
        return Some(Refused { count: e.answered(sheds), source: metric(Signal::HttpResponses) });
    }
    if let Some(line) = lately(e, Meaning::QueueFull).filter(|_| e.observed.times.is_empty()) {
        let answered =
            e.observed.log.answers.iter().filter(|(status, _)| sheds(**status)).map(|(_, n)| *n as f64);
        return Some(Refused {
            count: answered.sum::<f64>().max(f64::from(line.count)),
            source: line.source(),
        });
    }
    let answers = &e.observed.log.answers;
    let count = answers.iter().filter(|(status, _)| sheds(**status)).map(|(_, n)| *n as f64).sum();
    let source = Source::Derived { from: "access lines of the log".into() };
    (!answers.is_empty()).then_some(Refused { count, source })
}

/// Too many requests, service unavailable, overloaded.
fn sheds(status: u16) -> bool {
    matches!(status, 429 | 503 | 529)
}

/// Refused requests as a share of all that came.
fn share(e: &Evidence<'_>, refused: f64) -> Ratio {
    let by_log = || {
        let answers = e.observed.log.answers.iter();
        answers.filter(|(status, _)| **status < 400).map(|(_, n)| *n as f64).sum()
    };
    let served = e.finished().map_or_else(by_log, Requests::get);
    Ratio::of(refused, refused + served).unwrap_or(Ratio(0.0))
}

fn someone_was_refused(e: &Evidence<'_>, refused: Option<&Refused>) -> Test {
    let Some(Refused { count, source }) = refused else {
        let name = e.observed.engine_name();
        return Test::Unknown(format!(
            "{name} does not tell refusals from other errors in this evidence: give --log with access lines"
        ));
    };
    let share = share(e, *count);
    let says = if *count > 0.0 {
        format!("{} were refused, {share} of all", Requests(*count))
    } else {
        "no request was refused for load".into()
    };
    let fact = Fact {
        says,
        value: Some(Quantity::new(*count, Unit::Requests)),
        limit: None,
        signal: None,
        source: source.clone(),
    };
    Test::when(share.get() >= e.limit(Limit::ErrorShare), fact)
}

/// The queue stood at its limit, or everything accepted did.
fn limit_was_reached(e: &Evidence<'_>) -> Test {
    let most = |signal| e.observed.series(signal, None, None).and_then(|s| s.max());
    let waiting = most(Signal::RequestsWaiting);
    let held = waiting.zip(most(Signal::RequestsRunning)).map(|(w, r)| w + r);
    let pairs =
        [("waiting", waiting, Setting::QueueLimit), ("in the server", held, Setting::ConcurrencyLimit)];
    let Some((what, seen, setting, limit)) =
        pairs.into_iter().find_map(|(what, seen, setting)| Some((what, seen?, setting, e.setting(setting)?)))
    else {
        return Test::Unknown("the limit is not stated: give --engine-args or --log".into());
    };
    let mut fact =
        e.setting_fact(setting, format!("at most {seen:.0} {what} in any scrape, the limit is {limit:.0}"));
    fact.value = Some(Quantity::new(seen, Unit::Requests));
    fact.limit = Some(Quantity::new(limit, Unit::Requests));
    // Scrapes miss short peaks: half of the limit is near it.
    Test::when(seen >= limit / 2.0, fact)
}

fn others_were_served(e: &Evidence<'_>) -> Test {
    let Some(finished) = e.finished() else {
        return Test::Unknown("finished requests are not counted".into());
    };
    let fact = e.fact(Signal::RequestsFinished, format!("{finished} were served meanwhile"), finished.get());
    Test::when(finished.get() > 0.0, fact)
}

/// Errors of a dead or restarted engine are no choice.
fn engine_died(e: &Evidence<'_>) -> Test {
    if let Some(line) = death(e) {
        let says = format!("the log says {:?}", line.excerpt);
        return Test::Holds(Fact { says, value: None, limit: None, signal: None, source: line.source() });
    }
    let restarts = e.restarts();
    let says = if restarts > 0 {
        format!("the process restarted {restarts} time(s)")
    } else {
        "the process did not restart".into()
    };
    Test::when(
        restarts > 0,
        e.derived(says, Quantity::new(f64::from(restarts), Unit::Events), "counter resets"),
    )
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;
    use intriage_engines::Engine;

    use super::CAUSE;
    use crate::diagnosis::{ImpactOn, Outcome};
    use crate::testing::Given;

    /// As recorded: a queue limit of 4 under 16 clients refused 1,538 while 17 finished.
    fn shedding() -> Given {
        Given::vllm("0.32.0")
            .flags("--max-num-queued-reqs 4 --max-num-seqs 2")
            .gauge(RequestsRunning, 2.0)
            .gauges(RequestsWaiting, &[4.0, 3.0, 2.0])
            .counter(RequestsRejected, 1538.0)
            .finished("stop", 17.0)
    }

    #[test]
    fn of_a_log_alone_those_that_were_answered_count_as_well() {
        let line = |status: &str| {
            format!("INFO:     10.0.0.1:5 - \"POST /v1/chat/completions HTTP/1.1\" {status}\n")
        };
        let log = line("200 OK").repeat(50) + &line("429 Too Many Requests").repeat(150);
        let j = Given::vllm("0.28.0").without_scrapes().log(&log).judge(&CAUSE);
        assert!(j.says.contains("refused 150 requests on purpose, 75 % of all"), "{j:#?}");
    }

    #[test]
    fn a_full_queue_that_refuses_is_the_cause() {
        let j = shedding().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert_eq!(j.says, "vLLM refused 1,538 requests on purpose, 99 % of all");
        assert_eq!(j.impact.unwrap().on, ImpactOn::Errors);
    }

    #[test]
    fn nobody_refused_is_no_shedding() {
        assert_eq!(shedding().counter(RequestsRejected, 0.0).judge(&CAUSE).outcome, Outcome::RuledOut);
        // One in a thousand is no finding either.
        let j = shedding().counter(RequestsRejected, 1.0).finished("stop", 1000.0).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
    }

    #[test]
    fn an_engine_that_names_statuses_shows_it_by_503() {
        let sglang = Given::engine(Engine::Sglang, "0.5.20")
            .flags("sglang --max-queued-requests 8")
            .gauge(RequestsRunning, 32.0)
            .gauge(RequestsWaiting, 8.0);
        let j = sglang
            .clone()
            .counter(RequestsFinished, 300.0)
            .answered("200", 300.0)
            .answered("503", 100.0)
            .judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        let j = sglang
            .counter(RequestsFinished, 300.0)
            .answered("200", 300.0)
            .answered("400", 100.0)
            .judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_dead_engine_is_the_look_alike() {
        let dead = "ERROR [core.py:1] EngineCore encountered a fatal error.\nINFO: 1 - \"POST /v1/completions HTTP/1.1\" 503 Service Unavailable\n";
        let j = Given::vllm("0.26.0")
            .log(dead)
            .gauge(RequestsRunning, 0.0)
            .answered("5xx", 10.0)
            .finished("stop", 5.0)
            .judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut, "{j:#?}");
    }

    #[test]
    fn grouped_errors_without_a_log_cannot_be_told_apart() {
        let old =
            Given::vllm("0.29.0").gauge(RequestsRunning, 2.0).finished("stop", 50.0).answered("2xx", 50.0);
        let j = old.clone().answered("5xx", 50.0).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("access lines"), "{:?}", j.missing);
        assert_eq!(old.answered("5xx", 0.0).judge(&CAUSE).outcome, Outcome::RuledOut);
    }
}
