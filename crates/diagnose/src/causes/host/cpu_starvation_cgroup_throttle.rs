//! The serving processes do not get the CPU when they need it.

use intriage_case::{Fact, Ratio};
use intriage_engines::Meaning;
use intriage_engines::host::{CpuGroup, Host, Limit as Quota, Role, ServingProcess, ThreadUse};

use super::crowd::{Crowd, FEWER_THREADS};
use super::machine::{kernel, machine, stopped_impact};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "cpu-starvation-cgroup-throttle",
    class: Class::Host,
    layer: Layer::Cpu,
    hurts: Aspect::LATENCY,
    summary: "The serving processes wait for CPU: a quota stops them, or others use the same cores, or they have too few.",
    symptoms: &[
        "tokens stutter and first tokens are late for no reason on the GPU",
        "worse with more GPUs, which take more processes",
        "the node as a whole looks half idle",
    ],
    confirmed_by: &[
        "a quota stopped the server in more than 5 % of its scheduling periods",
        "threads of the engine waited for a CPU for more than a tenth of the time",
        "more threads compute in step than a quota has CPUs for",
    ],
    refuted_by: &["no quota stopped them and no thread of the engine waited for a CPU"],
    look_alikes: &[
        LookAlike {
            cause: "decode-host-overhead-bound",
            tell: "there CPU is to be had and the code is slow",
        },
        LookAlike { cause: "numa-misplacement", tell: "there the memory is far away" },
        LookAlike {
            cause: "benign-busy-loop-core",
            tell: "a core at 100 % is how the engine polls, and proves nothing",
        },
        LookAlike { cause: "frontend-input-processing-bound", tell: "there only the front end is busy" },
    ],
    probe: Probe {
        name: "quota-lift",
        steps: "Take the CPU limit off one replica, or give it cores of its own, for ten minutes.",
        if_so: "The stutter is gone.",
        if_not: "Nothing changes.",
    },
    remedies: &[
        Remedy::any(
            "Kubernetes: no CPU limit, a request of at least 2 × (2 + GPUs) vCPU, the static CPU manager",
            "fewer pods on the node",
        ),
        Remedy::any(
            "move what else runs on these cores, or pin the server to cores of its own (taskset, systemd CPUAffinity)",
            "cores nobody else can use",
        ),
    ],
    effect: "The long gaps between tokens go: p99 comes within twice the median.",
    confirm: "nr_throttled stands still and the engine's threads no longer wait for a CPU.",
    explains: &[
        "decode-host-overhead-bound",
        "prefill-decode-interference",
        "batch-past-knee",
        "long-prompt-compute-bound",
        "offered-load-exceeds-capacity",
        "frontend-input-processing-bound",
    ],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let host = machine(e);
    if let (Err(_), Some((share, fact))) = (&host, logged(e)) {
        let says = format!("a CPU quota stopped the server in {share} of its scheduling periods");
        return Weighing::new()
            .requires(Test::when(share.get() > e.limit(Limit::Throttled), fact))
            // The counters count from the group's start, not over the window.
            .at_most_likely(0.7)
            .advise(FEWER_THREADS, "none")
            .conclude(says, stopped_impact(e, share));
    }
    let crowd = Crowd::of(e);
    if let (Err(why), Some(crowd)) = (&host, &crowd) {
        return crowd.judge(e, why);
    }
    let quota = host.as_ref().ok().and_then(|host| throttled(host));
    let waiting = host.as_ref().ok().and_then(|host| waits_most(host));
    let stopped = quota.and_then(|(_, group)| group.throttled_periods).unwrap_or(Ratio(0.0));
    let stood = quota.map_or(Ratio(0.0), |(_, group)| stood_still(group));
    let waited = waiting.and_then(|(_, thread)| thread.run_queue_delay).unwrap_or(Ratio(0.0));
    let by_quota = quota.is_some_and(|(_, group)| is_stopped(e, group));
    let says = if by_quota {
        let limit = match quota.and_then(|(_, group)| group.limit) {
            Some(Quota::At(cpus)) => format!(" of {:.1} CPUs", cpus.get()),
            _ => String::new(),
        };
        format!(
            "a CPU quota{limit} stops the server in {stopped} of its scheduling periods, up to {stood} of the time"
        )
    } else {
        format!("the engine's threads wait for a CPU {waited} of the time: others use it")
    };
    let mut w = Weighing::new().requires(gets_too_little(e, host.as_ref(), quota, waiting));
    if by_quota {
        w = w.advise(
            "take the CPU quota off, or raise it to what the server uses at its peak",
            "CPU others had",
        );
        if let Some(crowd) = crowd {
            w = w.supports(Test::Holds(crowd.fact(e))).advise(crowd.change(), "none");
        }
    }
    if !by_quota && let Ok(host) = &host {
        w = w.supports(others_use_it(e, host));
    }
    // Both are shares of the time in which the server could not go on.
    let lost = if by_quota { stood } else { waited };
    w.conclude(says, stopped_impact(e, lost))
}

