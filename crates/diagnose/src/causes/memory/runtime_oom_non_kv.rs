//! GPU memory runs out while serving, outside the KV pool.

use intriage_case::{Bytes, Fact, Ratio, Signal};
use intriage_engines::{Behaviour, Engine, LogEvent, Meaning, Setting, Told};

use super::start::{has_served, held_by_another, log_fact, no_room, plain_fact, while_ready};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::lately::{is_death, lately};
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "runtime-oom-non-kv",
    class: Class::Memory,
    layer: Layer::Memory,
    hurts: &[Aspect::Availability, Aspect::Errors],
    summary: "GPU memory runs out while serving, in what lies outside the KV pool: activations, logits, an encoder, adapters or links between GPUs.",
    symptoms: &[
        "the engine dies on a long prompt, on many logprobs or on a large image",
        "it dies again when the same request comes back",
        "all streams end at once",
    ],
    confirmed_by: &[
        "the log shows a GPU out-of-memory error after requests were served",
        "the server failed or restarted with it",
        "the KV pool had room: a full pool would queue or preempt, not fail",
    ],
    refuted_by: &[
        "the error came at the start, while the KV pool was made",
        "nothing failed with it",
        "the log has no out-of-memory error",
    ],
    look_alikes: &[
        LookAlike { cause: "weights-leave-no-kv", tell: "there the server does not get through its start" },
        LookAlike { cause: "vram-co-tenant-or-orphan", tell: "there another process grew at that moment" },
        LookAlike {
            cause: "host-memory-pressure",
            tell: "there the kernel killed the process: exit 137 and an oom-kill line of the host",
        },
        LookAlike {
            cause: "engine-crash-5xx",
            tell: "there the process died without an out-of-memory error",
        },
    ],
    probe: Probe {
        name: "killer-replay",
        steps: "Send the requests that were running at the crash to a spare replica, one by one.",
        if_so: "One of them brings it down the same way.",
        if_not: "None does: look at other processes on the GPU.",
    },
    remedies: &[
        Remedy::of(
            Engine::Vllm,
            "lower --gpu-memory-utilization by 0.02 to 0.05",
            "the KV pool shrinks by as much",
        ),
        Remedy::of(
            Engine::Vllm,
            "lower --max-num-batched-tokens, cap --max-logprobs, bound images with --limit-mm-per-prompt",
            "later first tokens; some requests are refused",
        ),
        Remedy::of(
            Engine::Vllm,
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True where the message speaks of reserved but unallocated memory",
            "none to speak of",
        ),
        Remedy::of(
            Engine::Sglang,
            "--mem-fraction-static 0.8 or less; --chunked-prefill-size 4096 if prefill fails, a lower --max-running-requests if decode does",
            "less KV memory, or slower prefill",
        ),
        Remedy::of(
            Engine::Tgi,
            "lower --max-batch-prefill-tokens or --cuda-memory-fraction",
            "less KV memory",
        ),
        Remedy::of(Engine::TensorRtLlm, "lower kv_cache_config.free_gpu_memory_fraction", "less KV memory"),
        Remedy::of(
            Engine::LlamaCpp,
            "lower -ub, or offload fewer layers with -ngl",
            "slower prefill or decode",
        ),
    ],
    effect: "The crashes end; the KV pool is smaller by the margin given back.",
    confirm: "The request that failed is answered, and the process keeps its start time for a day.",
    explains: &["engine-crash-5xx"],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let Some(line) = lately(e, Meaning::GpuOutOfMemory) else {
        return no_error(e);
    };
    let mut w = Weighing::new()
        .requires(Test::Holds(log_fact(line)))
        .requires(while_serving(e, line))
        .requires(something_failed(e, line))
        .supports(pool_had_room(e))
        .supports(alone_on_the_gpu(e))
        .explains(&["engine-crash-5xx"]);
    if let Some(refused) = no_room(e).filter(|refused| e.observed.log.ready_after(refused).is_none()) {
        w = w.refuted_by(Test::Holds(log_fact(refused)));
    }
    let sizes_pool = e.observed.identity.works_by(Behaviour::FractionSizesPool).is_some();
    if let Some(fraction) = e.setting(Setting::MemoryFraction).filter(|_| sizes_pool) {
        let change = format!("--gpu-memory-utilization {fraction:.2} → {:.2}", fraction - GIVE_BACK);
        w = w.advise(change, "the KV pool shrinks by as much");
    }
    // Some engines go on after it: then requests failed, and nothing tells how many.
    if unasked(e) && death_beside(e, line).is_none() {
        w = w.at_most_likely(STEP_ALONE);
    }
    let size = asked_for(line).map_or("GPU memory".to_owned(), |size| format!("{size} of GPU memory"));
    w.conclude(
        format!("{size} outside the KV pool could not be had while serving, and the engine failed"),
        impact(e),
    )
}

