//! The sequence cap is reached while memory and compute have room.

use intriage_case::{ObjectiveMetric, Requests, Seconds, Signal};
use intriage_engines::{Behaviour, Engine};

use super::by_lines::or_by_lines;
use crate::causes::shared::{
    at_sequence_cap, cap_flag, pool_has_room, pool_is_full, queue_between_looks, queue_impact, requests_wait,
    sequence_cap, steps_are_full,
};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "max-num-seqs-limited-queue",
    class: Class::Queueing,
    layer: Layer::Configuration,
    hurts: &[Aspect::Queue],
    summary: "The scheduler runs as many sequences as it is allowed to, and the rest wait although memory and compute have room.",
    symptoms: &[
        "running stands still at a round number",
        "waiting grows while the KV pool is half empty",
        "tokens come fast once they come",
    ],
    confirmed_by: &["running stays at the cap while requests wait", "the KV pool has room"],
    refuted_by: &["running stays below the cap while requests wait", "nobody waits"],
    look_alikes: &[
        LookAlike {
            cause: "kv-capacity-limited-queue",
            tell: "there the pool is full and running stays below the cap",
        },
        LookAlike { cause: "batch-past-knee", tell: "there raising the cap would break the token pace" },
        LookAlike {
            cause: "token-budget-limited-queue",
            tell: "there every step is filled to its token budget",
        },
        LookAlike {
            cause: "client-side-bottleneck",
            tell: "there the client limits its own concurrency and nobody waits in the server",
        },
    ],
    probe: Probe {
        name: "cap-step",
        steps: "Raise the cap by half on one replica at the same load for ten minutes.",
        if_so: "Waiting falls, throughput rises, the token pace falls a little.",
        if_not: "Nothing changes.",
    },
    remedies: &[
        Remedy::of(
            Engine::Vllm,
            "raise --max-num-seqs (default 1024 on GPUs of 70 GiB and more except A100, else 256; 128 per worker on CPU)",
            "more KV in use and slower tokens; above the captured graph sizes (512) decode loses CUDA graphs",
        ),
        Remedy::of(
            Engine::Sglang,
            "raise --max-running-requests, and --cuda-graph-max-bs-decode with it",
            "graph memory",
        ),
        Remedy::of(Engine::Tgi, "raise --max-batch-size and --max-concurrent-requests", "memory"),
        Remedy::of(
            Engine::LlamaCpp,
            "raise -np, and -c in proportion (or --kv-unified)",
            "each slot owns its part of the context: -c must grow with -np",
        ),
        Remedy::of(
            Engine::TensorRtLlm,
            "raise --max_batch_size",
            "the TensorRT backend needs a rebuilt engine",
        ),
        Remedy::of(Engine::Lmdeploy, "raise --max-batch-size", "memory"),
    ],
    effect: "The queue shrinks to nothing and throughput rises until the next limit: the KV pool, the token budget or the token pace.",
    confirm: "requests.waiting falls to 0 and latency.queue below 100 ms at the same load.",
    explains: &[
        "offered-load-exceeds-capacity",
        "head-of-line-blocking",
        "burst-arrival-transient",
        "underbatched-low-throughput",
    ],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    or_by_lines(e, weigh)
}

fn weigh(e: &Evidence<'_>, w: Weighing) -> Judgement {
    let mut w = w
        .requires(requests_wait(e))
        .requires(at_sequence_cap(e))
        .weakened_by(pool_is_full(e))
        .weakened_by(steps_are_full(e))
        .weakened_by(pace_is_at_objective(e))
        .supports(pool_has_room(e));
    let Some(cap) = sequence_cap(e) else {
        return w.conclude("", queue_impact(e));
    };
    if cap.inferred {
        w = w.supports(Test::Unknown(
            "the cap is read off the running gauge; the start-up log or command line would state it".into(),
        ));
    }
    let waiting = e.mean_busy(Signal::RequestsWaiting).unwrap_or(0.0);
    let running = e.mean_busy(Signal::RequestsRunning).unwrap_or(0.0);
    if let Some(flag) = cap_flag(e) {
        let goal = proposed_cap(cap.value, running + waiting);
        let shares = e.observed.identity.works_by(Behaviour::SlotsShareContext);
        let context = shares.map_or(String::new(), |why| {
            format!(" together with a context {:.1} times as large ({why})", goal / cap.value)
        });
        let change = format!(
            "{flag} {:.0} → {goal:.0}{context}: about {} were in the server at once",
            cap.value,
            Requests((running + waiting).round())
        );
        let cost = "a restart; tokens come a little slower with more of them in a step";
        w = w
            .advise(change, if shares.is_some() { "a restart; memory for the larger context" } else { cost });
    }
    let room = if matches!(pool_has_room(e), Test::Holds(_)) { " while the KV pool has room" } else { "" };
    let wait = match queue_between_looks(e) {
        Some(queue) => queue.says,
        None => format!("{} wait on average", Requests(waiting)),
    };
    let says = format!(
        "{} runs at most {:.0} sequences at once, so {wait}{room}",
        e.observed.engine_name(),
        cap.value
    );
    w.conclude(says, queue_impact(e))
}

