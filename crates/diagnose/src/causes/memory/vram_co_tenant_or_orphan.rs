//! Somebody else holds memory on the same GPU.

use intriage_case::gpu::GpuProcess;
use intriage_case::{Bytes, Fact, Ratio};
use intriage_engines::{Engine, LogEvent, Meaning, Told};

use super::start::{does_not_answer, held_by_another, log_fact, memory_taken, plain_fact};
use crate::causes::decode::{card_waits, pace_impact, step_is_far_above_floor};
use crate::causes::shared::{on_cpu, pool_is_full, queue_impact, requests_wait};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::lately::lately;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "vram-co-tenant-or-orphan",
    class: Class::Memory,
    layer: Layer::Gpu,
    hurts: &[
        Aspect::Availability,
        Aspect::Queue,
        Aspect::Prefill,
        Aspect::DecodeStep,
        Aspect::Interference,
        Aspect::Stalls,
        Aspect::HostGap,
    ],
    summary: "Another process, often an orphan of the last run, holds memory on the same GPU.",
    symptoms: &[
        "the start fails, or the KV pool is smaller than yesterday with the same flags",
        "speed changes with somebody else's load",
    ],
    confirmed_by: &[
        "a process that does not belong to this server holds GPU memory",
        "the free memory at start is lower than on an empty GPU by that amount",
    ],
    refuted_by: &["the GPU lists only the server's own process"],
    look_alikes: &[
        LookAlike {
            cause: "weights-leave-no-kv",
            tell: "there the engine's own parts account for the whole card",
        },
        LookAlike { cause: "runtime-oom-non-kv", tell: "there the engine itself grew" },
        LookAlike {
            cause: "gpu-power-or-capability-limit",
            tell: "there a partition (MIG, vGPU) bounds the memory, not a process",
        },
    ],
    probe: Probe {
        name: "idle-sm",
        steps: "Take the traffic off this server for two minutes and list nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv.",
        if_so: "A process of somebody else holds memory, or the card works while this server is idle.",
        if_not: "Only this server's process is there and its memory is its own.",
    },
    remedies: &[
        Remedy::any(
            "find the owner of the process (ps -o pid,ppid,user,cmd -p PID) and end it by its id if it is an orphan",
            "somebody else's work",
        ),
        Remedy::any(
            "give the server a GPU of its own (CUDA_VISIBLE_DEVICES, a device plugin), and wait for the memory to come back before a restart",
            "hardware; a slower restart",
        ),
        Remedy::of(
            Engine::Vllm,
            "look for VLLM::EngineCore or VLLM::Worker processes whose parent is gone (ppid 1): a killed API server leaves them behind",
            "none to speak of",
        ),
        Remedy::of(
            Engine::Vllm,
            "if sharing is intended: --gpu-memory-utilization at the share that is really free",
            "a smaller KV pool",
        ),
    ],
    effect: "The start succeeds and the KV pool has its old size.",
    confirm: "The start-up log shows almost all memory free, and the same KV size as on an empty card.",
    explains: &[],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let mut w = Weighing::new().refuted_by(on_cpu(e)).requires(somebody_else(e)).at_most_likely(CEILING);
    let held = foreign_bytes(e);
    let size = held.map_or("GPU memory".to_owned(), |b| b.to_string());
    if does_not_answer(e) {
        w = w.requires(memory_was_short(e)).explains(&["engine-crash-5xx", "weights-leave-no-kv"]);
        let says = if named_in_error(e).is_some() && memory_taken(e).is_none() {
            format!("{size} on the GPU were in use by another process when memory ran out")
        } else {
            format!("the server did not start: {size} on the GPU were taken before it loaded anything")
        };
        return w.conclude(says, impact(e));
    }
    if takes_kv_memory(e) {
        let says = format!("{size} on the GPU belong to another process, and requests wait for KV memory");
        return w.conclude(says, impact(e));
    }
    // It cannot be told how much of the card it uses; that kernels run all the time while steps are slow fits.
    w = w.supports(kernels_run_on(e)).supports(step_is_far_above_floor(e));
    let says = format!("another process ({size}) computes on the same GPU, so every step waits for its turn");
    w.conclude(says, slowed_impact(e))
}

/// Whose process it is can only be told on the host.
const CEILING: f64 = 0.7;

fn impact(e: &Evidence<'_>) -> Impact {
    if does_not_answer(e) {
        return Impact {
            on: ImpactOn::Availability,
            share: Ratio(1.0),
            time: None,
            says: if memory_taken(e).is_some() { "the server did not start" } else { "nothing is served" }
                .into(),
        };
    }
    queue_impact(e)
}

