//! Probing the ways to a server beside the watch: what `--via` adds.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use intriage_case::{Budget, Bytes, Case, Collected, Gathered, PathProbe};
use intriage_observe::{Access, Address, PathPlan, probe_all};

use super::budgets;
use crate::failure::Failure;

/// Hops as the command line names them.
pub(super) fn hops(via: &[String]) -> Result<Vec<Address>, Failure> {
    via.iter().map(|url| url.parse().map_err(|e| Failure::Usage(format!("--via: {e}")))).collect()
}

/// Probes under way.
pub(super) struct Probing(Receiver<Vec<PathProbe>>);

impl Probing {
    /// Starts the probes on a thread of their own, so that the watch sees the server under them; none without a hop.
    pub(super) fn start(
        direct: &Address,
        hops: Vec<Address>,
        access: &Access,
        plan: PathPlan,
    ) -> Option<Self> {
        if hops.is_empty() {
            return None;
        }
        let through = hops.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        anstream::eprintln!(
            "probing {direct} straight and through {through}: {} short requests each",
            plan.rounds + plan.held
        );
        let (direct, access) = (direct.clone(), access.clone());
        let (send, probes) = mpsc::channel();
        thread::spawn(move || {
            // Whoever asked may have given up.
            let _ = send.send(probe_all(&direct, &hops, &access, &plan));
        });
        Some(Self(probes))
    }

    /// Waits for the last answer.
    pub(super) fn finish(self, case: &mut Case) -> Result<(), Failure> {
        let probes = self.0.try_recv().or_else(|_| {
            anstream::eprintln!("waiting for the probes; Ctrl-C leaves the rest out");
            self.0.recv().map_err(|_| Failure::Internal("the probes ended early".into()))
        })?;
        put(case, probes);
        Ok(())
    }

    /// Waits until the budget is used up, and says in the inventory how it went.
    pub(super) fn finish_within(self, budget: Budget, began: Instant, case: &mut Case) {
        let time = Duration::try_from_secs_f64(budget.time.get()).unwrap_or(Duration::MAX);
        let probes = self.0.recv_timeout(time.saturating_sub(began.elapsed()));
        let skipped = |why: String| Gathered::Skipped { why };
        let (outcome, size) = match probes {
            Ok(probes) => {
                let size = serde_json::to_vec(&probes).map_or(0, |json| json.len());
                let missing: Vec<String> = probes.iter().filter_map(missing).collect();
                put(case, probes);
                let whole = missing.is_empty();
                (if whole { Gathered::Whole } else { Gathered::Partly { why: missing.join("; ") } }, size)
            }
            Err(RecvTimeoutError::Timeout) => (skipped(format!("cut at its budget of {}", budget.time)), 0),
            Err(RecvTimeoutError::Disconnected) => (skipped("the probes ended early".into()), 0),
        };
        case.collected.push(Collected {
            what: "path".into(),
            outcome,
            took: budgets::since(began),
            size: Bytes(size as f64),
            budget: Some(budget),
        });
    }
}

/// What a probe did not get to see, and why.
fn missing(probe: &PathProbe) -> Option<String> {
    let plan = PathPlan::default();
    let failed = probe.streams.iter().rev().find_map(|s| s.error.clone()).or_else(|| probe.error.clone());
    if let Some(why) = failed {
        return Some(format!("{}: {why}", probe.url));
    }
    let rounds = probe.streams.len();
    let whole = rounds >= plan.rounds as usize && !probe.held.is_empty();
    (!whole).then(|| format!("{}: {rounds} of {} rounds before its time was over", probe.url, plan.rounds))
}

fn put(case: &mut Case, probes: Vec<PathProbe>) {
    let own: usize = probes.iter().map(|p| p.streams.len() + p.held.len()).sum();
    case.paths = probes;
    case.notes.push(format!("{own} requests of the window were probes of the ways to the server (--via)"));
}
