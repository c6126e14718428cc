//! The weights leave too little memory for the KV pool.

use intriage_case::{Bytes, Ratio, Requests, Signal, Source, Tokens};
use intriage_engines::{Behaviour, Engine, LogEvent, Meaning, Setting, Told};

use super::start::{
    does_not_answer, has_served, held_by_another, log_fact, memory_taken, no_room, plain_fact, stopped_by,
    while_ready,
};
use crate::causes::shared::{pool_is_full, queue_impact, requests_wait, unknown};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::lately::death;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "weights-leave-no-kv",
    class: Class::Memory,
    layer: Layer::Memory,
    hurts: &[Aspect::Availability, Aspect::Queue, Aspect::Preemption],
    summary: "Weights, graphs and workspace take so much GPU memory that the KV pool holds one or two full-length requests, or the server does not start.",
    symptoms: &[
        "the start ends with a complaint about cache blocks or the longest sequence",
        "one or two users fill the server",
        "requests wait while few run",
    ],
    confirmed_by: &[
        "the pool holds fewer than two requests of full length, and requests wait for it",
        "or the start was refused for lack of KV memory",
        "the weights take more memory than the pool",
    ],
    refuted_by: &[
        "the pool was made small by hand",
        "the pool holds more than two requests of full length",
        "the pool is larger than the weights",
        "many requests of ordinary length run in it side by side",
        "somebody else held the memory before the engine loaded anything",
    ],
    look_alikes: &[
        LookAlike {
            cause: "vram-co-tenant-or-orphan",
            tell: "there the engine's own parts would fit; another process holds the rest",
        },
        LookAlike {
            cause: "kv-capacity-limited-queue",
            tell: "there the pool is large and the traffic is larger",
        },
        LookAlike {
            cause: "runtime-oom-non-kv",
            tell: "there the server starts and runs out of memory later, under load",
        },
        LookAlike {
            cause: "engine-default-change",
            tell: "there the same flags gave more KV memory on the release before",
        },
    ],
    probe: Probe {
        name: "memory-account",
        steps: "Add up weights (parameters times bytes), graphs, activations and KV pool from the start-up log and compare the sum with the memory of the GPU.",
        if_so: "The account closes within a twentieth and the pool is the small part.",
        if_not: "Gigabytes are missing: another process holds them.",
    },
    remedies: &[
        Remedy::of(
            Engine::Vllm,
            "serve a quantized checkpoint (FP8 halves the weights, 4 bits quarter them)",
            "quality: gate on an evaluation",
        ),
        Remedy::of(
            Engine::Vllm,
            "--tensor-parallel-size 2: each GPU then holds half of the weights",
            "a second GPU",
        ),
        Remedy::of(
            Engine::Vllm,
            "--kv-cache-dtype fp8 (about twice the tokens in the same memory)",
            "quality: calibrate the scales or gate on an evaluation",
        ),
        Remedy::of(
            Engine::Vllm,
            "lower --max-num-batched-tokens: its activations are set aside before the pool",
            "later first tokens for long prompts",
        ),
        Remedy::of(
            Engine::Vllm,
            "if the start is refused: --max-model-len N with the length the message names (it bounds one request; it does not enlarge the pool)",
            "longer requests are refused",
        ),
        Remedy::of(
            Engine::Sglang,
            "a quantized checkpoint, --tp 2, or --mem-fraction-static up while 5 to 8 GB stay free",
            "quality, a GPU, or out-of-memory risk",
        ),
        Remedy::of(Engine::Tgi, "--quantize, or --num-shard 2", "quality, or a second GPU"),
        Remedy::of(
            Engine::TensorRtLlm,
            "a quantized checkpoint, --tp_size 2, or kv_cache_config.free_gpu_memory_fraction 0.95",
            "quality, a GPU, or out-of-memory risk",
        ),
        Remedy::any("a smaller model, or a GPU with more memory", "quality or hardware"),
    ],
    effect: "Each byte the weights give back goes to the pool; the number of requests it holds grows in proportion.",
    confirm: "kv.max_concurrency is above 2 after the restart and requests.waiting falls at the same load.",
    explains: &[],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    if does_not_answer(e) {
        return judge_refused_start(e);
    }
    let mut w = Weighing::new()
        .requires(holds_few(e))
        .requires(requests_wait(e))
        .requires(pool_is_full(e))
        .refuted_by(made_by_hand(e))
        .refuted_by(pool_outweighs_weights(e))
        .refuted_by(many_run(e))
        .supports(weights_known(e));
    if e.setting(Setting::WeightBytes).is_some() {
        w = w.explains(&["kv-capacity-limited-queue", "preemption-thrash"]);
    }
    let pool = e.setting(Setting::KvCapacity).map_or(String::new(), |c| format!(" of {}", Tokens(c)));
    let weights = e
        .setting(Setting::WeightBytes)
        .map_or("the weights".to_owned(), |b| format!("{} of weights", Bytes(b)));
    let room = room(e).unwrap_or(0.0);
    w.conclude(
        format!("{weights} leave a KV pool{pool}: room for {room:.1} requests of full length"),
        queue_impact(e),
    )
}

