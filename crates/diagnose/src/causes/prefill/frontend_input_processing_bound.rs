//! Time is spent in front of the engine.

use intriage_case::{Fact, Ratio, Seconds, Signal};
use intriage_engines::{Engine, LogEvent, Meaning};

use crate::causes::shared::{enough_finished, unknown};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "frontend-input-processing-bound",
    class: Class::Prefill,
    layer: Layer::Cpu,
    hurts: &[Aspect::Errors, Aspect::FrontEnd],
    summary: "Time goes by before the engine sees the request: parsing, chat template, tokenization, decoding of images, or handing over between processes.",
    symptoms: &[
        "the first token is late although queue and prefill are short",
        "worse with many short requests, huge prompts or media",
    ],
    confirmed_by: &[
        "first-token time beyond queue, prefill and one engine step is more than 50 ms and 30 % of it",
        "one thread of the API server is fully busy",
    ],
    refuted_by: &["what is left of the first-token time fits into one engine step"],
    look_alikes: &[
        LookAlike {
            cause: "long-prompt-compute-bound",
            tell: "there prefill is long and nothing is left over",
        },
        LookAlike {
            cause: "cpu-starvation-cgroup-throttle",
            tell: "there every process is delayed, not only the front end",
        },
        LookAlike {
            cause: "proxy-response-buffering",
            tell: "there the server's own first-token time is normal",
        },
        LookAlike { cause: "cold-start-warmup", tell: "there only the first requests are slow" },
    ],
    probe: Probe {
        name: "tokenize-timing",
        steps: "Time POST /tokenize with production prompts at production concurrency, then send token ids instead of text.",
        if_so: "The tokenizer takes about what is left over, and token ids make it vanish.",
        if_not: "The tokenizer is quick.",
    },
    remedies: &[
        Remedy::of(Engine::Vllm, "--api-server-count N", "CPU cores; the multimodal cache is not shared")
            .since("0.9.1"),
        Remedy::of(
            Engine::Vllm,
            "VLLM_USE_FASTOKENS=1",
            "another tokenizer implementation: compare token ids",
        )
        .since("0.23.0"),
        Remedy::of(Engine::Sglang, "--tokenizer-worker-num N", "CPU cores"),
        Remedy::of(Engine::Tgi, "--validation-workers N", "CPU cores"),
        Remedy::of(Engine::LlamaCpp, "--threads-http N", "CPU cores"),
        Remedy::any("send token ids, resize media before sending", "work in the client"),
    ],
    effect: "The part in front of the engine shrinks to a few milliseconds and the first token comes that much sooner.",
    confirm: "the front end segment falls below 50 ms.",
    explains: &[],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    if let Some(event) = e.observed.log.first(Meaning::RouterTimeout) {
        return router_gave_up(event);
    }
    let front = e.account.frontend.map_or(0.0, |p| p.low);
    let share = e.account.share_of_life(front);
    let w = Weighing::new()
        .requires(time_is_left(e))
        .requires(enough_finished(e))
        .supports(engine_says(e))
        .at_most_likely(0.65);
    let says =
        format!("{} of the first-token time goes by before the engine sees the request", Seconds(front));
    let impact = Impact {
        on: ImpactOn::Ttft,
        share,
        time: Some(Seconds(front)),
        says: format!("{} per request in front of the engine", Seconds(front)),
    };
    w.conclude(says, impact)
}

/// A router that asks a server to prepare prompts did not get them in time.
fn router_gave_up(event: &LogEvent) -> Judgement {
    let says = format!("the log says: {}", event.excerpt);
    let fact = Fact { says, value: None, limit: None, signal: None, source: event.source() };
    let impact = Impact {
        on: ImpactOn::Errors,
        share: Ratio(0.0),
        time: None,
        says: "requests fail before any engine sees them; how many is not counted here".into(),
    };
    Weighing::new()
        .requires(Test::Holds(fact))
        .advise(
            "more copies of the service that renders prompts for the router: one works on one core",
            "CPU cores",
        )
        .at_most_likely(0.5)
        .conclude("the router waits in vain for prompts to be prepared: that service is full", impact)
}

fn time_is_left(e: &Evidence<'_>) -> Test {
    let (Some(ttft), Some(front)) = (e.account.ttft, e.account.frontend) else {
        return match e.observed.metric(Signal::LatencyPrefill) {
            None => unknown(e, Signal::LatencyPrefill),
            Some(_) => Test::Unknown(
                "the requests that finished got their first token before the window: watch longer than an answer takes".into(),
            ),
        };
    };
    let share = front.low / ttft.max(1e-9);
    let says = format!(
        "{} of the first-token time ({}) is neither queue nor prefill nor one engine step",
        Seconds(front.low),
        Ratio(share)
    );
    let holds = front.low > e.limit(Limit::ResidualTime) && share > e.limit(Limit::ResidualShare);
    Test::when(holds, e.derived(says, Seconds(front.low), "ttft - queue - prefill - one step"))
}

fn engine_says(e: &Evidence<'_>) -> Test {
    let Some(mean) = e.mean(Signal::LatencyFrontend) else { return unknown(e, Signal::LatencyFrontend) };
    let says = format!("the engine's own count of input processing: {}", Seconds(mean));
    Test::when(mean > e.limit(Limit::ResidualTime), e.fact(Signal::LatencyFrontend, says, mean))
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::diagnosis::Outcome;
    use crate::testing::Given;

    fn slow_front() -> Given {
        Given::vllm("0.28.0")
            .gauge(RequestsRunning, 8.0)
            .gauge(RequestsWaiting, 0.0)
            .observed(LatencyTtft, &[(0.62, 200.0)])
            .observed(LatencyQueue, &[(0.0, 200.0)])
            .observed(LatencyPrefill, &[(0.03, 200.0)])
            .observed(LatencyItl, &[(0.012, 20_000.0)])
            .finished("stop", 200.0)
    }

    #[test]
    fn time_beyond_one_step_is_the_front_ends() {
        let j = slow_front().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
    }

    #[test]
    fn a_wait_of_one_long_step_is_not_the_front_end() {
        // A request that arrives during a step of 0.4 s is only seen at its end.
        let j = slow_front()
            .observed(LatencyTtft, &[(0.5, 200.0)])
            .observed(LatencyItl, &[(0.6, 20_000.0)])
            .judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_long_prefill_is_the_look_alike() {
        assert_eq!(
            slow_front().observed(LatencyPrefill, &[(0.6, 200.0)]).judge(&CAUSE).outcome,
            Outcome::RuledOut
        );
    }

    #[test]
    fn too_few_requests_prove_nothing() {
        let few = slow_front().finished("stop", 9.0);
        assert_eq!(few.judge(&CAUSE).outcome, Outcome::RuledOut);
    }
}