/// The middle of what usually suffices.
const GIVE_BACK: f64 = 0.03;

/// How sure an error makes that no death follows.
const STEP_ALONE: f64 = 0.65;

/// Nobody asked the server: its log is all there is.
fn unasked(e: &Evidence<'_>) -> bool {
    e.observed.times.is_empty() && e.observed.failed.is_empty()
}

/// The death of the process that ran out of memory, if its log tells of one.
fn death_beside<'a>(e: &Evidence<'a>, line: &LogEvent) -> Option<&'a LogEvent> {
    let log = &e.observed.log;
    let mut died = log.events.iter().filter(|l| is_death(l.meaning));
    let death = died.find(|l| l.is_beside(line) && l.starts_since == line.starts_since)?;
    log.ready_after(death).is_none().then_some(death)
}

fn no_error(e: &Evidence<'_>) -> Judgement {
    let test = if let Some(earlier) = e.observed.log.first(Meaning::GpuOutOfMemory) {
        let says = "the log's GPU out-of-memory error is of a process that was started again since";
        Test::Fails(Fact { says: says.into(), ..log_fact(earlier) })
    } else if e.observed.log.present {
        Test::Fails(plain_fact("the log has no GPU out-of-memory error", "server log"))
    } else if something_failed_in_window(e) {
        Test::Unknown("only the server's log tells whether GPU memory ran out: give --log".into())
    } else {
        Test::Fails(plain_fact("the server answered throughout and never restarted", "scrapes"))
    };
    Weighing::new().requires(test).conclude("", impact(e))
}

/// An error before the first answer belongs to the start.
fn while_serving(e: &Evidence<'_>, line: &LogEvent) -> Test {
    match while_ready(e, line) {
        Some(true) => return Test::Holds(plain_fact("the server had started before", "server log")),
        Some(false) => {
            return Test::Fails(plain_fact("the error stands before the server was ready", "server log"));
        }
        None => {}
    }
    if has_served(e, line) {
        return Test::Holds(plain_fact("requests had been served before", "server log or scrapes"));
    }
    let root = e.observed.log.root().filter(|root| root.starts_since == line.starts_since);
    if root.and_then(|root| root.starting) == Some(true) {
        return Test::Fails(plain_fact("the traceback is of a start", "server log"));
    }
    Test::Unknown("whether anything was served before the error is not recorded".into())
}

/// The server failed with it: scrapes, restarts, answers, or where nobody asked the engine's own last words.
fn something_failed(e: &Evidence<'_>, line: &LogEvent) -> Test {
    if unasked(e) {
        return match death_beside(e, line) {
            Some(death) => Test::Holds(log_fact(death)),
            _ => Test::Holds(plain_fact(
                "the step that asked for the memory failed with its requests",
                "server log",
            )),
        };
    }
    let share = failed_share(e);
    let holds = something_failed_in_window(e) || share >= e.limit(Limit::ErrorShare);
    let says = if stopped_answering(e) {
        "the server stopped answering".to_owned()
    } else if e.restarts() > 0 {
        format!("the process restarted {} time(s)", e.restarts())
    } else {
        format!("{} of the answers failed", Ratio(share))
    };
    Test::when(holds, e.derived(says, Ratio(share), "scrapes, counters and the access log"))
}

fn something_failed_in_window(e: &Evidence<'_>) -> bool {
    stopped_answering(e) || e.restarts() > 0
}