/// Nothing answers, so the log is all there is.
fn judge_refused_start(e: &Evidence<'_>) -> Judgement {
    let down = Impact {
        on: ImpactOn::Availability,
        share: Ratio(1.0),
        time: None,
        says: "the server did not start".into(),
    };
    let mut w = Weighing::new().explains(&["engine-crash-5xx"]);
    if let Some(taken) = memory_taken(e) {
        w = w.refuted_by(Test::Holds(log_fact(taken)));
    }
    let warming_up = stopped_by(e, Meaning::WarmupOutOfMemory);
    let ran_out = warming_up.or_else(|| stopped_by(e, Meaning::GpuOutOfMemory));
    if let Some(ready) = no_room(e).or(ran_out).and_then(|line| e.observed.log.ready_after(line)) {
        return w.requires(Test::Fails(log_fact(ready))).conclude("", down);
    }
    if let Some(line) = no_room(e) {
        return advised(w.requires(Test::Holds(log_fact(line))), line)
            .conclude("the server did not start: the weights leave no room for the KV pool", down);
    }
    match ran_out.filter(|line| !while_ready(e, line).unwrap_or_else(|| has_served(e, line))) {
        Some(line) if held_by_another(line).is_some_and(|b| b.get() >= e.limit(Limit::ForeignMemory)) => {
            w.requires(Test::Holds(log_fact(line))).refuted_by(Test::Holds(log_fact(line))).conclude("", down)
        }
        // Weights that do not fit and a stranger on the card look the same from here.
        Some(line) => advised(w.requires(Test::Holds(log_fact(line))).at_most_likely(OUT_OF_MEMORY), line)
            .conclude("the server did not start: GPU memory ran out before it served anything", down),
        None if ran_out.is_some() => w
            .requires(Test::Fails(plain_fact("the server had started when GPU memory ran out", "server log")))
            .conclude("", down),
        // Nobody asked the server: its log tells the size of the pool before the first user comes.
        None if e.observed.failed.is_empty() && death(e).is_none() => judge_before_traffic(e, w),
        None => w
            .requires(Test::Unknown(
                "the server does not answer and no log line tells why: give --log".into(),
            ))
            .conclude("", down),
    }
}

/// How sure memory that ran out makes, where nothing tells whether the server had come up.
const OUT_OF_MEMORY: f64 = 0.42;

/// How sure the size of the pool makes: whether anybody will wait depends on who comes.
const BEFORE_TRAFFIC: f64 = 0.7;

