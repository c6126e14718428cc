//! More threads than a quota has CPUs for.

use intriage_case::{Fact, Ratio};
use intriage_engines::Setting;
use intriage_engines::host::Limit as Quota;

use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::weighing::{Judgement, Test, Weighing};

/// Who sets how many threads compute.
pub(super) const FEWER_THREADS: &str =
    "--threads (llama.cpp), num_thread (Ollama), OMP_NUM_THREADS no higher than the quota";

/// More threads that compute in step than CPUs. They wait for each other at every layer, so one that is stopped stops all.
pub(super) struct Crowd {
    threads: f64,
    cpus: Ratio,
}

impl Crowd {
    /// From the engine's own number of threads and the tightest quota of its processes.
    pub(super) fn of(e: &Evidence<'_>) -> Option<Self> {
        let threads = e.setting(Setting::Threads)?;
        let groups =
            e.observed.host.iter().flat_map(|host| &host.processes).filter_map(|p| p.cgroup.as_ref());
        let limits = groups.filter_map(|group| match group.cpu_limit()? {
            Quota::At(cpus) => Some(cpus),
            Quota::Unlimited => None,
        });
        let cpus = limits.min_by(|a, b| a.get().total_cmp(&b.get()))?;
        (threads > cpus.get()).then_some(Self { threads, cpus })
    }

    /// Where nothing tells how often the quota stopped them.
    pub(super) fn judge(&self, e: &Evidence<'_>, why: &str) -> Judgement {
        // Time each thread does not get where all want to run.
        let share = Ratio(1.0 - self.cpus.get() / self.threads);
        let impact = Impact {
            on: ImpactOn::E2e,
            share,
            time: None,
            says: format!("each thread is stopped up to {share} of the time, and the others wait for it"),
        };
        let says = format!(
            "{:.0} threads compute in step under a quota of {:.2} CPUs",
            self.threads,
            self.cpus.get()
        );
        Weighing::new()
            .requires(Test::Holds(self.fact(e)))
            .supports(Test::Unknown(why.to_owned()))
            // Where a GPU computes, threads mostly rest and share a small quota in peace.
            .at_most_likely(0.5)
            .advise(self.change(), "none")
            .conclude(says, impact)
    }

    /// As a fact.
    pub(super) fn fact(&self, e: &Evidence<'_>) -> Fact {
        let says =
            format!("{:.0} threads compute, and the quota is {:.2} CPUs", self.threads, self.cpus.get());
        e.setting_fact(Setting::Threads, says)
    }

    /// One thread more than the quota can run is enough to get the whole group stopped.
    pub(super) fn change(&self) -> String {
        format!("{:.0} threads: {FEWER_THREADS}", self.cpus.get().floor().max(1.0))
    }
}
