//! The engine died.

use intriage_case::{Fact, Quantity, Ratio, Signal, Source, Unit};
use intriage_engines::{Engine, LogEvent, LogKind, Meaning, Thrown};

use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::lately::{death, is_of_now};
use crate::remedies::died_without_exception;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "engine-crash-5xx",
    class: Class::Api,
    layer: Layer::Application,
    hurts: &[Aspect::Availability, Aspect::Errors],
    summary: "The engine process died, or dies again and again: a CUDA error, a failed assertion, out of memory, a kill.",
    symptoms: &[
        "500 and 503 in a burst, all streams cut at once",
        "counters start again from zero",
        "the port refuses connections",
    ],
    confirmed_by: &[
        "the server stops answering, restarts, or answers 5xx",
        "the log tells of the death at that time",
    ],
    refuted_by: &["the server answered throughout without a restart"],
    look_alikes: &[
        LookAlike { cause: "runtime-oom-non-kv", tell: "there the log has an out-of-memory traceback" },
        LookAlike { cause: "gpu-ecc-xid-fault", tell: "there the kernel log has an Xid first" },
        LookAlike { cause: "overload-shedding", tell: "there 503 come while the engine works" },
        LookAlike {
            cause: "engine-stalled-not-admitting",
            tell: "there the server answers and no token moves",
        },
    ],
    probe: Probe {
        name: "crash-replay",
        steps: "Replay the requests that were in flight to a canary, one by one.",
        if_so: "One of them kills it: the request or a kernel is to blame.",
        if_not: "None does: look at the hardware and at who killed the process.",
    },
    remedies: &[
        Remedy::any(
            "read the first error in the log (later ones follow from it), keep the stack and the in-flight requests",
            "capacity until it is found",
        ),
        Remedy::any("go back to the last good version", "what the new version brought"),
        Remedy::of(
            Engine::Vllm,
            "VLLM_LOGGING_LEVEL=DEBUG and --enforce-eager on a canary to localise it; look for orphaned VLLM::EngineCore processes before restarting",
            "slow canary",
        ),
        Remedy::of(Engine::Sglang, "--crash-dump-folder DIR keeps the requests that were in flight", "disk"),
    ],
    effect: "The process stays up.",
    confirm: "no failed scrape, no restart, no 5xx over a day.",
    explains: &["engine-stalled-not-admitting", "telemetry-definition-gap", "overload-shedding"],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let gone = gone(e);
    let died = death_in_log(e);
    let mut w = Weighing::new().requires(gone.clone()).explains(CAUSE.explains);
    w = match died {
        Some(fact) => w.supports(Test::Holds(fact)),
        None if unasked(e) => w.at_most_likely(ERRORS_ALONE),
        // A port that refuses is also what a stop or a redeploy looks like.
        None => w
            .supports(Test::Unknown(
                "no log tells of the death: a stop by hand or a redeploy looks the same".into(),
            ))
            .at_most_likely(0.65),
    };
    if died_without_exception(e.observed) {
        w = w.advise(
            "find who ended it: journalctl -k | grep -i -E 'out of memory|killed process', and in Kubernetes \
             kubectl describe pod (OOMKilled, exit code 137); then give it more host memory, or stop what sends signal 9",
            "none to look; memory where the kernel did it",
        );
    }
    let what = match &gone {
        Test::Holds(fact) => fact.says.clone(),
        _ => String::new(),
    };
    let says = format!("{what}{}", reason(e));
    let impact = Impact {
        on: ImpactOn::Availability,
        share: Ratio(1.0),
        time: None,
        says: "nothing is served while it is down".into(),
    };
    w.conclude(says, impact)
}

/// How sure errors in a log make that the engine is at fault, where none of its lines tells of a death.
const ERRORS_ALONE: f64 = 0.42;

/// What the log says of it: the exception that the others follow from, else the first line that tells of the death.
fn reason(e: &Evidence<'_>) -> String {
    let log = &e.observed.log;
    let root = log.root().filter(|root| death(e).is_none_or(|death| death.starts_since == root.starts_since));
    if let Some(root) = root {
        let place = root.place().map_or(String::new(), |place| format!(" ({place})"));
        return format!("; the first error in the log is {}{place}", root.says());
    }
    death(e).map_or(String::new(), |event| format!("; the log says: {}", event.excerpt))
}