fn judge_before_traffic(e: &Evidence<'_>, w: Weighing) -> Judgement {
    let room = room(e).unwrap_or(0.0);
    let says = format!(
        "the KV pool has room for {room:.1} requests of full length, so nearly every user will wait for another"
    );
    let impact = Impact { on: ImpactOn::Ttft, share: Ratio(0.5), time: None, says: says.clone() };
    w.requires(holds_few(e))
        .refuted_by(made_by_hand(e))
        .supports(weights_known(e))
        .at_most_likely(BEFORE_TRAFFIC)
        .conclude(says, impact)
}

/// What the engine itself advises, first.
fn advised(w: Weighing, line: &LogEvent) -> Weighing {
    if let Some(length) = line.told(Told::ContextThatFits) {
        return w.advise(format!("--max-model-len {length:.0}, which fits"), "longer requests are refused");
    }
    if line.meaning == Meaning::WarmupOutOfMemory {
        return w
            .advise("lower --max-num-seqs: the sampler is tried with that many", "fewer requests at once");
    }
    w
}

/// Full-length requests the pool has room for.
fn room(e: &Evidence<'_>) -> Option<f64> {
    e.setting(Setting::MaxConcurrency)
        .or_else(|| Some(e.setting(Setting::KvCapacity)? / e.setting(Setting::ContextWindow)?))
}

fn holds_few(e: &Evidence<'_>) -> Test {
    let Some(room) = room(e) else {
        return Test::Unknown(
            "neither the size of the KV pool nor the context window is stated: give --log".into(),
        );
    };
    let says = format!("the pool has room for {room:.1} requests of full length");
    let fact = e.derived(says, Requests(room), "KV pool / context window");
    Test::when(room < e.limit(Limit::ConcurrencyRoom), fact)
}

/// A pool of chosen size says nothing about the weights.
fn made_by_hand(e: &Evidence<'_>) -> Test {
    let config = &e.observed.config;
    if let Some(blocks) = e.setting(Setting::KvBlocksOverride) {
        return Test::Holds(e.setting_fact(
            Setting::KvBlocksOverride,
            format!("the pool was set to {blocks:.0} blocks by hand"),
        ));
    }
    if config.text(Setting::Device) == Some("cpu") {
        return Test::Holds(e.setting_fact(
            Setting::Device,
            "on CPUs the pool has a size of its own (VLLM_CPU_KVCACHE_SPACE)",
        ));
    }
    // The start-up log's figure is what was left; a flag or the running configuration is a choice.
    let chosen =
        |s: &intriage_engines::Stated| matches!(s.source, Source::CommandLine | Source::Metric { .. });
    if config.all(Setting::KvBytes).iter().any(chosen) {
        return Test::Holds(e.setting_fact(Setting::KvBytes, "the pool's bytes were set by hand"));
    }
    if config.all(Setting::KvCapacity).iter().any(|s| s.source == Source::CommandLine) {
        return Test::Holds(e.setting_fact(Setting::KvCapacity, "the pool's tokens were set by hand"));
    }
    if let Some(says) = e.observed.identity.works_by(Behaviour::AllocatesPoolAsked) {
        return Test::Holds(e.setting_fact(Setting::KvCapacity, says));
    }
    Test::Unknown("nothing says that the pool was sized by hand".into())
}

fn weights_and_pool(e: &Evidence<'_>) -> Option<(Bytes, Bytes)> {
    Some((Bytes(e.setting(Setting::WeightBytes)?), Bytes(e.setting(Setting::KvBytes)?)))
}

/// Where the pool is the larger part, the context of one request is long; the weights are not to blame.
fn pool_outweighs_weights(e: &Evidence<'_>) -> Test {
    let Some((weights, pool)) = weights_and_pool(e) else {
        return Test::Unknown("the start-up log's memory account is missing".into());
    };
    let fact = e.setting_fact(Setting::WeightBytes, format!("weights {weights}, KV pool {pool}"));
    Test::when(pool > weights, fact)
}

