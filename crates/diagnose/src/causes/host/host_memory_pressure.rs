//! The machine runs out of memory.

use intriage_case::{Events, Fact, Ratio};
use intriage_engines::host::Host;
use intriage_engines::{LogEvent, Meaning};

use super::machine::{kernel, machine, stopped_impact};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::lately::{death, is_of_now};
use crate::past::past;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "host-memory-pressure",
    class: Class::Host,
    layer: Layer::Memory,
    hurts: &[
        Aspect::Availability,
        Aspect::Errors,
        Aspect::Prefill,
        Aspect::FrontEnd,
        Aspect::DecodeStep,
        Aspect::Stalls,
        Aspect::HostGap,
    ],
    summary: "The host, or the server's control group, is short of memory: it stalls, swaps, or kills.",
    symptoms: &["stalls of seconds", "the process dies with exit code 137", "memory climbs for hours"],
    confirmed_by: &[
        "everything waited for memory for more than 1 % of the time",
        "the kernel killed a process for want of memory in the window",
        "the kernel log says that it killed the server, or killed something while the server died",
    ],
    refuted_by: &["nothing waits for memory, nothing was swapped and nothing was killed"],
    look_alikes: &[
        LookAlike { cause: "runtime-oom-non-kv", tell: "there it is GPU memory, and the log says CUDA" },
        LookAlike {
            cause: "preemption-thrash",
            tell: "there it is the KV pool, and preemptions are counted",
        },
    ],
    probe: Probe {
        name: "rss-track",
        steps: "Hold a constant load for some hours and watch the processes' resident memory.",
        if_so: "It grows without end, or meets the limit.",
        if_not: "It levels off below the limit.",
    },
    remedies: &[
        Remedy::any("a higher memory limit, or fewer processes on the machine", "memory"),
        Remedy::any("no swap on serving machines", "a kill instead of a stall"),
        Remedy::any("smaller caches: multimodal cache, KV offload to host memory", "cache hits"),
    ],
    effect: "No stalls, and no restarts.",
    confirm: "The kernel's pressure figures for memory stay at zero.",
    explains: &["engine-crash-5xx", "cpu-starvation-cgroup-throttle"],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let host = machine(e);
    let killed = host.as_ref().ok().and_then(|h| kills(h)).filter(|n| n.get() > 0.0);
    let stalled = host.as_ref().ok().and_then(|h| stalled(h)).unwrap_or(Ratio(0.0));
    let lost = Impact {
        on: if death(e).is_some() { ImpactOn::Availability } else { ImpactOn::Errors },
        share: Ratio(1.0),
        time: None,
        says: "what ran in it is lost".into(),
    };
    let (says, impact) = match (killed, told(e)) {
        (Some(n), _) => (format!("the kernel killed {n} of the server's processes for want of memory"), lost),
        (None, Some(event)) => (format!("the kernel killed for want of memory: {}", event.excerpt), lost),
        (None, None) => (
            format!("everything on the machine waits for memory {stalled} of the time"),
            stopped_impact(e, stalled),
        ),
    };
    Weighing::new().requires(is_short(e, host.as_ref(), killed, stalled)).conclude(says, impact)
}

/// Names of serving processes as the kernel writes them, cut to fifteen letters.
const SERVERS: [&str; 9] = [
    "(VLLM::",
    "(vllm",
    "(sglang",
    "(llama-server",
    "(ollama",
    "(trtllm",
    "(tritonserver",
    "(text-generation",
    "(lmdeploy",
];

/// Kills in the log that hit the server: by its name, or because the server died or came back. A kernel's log reaches
/// back for weeks, so a kill of something else says nothing of now.
fn hits<'a>(e: &Evidence<'a>) -> impl Iterator<Item = &'a LogEvent> {
    let died = death(e).is_some() || e.restarts() > 0;
    let kills = e.observed.log.events.iter().filter(|event| event.meaning == Meaning::OomKilled);
    kills.filter(move |event| died || SERVERS.iter().any(|name| event.excerpt.contains(name)))
}

/// One of them that may belong to the window.
fn told<'a>(e: &Evidence<'a>) -> Option<&'a LogEvent> {
    hits(e).find(|event| past(e, event).is_none() && is_of_now(e, event))
}

/// One that clearly does not, with its age.
fn over(e: &Evidence<'_>) -> Option<String> {
    let ended = |event| (!is_of_now(e, event)).then(|| "before the server was last started".to_owned());
    let ago = |event| past(e, event).or_else(|| ended(event));
    hits(e).find_map(|event| Some(format!("the kernel killed for want of memory {}", ago(event)?)))
}

/// Processes killed in the window in a serving process's own group. The groups above it count their other children's, too.
fn kills(host: &Host) -> Option<Events> {
    let groups = host.processes.iter().filter_map(|p| p.cgroup.as_ref()?.memory.first());
    groups.filter_map(|g| g.oom_kills).reduce(|a, b| if a > b { a } else { b })
}

/// The longest full stall of the machine or of a serving process's group.
fn stalled(host: &Host) -> Option<Ratio> {
    let groups = host.processes.iter().filter_map(|p| p.cgroup.as_ref()).flat_map(|c| &c.memory);
    let of_groups = groups.filter_map(|g| g.pressure?.full);
    let all = of_groups.chain(host.memory_pressure.and_then(|p| p.full));
    all.reduce(|a, b| if a > b { a } else { b })
}

