//! Requests wait for an adapter, a grammar or remote data, not for room.

use intriage_case::{Ratio, Requests, Seconds, Signal};
use intriage_engines::{Engine, Setting};

use crate::causes::shared::{no_request_waits, pool_is_full, queue_floor, queue_impact, unknown};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "deferred-admission-stall",
    class: Class::Queueing,
    layer: Layer::Configuration,
    hurts: &[Aspect::Queue, Aspect::Prefill, Aspect::FrontEnd],
    summary: "Requests wait for something other than room in the engine: an adapter slot, a grammar being compiled, or KV data from elsewhere.",
    symptoms: &[
        "requests wait while sequence slots and KV pool are free",
        "only adapter, structured-output or disaggregated requests are slow",
    ],
    confirmed_by: &[
        "the engine itself calls most of the waiting requests deferred",
        "more adapters are asked for than fit, grammars take long to compile, or KV transfers are slow",
    ],
    refuted_by: &["most requests wait for room", "the KV pool is full", "nobody waits"],
    look_alikes: &[
        LookAlike {
            cause: "kv-capacity-limited-queue",
            tell: "there the pool is full and the reason is capacity",
        },
        LookAlike {
            cause: "max-num-seqs-limited-queue",
            tell: "there running is at the cap and the reason is capacity",
        },
        LookAlike {
            cause: "disagg-pool-imbalance",
            tell: "there transfers are quick and one pool is too small",
        },
        LookAlike { cause: "cold-start-warmup", tell: "there every kind of request is slow" },
    ],
    probe: Probe {
        name: "contrast-pair",
        steps: "Send one prompt plain, with an adapter, and with a schema (a new one, then the same again); compare the queue times.",
        if_so: "Only the special one waits, and the repeated schema is quick.",
        if_not: "All wait alike.",
    },
    remedies: &[
        Remedy::of(
            Engine::Vllm,
            "adapters: raise --max-loras and --max-cpu-loras, set --max-lora-rank to the rank in use",
            "GPU memory per adapter slot",
        ),
        Remedy::of(
            Engine::Vllm,
            "grammars: send the same schema text again so that its compiled form is found; remote KV: check the network behind --kv-transfer-config",
            "work in the clients or the network",
        ),
        Remedy::of(
            Engine::Sglang,
            "adapters: raise --max-loras-per-batch; grammars: another --grammar-backend, and repeated schemas",
            "GPU memory; other output in rare cases",
        ),
        Remedy::any("route by adapter, and write equal schemas in one canonical form", "work in the gateway"),
    ],
    effect: "Special requests get their first token as soon as plain ones.",
    confirm: "requests.waiting_deferred falls to 0 and latency.queue below 100 ms.",
    explains: &["head-of-line-blocking"],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let mut w = Weighing::new()
        .requires(mostly_deferred(e))
        .refuted_by(pool_is_full(e))
        // Some engines count this wait before the queue, where it looks like the front end's.
        .explains(&["frontend-input-processing-bound"]);
    let mut for_what = "something other than room";
    let variants = [
        ("an adapter slot", adapters_wait(e)),
        ("their grammar to be compiled", grammars_are_slow(e)),
        ("KV data from elsewhere", transfers_wait(e)),
    ];
    let mut named = false;
    for (what, test) in variants {
        if let Some(test @ Test::Holds(_)) = test {
            if !named {
                for_what = what;
            }
            named = true;
            w = w.supports(test);
        }
    }
    if !named {
        w = w.supports(Test::Unknown(
            "nothing says what they wait for: adapter, grammar or remote data".into(),
        ));
    }
    let deferred = e.mean_busy(Signal::RequestsWaitingDeferred).unwrap_or(0.0);
    let says = format!("{} on average wait for {for_what}, not for room in the engine", Requests(deferred));
    w.conclude(says, queue_impact(e))
}

/// The engine calls most of what waits deferred, most of the time.
pub(super) fn mostly_deferred(e: &Evidence<'_>) -> Test {
    let waiting = e.gauge(Signal::RequestsWaiting);
    let Some(deferred) = e.gauge(Signal::RequestsWaitingDeferred) else {
        return match waiting.as_ref().and_then(|w| w.mean_at(e.busy())) {
            Some(0.0) => no_request_waits(e),
            _ => unknown(e, Signal::RequestsWaitingDeferred),
        };
    };
    let Some(Ratio(often)) = deferred.share_at(e.busy(), |d| d > 0.0) else {
        return Test::Unknown("nothing was running in the window".into());
    };
    let mean = deferred.mean_at(e.busy()).unwrap_or(0.0);
    let counted = waiting.as_ref().and_then(|w| w.mean_at(e.busy())).unwrap_or(0.0);
    // Engines that split the queue by reason count the deferred in it; others hold them beside it.
    let split = e.gauge(Signal::RequestsWaitingCapacity).is_some();
    let all = if split { counted.max(mean) } else { counted + mean };
    let share = Ratio::of(mean, all).map_or(0.0, Ratio::get);
    let says = format!(
        "{} of {} waiting are deferred, in {} of the busy scrapes",
        Requests(mean),
        Requests(all),
        Ratio(often)
    );
    let holds = often > 0.0 && share >= e.limit(Limit::DeferredShare);
    Test::when(holds, e.fact(Signal::RequestsWaitingDeferred, says, mean))
}