/// Requests that come are shorter than the window: what counts is how many of them the full pool holds.
fn many_run(e: &Evidence<'_>) -> Test {
    let running = e.gauge(Signal::RequestsRunning).and_then(|r| r.mean_at(&e.waiting_scrapes()));
    let Some(running) = running else { return unknown(e, Signal::RequestsRunning) };
    let says = format!("{running:.0} requests run side by side while others wait");
    Test::when(running >= e.limit(Limit::PoolHoldsMany), e.fact(Signal::RequestsRunning, says, running))
}

fn weights_known(e: &Evidence<'_>) -> Test {
    match weights_and_pool(e) {
        Some((weights, pool)) => Test::Holds(
            e.setting_fact(Setting::KvBytes, format!("{pool} are left beside {weights} of weights")),
        ),
        None => Test::Unknown("weights and pool in bytes are in the start-up log: give --log".into()),
    }
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::diagnosis::{ImpactOn, Outcome};
    use crate::testing::Given;

    /// The 32B model of founding document 002: 4.46 GiB of KV, 1.83 requests of 10,000 tokens.
    fn tight() -> Given {
        Given::vllm("0.28.0")
            .log(
                "INFO [gpu_model_runner.py:1] Model loading took 61.0 GiB and 20 seconds\n\
                 INFO [gpu_worker.py:1] Available KV cache memory: 4.46 GiB\n\
                 INFO [kv_cache_utils.py:1] GPU KV cache size: 18,272 tokens\n\
                 INFO [kv_cache_utils.py:1] Maximum concurrency for 10,000 tokens per request: 1.83x\n",
            )
            .gauge(RequestsRunning, 2.0)
            .gauge(RequestsWaiting, 9.0)
            .gauge(KvUsage, 0.97)
            .observed(LatencyTtft, &[(22.0, 60.0)])
            .observed(LatencyQueue, &[(21.0, 60.0)])
            .observed(TokensPromptEach, &[(8000.0, 60.0)])
            .finished("stop", 60.0)
    }

    #[test]
    fn a_pool_of_two_requests_beside_large_weights_is_the_cause() {
        let j = tight().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.says.contains("61.0 GiB of weights") && j.says.contains("1.8 requests"), "{}", j.says);
        assert!(j.explains.contains(&"kv-capacity-limited-queue"));
    }

    #[test]
    fn a_log_tells_of_a_small_pool_before_anybody_asks() {
        let started = |concurrency: &str| {
            Given::vllm("0.28.0").without_scrapes().log(&format!(
                "INFO vLLM API server version 0.15.0\n\
                 INFO [gpu_model_runner.py:1] Model loading took 61.0 GiB and 20 seconds\n\
                 INFO [gpu_worker.py:1] Available KV cache memory: 4.46 GiB\n\
                 INFO [kv_cache_utils.py:1] Maximum concurrency for 10,000 tokens per request: {concurrency}x\n\
                 INFO:     Application startup complete.\n"
            ))
        };
        let verdict = started("1.10").verdict().verdict;
        assert_eq!(verdict.primary.cause.as_deref(), Some(CAUSE.id), "{verdict:#?}");
        assert!(verdict.answer.contains("1.1 requests of full length"), "{}", verdict.answer);
        assert_eq!(started("8.30").judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_small_pool_nobody_waits_for_hurts_nobody() {
        let calm = tight().gauge(RequestsWaiting, 0.0).observed(LatencyQueue, &[(0.001, 500.0)]);
        assert_eq!(calm.judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_pool_that_holds_forty_requests_as_they_come_is_not_too_small() {
        let j = tight().gauge(RequestsRunning, 42.0).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut, "{j:#?}");
        assert!(j.against[0].says.contains("42 requests run side by side"), "{:?}", j.against);
    }

    #[test]
    fn a_pool_made_small_by_hand_is_not_the_weights_doing() {
        let j = tight().flags("--num-gpu-blocks-override 1142").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
        assert!(j.against[0].says.contains("1142 blocks by hand"), "{:?}", j.against);
        assert_eq!(
            tight().flags("--kv-cache-memory-bytes 4000000000").judge(&CAUSE).outcome,
            Outcome::RuledOut
        );
    }

    #[test]
    fn a_pool_larger_than_the_weights_is_the_look_alike() {
        let j = Given::vllm("0.28.0")
            .log("Model loading took 2.0 GiB\nAvailable KV cache memory: 4.46 GiB\nMaximum concurrency for 131,072 tokens per request: 1.20x\n")
            .gauge(RequestsRunning, 2.0)
            .gauge(RequestsWaiting, 9.0)
            .gauge(KvUsage, 0.97)
            .observed(LatencyQueue, &[(21.0, 60.0)])
            .judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut, "{j:#?}");
    }

    #[test]
    fn without_the_pool_s_size_nobody_can_tell() {
        let j = Given::vllm("0.28.0")
            .gauge(RequestsRunning, 2.0)
            .gauge(RequestsWaiting, 9.0)
            .gauge(KvUsage, 0.97)
            .observed(LatencyQueue, &[(21.0, 60.0)])
            .judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("--log"), "{:?}", j.missing);
    }

    fn refused(line: &str) -> Given {
        Given::vllm("0.28.0").flags("vllm serve m").log(line).last_scrapes_fail(12, "connection refused")
    }

    #[test]
    fn a_refused_start_is_an_outage() {
        let j = refused(
            "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`\n",
        )
        .judge(&CAUSE);
        assert_eq!((j.outcome, j.impact.unwrap().on), (Outcome::Confirmed, ImpactOn::Availability));
        let j = refused("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n")
            .judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely);
    }

    #[test]
    fn what_the_engine_advises_comes_first() {
        let j = refused("ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (4.63 GiB). Based on the available memory, the estimated maximum model length is 37904. Try increasing `gpu_memory_utilization`.\n").judge(&CAUSE);
        assert!(j.advice[0].change.starts_with("--max-model-len 37904"), "{:?}", j.advice);
    }

    #[test]
    fn a_start_that_was_refused_before_one_that_came_up_is_history() {
        let j = refused("ValueError: No available memory for the cache blocks.\nINFO:     Application startup complete.\n").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut, "{j:#?}");
    }

    #[test]
    fn a_start_that_was_refused_counts_while_none_followed_or_all_that_did_are_refused() {
        let start = "INFO vLLM API server version 0.28.0\n";
        let clean = [start, "INFO:     Application startup complete.\n"].concat();
        for line in [
            "ValueError: No available memory for the cache blocks.\n",
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n",
        ] {
            let failed = [start, line].concat();
            let named = |log: &str| {
                matches!(refused(log).judge(&CAUSE).outcome, Outcome::Confirmed | Outcome::Likely)
            };
            assert!(!named(&format!("{failed}{clean}")), "{line}");
            assert!(named(&format!("{clean}{failed}")), "{line}");
            // Perhaps mended, and not yet up.
            assert!(!named(&format!("{failed}{start}")), "{line}");
            // A loop, looked at while the next start is under way.
            assert!(named(&format!("{failed}{failed}{start}")), "{line}");
        }
    }

    #[test]
    fn memory_that_runs_out_while_serving_is_the_look_alike() {
        let j = refused("INFO:     Application startup complete.\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut, "{j:#?}");
    }

    #[test]
    fn memory_somebody_else_held_is_the_look_alike() {
        let j = refused("ValueError: Free memory on device cuda:0 (58.6/79.6 GiB) on startup is less than desired GPU memory utilization (0.92, 73.2 GiB).\n").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
    }

    #[test]
    fn an_old_refusal_in_the_log_of_a_serving_engine_is_history() {
        let j = tight()
            .gauge(RequestsWaiting, 0.0)
            .observed(LatencyQueue, &[(0.001, 500.0)])
            .log("ValueError: No available memory for the cache blocks.\n")
            .judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
    }
}
