//! The server answers scrapes, and no token comes.

use intriage_case::{Fact, Ratio, Requests, Seconds, Signal, Source};
use intriage_engines::{Engine, LogEvent, Meaning, Setting};

use super::hang_in_log::hang_in_log;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::lately::is_death;
use crate::silence::{Silence, longest_known};
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::timeline::Event;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "engine-stalled-not-admitting",
    class: Class::Queueing,
    layer: Layer::Application,
    hurts: &[Aspect::Availability],
    summary: "The process answers health checks and scrapes, but the engine behind it makes no progress: hung, paused or asleep.",
    symptoms: &[
        "clients hang until they time out",
        "token counters and gauges stand still",
        "health checks stay green",
    ],
    confirmed_by: &[
        "no token, no finished request and no moving gauge up to the end of the window, while requests are in the server",
        "the silence is longer than any step this engine is known to take",
        "the sleep state says the engine is not awake, or the log says it was paused",
    ],
    refuted_by: &[
        "tokens come: slow is not stalled",
        "nothing runs or waits: an idle engine is silent too",
        "scrapes fail as well: the process is gone",
    ],
    look_alikes: &[
        LookAlike {
            cause: "engine-crash-5xx",
            tell: "there the process is gone: scrapes fail, or counters start again from zero",
        },
        LookAlike {
            cause: "cold-start-warmup",
            tell: "there the silence comes before the first token and ends by itself",
        },
        LookAlike {
            cause: "long-prompt-compute-bound",
            tell: "there steps are long, but each one moves a counter or the KV gauge",
        },
        LookAlike {
            cause: "benign-gpu-util-100-idle",
            tell: "there the GPU looks busy and nobody asked for anything",
        },
    ],
    probe: Probe {
        name: "one-token-probe",
        steps: "Ask for one token with a limit of 10 s, three times, next to /health and /metrics.",
        if_so: "Health is fine, no token comes, counters stay flat.",
        if_not: "The token comes.",
    },
    remedies: &[
        Remedy::of(
            Engine::Vllm,
            "dump the stacks of EngineCore and its workers (py-spy dump), then restart the replica",
            "requests in flight are lost",
        ),
        Remedy::of(Engine::Vllm, "POST /resume where it was paused", "needs VLLM_SERVER_DEV_MODE=1")
            .since("0.12.0"),
        Remedy::of(Engine::Vllm, "POST /wake_up where it was put to sleep", "needs VLLM_SERVER_DEV_MODE=1")
            .since("0.7.3"),
        Remedy::of(
            Engine::Vllm,
            "VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS below its 300 s, so that a hung step ends the engine",
            "a restart in place of a hang",
        ),
        Remedy::of(
            Engine::Sglang,
            "--watchdog-timeout below its 300 s, with --crash-dump-folder; probe /health_generate",
            "a restart in place of a hang",
        ),
        Remedy::any(
            "take the replica out of rotation and restart it; let readiness ask for one token, not for /health",
            "requests in flight are lost; the probe costs a token",
        ),
    ],
    effect: "Tokens come again; the stacks or the log tell what hung.",
    confirm: "tokens.generated rises between two scrapes while requests run.",
    explains: &[
        "kv-capacity-limited-queue",
        "max-num-seqs-limited-queue",
        "token-budget-limited-queue",
        "head-of-line-blocking",
        "offered-load-exceeds-capacity",
        "burst-arrival-transient",
        "deferred-admission-stall",
        "overconservative-admission",
        "underbatched-low-throughput",
    ],
    judge,
};

/// Fewer still intervals may be chance: two scrapes inside one step.
const STILL_INTERVALS: usize = 3;