/// More distinct adapters than slots; `None` where there are no adapters.
fn adapters_wait(e: &Evidence<'_>) -> Option<Test> {
    if let Some(pool) = e.mean_busy(Signal::LoraPoolUsage) {
        let says = format!("{} of the adapter slots are taken", Ratio(pool));
        return Some(Test::when(pool >= e.limit(Limit::KvFull), e.fact(Signal::LoraPoolUsage, says, pool)));
    }
    let waiting = e.mean_busy(Signal::LoraWaiting)?;
    let slots = e.setting(Setting::MaxLoras)?;
    let distinct = waiting + e.mean_busy(Signal::LoraRunning).unwrap_or(0.0);
    let says = format!("{distinct:.0} adapters are asked for, {waiting:.0} of them wait, {slots:.0} fit");
    Some(Test::when(waiting > 0.0 && distinct > slots, e.fact(Signal::LoraWaiting, says, waiting)))
}

fn grammars_are_slow(e: &Evidence<'_>) -> Option<Test> {
    let mean = e.mean(Signal::GrammarCompile)?;
    let says = format!("a grammar takes {} to compile", Seconds(mean));
    Some(Test::when(mean > queue_floor(e), e.fact(Signal::GrammarCompile, says, mean)))
}

fn transfers_wait(e: &Evidence<'_>) -> Option<Test> {
    let fetching = e.mean_busy(Signal::RequestsWaitingKvFetch)?;
    let says = format!("{} wait for KV data from elsewhere", Requests(fetching));
    Some(Test::when(fetching >= 1.0, e.fact(Signal::RequestsWaitingKvFetch, says, fetching)))
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;
    use intriage_engines::Engine;

    use super::CAUSE;
    use crate::diagnosis::Outcome;
    use crate::testing::{Given, Place};

    /// Scenario F07: 22 of 24 wait for one of four adapter slots; pool and cap are far away.
    fn adapters() -> Given {
        Given::vllm("0.28.0")
            .flags("--max-num-seqs 256 --max-loras 4")
            .gauge(RequestsRunning, 30.0)
            .gauge(RequestsWaiting, 24.0)
            .gauge(RequestsWaitingCapacity, 2.0)
            .gauge(RequestsWaitingDeferred, 22.0)
            .gauge(KvUsage, 0.22)
            .raw("vllm:lora_requests_info{max_lora=\"4\",running_lora_adapters=\"a,b,c,d\",waiting_lora_adapters=\"e,f,g,h,i,j,k\"} 1\n")
            .observed(LatencyTtft, &[(0.06, 200.0), (1.8, 200.0)])
            .observed(LatencyQueue, &[(0.01, 200.0), (1.75, 200.0)])
            .observed(LatencyPrefill, &[(0.05, 400.0)])
            .finished("stop", 400.0)
    }

    #[test]
    fn more_adapters_than_slots_are_the_cause() {
        assert_eq!(adapters().place_of(&CAUSE), Place::First);
        let j = adapters().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.says.contains("adapter slot"), "{}", j.says);
    }

    /// Scenario F08: nine in the grammar queue, 3.4 s to compile, the pool is a third full.
    #[test]
    fn a_new_schema_with_every_request_is_the_cause() {
        let given = Given::engine(Engine::Sglang, "0.5.9")
            .gauge(RequestsRunning, 12.0)
            .gauge(RequestsWaiting, 1.0)
            .gauge(RequestsWaitingDeferred, 9.0)
            .gauge(KvUsage, 0.3)
            .observed(LatencyTtft, &[(3.6, 200.0)])
            .observed(GrammarCompile, &[(3.4, 200.0)]);
        // The engine keeps its grammars out of the queue: only the first token shows them.
        assert_eq!(given.clone().objective("ttft.p95=1s").place_of(&CAUSE), Place::First);
        let j = given.judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.says.contains("grammar"), "{}", j.says);
    }

    #[test]
    fn waiting_for_room_is_the_look_alike() {
        let j =
            adapters().gauge(RequestsWaitingCapacity, 24.0).gauge(RequestsWaitingDeferred, 0.0).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
        assert!(j.against[0].says.contains("are deferred"), "{:?}", j.against);
    }

    #[test]
    fn a_full_pool_is_the_look_alike() {
        assert_eq!(adapters().gauge(KvUsage, 0.99).judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn an_engine_that_gives_no_reason_leaves_it_open() {
        let old = adapters().without(RequestsWaitingDeferred).without(RequestsWaitingCapacity);
        assert_eq!(old.judge(&CAUSE).outcome, Outcome::CannotTell);
        let calm = old.gauge(RequestsWaiting, 0.0).observed(LatencyQueue, &[(0.001, 500.0)]);
        assert_eq!(calm.judge(&CAUSE).outcome, Outcome::RuledOut);
    }
}