/// What somebody copied into the log: `nr_periods 4567 / nr_throttled 3115`.
fn logged(e: &Evidence<'_>) -> Option<(Ratio, Fact)> {
    let event = e.observed.log.first(Meaning::CpuThrottled)?;
    let share = Ratio::of(f64::from(event.number?), event.number_behind("nr_periods")?)?;
    let says = format!("the log says: {}", event.excerpt);
    Some((share, Fact { source: event.source(), ..kernel(says, share, "cpu.stat") }))
}

type Found<'a, T> = Option<(&'a ServingProcess, &'a T)>;

/// Share of the time a group stood still. Periods in which it did not want to run are not counted by the kernel, and its time
/// is summed over the CPUs: the smaller of the two shares is the truer one.
fn stood_still(group: &CpuGroup) -> Ratio {
    let periods = group.throttled_periods.map_or(0.0, Ratio::get);
    Ratio(group.throttled_time.map_or(periods, |time| time.get().min(periods)).clamp(0.0, 1.0))
}

/// Stopped often, and for long enough to be felt.
fn is_stopped(e: &Evidence<'_>, group: &CpuGroup) -> bool {
    let often = group.throttled_periods.is_some_and(|s| s.get() > e.limit(Limit::Throttled));
    often && stood_still(group).get() >= e.limit(Limit::RunQueue)
}

/// Share of the time a quota stopped the server, as the kernel counts it; `None` where none did so often.
pub(crate) fn stopped_by_quota(e: &Evidence<'_>) -> Option<Ratio> {
    let (_, group) = throttled(machine(e).ok()?)?;
    is_stopped(e, group).then(|| stood_still(group))
}

/// The control group that was stopped most, of the processes a request waits for.
fn throttled(host: &Host) -> Found<'_, CpuGroup> {
    let groups = host.processes.iter().filter_map(|p| Some((p, p.cgroup.as_ref()?.most_throttled()?)));
    groups.max_by(|(_, a), (_, b)| stood_still(a).get().total_cmp(&stood_still(b).get()))
}

/// The thread of the engine that waited most for a CPU, of those that do the work.
fn waits_most(host: &Host) -> Found<'_, ThreadUse> {
    // The loop every step waits for; a front end's helper threads come and go.
    let engine = |p: &&ServingProcess| {
        matches!(p.role(), Some(Role::EngineCore | Role::Worker | Role::Server | Role::Child))
    };
    let busiest = host.processes.iter().filter(engine).filter_map(|p| {
        let wants =
            |t: &&ThreadUse| t.cpu.map_or(0.0, Ratio::get) + t.run_queue_delay.map_or(0.0, Ratio::get);
        p.threads.iter().max_by(|a, b| wants(a).total_cmp(&wants(b))).map(|t| (p, t))
    });
    let waited = |t: &ThreadUse| t.run_queue_delay.map_or(0.0, Ratio::get);
    busiest.max_by(|(_, a), (_, b)| waited(a).total_cmp(&waited(b)))
}

/// Somebody else takes the CPU: threads of one server that poll wait for each other and lose nothing by it.
fn others_use_it(e: &Evidence<'_>, host: &Host) -> Test {
    let Some(busy) = host.cpu.busy.filter(|_| !host.cpu.each.is_empty()) else {
        return Test::Unknown("how busy the processors were was not read".into());
    };
    let own = |p: &ServingProcess| p.threads.iter().filter_map(|t| t.cpu).map(Ratio::get).sum::<f64>();
    let all = busy.busy.get() * host.cpu.each.len() as f64;
    let others = (all - host.processes.iter().map(own).sum::<f64>()).max(0.0);
    let says = format!("others use {others:.1} of {} CPUs", host.cpu.each.len());
    Test::when(others >= e.limit(Limit::OthersCpu), kernel(says, Ratio(others), "proc/stat"))
}