/// Nobody asked the server: its log is all there is.
fn unasked(e: &Evidence<'_>) -> bool {
    e.observed.times.is_empty() && e.observed.failed.is_empty()
}

/// A log alone that tells of no death: answers that failed with 5xx, or an exception in the loop that serves requests.
fn errors_in_log(e: &Evidence<'_>) -> Option<Test> {
    let o = e.observed;
    if !unasked(e) {
        return None;
    }
    let (all, failed) = o.log.answers.iter().fold((0, 0), |(all, failed), (status, count)| {
        (all + count, if *status >= 500 && *status != 503 { failed + count } else { failed })
    });
    let share = Ratio::of(failed as f64, all as f64).filter(|share| share.get() > e.limit(Limit::ErrorShare));
    if share.is_some() {
        let says = format!("{failed} of {all} answers were 5xx");
        let source = Source::Derived { from: "access lines of the log".to_owned() };
        return Some(Test::Holds(fact(says, failed as f64, source)));
    }
    let ends = |root: &&Thrown| root.starting == Some(false) || root.is_abort;
    let root = o.log.root().filter(|root| root.starts_since == 0).filter(ends)?;
    let source = Source::Log { file: root.file.clone(), line: root.told_line };
    let what = if root.is_abort {
        "the process aborted"
    } else {
        "an exception ended the loop that serves requests"
    };
    Some(Test::Holds(fact(what.to_owned(), 1.0, source)))
}

/// It stopped answering for good, restarted, or answered 5xx beside a death in the log.
fn gone(e: &Evidence<'_>) -> Test {
    let o = e.observed;
    if let Some((at, why)) = o.failed.last()
        && let Some(last) = o.times.last()
        && at > last
    {
        let failed = o.failed.iter().filter(|(t, _)| t > last).count();
        let scrapes =
            if failed == 1 { "the last scrape".to_owned() } else { format!("the last {failed} scrapes") };
        let says = format!("the server stopped answering: {scrapes} failed ({})", short(why));
        // One failure may be chance: a connection cut, a slow moment.
        if failed == 1 && death(e).is_none() {
            return Test::Unknown(format!("{says}; one failure proves nothing, watch on"));
        }
        return Test::Holds(fact(says, failed as f64, Source::Scrape));
    }
    let failed = e.answered(|status| status >= 500);
    let all = e.delta(Signal::HttpResponses).unwrap_or(0.0);
    let errors = Ratio::of(failed, all).is_some_and(|r| r.get() > e.limit(Limit::ErrorShare));
    let died = death(e).is_some();
    if e.restarts() > 0 {
        let says = "counters started again from zero: the process restarted inside the window";
        // A redeploy looks the same in the counters: a crash leaves a death in the log, or errors.
        return if died || errors {
            Test::Holds(fact(says.into(), f64::from(e.restarts()), Source::Scrape))
        } else {
            Test::Unknown(format!(
                "{says}, and nothing tells whether it crashed or was restarted: give --log"
            ))
        };
    }
    if died && errors {
        let says = format!("{failed:.0} of {all:.0} answers were 5xx");
        return Test::Holds(e.fact(Signal::HttpResponses, says, failed));
    }
    if o.times.is_empty()
        && let Some(death) = last_words(e)
    {
        return Test::Holds(fact(
            "the log ends with the engine's death".into(),
            f64::from(death.count),
            death.source(),
        ));
    }
    if let Some(errors) = errors_in_log(e) {
        return errors;
    }
    if o.times.is_empty() {
        return Test::Unknown("the server never answered, so nothing shows that it once worked".into());
    }
    let says = format!("the server answered all {} scrapes and its counters never fell back", o.times.len());
    Test::Fails(fact(says, o.times.len() as f64, Source::Scrape))
}

