//! Weights come slowly from where they lie, so that a start takes minutes.

use intriage_case::{Bytes, Fact, Quantity, Ratio, Seconds, Signal, Unit};
use intriage_engines::host::{Host, ServingProcess};
use intriage_engines::{Engine, LogEvent, Meaning};

use super::machine::kernel;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "slow-model-storage",
    class: Class::Host,
    layer: Layer::Network,
    hurts: &[Aspect::Availability, Aspect::Prefill],
    summary: "Reading the weights takes most of a start: they lie on a slow or far file system, or are read in small pieces.",
    symptoms: &[
        "minutes until a new replica is ready",
        "bursts are over before another replica serves",
        "the second start on a machine is much faster than the first",
    ],
    confirmed_by: &[
        "more than 20 GB of weights were read at less than 1 GB/s, by the server's own account",
        "on local NVMe the same files are read three times as fast",
        "with --load-format dummy the start is fast",
    ],
    refuted_by: &[
        "the weights came at 1 GB/s or more, or are small",
        "they were loaded long before the window: nobody waits for them now",
        "the time goes into compiling or capturing graphs",
    ],
    look_alikes: &[
        LookAlike {
            cause: "cold-start-warmup",
            tell: "there the weights are loaded and the rest takes long",
        },
        LookAlike {
            cause: "pcie-link-downgrade",
            tell: "there the copy to the GPU is slow, not the reading",
        },
    ],
    probe: Probe {
        name: "phase-timing",
        steps: "Split one start into download, reading, copying, compiling and capturing by the times in its log; read one file of the checkpoint with dd iflag=direct.",
        if_so: "Reading takes most of it.",
        if_not: "Another phase does.",
    },
    remedies: &[
        Remedy::any(
            "keep the weights on local NVMe, or read them into the page cache before the server starts",
            "disk or memory of each machine",
        ),
        Remedy::of(
            Engine::Vllm,
            "--safetensors-load-strategy eager or prefetch on network file systems",
            "host memory while loading",
        )
        .since("0.10.2"),
        Remedy::of(
            Engine::Vllm,
            "--load-format runai_streamer or fastsafetensors; sharded_state where several GPUs read the same files",
            "preparing the files once",
        ),
        Remedy::of(
            Engine::LlamaCpp,
            "--load-mode none or dio on network file systems",
            "host memory while loading",
        ),
    ],
    effect: "A start takes the size of the weights over the speed of the storage.",
    confirm: "The log's own figure for loading weights, at the next start.",
    explains: &[],
    judge,
};

/// How the weights came, as far as anybody tells.
struct Loading {
    /// How long it took; `None` while it goes on.
    took: Option<Seconds>,
    fact: Fact,
    slow: bool,
}

fn judge(e: &Evidence<'_>) -> Judgement {
    let loading = from_log(e).or_else(|| from_kernel(e));
    let took = loading.as_ref().and_then(|l| l.took).unwrap_or(Seconds(0.0));
    let served = e.elapsed().get();
    let share = Ratio::of(took.get(), took.get() + served).unwrap_or(Ratio(1.0));
    let over = !e.observed.times.is_empty();
    let impact = Impact {
        // Who is not ready does not serve; once it is, the loss is of the time it could have served.
        on: if over { ImpactOn::Throughput } else { ImpactOn::Availability },
        share,
        time: Some(took).filter(|t| t.get() > 0.0),
        says: if took.get() > 0.0 {
            format!("a start waits {took} for weights")
        } else {
            "the server is not ready until its weights are read".into()
        },
    };
    let says = loading.as_ref().map_or(String::new(), |l| format!("weights come slowly: {}", l.fact.says));
    let test = match loading {
        Some(loading) => Test::when(loading.slow, loading.fact),
        None if e.observed.log.present => {
            Test::Unknown("the log does not tell how large the weights are and how long they took".into())
        }
        None => Test::Unknown("no start-up log was given, which tells how long the weights took".into()),
    };
    Weighing::new()
        .requires(test)
        .refuted_by(loaded_long_ago(e))
        .supports(lies_far_away(e))
        // Whether the medium or the way of reading is slow takes a test on the path.
        .at_most_likely(0.75)
        .conclude(says, impact)
}