fn gets_too_little(
    e: &Evidence<'_>,
    host: Result<&&Host, &String>,
    quota: Found<'_, CpuGroup>,
    waiting: Found<'_, ThreadUse>,
) -> Test {
    if let Err(why) = host {
        return Test::Unknown(why.clone());
    }
    if e.observed.times.len() >= 2 && e.busy().is_empty() {
        return Test::Unknown(
            "no request ran in the window: what a CPU it lacks costs shows under load".into(),
        );
    }
    let stopped = quota.filter(|(_, group)| is_stopped(e, group));
    if let Some((process, share)) = stopped.and_then(|(p, g)| Some((p, g.throttled_periods?))) {
        let says = format!("the quota stopped process {} in {share} of its periods", process.pid);
        return Test::Holds(kernel(says, share, "cpu.stat"));
    }
    let waited = waiting.and_then(|(p, t)| Some((p, t, t.run_queue_delay?)));
    let Some((process, thread, share)) = waited else {
        return Test::Unknown(
            "this kernel does not count how long threads wait for a CPU (schedstat)".into(),
        );
    };
    let says =
        format!("thread {} of process {} waited for a CPU {share} of the time", thread.name, process.pid);
    Test::when(share.get() >= e.limit(Limit::WorthNaming), kernel(says, share, "schedstat"))
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;
    use intriage_engines::Engine;

    use super::*;
    use crate::diagnosis::Outcome;
    use crate::testing::{Given, Place};

    fn serving() -> Given {
        Given::vllm("0.28.0")
            .gauge(RequestsRunning, 4.0)
            .observed(LatencyTtft, &[(0.3, 200.0)])
            .observed(LatencyDecode, &[(4.0, 200.0)])
    }

    #[test]
    fn a_quota_that_stops_the_server_is_named_with_its_size() {
        let j = serving().host("busy-under-quota").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.says.contains("quota of 0.2 CPUs"), "{}", j.says);
    }

    #[test]
    fn a_neighbour_on_the_same_cpu_makes_it_wait() {
        let j = serving().host("two-on-one-cpu").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.says.contains("wait for a CPU"), "{}", j.says);
    }

    #[test]
    fn counters_copied_into_a_log_make_it_likely() {
        let j = serving().log("nr_periods 4567 / nr_throttled 3115\n").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.says.contains("68 %"), "{}", j.says);
        assert_eq!(
            serving().log("nr_periods 4567 / nr_throttled 12\n").judge(&CAUSE).outcome,
            Outcome::RuledOut
        );
    }

    /// A llama.cpp server that starts so many threads in a container with so much CPU time.
    fn container(threads: u32, cpu_max: &str) -> Given {
        let text = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let stat = "7 (llama-server) S 1 7 7 0 -1 0 0 0 0 0 10 5 0 0 20 0 9 0 100 0 0\n";
        let files = vec![
            text("proc/7/cmdline", "llama-server"),
            text("proc/7/stat", stat),
            text("proc/7/cgroup", "0::/pod\n"),
            text("sys/fs/cgroup/pod/cpu.max", cpu_max),
        ];
        let log = format!("0.01.289.818 I cmn          init: llama threadpool init, n_threads = {threads}\n");
        Given::engine(Engine::LlamaCpp, "b10408")
            .flags("llama-server -m model.gguf")
            .log(&log)
            .kernel(&[files])
    }

    #[test]
    fn more_threads_than_the_quota_has_cpus_are_likely_the_cause() {
        let j = container(48, "765000 100000\n").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.says.contains("48 threads") && j.says.contains("7.65 CPUs"), "{}", j.says);
        assert!(j.advice[0].change.starts_with("7 threads"), "{:?}", j.advice);
    }

    #[test]
    fn threads_that_fit_into_the_quota_show_nothing() {
        assert_eq!(container(7, "765000 100000\n").judge(&CAUSE).outcome, Outcome::CannotTell);
        assert_eq!(container(48, "max 100000\n").judge(&CAUSE).outcome, Outcome::CannotTell);
    }

    #[test]
    fn a_crowd_that_keeps_its_pace_is_a_note() {
        let fast = container(48, "765000 100000\n").objective("itl.mean=200ms").each_scrape(|part| {
            format!(
                "llamacpp:requests_processing 1\nllamacpp:tokens_predicted_total {}\nllamacpp:tokens_predicted_seconds_total {}\n",
                2000.0 * part,
                20.0 * part
            )
        });
        assert_eq!(fast.place_of(&CAUSE), Place::Note);
    }

    #[test]
    fn without_a_look_at_the_machine_nobody_can_tell() {
        let j = serving().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("--host"), "{:?}", j.missing);
    }
}
