//! The catalogue: one file a cause, one line here.
//!
//! A cause's file holds everything about it: what it is, how it is told from its look-alikes, which
//! probe settles it, what to change per engine, and `judge`, which weighs the evidence. The runbook
//! (`intriage explain`) is generated from the same file.

mod api;
mod behaviour;
mod client;
mod decode;
mod gpus;
mod hardware;
mod host;
mod measurement;
mod memory;
mod network;
mod prefill;
mod queueing;
mod release;
mod routing;
mod shared;
mod startup;

pub(crate) use decode::worthwhile_batch;
pub(crate) use hardware::{busy_clocks, machine_notes};
pub(crate) use host::stopped_by_quota;
pub(crate) use network::silent_hops;
pub(crate) use prefill::{cut_into_steps, prefix_caching_is_off};
pub(crate) use queueing::{lines_show, through_lines};
pub(crate) use release::unfelt;

use intriage_engines::{Engine, VersionRange};

use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::weighing::Judgement;

/// The symptom class a cause belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Wrong or unexpected output.
    Behaviour,
    /// Requests wait before they run.
    Queueing,
    /// The first token is late without a queue.
    Prefill,
    /// Tokens are slow, or throughput is low.
    Decode,
    /// Memory pressure.
    Memory,
    /// The server does not come up, or was ended from outside.
    Startup,
    /// Errors and rejections.
    Api,
    /// Which replica gets a request.
    Routing,
    /// The card itself.
    Hardware,
    /// The machine around it.
    Host,
    /// The way between client and server.
    Network,
    /// Who asks, how much, and how it is measured.
    Client,
    /// What was rolled out.
    Release,
    /// Whether the figures can be trusted at all.
    Measurement,
}

impl Class {
    /// The class in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Behaviour => "behaviour",
            Self::Queueing => "queueing",
            Self::Prefill => "prefill",
            Self::Decode => "decode",
            Self::Memory => "memory",
            Self::Startup => "startup",
            Self::Api => "api",
            Self::Routing => "routing",
            Self::Release => "release",
            Self::Hardware => "hardware",
            Self::Host => "host",
            Self::Network => "network",
            Self::Client => "client",
            Self::Measurement => "measurement",
        }
    }
}

/// The layer a cause lives in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// The accelerator.
    Gpu,
    /// The host's processors.
    Cpu,
    /// GPU or host memory.
    Memory,
    /// Links between GPUs or hosts.
    Network,
    /// How the engine was started.
    Configuration,
    /// The traffic and the programs around the engine.
    Application,
}

impl Layer {
    /// The layer in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gpu => "gpu",
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Network => "network",
            Self::Configuration => "configuration",
            Self::Application => "application",
        }
    }
}

/// One entry of the catalogue.
#[derive(Debug)]
pub struct Cause {
    /// Stable id, never reused.
    pub id: &'static str,
    /// Symptom class.
    pub class: Class,
    /// Where it lives.
    pub layer: Layer,
    /// What it can make hurt: it explains these aspects and never decides whether they do.
    pub hurts: &'static [Aspect],
    /// What it is, in one sentence.
    pub summary: &'static str,
    /// What people notice.
    pub symptoms: &'static [&'static str],
    /// What confirms it.
    pub confirmed_by: &'static [&'static str],
    /// What rules it out.
    pub refuted_by: &'static [&'static str],
    /// What is easily mistaken for it.
    pub look_alikes: &'static [LookAlike],
    /// The test that settles it.
    pub probe: Probe,
    /// What to change.
    pub remedies: &'static [Remedy],
    /// What the change should do.
    pub effect: &'static str,
    /// How to see that it worked.
    pub confirm: &'static str,
    /// Causes that are only effects where this one holds too.
    pub explains: &'static [&'static str],
    /// Weighs the evidence.
    pub judge: fn(&Evidence<'_>) -> Judgement,
}

/// A cause easily mistaken for another, and how to tell.
#[derive(Debug)]
pub struct LookAlike {
    /// Its id; it may belong to a class this version does not judge yet.
    pub cause: &'static str,
    /// How to tell the two apart.
    pub tell: &'static str,
}