/// The server's own account: size and time, or the pace of its progress bar.
fn from_log(e: &Evidence<'_>) -> Option<Loading> {
    let log = &e.observed.log;
    let told = |event: &LogEvent, says: String, value: Quantity| Fact {
        says,
        value: Some(value),
        limit: None,
        signal: None,
        source: event.source(),
    };
    if let Some((event, took, size)) = size_and_time(e) {
        let rate = size.get() / took.get().max(1e-3);
        let slow = size.get() > e.limit(Limit::LargeWeights) && rate < e.limit(Limit::SlowStorage);
        let says = format!("{size} in {took}, {:.2} GB/s", rate / 1e9);
        let fact = told(event, says, Quantity::new(rate, Unit::BytesPerSecond));
        return Some(Loading { took: Some(took), fact, slow });
    }
    if let Some(line) = log.of_running(Meaning::LoadTimedOut).filter(|line| log.ready_after(line).is_none()) {
        let says = format!("the model was not read within the time allowed: {:?}", line.excerpt);
        let fact = Fact { says, value: None, limit: None, signal: None, source: line.source() };
        return Some(Loading { took: None, fact, slow: true });
    }
    let shard = log.first(Meaning::ShardsSlow)?;
    let each = seconds_a_file(&shard.excerpt)?;
    let says = format!("one file of the checkpoint takes {each}");
    let fact = told(shard, says, Quantity::from(each));
    Some(Loading { took: None, fact, slow: each.get() > e.limit(Limit::SlowShard) })
}

/// What was loaded and how long that took, from the lines each engine writes.
fn size_and_time<'a>(e: &Evidence<'a>) -> Option<(&'a LogEvent, Seconds, Bytes)> {
    const GIB: f64 = 1_073_741_824.0;
    let log = &e.observed.log;
    if let Some(event) = log.first(Meaning::WeightsLoaded) {
        let took = event.number_behind("took").or_else(|| event.number_behind("elapsed="))?;
        let gigabytes = event.number_behind("mem usage=").map(|gb| gb * 1e9);
        let checkpoint = log.first(Meaning::CheckpointStorage);
        let gibibytes = checkpoint.and_then(|c| c.number_behind("Checkpoint size:")).map(|gib| gib * GIB);
        if let Some(size) = gibibytes.or(gigabytes) {
            return Some((event, Seconds(took), Bytes(size)));
        }
    }
    let event = log.first(Meaning::ModelLoaded)?;
    let size = event.number_behind("took")? * GIB;
    Some((event, Seconds(event.number_behind(" and ")?), Bytes(size)))
}

/// `15.11s/it` at the end of a progress bar.
fn seconds_a_file(bar: &str) -> Option<Seconds> {
    let (before, _) = bar.rsplit_once("s/it")?;
    let number = before.rsplit([' ', ',']).next()?;
    number.parse().ok().filter(|s: &f64| s.is_finite()).map(Seconds)
}

/// A process that waits for storage page by page, seen by the kernel.
fn from_kernel(e: &Evidence<'_>) -> Option<Loading> {
    let host = e.observed.host.as_ref()?;
    let faults = |p: &ServingProcess| p.major_faults.map_or(0.0, |f| f.0.get());
    let process = host.processes.iter().max_by(|a, b| faults(a).total_cmp(&faults(b)))?;
    let rate = process.storage_reads?;
    let faults = faults(process);
    if faults < e.limit(Limit::StorageFaults) {
        return None;
    }
    let says = format!(
        "process {} waits for storage {faults:.0} times a second and gets {:.0} MB/s",
        process.pid,
        rate.0.get() / 1e6
    );
    let fact = kernel(says, Quantity::from(rate), &format!("proc/{}/stat", process.pid));
    Some(Loading { took: None, fact, slow: rate.0.get() < e.limit(Limit::SlowStorage) })
}

