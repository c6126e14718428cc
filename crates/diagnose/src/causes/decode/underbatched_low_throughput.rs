//! A batch job keeps too few requests in flight.

use intriage_case::{Profile, Ratio, Requests, Signal};
use intriage_engines::{Engine, Setting};

use super::card::card_waits;
use crate::causes::shared::{requests_wait, sequence_cap, unknown};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "underbatched-low-throughput",
    class: Class::Decode,
    layer: Layer::Application,
    hurts: &[Aspect::Throughput],
    summary: "A job that wants throughput keeps so few requests in flight that most of the batch stays empty.",
    symptoms: &[
        "few tokens per second, few running, nobody waiting",
        "the GPU is partly idle",
        "the job takes longer than planned",
    ],
    confirmed_by: &[
        "the job is a batch job, nobody waits, and the batch is at most 30 % full",
        "the client keeps the same number of requests open all the time",
        "with twice the load throughput rises by half or more and the pace hardly changes",
    ],
    refuted_by: &[
        "the profile is not batch: few requests at low traffic are normal",
        "requests wait",
        "the batch is well filled",
    ],
    look_alikes: &[
        LookAlike {
            cause: "static-batching-sequence-skew",
            tell: "there requests are at hand but do not join the batch",
        },
        LookAlike { cause: "max-num-seqs-limited-queue", tell: "there requests wait at the cap" },
        LookAlike { cause: "client-side-bottleneck", tell: "there the load generator itself is busy" },
        LookAlike { cause: "replica-load-imbalance", tell: "there other replicas are full" },
    ],
    probe: Probe {
        name: "add-load",
        steps: "Double the client's concurrency for five minutes.",
        if_so: "Tokens per second nearly double.",
        if_not: "Tokens per second stay.",
    },
    remedies: &[
        Remedy::any(
            "keep more requests in flight: submit without waiting for answers, 100 to 2,000 queued for an offline job",
            "memory in the client",
        ),
        Remedy::any("fewer replicas, each with more requests", "latency"),
        Remedy::of(Engine::Vllm, "run the job with vllm run-batch", "another client"),
    ],
    effect: "Throughput grows with the batch until memory, compute or the token budget binds.",
    confirm: "requests.running and output tokens per second rise together while requests.waiting stays small.",
    explains: &[],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let w = Weighing::new()
        .requires(is_batch(e))
        .requires(batch_is_empty(e))
        .refuted_by(requests_wait(e))
        .supports(card_waits(e))
        .supports(Test::Unknown(
            "how much more a fuller batch would bring takes more load for a few minutes".into(),
        ))
        .at_most_likely(0.6);
    let running = e.mean_busy(Signal::RequestsRunning).unwrap_or(0.0);
    let room = worthwhile_batch(e);
    let unused = Ratio((1.0 - running / room).clamp(0.0, 1.0));
    let says = format!(
        "the job keeps {} in flight where about {room:.0} would fit, and nobody waits",
        Requests(running)
    );
    w.conclude(says, impact(unused))
}

fn impact(unused: Ratio) -> Impact {
    Impact {
        on: ImpactOn::Throughput,
        share: unused,
        time: None,
        says: format!("{unused} of the batch stays empty"),
    }
}

fn is_batch(e: &Evidence<'_>) -> Test {
    let profile = if e.intent.profile == Profile::Bursty { "bursty" } else { "interactive" };
    let says = if e.wants_throughput() {
        "the profile is batch".to_owned()
    } else {
        format!("the profile is {profile}: a small batch is what latency wants")
    };
    Test::when(
        e.wants_throughput(),
        e.fact(Signal::RequestsRunning, says, e.mean_busy(Signal::RequestsRunning).unwrap_or(0.0)),
    )
}

/// Few of the places in the batch are taken.
fn batch_is_empty(e: &Evidence<'_>) -> Test {
    let Some(running) = e.mean_busy(Signal::RequestsRunning) else {
        return unknown(e, Signal::RequestsRunning);
    };
    let room = worthwhile_batch(e);
    let says = format!("{} running on average, room for about {room:.0}", Requests(running));
    Test::when(running <= e.limit(Limit::Underbatched) * room, e.fact(Signal::RequestsRunning, says, running))
}

/// As many requests as fit, and no more than make a step worth its weights: a fuller batch is only longer.
pub(crate) fn worthwhile_batch(e: &Evidence<'_>) -> f64 {
    let on_cpu = e.observed.config.text(Setting::Device) == Some("cpu");
    let heavy = e.limit(if on_cpu { Limit::HeavyStepCpu } else { Limit::HeavyStep });
    room_for_requests(e).unwrap_or(heavy).min(heavy)
}

/// How many requests fit: the sequence cap, or fewer where the pool cannot hold so many contexts.
fn room_for_requests(e: &Evidence<'_>) -> Option<f64> {
    let cap = sequence_cap(e)?.value;
    let context = e
        .mean(Signal::TokensPromptEach)
        .zip(e.mean(Signal::TokensOutputEach))
        .map(|(p, o)| p + o)
        .filter(|c| *c > 0.0);
    let held = e.setting(Setting::KvCapacity).zip(context).map(|(capacity, context)| capacity / context);
    Some(held.map_or(cap, |h| cap.min(h)).max(1.0))
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::diagnosis::Outcome;
    use crate::testing::Given;

    /// A nightly job that sends eight documents at a time to a server with room for 256.
    fn starved() -> Given {
        Given::vllm("0.28.0")
            .flags("--max-num-seqs 256")
            .gauge(RequestsRunning, 8.0)
            .gauge(RequestsWaiting, 0.0)
            .gauge(KvUsage, 0.03)
            .batch()
    }

    #[test]
    fn eight_in_flight_where_256_fit_is_likely_the_limit() {
        let j = starved().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.says.contains("about 256"), "{}", j.says);
    }

    #[test]
    fn few_users_of_a_chat_are_normal() {
        let chat = Given::vllm("0.28.0")
            .flags("--max-num-seqs 256")
            .gauge(RequestsRunning, 2.0)
            .gauge(RequestsWaiting, 0.0);
        let j = chat.judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
        assert!(j.against[0].says.contains("interactive"), "{:?}", j.against);
    }

    #[test]
    fn a_dozen_in_flight_fill_a_cpu() {
        let j = starved().flags("--max-num-seqs 128 --device cpu").gauge(RequestsRunning, 12.0).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut, "{j:#?}");
    }

    #[test]
    fn a_queue_is_the_look_alike() {
        assert_eq!(starved().gauge(RequestsWaiting, 40.0).judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_small_pool_leaves_less_room_than_the_cap() {
        let long = starved()
            .pool(100_000.0)
            .observed(TokensPromptEach, &[(8000.0, 200.0)])
            .observed(TokensOutputEach, &[(500.0, 200.0)]);
        assert_eq!(long.judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn an_unknown_cap_is_taken_for_a_batch_worth_its_weights() {
        let j = Given::vllm("0.28.0")
            .gauge(RequestsRunning, 8.0)
            .gauge(RequestsWaiting, 0.0)
            .batch()
            .judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.says.contains("about 256 would fit"), "{}", j.says);
    }
}