/// The last scrape failed.
fn stopped_answering(e: &Evidence<'_>) -> bool {
    let last_bad = e.observed.failed.last().map(|(at, _)| *at);
    last_bad.is_some_and(|bad| e.observed.times.last().is_none_or(|good| bad > *good))
}

/// Share of answers that were server errors, by metric or else by the access log.
fn failed_share(e: &Evidence<'_>) -> f64 {
    let by_metric =
        e.delta(Signal::HttpResponses).and_then(|all| Ratio::of(e.answered(|status| status >= 500), all));
    let answers = &e.observed.log.answers;
    let count = |from: u16| -> f64 {
        answers.iter().filter(|(status, _)| **status >= from).map(|(_, n)| *n as f64).sum()
    };
    let by_log = Ratio::of(count(500), count(0));
    [by_metric, by_log].into_iter().flatten().map(Ratio::get).fold(0.0, f64::max)
}

fn impact(e: &Evidence<'_>) -> Impact {
    if stopped_answering(e) || e.observed.times.is_empty() {
        return Impact {
            on: ImpactOn::Availability,
            share: Ratio(1.0),
            time: None,
            says: "the server stopped answering".into(),
        };
    }
    let share = Ratio(failed_share(e));
    Impact { on: ImpactOn::Errors, share, time: None, says: format!("{share} of the answers failed") }
}

/// A full pool makes requests wait; it does not make allocations fail.
fn pool_had_room(e: &Evidence<'_>) -> Test {
    let Some(usage) = e.mean_busy(Signal::KvUsage) else {
        return Test::Unknown("the KV pool's usage before the error is not recorded".into());
    };
    let fact = e.fact(Signal::KvUsage, format!("the KV pool was {} full", Ratio(usage)), usage);
    // A full pool does not speak against it: the pool was allocated at the start either way.
    if usage < e.limit(Limit::KvFull) {
        Test::Holds(fact)
    } else {
        Test::Unknown("the KV pool was full as well, which never fails an allocation by itself".into())
    }
}

fn alone_on_the_gpu(e: &Evidence<'_>) -> Test {
    let line = lately(e, Meaning::GpuOutOfMemory);
    if let Some(held) = line.and_then(held_by_another).filter(|b| b.get() >= e.limit(Limit::ForeignMemory)) {
        return Test::Fails(plain_fact(format!("another process held {held} then"), "server log"));
    }
    let lists: Vec<_> = e.observed.gpu.cards.iter().filter_map(|c| c.processes.as_ref()).collect();
    if lists.is_empty() {
        return Test::Unknown(
            "memory by process was not recorded, so another process is not excluded".into(),
        );
    }
    let most = lists.iter().map(|l| l.len()).max().unwrap_or(0);
    let says = format!("at most {most} process(es) on a GPU");
    Test::when(most <= 1, plain_fact(says, "nvidia-smi -q"))
}

