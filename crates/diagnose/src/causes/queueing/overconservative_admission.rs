//! The engine keeps room for output that never comes.

use intriage_case::{Ratio, Requests, Signal, Source, Tokens};
use intriage_engines::{Behaviour, Engine, Setting};

use crate::account::prompt_share_of_steps;
use crate::causes::shared::{
    at_sequence_cap, pool_has_room, queue_impact, requests_wait, sequence_cap, steps_are_full, unknown,
};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::ImpactOn;
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "overconservative-admission",
    class: Class::Queueing,
    layer: Layer::Configuration,
    hurts: &[Aspect::Queue],
    summary: "The engine reserves KV for the output each request declares, so large limits keep the batch small although most answers end early.",
    symptoms: &[
        "requests wait although the KV pool is half empty and running is far below the cap",
        "clients send output limits far above what they get",
    ],
    confirmed_by: &[
        "the engine reserves declared output, and requests wait with room in the pool",
        "running is below the sequence cap",
        "declared output is several times the real one",
    ],
    refuted_by: &[
        "the engine allocates as it goes (vLLM, llama.cpp slots, MAX_UTILIZATION)",
        "the pool is full, or running is at the cap",
        "requests are thrown back: admission is too generous, not too careful",
    ],
    look_alikes: &[
        LookAlike { cause: "kv-capacity-limited-queue", tell: "there the pool is really full" },
        LookAlike { cause: "token-budget-limited-queue", tell: "there prompts fill every step" },
        LookAlike { cause: "head-of-line-blocking", tell: "there one huge request stands at the head" },
        LookAlike { cause: "max-num-seqs-limited-queue", tell: "there running is at the cap" },
    ],
    probe: Probe {
        name: "declare-less",
        steps: "Replay the same requests with the output limit at one and a half times the real p95 output.",
        if_so: "Running and throughput rise, waiting falls.",
        if_not: "Nothing changes.",
    },
    remedies: &[
        Remedy::of(
            Engine::Sglang,
            "--schedule-conservativeness 0.3 (default 1; back up to 1.3 if requests are retracted)",
            "retractions",
        ),
        Remedy::of(
            Engine::TensorRtLlm,
            "scheduler_config.capacity_scheduler_policy MAX_UTILIZATION",
            "running requests may be paused",
        ),
        Remedy::of(
            Engine::Tgi,
            "honest max_new_tokens; a higher --max-batch-total-tokens only while memory stays free",
            "out-of-memory risk",
        ),
        Remedy::any("let clients declare the output they need", "an answer longer than declared is cut"),
    ],
    effect: "More requests run at once, up to what the KV pool really holds.",
    confirm: "requests.waiting falls and kv.usage rises at the same load, without retractions.",
    explains: &["offered-load-exceeds-capacity", "burst-arrival-transient", "underbatched-low-throughput"],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let declared = over_declared(e);
    let mut w = Weighing::new()
        .requires(engine_reserves(e))
        .requires(requests_wait(e))
        .requires(room_in_use(e))
        .requires(below_cap(e))
        .refuted_by(steps_are_full(e))
        .refuted_by(thrown_back(e))
        .supports(output_dominates(e));
    if matches!(declared, Test::Unknown(_)) {
        // The signature is the engine guide's own, but without the declared limits it is half the proof.
        w = w.at_most_likely(0.6);
    }
    w = w.supports(declared);
    if let Some(now) = e.setting(Setting::ScheduleConservativeness) {
        w = w.advise(
            format!("--schedule-conservativeness {now} → 0.3"),
            "retractions, if answers turn out long",
        );
    }
    let says = format!(
        "{} keeps room for declared output: {} wait on average with {} running and room in the KV pool",
        e.observed.engine_name(),
        Requests(e.mean_busy(Signal::RequestsWaiting).unwrap_or(0.0)),
        Requests(e.mean_busy(Signal::RequestsRunning).unwrap_or(0.0))
    );
    let mut impact = queue_impact(e);
    if e.wants_throughput() {
        impact.on = ImpactOn::Throughput;
    }
    w.conclude(says, impact)
}

/// Whether this engine sets room aside for output that may never come.
fn engine_reserves(e: &Evidence<'_>) -> Test {
    let fact = |says: &str| {
        let mut fact = e.setting_fact(Setting::CapacityPolicy, says);
        if fact.source == (Source::Derived { from: "nothing states it".into() }) {
            fact.source = Source::Derived { from: "how this engine admits requests".into() };
        }
        fact
    };
    let policy = e.observed.config.text(Setting::CapacityPolicy);
    if policy.is_some_and(|p| p.eq_ignore_ascii_case("MAX_UTILIZATION")) {
        return Test::Fails(fact("the capacity policy is MAX_UTILIZATION: nothing is reserved"));
    }
    let identity = &e.observed.identity;
    match (identity.works_by(Behaviour::ReservesNothing), identity.works_by(Behaviour::ReservesOutput)) {
        (Some(says), _) => Test::Fails(fact(says)),
        (_, Some(says)) => Test::Holds(fact(says)),
        _ => Test::Unknown("how this server reserves KV at admission is not known".into()),
    }
}

/// The pool has room while requests wait: by its gauge, or by what the running requests can hold.
fn room_in_use(e: &Evidence<'_>) -> Test {
    if e.gauge(Signal::KvUsage).is_some() {
        return pool_has_room(e);
    }
    let parts = (
        e.setting(Setting::KvCapacity),
        e.mean(Signal::TokensPromptEach),
        e.mean(Signal::TokensOutputEach),
        e.gauge(Signal::RequestsRunning).and_then(|r| r.mean_at(&e.waiting_scrapes())),
    );
    let (Some(capacity), Some(prompt), Some(output), Some(running)) = parts else {
        return unknown(e, Signal::KvUsage);
    };
    let held = running * (prompt + output);
    let says = format!(
        "{} hold at most {} of the {} the batch may have",
        Requests(running),
        Tokens(held),
        Tokens(capacity)
    );
    Test::when(
        held < e.limit(Limit::KvFree) * capacity,
        e.derived(says, Tokens(held), "running × (prompt + output)"),
    )
}

