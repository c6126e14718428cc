//! Probing the ways to a server beside the watch: what `check --via` adds.

use std::thread::{self, JoinHandle};

use intriage_case::PathProbe;
use intriage_observe::{Access, Address, PathPlan, probe_all};

use crate::cli::CheckArgs;
use crate::failure::Failure;

/// Hops as the command line names them.
pub(super) fn hops(args: &CheckArgs) -> Result<Vec<Address>, Failure> {
    args.via.iter().map(|url| url.parse().map_err(|e| Failure::Usage(format!("--via: {e}")))).collect()
}

/// Probes under way.
pub(super) struct Probing(JoinHandle<Vec<PathProbe>>);

impl Probing {
    /// Starts the probes on a thread of their own, so that the watch sees the server under them; none without a hop.
    pub(super) fn start(
        direct: &Address,
        hops: Vec<Address>,
        access: &Access,
        model: Option<&String>,
    ) -> Option<Self> {
        if hops.is_empty() {
            return None;
        }
        let plan = PathPlan { model: model.cloned(), ..PathPlan::default() };
        let through = hops.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        anstream::eprintln!(
            "probing {direct} straight and through {through}: {} short requests each",
            plan.rounds + plan.held
        );
        let (direct, access) = (direct.clone(), access.clone());
        Some(Self(thread::spawn(move || probe_all(&direct, &hops, &access, &plan))))
    }

    /// Waits for the last answer.
    pub(super) fn finish(self) -> Result<Vec<PathProbe>, Failure> {
        if !self.0.is_finished() {
            anstream::eprintln!("waiting for the probes; Ctrl-C leaves the rest out");
        }
        self.0.join().map_err(|_| Failure::Internal("the probes ended early".into()))
    }
}