fn judge(e: &Evidence<'_>) -> Judgement {
    if let Some(told) = hang_in_log(e, CAUSE.explains) {
        return told;
    }
    let asleep = asleep(e);
    let paused = e.observed.log.first(Meaning::Paused).filter(|_| asleep.is_none());
    let longest = e.timeline.standstills().max_by(|a, b| a.seconds.get().total_cmp(&b.seconds.get()));
    if let Some(still) = longest.filter(|_| asleep.is_none()) {
        return stood_still(e, still, paused);
    }
    let silence = Silence::longest(e);
    let seconds = silence.as_ref().map_or(0.0, |s| s.seconds);
    let mut w = Weighing::new().refuted_by(process_gone(e));
    w = match &asleep {
        Some(fact) => w.requires(Test::Holds(fact.clone())),
        None => {
            w.requires(no_progress(e, silence.as_ref())).requires(requests_hang(e, silence.as_ref(), paused))
        }
    };
    if let Some(event) = silent_worker(e) {
        w = w.supports(Test::Holds(log_fact(event, "the log says that a worker does not answer")));
    }
    let name = e.observed.engine_name();
    let held = silence.as_ref().map_or(0.0, |s| s.held);
    let says = if asleep.is_some() {
        w = w.advise("POST /wake_up: the engine is asleep", "none");
        format!("{name} is asleep: it answers scrapes and gives no token")
    } else if let Some(event) = paused.filter(|_| held == 0.0) {
        w = w.advise(
            format!("POST /resume: the engine was paused ({} line {})", event.file, event.line),
            "none: somebody may have paused it for a reason",
        );
        if !aborted_by_server(e) {
            // The line may be older than the silence, and resumed since.
            w = w.at_most_likely(0.7);
        }
        format!(
            "{name} was paused by hand and has given no token for {}: what is asked of it hangs",
            Seconds(seconds)
        )
    } else {
        w = w.supports(beyond_a_full_step(e, seconds));
        format!(
            "{name} answers scrapes but has given no token for {} with {} in it",
            Seconds(seconds),
            Requests(held)
        )
    };
    let share = silence.as_ref().map_or(1.0, |s| s.share);
    let impact = Impact {
        on: ImpactOn::Availability,
        share: Ratio(share),
        time: None,
        says: format!("{} of the service gives no token", Ratio(share)),
    };
    w.conclude(says, impact)
}

/// A standstill that ended inside the window.
fn stood_still(e: &Evidence<'_>, still: &Event, paused: Option<&LogEvent>) -> Judgement {
    let fact = e.derived(still.says.clone(), still.seconds, "time without a new token");
    let mut w = Weighing::new().refuted_by(process_gone(e)).requires(Test::Holds(fact));
    if let Some(event) = paused {
        w = w.supports(Test::Holds(log_fact(event, "the log says that the engine was paused"))).advise(
            if still.open {
                "POST /resume: the engine was paused"
            } else {
                "find out who called POST /pause: the engine was resumed since"
            },
            "none: somebody may have paused it for a reason",
        );
    }
    if let Some(event) = silent_worker(e) {
        w = w.supports(Test::Holds(log_fact(event, "the log says that a worker does not answer")));
    }
    let part = Ratio(still.seconds.get() / e.elapsed().get().max(still.seconds.get()));
    let impact = Impact {
        on: ImpactOn::Availability,
        share: part,
        time: None,
        says: format!("no token for {}, {part} of the window", still.seconds),
    };
    w.conclude(still.says.clone(), impact)
}

/// Nothing moved for longer than a long step takes.
fn no_progress(e: &Evidence<'_>, silence: Option<&Silence>) -> Test {
    let Some(s) = silence else {
        return Test::Unknown(format!(
            "{} counts tokens only when a request ends, so a stall looks like a long answer",
            e.observed.engine_name()
        ));
    };
    let least = e.limit(Limit::StallSeconds);
    if s.seconds < least && s.after_work {
        let until = if s.intervals == 0 {
            "to the end".to_owned()
        } else {
            format!("until {} before the end", Seconds(s.seconds))
        };
        let says = format!("tokens came {until} of the window");
        return Test::Fails(e.derived(says, Seconds(s.seconds), "time without a new token"));
    }
    let longest = s.earlier.max(longest_known(e, &[Signal::LatencyItl, Signal::LatencyPrefill]));
    let never_served =
        e.observed.series(Signal::TokensGenerated, None, None).and_then(|t| t.last()) == Some(0.0);
    let needed = if never_served {
        e.limit(Limit::ColdSeconds)
    } else {
        least.max(longest * e.limit(Limit::StallOverStep))
    };
    if s.held > 0.0 && (s.seconds < needed || s.intervals < STILL_INTERVALS) {
        let why = if never_served {
            "the process has not given a token yet and may still be compiling".to_owned()
        } else {
            format!("steps of up to {} are known here", Seconds(longest))
        };
        return Test::Unknown(format!(
            "no token for {}, but {why}: watch for {} or longer",
            Seconds(s.seconds),
            Seconds(needed)
        ));
    }
    let says = format!("no token, no finished request and no moving gauge for {}", Seconds(s.seconds));
    Test::Holds(e.derived(says, Seconds(s.seconds), "time without a new token"))
}