fn is_short(e: &Evidence<'_>, host: Result<&&Host, &String>, killed: Option<Events>, share: Ratio) -> Test {
    if let Some(n) = killed {
        return Test::Holds(kernel(format!("{n} processes were killed in the window"), n, "memory.events"));
    }
    if let Some(event) = told(e) {
        let count = Events(f64::from(event.number.unwrap_or(event.count)));
        let fact = kernel(format!("the kernel's log has {count} kills for want of memory"), count, "");
        return Test::Holds(Fact { source: event.source(), ..fact });
    }
    // What is over is no sign of now, and worth a word.
    let over = over(e).map_or(String::new(), |over| format!("; {over}"));
    let host = match host {
        Ok(host) => host,
        Err(why) => return Test::Unknown(format!("{why}{over}")),
    };
    if stalled(host).is_none() {
        return Test::Unknown(format!("this kernel does not count waiting for memory (PSI){over}"));
    }
    let says = format!("everything waited for memory {share} of the time{over}");
    Test::when(share.get() > e.limit(Limit::MemoryStall), kernel(says, share, "/proc/pressure/memory"))
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::*;
    use crate::diagnosis::Outcome;
    use crate::testing::Given;

    /// A server in a group of its own, whose kernel says this of memory at the end of the window.
    fn server(pressure: &str, events: &str) -> Judgement {
        machine(pressure, events).judge(&CAUSE)
    }

    fn machine(pressure: &str, events: &str) -> Given {
        let group = "sys/fs/cgroup/vllm.service";
        let at = |stall: &str, events: &str| {
            vec![
                ("proc/7/cmdline".to_owned(), "vllm\0serve\0m".to_owned()),
                (
                    "proc/7/stat".to_owned(),
                    "7 (vllm) S 1 7 7 0 -1 0 0 0 0 0 10 5 0 0 20 0 9 0 100 0 0\n".to_owned(),
                ),
                ("proc/7/cgroup".to_owned(), "0::/vllm.service\n".to_owned()),
                (
                    "proc/pressure/memory".to_owned(),
                    format!(
                        "some avg10=0.00 avg60=0.00 avg300=0.00 total={stall}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total={stall}\n"
                    ),
                ),
                (
                    format!("{group}/memory.events"),
                    format!("low 0\nhigh 0\nmax 0\noom 0\noom_kill {events}\n"),
                ),
            ]
        };
        let snapshots = [at("0", "0"), at(pressure, events)];
        Given::vllm("0.28.0").gauge(RequestsRunning, 4.0).kernel(&snapshots)
    }

    #[test]
    fn a_kill_of_last_week_is_told_with_its_age_and_confirms_nothing() {
        // The window begins on 14 November 2023.
        let kill = |day: u32| {
            format!(
                "2023-11-{day:02}T22:00:00Z Out of memory: Killed process 4242 (VLLM::EngineCor) total-vm:1kB\n"
            )
        };
        let alone = |day| Given::vllm("0.28.0").gauge(RequestsRunning, 4.0).log(&kill(day)).judge(&CAUSE);
        assert_eq!(alone(14).outcome, Outcome::Confirmed);
        let old = alone(7);
        assert_eq!(old.outcome, Outcome::CannotTell, "{old:#?}");
        assert!(old.missing.join("").contains("7 days before the window"), "{:?}", old.missing);
        let calm = machine("0", "0").log(&kill(7)).judge(&CAUSE);
        assert_eq!(calm.outcome, Outcome::RuledOut, "{calm:#?}");
        assert!(calm.against.iter().any(|fact| fact.says.contains("7 days before")), "{:?}", calm.against);
    }

    #[test]
    fn a_kill_in_the_kernels_log_counts_where_it_hit_the_server() {
        let with = |log: &str| Given::vllm("0.28.0").gauge(RequestsRunning, 4.0).log(log).judge(&CAUSE);
        let hit = with("Out of memory: Killed process 4242 (VLLM::EngineCor) total-vm:203948572kB\n");
        assert_eq!(hit.outcome, Outcome::Confirmed, "{hit:#?}");
        assert!(hit.says.contains("VLLM::EngineCor"), "{}", hit.says);
        // Weeks ago, something else.
        let other = "Memory cgroup out of memory: Killed process 77 (chromium) total-vm:45114472kB\n";
        assert_eq!(with(other).outcome, Outcome::CannotTell);
    }

    #[test]
    fn a_kill_that_a_start_of_the_server_follows_is_over() {
        let kill = "Out of memory: Killed process 4242 (VLLM::EngineCor) total-vm:203948572kB\n";
        let start = "INFO vLLM API server version 0.28.0\nINFO:     Application startup complete.\n";
        let with = |log: String| Given::vllm("0.28.0").gauge(RequestsRunning, 4.0).log(&log).judge(&CAUSE);
        let over = with(format!("{start}{kill}{start}"));
        assert_eq!(over.outcome, Outcome::CannotTell, "{over:#?}");
        assert!(over.missing.join("").contains("before the server was last started"), "{:?}", over.missing);
        assert_eq!(with(format!("{start}{start}{kill}")).outcome, Outcome::Confirmed);
    }

    #[test]
    fn stalls_kills_and_peace_are_told_apart() {
        // Ten seconds between the looks; totals are in microseconds.
        let stalled = server("2000000", "0");
        assert_eq!(stalled.outcome, Outcome::Confirmed, "{stalled:#?}");
        assert!(stalled.says.contains("20 %"), "{}", stalled.says);
        let killed = server("0", "1");
        assert_eq!(killed.outcome, Outcome::Confirmed, "{killed:#?}");
        assert!(killed.says.contains("killed"), "{}", killed.says);
        assert_eq!(server("0", "0").outcome, Outcome::RuledOut);
    }
}
