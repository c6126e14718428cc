//! Which lines of a log are of now: one with several starts tells of processes that are gone, too.

use intriage_engines::{LogEvent, Meaning};

use crate::evidence::Evidence;

/// The first event of this meaning that belongs to what is judged; see [`is_of_now`].
pub(crate) fn lately<'a>(e: &Evidence<'a>, meaning: Meaning) -> Option<&'a LogEvent> {
    e.observed.log.events.iter().find(|event| event.meaning == meaning && is_of_now(e, event))
}

/// The engine died, or did not get through a start, in what is judged.
pub(crate) fn death<'a>(e: &Evidence<'a>) -> Option<&'a LogEvent> {
    e.observed.log.events.iter().find(|event| is_death(event.meaning) && is_of_now(e, event))
}

/// Whether a line says that the engine is gone, while serving or at its start.
pub(crate) fn is_death(meaning: Meaning) -> bool {
    matches!(meaning, Meaning::EngineDied | Meaning::StartFailed | Meaning::CppException)
}

/// Whether an event belongs to what is judged: to the process that runs, to one that the counters saw end in the window,
/// or to the one before where the server is down and the start that follows has not come through.
pub(crate) fn is_of_now(e: &Evidence<'_>, event: &LogEvent) -> bool {
    let restarts = if e.observed.times.is_empty() { 0 } else { e.restarts() };
    event.starts_since <= restarts || (event.starts_since == 1 && is_down(e) && !e.observed.log.is_up())
}

/// Whether a start that ended with this event may do so again: it is of now, or the starts before the one under way all
/// ended with it. One failed start before one that has said nothing yet may have been mended.
pub(crate) fn stops_starts(e: &Evidence<'_>, event: &LogEvent) -> bool {
    let again = event.starts_since == 1 && event.in_a_row > 1 && is_down(e) && !e.observed.log.is_up();
    event.starts_since == 0 || again
}

/// Nothing answered at the end, or nobody asked.
fn is_down(e: &Evidence<'_>) -> bool {
    let answered = e.observed.times.last();
    answered.is_none_or(|last| e.observed.failed.last().is_some_and(|(at, _)| at > last))
}

#[cfg(test)]
mod tests {
    use intriage_case::Seconds;
    use intriage_case::Signal::*;

    use crate::causes::find;
    use crate::diagnosis::ImpactOn;
    use crate::testing::Given;
    use crate::weighing::Judgement;

    const START: &str = "INFO non-default args: {'model': 'm'}\nINFO:     Application startup complete.\n";
    const DEATH: &str = "ERROR [core.py:1] EngineCore encountered a fatal error.\n";

    /// What a cause makes of a line of the process before the one that runs, and of the same line of that one.
    fn before_and_now(cause: &str, given: &Given, line: &str) -> [Judgement; 2] {
        let cause = find(cause).expect("a cause of the catalogue");
        [format!("{START}{line}{START}"), format!("{START}{START}{line}")]
            .map(|log| given.clone().log(&log).judge(cause))
    }

    /// Whether any fact, for or against, was read from a log.
    fn is_told(j: &Judgement) -> bool {
        let mut facts = j.facts_for.iter().chain(&j.against);
        facts.any(|fact| matches!(fact.source, intriage_case::Source::Log { .. }))
    }

    fn serving() -> Given {
        Given::vllm("0.28.0").gauge(RequestsRunning, 4.0)
    }

    #[test]
    fn a_line_of_an_earlier_process_is_no_fact_of_the_one_that_runs() {
        let hung = serving()
            .gauge(RequestsWaiting, 112.0)
            .counters(TokensGenerated, &[9000.0, 9500.0])
            .counters(TokensPrompt, &[90_000.0])
            .raw("vllm:inter_token_latency_seconds_bucket{engine=\"0\",le=\"0.05\"} 9000\nvllm:inter_token_latency_seconds_bucket{engine=\"0\",le=\"+Inf\"} 9000\nvllm:inter_token_latency_seconds_sum{engine=\"0\"} 200\nvllm:inter_token_latency_seconds_count{engine=\"0\"} 9000\n");
        let cut = serving().client(100, 0.22, 0.01, 0.03).each_client(|i, r| {
            if i % 3 == 0 {
                r.error = Some("the connection closed before the answer was complete".into());
                r.ended = Some(Seconds(60.0));
            }
        });
        let shed = serving().answered("200", 300.0).answered("503", 100.0).finished("stop", 300.0);
        let refused = serving().answered("2xx", 60.0).answered("4xx", 40.0).finished("stop", 60.0);
        let young = Given::vllm("0.28.0").gauge(RequestsRunning, 1.0).gauge(ProcessStart, 1_699_999_970.0);
        let full = serving().gauge(RequestsWaiting, 3.0).gauge(KvUsage, 0.99);
        let preempted =
            "WARNING Sequence group 224 is preempted by PreemptionMode.RECOMPUTE mode.\n".repeat(50);
        for (cause, given, line) in [
            (
                "engine-stalled-not-admitting",
                &hung,
                "INFO [shm_broadcast.py:871] No available shared memory broadcast block found in 60 seconds.\n",
            ),
            ("proxy-timeout-or-keepalive-race", &cut, DEATH),
            ("proxy-timeout-or-keepalive-race", &cut, "INFO Aborted request chatcmpl-1.\n"),
            ("overload-shedding", &shed, DEATH),
            (
                "client-request-rejected",
                &refused,
                "ERROR This model's maximum context length is 1024 tokens. However, your prompt has 1025.\n",
            ),
            (
                "cold-start-warmup",
                &young,
                "jit_monitor: This causes a latency spike; consider extending warmup\n",
            ),
            ("preemption-thrash", &full, &preempted),
        ] {
            let [before, now] = before_and_now(cause, given, line);
            assert!(!is_told(&before), "{cause}: {before:#?}");
            assert!(is_told(&now), "{cause}: {now:#?}");
        }
    }

    #[test]
    fn slow_transfers_of_an_earlier_process_are_history() {
        let two = serving().flags("vllm serve m --tensor-parallel-size 2").on_gpu();
        let [before, now] =
            before_and_now("collective-transport-fallback", &two, "Time to init xfer: 1800.31 ms\n");
        assert!(!before.says.contains("KV transfer"), "{before:#?}");
        assert!(now.says.contains("a KV transfer takes 1800 ms"), "{now:#?}");
    }

    #[test]
    fn a_card_that_fails_brought_down_only_the_process_that_died_of_it() {
        let xid = "NVRM: Xid (PCI:0000:19:00): 79, pid=1, GPU has fallen off the bus.\n";
        let given = serving().on_gpu().log(xid);
        let on = |j: Judgement| j.impact.map(|impact| impact.on);
        let [before, now] = before_and_now("gpu-ecc-xid-fault", &given, DEATH);
        assert_eq!((on(before), on(now)), (Some(ImpactOn::Errors), Some(ImpactOn::Availability)));
    }
}