/// What the steps take beyond what this card usually needs.
fn slowed_impact(e: &Evidence<'_>) -> Impact {
    let usual = e.floor.as_ref().ok().map(|floor| floor.decode / floor.reached.0);
    let slowed = e.account.itl.zip(usual).map_or(0.0, |(itl, usual)| itl - usual);
    pace_impact(e, slowed)
}

/// Another tenant takes memory that the KV pool lacks.
fn takes_kv_memory(e: &Evidence<'_>) -> bool {
    let large = foreign_bytes(e).is_some_and(|b| b.get() >= e.limit(Limit::ForeignMemory));
    large && matches!(requests_wait(e), Test::Holds(_)) && matches!(pool_is_full(e), Test::Holds(_))
}

/// Kernels run most of the time, the neighbour's among them.
fn kernels_run_on(e: &Evidence<'_>) -> Test {
    match card_waits(e) {
        Test::Holds(fact) => Test::Fails(fact),
        Test::Fails(fact) => Test::Holds(fact),
        unknown @ Test::Unknown(_) => unknown,
    }
}

/// Processes beyond the largest on each card, if they hold more than a driver context alone.
fn strangers<'a>(e: &'a Evidence<'_>) -> Option<Vec<&'a GpuProcess>> {
    let floor = e.limit(Limit::ForeignContext);
    let cards = &e.observed.gpu.cards;
    if cards.is_empty() || cards.iter().any(|c| c.processes.is_none()) {
        return None;
    }
    let size = |p: &&GpuProcess| p.memory.map_or(0.0, Bytes::get);
    let mut found = Vec::new();
    for card in cards {
        let mut held: Vec<&GpuProcess> =
            card.processes.iter().flatten().filter(|p| size(p) >= floor).collect();
        held.sort_by(|a, b| size(b).total_cmp(&size(a)));
        found.extend(held.into_iter().skip(1));
    }
    Some(found)
}

fn somebody_else(e: &Evidence<'_>) -> Test {
    if let Some(line) = memory_taken(e).filter(|_| does_not_answer(e)) {
        let enough = taken_at_start(line).is_none_or(|b| b.get() >= e.limit(Limit::ForeignMemory));
        return Test::when(enough, log_fact(line));
    }
    if let Some((line, held)) = named_in_error(e) {
        let says = format!("{held} were in use by another process when memory ran out");
        return Test::Holds(Fact { says, ..log_fact(line) });
    }
    match strangers(e).as_deref() {
        Some([first, ..]) => {
            let memory = first.memory.unwrap_or_default();
            let says = format!("process {} ({}) holds {memory} on the same GPU", first.pid, first.name);
            Test::Holds(e.derived(says, memory, "nvidia-smi -q"))
        }
        Some([]) => Test::Fails(plain_fact("no GPU lists a second process of some size", "nvidia-smi -q")),
        None => Test::Unknown(
            "memory by process is not in this evidence: nvidia-smi -q on the host lists it".into(),
        ),
    }
}

/// A start that failed must have failed for want of memory.
fn memory_was_short(e: &Evidence<'_>) -> Test {
    match memory_taken(e).or(named_in_error(e).map(|(line, _)| line)) {
        Some(line) => Test::Holds(log_fact(line)),
        None => Test::Unknown("the server does not answer and no log line tells why: give --log".into()),
    }
}

/// An out-of-memory error that names a stranger of some size.
fn named_in_error<'a>(e: &Evidence<'a>) -> Option<(&'a LogEvent, Bytes)> {
    let line = lately(e, Meaning::GpuOutOfMemory).filter(|_| does_not_answer(e))?;
    let held = held_by_another(line).filter(|held| held.get() >= e.limit(Limit::ForeignMemory))?;
    Some((line, held))
}

fn foreign_bytes(e: &Evidence<'_>) -> Option<Bytes> {
    let listed = strangers(e).and_then(|s| s.first()?.memory).or(named_in_error(e).map(|(_, held)| held));
    listed.or_else(|| taken_at_start(memory_taken(e)?))
}