/// Where the token pace has an objective and misses it, the cap is doing its job.
fn pace_is_at_objective(e: &Evidence<'_>) -> Test {
    let limit = [ObjectiveMetric::Itl, ObjectiveMetric::Tpot].into_iter().find_map(|m| e.objective(m));
    match (limit, e.account.itl) {
        (Some(limit), Some(itl)) => {
            let says = format!("tokens come every {}, the objective is {limit}", Seconds(itl));
            Test::when(itl >= limit.get(), e.fact(Signal::LatencyItl, says, itl))
        }
        _ => Test::Unknown("no objective for the token pace was given".into()),
    }
}

/// vLLM's own default on large cards; nobody is sent beyond it by a queue.
const MOST_ADVISED: f64 = 1024.0;

/// The power of two that holds everybody who was there.
fn proposed_cap(now: f64, in_server: f64) -> f64 {
    let mut cap = now.max(1.0);
    while cap < in_server && cap < MOST_ADVISED {
        cap *= 2.0;
    }
    cap.max(now * 2.0)
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::causes::find;
    use crate::diagnosis::Outcome;
    use crate::testing::{Given, Place};

    /// Sixty-four running, forty waiting, an empty pool: scenario F02.
    fn capped() -> Given {
        Given::vllm("0.28.0")
            .flags("--max-num-seqs 64")
            .gauge(RequestsRunning, 64.0)
            .gauge(RequestsWaiting, 40.0)
            .gauge(KvUsage, 0.06)
            .observed(LatencyTtft, &[(1.16, 1000.0)])
            .observed(LatencyQueue, &[(1.13, 1000.0)])
            .observed(LatencyPrefill, &[(0.02, 1000.0)])
            .observed(LatencyItl, &[(0.009, 200_000.0)])
            .finished("stop", 1000.0)
    }

    #[test]
    fn a_cap_of_64_with_an_empty_pool_is_the_cause() {
        let j = capped().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.advice[0].change.contains("--max-num-seqs 64 → 128"), "{:?}", j.advice);
    }

    #[test]
    fn the_cap_is_read_off_the_gauge_where_nothing_states_it() {
        let j = capped().flags("").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed);
        assert!(j.says.contains("at most 64"), "{}", j.says);
    }

    #[test]
    fn a_flat_top_is_no_cap_where_the_command_line_sets_none() {
        let j = capped().flags("vllm serve m --max-model-len 8192").judge(&CAUSE);
        assert_ne!(j.outcome, Outcome::Confirmed, "{j:#?}");
    }

    #[test]
    fn nobody_waiting_is_no_queue() {
        let calm = capped().gauge(RequestsWaiting, 0.0).observed(LatencyQueue, &[(0.001, 1000.0)]);
        assert_eq!(calm.judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_queue_between_the_looks_at_its_gauge_is_one_all_the_same() {
        let between = capped().gauge(RequestsWaiting, 0.0);
        let j = between.judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.facts_for[0].says.contains("between the looks"), "{:?}", j.facts_for);
        assert_eq!(between.clone().flags("--max-num-seqs 80").judge(&CAUSE).outcome, Outcome::CannotTell);
        assert_eq!(between.flags("--max-num-seqs 256").judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_full_pool_is_the_look_alike() {
        let full = capped().gauge(KvUsage, 0.99);
        let j = full.judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.confidence < capped().judge(&CAUSE).confidence, "{}", j.confidence);
        // Below the cap the pool alone is the answer.
        let below = full.flags("--max-num-seqs 256");
        let pool = find("kv-capacity-limited-queue").expect("a cause of the catalogue");
        assert_eq!(below.place_of(pool), Place::First);
        assert_eq!(below.judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_cap_that_keeps_the_token_pace_is_doing_its_job() {
        let j = capped().objective("itl.p95=5ms").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.against.iter().any(|f| f.says.contains("the objective is 5.00 ms")), "{:?}", j.against);
        assert!(j.confidence < capped().objective("itl.p95=20ms").judge(&CAUSE).confidence);
    }
}