/// An active test that settles a question.
#[derive(Debug)]
pub struct Probe {
    /// Its name.
    pub name: &'static str,
    /// What to do.
    pub steps: &'static str,
    /// What is seen if the cause holds.
    pub if_so: &'static str,
    /// What is seen if it does not.
    pub if_not: &'static str,
}

/// A change for one engine, or for any.
#[derive(Debug)]
pub struct Remedy {
    /// The engine; `None` for any.
    pub engine: Option<Engine>,
    /// The releases that have these flags.
    pub range: VersionRange,
    /// What the model must run on for it to make sense, such as `cpu`; empty for anything.
    pub device: &'static str,
    /// The change with exact flags.
    pub change: &'static str,
    /// What it costs or risks.
    pub cost: &'static str,
}

impl Remedy {
    /// For one engine, every release.
    pub const fn of(engine: Engine, change: &'static str, cost: &'static str) -> Self {
        Self { engine: Some(engine), range: VersionRange::ALL, device: "", change, cost }
    }

    /// For any engine: something outside it.
    pub const fn any(change: &'static str, cost: &'static str) -> Self {
        Self { engine: None, range: VersionRange::ALL, device: "", change, cost }
    }

    /// Only where the model runs on this.
    #[must_use]
    pub const fn on(mut self, device: &'static str) -> Self {
        self.device = device;
        self
    }

    /// From a release on.
    #[must_use]
    pub const fn since(mut self, since: &'static str) -> Self {
        self.range.since = since;
        self
    }

    /// Up to and including a release.
    #[must_use]
    pub const fn until(mut self, until: &'static str) -> Self {
        self.range.until = until;
        self
    }
}

/// Every cause, in the order of the catalogue: class by class, each class lists its own.
pub fn catalogue() -> impl Iterator<Item = &'static Cause> {
    [
        behaviour::CAUSES,
        queueing::CAUSES,
        prefill::CAUSES,
        decode::CAUSES,
        memory::CAUSES,
        startup::CAUSES,
        api::CAUSES,
        routing::CAUSES,
        hardware::CAUSES,
        host::CAUSES,
        network::CAUSES,
        client::CAUSES,
        release::CAUSES,
        measurement::CAUSES,
    ]
    .into_iter()
    .flatten()
    .copied()
}

/// The cause with this id.
pub fn find(id: &str) -> Option<&'static Cause> {
    catalogue().find(|c| c.id == id)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_are_unique_and_well_formed() {
        let ids: BTreeSet<&str> = catalogue().map(|c| c.id).collect();
        assert_eq!(ids.len(), catalogue().count());
        for id in ids {
            assert!(id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{id}");
        }
    }

    #[test]
    fn every_cause_is_complete() {
        for cause in catalogue() {
            assert!(!cause.symptoms.is_empty(), "{}: symptoms", cause.id);
            assert!(!cause.confirmed_by.is_empty(), "{}: confirmed_by", cause.id);
            assert!(
                !cause.refuted_by.is_empty(),
                "{}: a cause nothing could refute is not a cause",
                cause.id
            );
            assert!(!cause.remedies.is_empty(), "{}: remedies", cause.id);
            for text in [
                cause.summary,
                cause.effect,
                cause.confirm,
                cause.probe.steps,
                cause.probe.if_so,
                cause.probe.if_not,
            ] {
                assert!(text.ends_with('.') && !text.contains("  "), "{}: {text:?}", cause.id);
            }
            for remedy in cause.remedies {
                assert!(!remedy.change.is_empty() && !remedy.cost.is_empty(), "{}", cause.id);
            }
            for other in cause.explains {
                assert!(find(other).is_some(), "{} explains unknown {other}", cause.id);
            }
        }
    }

    #[test]
    fn no_cause_recommends_what_the_founding_documents_got_wrong() {
        for cause in catalogue() {
            let changes: Vec<&str> = cause.remedies.iter().map(|r| r.change).collect();
            let text = format!("{changes:?} {}", cause.summary);
            for stale in
                ["--tokenizer-pool-size", "--swap-space", "restart weekly", "fragmentation of the KV"]
            {
                assert!(!text.contains(stale), "{} mentions {stale}", cause.id);
            }
        }
    }
}