/// Memory that was wanted.
fn asked_for(line: &LogEvent) -> Option<Bytes> {
    line.told(Told::MemoryAsked).map(Bytes)
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::diagnosis::{ImpactOn, Outcome};
    use crate::testing::Given;

    const SERVED: &str = "INFO:     10.0.0.1:1 - \"POST /v1/completions HTTP/1.1\" 200 OK\n";
    const OOM: &str = "ERROR 11-15 03:53:10 [core.py:1512] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.91 GiB. GPU 0 has 0.9 GiB free.\n";

    /// Scenario F36: prompt_logprobs of a 64k prompt, pool a third full.
    fn crashed() -> Given {
        Given::vllm("0.28.0")
            .flags("vllm serve m --gpu-memory-utilization 0.97")
            .log(&format!("{SERVED}{OOM}"))
            .gauge(RequestsRunning, 20.0)
            .gauge(RequestsWaiting, 0.0)
            .gauge(KvUsage, 0.35)
            .counter(TokensGenerated, 9000.0)
            .last_scrapes_fail(3, "connection refused")
    }

    #[test]
    fn an_allocation_that_fails_with_the_pool_a_third_full_is_the_cause() {
        let j = crashed().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.says.starts_with("3.91 GiB of GPU memory outside the KV pool"), "{}", j.says);
        assert_eq!(j.advice[0].change, "--gpu-memory-utilization 0.97 → 0.94");
        assert_eq!(j.impact.unwrap().on, ImpactOn::Availability);
        assert_eq!(j.explains, ["engine-crash-5xx"]);
    }

    #[test]
    fn an_old_error_in_the_log_of_a_healthy_server_is_history() {
        let healthy = Given::vllm("0.28.0")
            .log(&format!("{}{OOM}", SERVED.repeat(10)))
            .gauge(RequestsRunning, 2.0)
            .counter(TokensGenerated, 900.0);
        assert_eq!(healthy.judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_start_that_finds_no_room_is_the_look_alike() {
        let j = crashed().log("ValueError: No available memory for the cache blocks.\n").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
        let warm = Given::vllm("0.28.0")
            .flags("vllm serve m")
            .log("RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests.\n")
            .last_scrapes_fail(12, "connection refused");
        assert_eq!(warm.judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn an_error_nobody_saw_served_requests_before_stays_open() {
        let j = Given::vllm("0.28.0")
            .flags("vllm serve m")
            .log(OOM)
            .last_scrapes_fail(12, "connection refused")
            .judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
    }

    #[test]
    fn a_log_alone_tells_of_memory_that_ran_out_while_serving() {
        let ready = "(APIServer pid=1) INFO:     Application startup complete.\n";
        let death = "ERROR 02-03 10:05:20 [core.py:938] EngineCore encountered a fatal error.\n";
        let alone = |log: &str| Given::vllm("0.28.0").without_scrapes().log(log).judge(&CAUSE);
        let j = alone(&format!("{ready}{death}{OOM}"));
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert_eq!(alone(&format!("{OOM}{death}{ready}")).outcome, Outcome::RuledOut);
        // The server may have gone on: requests failed, and nothing tells how many.
        let j = alone(&format!("{ready}{OOM}"));
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.confidence < 0.7, "{}", j.confidence);
    }

    #[test]
    fn a_traceback_alone_tells_a_start_from_serving() {
        let thrown = |function: &str| {
            let log = format!(
                "Traceback (most recent call last):\n  File \"/x/site-packages/vllm/v1/worker/gpu_worker.py\", line 7, in {function}\n    run()\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.91 GiB.\n"
            );
            Given::vllm("0.28.0").without_scrapes().log(&log).judge(&CAUSE).outcome
        };
        assert_eq!(thrown("run_busy_loop"), Outcome::Likely);
        assert_eq!(thrown("profile_run"), Outcome::RuledOut);
        assert_eq!(thrown("f"), Outcome::CannotTell);
    }

    #[test]
    fn an_error_of_a_process_that_was_started_again_is_not_the_running_ones() {
        let (start, ready) =
            ("INFO vLLM API server version 0.28.0\n", "INFO:     Application startup complete.\n");
        let death = "ERROR 02-03 10:05:20 [core.py:938] EngineCore encountered a fatal error.\n";
        let failed = [start, ready, OOM, death].concat();
        let clean = [start, ready].concat();
        let alone = |log: &str| Given::vllm("0.28.0").without_scrapes().log(log).judge(&CAUSE);
        let over = alone(&format!("{failed}{clean}"));
        assert_eq!(over.outcome, Outcome::RuledOut, "{over:#?}");
        assert!(over.against[0].says.contains("started again since"), "{:?}", over.against);
        assert_eq!(alone(&format!("{clean}{failed}")).outcome, Outcome::Confirmed);
        // On its way up again after the crash.
        assert_eq!(alone(&format!("{failed}{start}")).outcome, Outcome::Confirmed);
    }

    #[test]
    fn a_crash_without_a_log_cannot_be_told_from_it() {
        let silent = Given::vllm("0.28.0").gauge(RequestsRunning, 2.0).counter(TokensGenerated, 900.0);
        assert_eq!(silent.judge(&CAUSE).outcome, Outcome::RuledOut);
        let j = silent.last_scrapes_fail(3, "connection refused").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("--log"));
    }
}