/// Requests are in the server, or the engine was paused so that they do not even show.
fn requests_hang(e: &Evidence<'_>, silence: Option<&Silence>, paused: Option<&LogEvent>) -> Test {
    let Some(s) = silence else { return Test::Unknown("progress is not known".into()) };
    if s.held > 0.0 {
        let says = format!("{} in the server all the while", Requests(s.held));
        return Test::Holds(e.fact(Signal::RequestsRunning, says, s.held));
    }
    match paused {
        Some(event) if s.after_work => Test::Holds(log_fact(event, "the log says that the engine was paused")),
        Some(_) => Test::Unknown("the log says that the engine was paused once; a paused engine shows nothing waiting, so ask /is_paused".into()),
        None if aborted_by_server(e) && !e.observed.log.present => {
            Test::Unknown("the server gave up its requests and went silent: its log would say whether it was paused".into())
        }
        None => Test::Fails(e.fact(Signal::RequestsRunning, "nothing runs or waits at the end of the window", 0.0)),
    }
}

/// Even a step filled to the budget would have ended, at the pace prompts are read here.
fn beyond_a_full_step(e: &Evidence<'_>, seconds: f64) -> Test {
    let total = |signal| Some(e.observed.histograms(signal, None)?.into_iter().flatten().next_back()?.sum());
    let (Some(budget), Some(prompts), Some(prefill)) =
        (e.setting(Setting::TokenBudget), total(Signal::TokensPromptEach), total(Signal::LatencyPrefill))
    else {
        return Test::Unknown(
            "the token budget or the pace of prefill is not known, so the longest possible step is not"
                .into(),
        );
    };
    if prompts <= 0.0 || prefill <= 0.0 {
        return Test::Unknown("no finished request shows the pace of prefill".into());
    }
    let full = budget * prefill / prompts;
    let says = format!("a step filled to its {budget:.0} tokens would take at most {}", Seconds(full));
    Test::when(seconds > full, e.derived(says, Seconds(full), "token budget × prefill time / prompt tokens"))
}

/// The engine says it is not awake.
fn asleep(e: &Evidence<'_>) -> Option<Fact> {
    let awake = e.observed.series(Signal::EngineAwake, None, None)?.last()?;
    (awake == 0.0).then(|| e.fact(Signal::EngineAwake, "the engine says that it is not awake", awake))
}

/// Scrapes stopped, or the log tells of a death: a crash, not a stall.
fn process_gone(e: &Evidence<'_>) -> Test {
    let gone = e.observed.log.events.iter().find(|event| is_death(event.meaning) && !event.is_earlier());
    if let Some(event) = gone {
        return Test::Holds(log_fact(event, "the log says that the engine died"));
    }
    let last = e.observed.times.last();
    let gone = e.observed.failed.iter().any(|(at, _)| last.is_none_or(|last| at > last));
    let says =
        if gone { "the last scrapes failed: the process is gone" } else { "the last scrape was answered" };
    Test::when(
        gone,
        Fact { says: says.into(), value: None, limit: None, signal: None, source: Source::Scrape },
    )
}

/// The server itself gave up requests, as a pause does.
fn aborted_by_server(e: &Evidence<'_>) -> bool {
    e.delta_by(Signal::RequestsFinished, "abort").is_some_and(|n| n > 0.0)
}

/// What the running process says of a worker that does not answer.
fn silent_worker<'a>(e: &Evidence<'a>) -> Option<&'a LogEvent> {
    let log = &e.observed.log;
    log.of_running(Meaning::WatchdogFired).or_else(|| log.of_running(Meaning::WorkerSilent))
}