/// A death while serving that no later start follows: the log alone tells of it. A start that failed has causes of its own.
fn last_words<'a>(e: &Evidence<'a>) -> Option<&'a LogEvent> {
    let log = &e.observed.log;
    let of = |meaning| log.events.iter().filter(move |l| l.meaning == meaning && is_of_now(e, l));
    let death = of(Meaning::EngineDied).chain(of(Meaning::CppException)).next()?;
    let beside = |l: &&LogEvent| l.is_beside(death) && l.starts_since == death.starts_since;
    let never_up = of(Meaning::StartFailed).any(|l| beside(&l));
    // A fault of the GPU ends a start, too, and no cause of failed starts tells of it.
    let of_gpu = of(Meaning::EngineDied).find(|l| l.log == LogKind::Cuda && l.is_beside(death));
    let death = if never_up { of_gpu? } else { death };
    log.ready_after(death).is_none().then_some(death)
}

fn death_in_log(e: &Evidence<'_>) -> Option<Fact> {
    let event = death(e)?;
    Some(fact(format!("the log says: {}", event.excerpt), f64::from(event.count), event.source()))
}

fn fact(says: String, count: f64, source: Source) -> Fact {
    Fact { says, value: Some(Quantity::new(count, Unit::Events)), limit: None, signal: None, source }
}