/// Memory that was gone before anything was loaded.
fn taken_at_start(line: &LogEvent) -> Option<Bytes> {
    line.told(Told::MemoryGone).map(Bytes)
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::diagnosis::{ImpactOn, Outcome, Status};
    use crate::testing::{Given, Place};

    /// Scenario F37: an orphan holds 21 GiB, so the start is refused.
    fn refused(free: &str) -> Given {
        let line = format!(
            "ValueError: Free memory on device cuda:0 ({free}/79.6 GiB) on startup is less than desired GPU memory utilization (0.92, 73.2 GiB).\n"
        );
        Given::vllm("0.28.0").flags("vllm serve m").log(&line).last_scrapes_fail(12, "connection refused")
    }

    /// A server short of KV memory, with these processes of so many MiB on its GPU.
    fn beside(mib: &[u32], given: Given) -> Given {
        use std::fmt::Write as _;
        let mut text = String::from("    Product Name    : NVIDIA H100\n    Processes\n");
        for (i, mib) in mib.iter().enumerate() {
            let _ = write!(
                text,
                "        Process ID    : {}\n            Name    : VLLM::EngineCore\n            Used GPU Memory    : {mib} MiB\n",
                4711 + i
            );
        }
        given.smi_q_text(&text)
    }

    fn short_of_memory() -> Given {
        Given::vllm("0.28.0")
            .gauge(RequestsRunning, 20.0)
            .gauge(RequestsWaiting, 9.0)
            .gauge(KvUsage, 0.99)
            .observed(LatencyQueue, &[(3.0, 60.0)])
    }

    #[test]
    fn a_start_refused_for_memory_that_was_gone_is_likely_an_orphan() {
        let j = refused("58.6").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.says.contains("21.0 GiB"), "{}", j.says);
        assert_eq!(j.impact.unwrap().on, ImpactOn::Availability);
    }

    #[test]
    fn a_stranger_named_in_the_error_is_likely_the_cause() {
        let error = |others: &str| {
            let line = format!(
                "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 250.00 MiB. GPU 0 has a total capacity of 79.11 GiB of which 121.12 MiB is free. {others} memory in use.\n"
            );
            Given::vllm("0.28.0").without_scrapes().log(&line).judge(&CAUSE)
        };
        let j = error(
            "Process 9999 has 66.40 GiB memory in use. Including non-PyTorch memory, this process has 12.50 GiB",
        );
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.says.contains("66.4 GiB"), "{}", j.says);
        // In a container PyTorch does not know which process it is itself.
        assert_eq!(error("Process 7 has 78.90 GiB").outcome, Outcome::CannotTell);
        let small = error(
            "Process 9 has 310.00 MiB memory in use. Including non-PyTorch memory, this process has 78.50 GiB",
        );
        assert_eq!(small.outcome, Outcome::CannotTell);
    }

    #[test]
    fn a_stranger_who_was_there_at_an_earlier_start_is_history() {
        let (start, ready) =
            ("INFO vLLM API server version 0.28.0\n", "INFO:     Application startup complete.\n");
        let refusal = "ValueError: Free memory on device cuda:0 (58.6/79.6 GiB) on startup is less than desired GPU memory utilization (0.92, 73.2 GiB).\n";
        let error = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 250.00 MiB. Process 9999 has 66.40 GiB memory in use. Including non-PyTorch memory, this process has 12.50 GiB memory in use.\n";
        let alone = |log: &str| Given::vllm("0.28.0").without_scrapes().log(log).judge(&CAUSE).outcome;
        for line in [refusal, error] {
            let (failed, clean) = ([start, line].concat(), [start, ready].concat());
            assert_eq!(alone(&format!("{failed}{clean}")), Outcome::CannotTell);
            assert_eq!(alone(&format!("{clean}{failed}")), Outcome::Likely);
        }
    }

    #[test]
    fn a_fraction_no_card_could_give_is_not_a_tenant() {
        assert_eq!(refused("79.0").judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_second_process_while_requests_wait_for_memory_is_likely() {
        let given = beside(&[50_000, 21_000], short_of_memory());
        assert_ne!(given.place_of(&CAUSE), Place::Note, "requests wait");
        let j = given.judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.says.contains("20.5 GiB"), "{}", j.says);
    }

    #[test]
    fn a_neighbour_who_hurts_nobody_is_no_fault() {
        let calm = Given::vllm("0.28.0")
            .gauge(RequestsRunning, 20.0)
            .gauge(RequestsWaiting, 0.0)
            .gauge(KvUsage, 0.99)
            .observed(LatencyQueue, &[(0.001, 60.0)]);
        let given = beside(&[50_000, 21_000], calm);
        assert_eq!(given.place_of(&CAUSE), Place::Note);
        assert_ne!(given.verdict().verdict.status, Status::Finding);
    }

    #[test]
    fn alone_on_the_card_the_look_alike_remains() {
        let j = beside(&[70_000, 300], short_of_memory()).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
        assert!(j.against[0].says.contains("second process"));
    }

    #[test]
    fn without_a_process_list_nobody_can_tell() {
        let j = short_of_memory().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("nvidia-smi -q"), "{:?}", j.missing);
    }
}