/// Running is below a cap that is stated; a flat top alone may be the reservation itself.
fn below_cap(e: &Evidence<'_>) -> Test {
    if let Some(says) = e.observed.identity.works_by(Behaviour::AdmitsByTokens)
        && e.setting(Setting::MaxSequences).is_none()
    {
        return Test::Holds(e.derived(says, Ratio(1.0), "configuration"));
    }
    if sequence_cap(e).is_none_or(|cap| cap.inferred) {
        return Test::Unknown(format!(
            "the sequence cap of {} is not stated anywhere: give --engine-args or --log",
            e.observed.engine_name()
        ));
    }
    match at_sequence_cap(e) {
        Test::Holds(fact) => Test::Fails(fact),
        Test::Fails(fact) => Test::Holds(fact),
        open @ Test::Unknown(_) => open,
    }
}

/// Clients declare several times what they get.
fn over_declared(e: &Evidence<'_>) -> Test {
    let median = |signal| Some(e.histogram(signal)?.quantile(0.5)?.estimate);
    let (Some(declared), Some(real)) = (median(Signal::TokensMaxParam), median(Signal::TokensOutputEach))
    else {
        return unknown(e, Signal::TokensMaxParam);
    };
    let says = format!("the median request declares {} and gets {}", Tokens(declared), Tokens(real));
    Test::when(
        declared >= e.limit(Limit::OverDeclared) * real,
        e.fact(Signal::TokensMaxParam, says, declared),
    )
}

/// Requests are thrown back for lack of room.
fn thrown_back(e: &Evidence<'_>) -> Test {
    let Some(times) = e.delta(Signal::RequestsPreempted) else {
        return unknown(e, Signal::RequestsPreempted);
    };
    let minutes = e.elapsed().get() / 60.0;
    let says = format!("requests were thrown back {times:.0} times");
    Test::when(
        times > e.limit(Limit::PreemptionsPerMinute) * minutes,
        e.fact(Signal::RequestsPreempted, says, times),
    )
}

/// Where prompts are most of the work, prefill may be what holds the queue.
fn output_dominates(e: &Evidence<'_>) -> Test {
    let Some(prompts) = prompt_share_of_steps(e) else { return unknown(e, Signal::TokensPrompt) };
    let says = format!("prompts are {} of the tokens computed", Ratio(prompts));
    Test::when(prompts < 0.5, e.derived(says, Ratio(prompts), "prompt / (prompt + output) tokens"))
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;
    use intriage_engines::Engine;

    use super::CAUSE;
    use crate::diagnosis::Outcome;
    use crate::testing::Given;

    /// Scenario F09: 60 wait, 40 of 4096 run, the pool is 55 % full, nothing is retracted.
    fn careful() -> Given {
        Given::engine(Engine::Sglang, "0.5.9")
            .flags("--max-running-requests 4096 --schedule-conservativeness 1.0")
            .gauge(RequestsRunning, 40.0)
            .gauge(RequestsWaiting, 60.0)
            .gauge(KvUsage, 0.55)
            .counter(RequestsPreempted, 0.0)
            .counter(TokensPrompt, 40_000.0)
            .counter(TokensGenerated, 60_000.0)
            .observed(LatencyTtft, &[(9.0, 400.0)])
            .observed(LatencyQueue, &[(8.8, 400.0)])
    }

    #[test]
    fn a_queue_beside_a_half_empty_pool_is_likely_reservation() {
        let j = careful().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.advice[0].change.contains("--schedule-conservativeness 1 → 0.3"), "{:?}", j.advice);
    }

    #[test]
    fn tgi_shows_the_declared_limits_too() {
        let j = Given::engine(Engine::Tgi, "3.0.0")
            .flags("--max-batch-total-tokens 200000")
            .gauge(RequestsRunning, 22.0)
            .gauge(RequestsWaiting, 60.0)
            .observed(LatencyQueue, &[(8.8, 400.0)])
            .observed(TokensPromptEach, &[(400.0, 400.0)])
            .observed(TokensOutputEach, &[(150.0, 400.0)])
            .observed(TokensMaxParam, &[(8192.0, 400.0)])
            .judge(&CAUSE);
        assert!(matches!(j.outcome, Outcome::Confirmed | Outcome::Likely), "{j:#?}");
        assert!(j.facts_for.iter().any(|f| f.says.contains("declares")), "{:?}", j.facts_for);
    }

    #[test]
    fn vllm_reserves_nothing() {
        let j = Given::vllm("0.28.0")
            .gauge(RequestsRunning, 40.0)
            .gauge(RequestsWaiting, 60.0)
            .gauge(KvUsage, 0.55)
            .judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
        assert!(j.against[0].says.contains("as a request grows"), "{:?}", j.against);
    }

    #[test]
    fn running_at_the_cap_is_the_look_alike() {
        assert_eq!(careful().flags("--max-running-requests 40").judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn retractions_say_the_opposite() {
        assert_eq!(careful().counter(RequestsPreempted, 30.0).judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn without_the_cap_nobody_knows_what_binds() {
        let j = careful().flags("").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("sequence cap"), "{:?}", j.missing);
    }
}