fn short(why: &str) -> String {
    why.lines().next().unwrap_or_default().chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::diagnosis::Outcome;
    use crate::testing::Given;

    const DEATH: &str =
        "(EngineCore pid=9) ERROR 11-15 03:53:10 [core.py:1512] EngineCore encountered a fatal error.\n";

    fn serving() -> Given {
        Given::vllm("0.32.0")
            .gauge(RequestsRunning, 4.0)
            .counter(TokensGenerated, 900.0)
            .finished("stop", 12.0)
    }

    #[test]
    fn a_port_that_refuses_after_a_death_in_the_log_is_a_crash() {
        let j = serving().log(DEATH).last_scrapes_fail(4, "connection refused").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.says.contains("fatal error"), "{}", j.says);
    }

    #[test]
    fn a_port_that_refuses_without_a_log_is_likely_a_crash() {
        let j = serving().last_scrapes_fail(3, "connection refused").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely);
        assert!(j.confidence <= 0.65);
    }

    #[test]
    fn counters_that_start_again_are_a_restart() {
        let j =
            serving().counters(TokensGenerated, &[100.0, 200.0, 300.0, 5.0, 50.0]).log(DEATH).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed);
    }

    #[test]
    fn a_restart_that_nothing_explains_may_be_a_redeploy() {
        let j = serving().counters(TokensGenerated, &[100.0, 200.0, 300.0, 5.0, 50.0]).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("--log"), "{:?}", j.missing);
    }

    #[test]
    fn a_server_that_answers_throughout_has_not_crashed() {
        assert_eq!(serving().judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn an_old_death_in_the_log_of_a_healthy_server_is_history() {
        assert_eq!(serving().log(DEATH).judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_log_alone_tells_of_a_death_unless_a_start_follows_or_it_never_started() {
        let alone = |log: &str| Given::vllm("0.32.0").without_scrapes().log(log).judge(&CAUSE).outcome;
        let ready = "INFO:     Application startup complete.\n";
        assert_eq!(alone(&format!("{ready}{DEATH}")), Outcome::Confirmed);
        assert_eq!(alone(&format!("{DEATH}{ready}")), Outcome::CannotTell);
        assert_eq!(
            alone("ERROR 05-09 00:49:33 [core.py:489] EngineCore failed to start.\n"),
            Outcome::CannotTell
        );
    }

    #[test]
    fn a_log_alone_names_the_exception_that_ended_the_engine() {
        let core = "(EngineCore pid=9) ERROR 11-15 03:53:10 [core.py:1512] ";
        let lines = [
            "EngineCore encountered a fatal error.",
            "Traceback (most recent call last):",
            "  File \"/x/site-packages/vllm/v1/engine/core.py\", line 1500, in run_busy_loop",
            "    self._process_engine_step()",
            "  File \"/x/site-packages/vllm/v1/core/sched/scheduler.py\", line 812, in schedule",
            "    assert num_new_tokens > 0",
            "AssertionError",
        ];
        let log = lines.map(|line| format!("{core}{line}\n")).concat();
        let alone = |log: &str| Given::vllm("0.32.0").without_scrapes().log(log).judge(&CAUSE);
        let j = alone(&log);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(
            j.says.contains("AssertionError: assert num_new_tokens > 0 (vllm/v1/core/sched/scheduler.py:812"),
            "{}",
            j.says
        );
        // The traceback alone, as people paste it.
        let pasted = log.split_once('\n').unwrap().1;
        let j = alone(pasted);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        // A traceback of a start is no death of a server that worked.
        assert_eq!(alone(&pasted.replace("run_busy_loop", "load_model")).outcome, Outcome::CannotTell);
    }

    #[test]
    fn a_panic_is_a_death() {
        let log = "panic: runtime error: index out of range [0] with length 0\n\ngoroutine 23 [running]:\ngithub.com/ollama/ollama/runner/ollamarunner.(*Server).processBatch(0xc000)\n\tgithub.com/ollama/ollama/runner/ollamarunner/runner.go:500 +0x1d\n";
        let given = Given::engine(intriage_engines::Engine::Ollama, "0.7.0").without_scrapes().log(log);
        let j = given.judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.says.contains("runner/ollamarunner/runner.go:500"), "{}", j.says);
    }

    #[test]
    fn answers_of_5xx_in_a_log_alone_are_the_servers_side() {
        let answer = |status: &str| {
            format!("INFO:     10.0.0.1:1 - \"POST /v1/chat/completions HTTP/1.1\" {status}\n")
        };
        let alone = |log: &str| Given::vllm("0.32.0").without_scrapes().log(log).judge(&CAUSE).outcome;
        let failing = answer("200 OK").repeat(4) + &answer("500 Internal Server Error").repeat(4);
        assert_eq!(alone(&failing), Outcome::Likely);
        assert_eq!(alone(&answer("200 OK").repeat(8)), Outcome::CannotTell);
        assert_eq!(alone(&answer("400 Bad Request").repeat(8)), Outcome::CannotTell);
    }

    #[test]
    fn a_fault_of_the_gpu_is_a_death_even_at_the_start() {
        let log = "RuntimeError: CUDA error: an illegal memory access was encountered\nERROR 05-09 00:49:33 [core.py:489] EngineCore failed to start.\n";
        assert_eq!(
            Given::vllm("0.32.0").without_scrapes().log(log).judge(&CAUSE).outcome,
            Outcome::Confirmed
        );
    }

    #[test]
    fn a_death_before_the_running_process_began_is_not_its_own() {
        let start = "INFO vLLM API server version 0.32.0\n";
        let (died, clean) =
            ([start, DEATH].concat(), [start, "INFO:     Application startup complete.\n"].concat());
        let (earlier, now) = (format!("{died}{clean}"), format!("{clean}{died}"));
        // Errors of the process that runs, which did not die.
        let failing = serving().answered("2xx", 50.0).answered("5xx", 50.0);
        assert_eq!(failing.clone().log(&earlier).judge(&CAUSE).outcome, Outcome::RuledOut);
        assert_eq!(failing.log(&now).judge(&CAUSE).outcome, Outcome::Confirmed);
        // One scrape that failed proves nothing, and the death was another's.
        let once = serving().last_scrapes_fail(1, "timed out");
        assert_eq!(once.clone().log(&earlier).judge(&CAUSE).outcome, Outcome::CannotTell);
        assert_eq!(once.log(&now).judge(&CAUSE).outcome, Outcome::Confirmed);
        // Counters that began anew in the window tell that the death before the last start is of now.
        let again = serving().counters(TokensGenerated, &[100.0, 200.0, 300.0, 5.0, 50.0]);
        assert_eq!(again.clone().log(&earlier).judge(&CAUSE).outcome, Outcome::Confirmed);
        assert_eq!(again.log(&format!("{earlier}{clean}")).judge(&CAUSE).outcome, Outcome::CannotTell);
    }

    #[test]
    fn refusals_under_load_are_the_look_alike() {
        assert_eq!(
            serving().answered("2xx", 50.0).answered("5xx", 50.0).judge(&CAUSE).outcome,
            Outcome::RuledOut
        );
    }
}