/// A server older than its first minutes has its weights.
fn loaded_long_ago(e: &Evidence<'_>) -> Test {
    let start = e.observed.series(Signal::ProcessStart, None, None).and_then(|s| s.last());
    let (Some(start), Some(first)) = (start, e.observed.times.first()) else {
        return Test::Unknown("when the process started is not known".into());
    };
    let age = Seconds((first.unix().get() - start).max(0.0));
    let took = size_and_time(e).map_or(0.0, |(_, took, _)| took.get());
    let says = format!("the process was {age} old when the window began, and its weights were loaded");
    let long_ago = age.get() > e.limit(Limit::ColdSeconds) + took;
    Test::when(long_ago, e.fact(Signal::ProcessStart, says, age.get()))
}

/// The file system is one of those that fetch over the network, by the server's log or the kernel's mounts.
fn lies_far_away(e: &Evidence<'_>) -> Test {
    const FAR: [&str; 11] =
        ["nfs", "lustre", "efs", "ceph", "cifs", "smb", "fuse", "gpfs", "beegfs", "wekafs", "9p"];
    let logged = e.observed.log.first(Meaning::CheckpointStorage).and_then(|event| {
        let (_, rest) = event.excerpt.split_once("checkpoints:")?;
        Some((rest.trim_start().split(['.', ' ']).next()?.to_lowercase(), event.source()))
    });
    let mounted =
        e.observed.host.as_ref().and_then(|host: &Host| host.model_storage.as_ref()).map(|storage| {
            let source = intriage_case::Source::Kernel { file: "mountinfo".into() };
            (storage.file_system.to_lowercase(), source)
        });
    let Some((kind, source)) = logged.or(mounted) else {
        return Test::Unknown("on which file system the weights lie is not known".into());
    };
    let far = FAR.iter().any(|f| kind.starts_with(f));
    let where_from = if far { "over the network" } else { "from this machine" };
    let says = format!("the weights come {where_from} ({kind})");
    Test::when(far, Fact { says, value: None, limit: None, signal: None, source })
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::*;
    use crate::diagnosis::Outcome;
    use crate::testing::Given;

    fn started(gib: f64, seconds: f64, kind: &str) -> Given {
        Given::vllm("0.28.0")
            .gauge(RequestsRunning, 2.0)
            .gauge(ProcessStart, 1_700_000_000.0 - seconds)
            .log(&format!(
                "INFO 11-15 06:28:46 [weight_utils.py:1108] Filesystem type for checkpoints: {kind}. Checkpoint size: {gib} GiB. Available RAM: 900.00 GiB.\nINFO 11-15 06:40:47 [default_loader.py:501] Loading weights took {seconds} seconds\n"
            ))
    }

    #[test]
    fn large_weights_over_nfs_at_a_fraction_of_a_disk_are_the_cause_of_a_long_start() {
        let j = started(140.0, 600.0, "NFS4").judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.facts_for.iter().any(|f| f.says.contains("over the network")), "{j:#?}");
        assert!(j.says.contains("140 GiB in 10.0 min") || j.says.contains("in 600"), "{}", j.says);
    }

    #[test]
    fn small_weights_a_fast_disk_and_an_old_process_rule_it_out() {
        assert_eq!(started(0.25, 1.45, "EXT4").judge(&CAUSE).outcome, Outcome::RuledOut);
        assert_eq!(started(140.0, 40.0, "EXT4").judge(&CAUSE).outcome, Outcome::RuledOut);
        let old = started(140.0, 600.0, "NFS4").gauge(ProcessStart, 1_699_000_000.0);
        assert_eq!(old.judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn sglang_tells_it_in_one_line() {
        let line = "[2026-09-01 10:00:00] Load weight end. elapsed=412.10, mem usage=88.00 GB.\n";
        let j = Given::engine(Engine::Sglang, "0.5.19").gauge(RequestsRunning, 1.0).log(line).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
    }

    #[test]
    fn a_progress_bar_is_enough_while_it_loads() {
        assert_eq!(seconds_a_file("4% Completed | 10/241 [02:31<58:11, 15.11s/it]"), Some(Seconds(15.11)));
        assert_eq!(seconds_a_file("0/1 [00:00<?, ?s/it]"), None);
    }

    #[test]
    fn without_a_log_nobody_can_tell() {
        let j = Given::vllm("0.28.0").gauge(RequestsRunning, 2.0).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("start-up log"), "{:?}", j.missing);
    }
}