fn log_fact(event: &LogEvent, says: &str) -> Fact {
    Fact {
        says: format!("{says}: {}", event.excerpt),
        value: None,
        limit: None,
        signal: None,
        source: event.source(),
    }
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::diagnosis::{ImpactOn, Outcome};
    use crate::testing::Given;

    const PAUSED: &str =
        "(EngineCore pid=9) INFO 11-15 06:27:30 [scheduler.py:2756] setting pause state to PAUSED_NEW\n";

    /// Scenario F10: 37 running, 112 waiting, not a token more.
    fn hung() -> Given {
        Given::vllm("0.28.0")
            .flags("--max-num-batched-tokens 8192")
            .gauge(RequestsRunning, 37.0)
            .gauge(RequestsWaiting, 112.0)
            .gauge(KvUsage, 0.7)
            .counters(TokensGenerated, &[9000.0, 9500.0, 9600.0])
            .counters(TokensPrompt, &[90_000.0])
            .raw("vllm:inter_token_latency_seconds_bucket{engine=\"0\",le=\"0.05\"} 9000\nvllm:inter_token_latency_seconds_bucket{engine=\"0\",le=\"+Inf\"} 9000\nvllm:inter_token_latency_seconds_sum{engine=\"0\"} 200\nvllm:inter_token_latency_seconds_count{engine=\"0\"} 9000\n")
    }

    #[test]
    fn flat_counters_with_requests_inside_are_a_stall() {
        let j = hung().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert_eq!(j.impact.unwrap().on, ImpactOn::Availability);
        assert!(j.says.contains("(45 s) no token was produced while 37 requests"), "{}", j.says);
    }

    #[test]
    fn slow_is_not_stalled() {
        let j = hung().counter(TokensGenerated, 60.0).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
        assert!(j.against[0].says.contains("tokens came to the end"), "{:?}", j.against);
    }

    #[test]
    fn an_idle_engine_is_silent_too() {
        let j = hung().gauge(RequestsRunning, 0.0).gauge(RequestsWaiting, 0.0).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut, "{j:#?}");
    }

    #[test]
    fn a_long_prefill_that_fills_the_pool_makes_progress() {
        let filling: Vec<f64> = (0..12).map(|i| 0.05 * f64::from(i)).collect();
        assert_eq!(hung().gauges(KvUsage, &filling).judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_process_without_a_first_token_may_be_compiling() {
        let j = hung().counters(TokensGenerated, &[0.0]).counters(TokensPrompt, &[0.0]).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("compiling"), "{:?}", j.missing);
    }

    #[test]
    fn steps_known_to_be_as_long_leave_it_open() {
        let slow = "vllm:request_prefill_time_seconds_bucket{engine=\"0\",le=\"30\"} 0\nvllm:request_prefill_time_seconds_bucket{engine=\"0\",le=\"40\"} 2\nvllm:request_prefill_time_seconds_sum{engine=\"0\"} 70\nvllm:request_prefill_time_seconds_count{engine=\"0\"} 2\n";
        assert_eq!(hung().raw(slow).judge(&CAUSE).outcome, Outcome::CannotTell);
    }

    #[test]
    fn a_pause_shows_only_in_the_log() {
        let quiet = hung()
            .gauges(RequestsRunning, &[4.0, 4.0, 0.0])
            .gauge(RequestsWaiting, 0.0)
            .gauges(KvUsage, &[0.1, 0.1, 0.0]);
        assert_eq!(quiet.judge(&CAUSE).outcome, Outcome::RuledOut);
        let j = quiet.log(PAUSED).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.says.contains("the engine was paused"), "{}", j.says);
        assert!(j.advice[0].change.contains("/resume"), "{:?}", j.advice);
    }

    #[test]
    fn an_old_pause_in_the_log_of_an_idle_server_leaves_it_open() {
        let idle = hung()
            .gauge(RequestsRunning, 0.0)
            .gauge(RequestsWaiting, 0.0)
            .counters(TokensGenerated, &[9000.0])
            .log(PAUSED);
        let j = idle.judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("/is_paused"), "{:?}", j.missing);
    }

    #[test]
    fn a_sleeping_engine_says_so() {
        let j = hung()
            .gauge(EngineAwake, 0.0)
            .gauge(RequestsRunning, 0.0)
            .gauge(RequestsWaiting, 0.0)
            .judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.says.contains("asleep"));
    }

    #[test]
    fn a_death_before_the_last_start_is_not_the_death_of_the_process_that_runs() {
        let start = "INFO vLLM API server version 0.28.0\nINFO non-default args: {'model': 'm'}\n";
        let died = "ERROR EngineCore encountered a fatal error.\n";
        let dead = hung().log(&format!("{start}{died}")).judge(&CAUSE);
        assert_eq!(dead.outcome, Outcome::RuledOut, "{dead:#?}");
        let restarted = hung().log(&format!("{start}{died}{start}")).judge(&CAUSE);
        assert_eq!(restarted.outcome, Outcome::Confirmed, "{restarted:#?}");
    }

    #[test]
    fn a_process_that_is_gone_is_a_crash() {
        let j = hung().last_scrapes_fail(4, "connection refused").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
        assert!(j.against[0].says.contains("process is gone"), "{:?}", j.against);
    }
}
