//! Whether two cases tell of the same server.

use crate::{Case, HostSnapshot};

/// How two cases stand to each other.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// The same server, or the one completes the other.
    Same,
    /// Different servers, with the reason as the end of a sentence.
    Apart(String),
}

pub(super) fn relation(a: &Case, b: &Case) -> Relation {
    if is_another_machine(a, b) {
        return Relation::Apart("it was collected on another machine".into());
    }
    let (Some(first), Some(second)) = (scraped(a), scraped(b)) else { return Relation::Same };
    if a.target != b.target {
        return Relation::Apart(format!("it is about {}, not {}", b.target.name, a.target.name));
    }
    // Two machines can both be called 127.0.0.1.
    let overlap = first.0 <= second.1 && second.0 <= first.1;
    let starts = (started(a), started(b));
    if overlap && (starts.0.is_none() || starts.0 != starts.1) {
        return Relation::Apart("it was scraped at the same time, and not from the same process".into());
    }
    Relation::Same
}

/// First and last time in a case, in Unix milliseconds.
pub(super) fn span(case: &Case) -> Option<(u64, u64)> {
    let times = case.scrapes.iter().map(|s| s.at.0);
    let times = times.chain(case.host.iter().map(|s| s.at.0)).chain(case.client.iter().map(|c| c.sent.0));
    times.fold(None, |span, t| Some(span.map_or((t, t), |(a, b): (u64, u64)| (a.min(t), b.max(t)))))
}

fn scraped(case: &Case) -> Option<(u64, u64)> {
    Some((case.scrapes.first()?.at.0, case.scrapes.last()?.at.0))
}

/// When the server's process started, in Unix seconds, as Prometheus' client libraries tell.
fn started(case: &Case) -> Option<u64> {
    let page = case.scrapes.iter().find_map(|s| s.body())?;
    let text = String::from_utf8_lossy(page);
    let value = text.lines().find_map(|line| line.strip_prefix("process_start_time_seconds "))?;
    let seconds: f64 = value.split_whitespace().next()?.parse().ok()?;
    Some(seconds.round() as u64)
}

/// Only where both cases show their machine, and it is not the same.
fn is_another_machine(a: &Case, b: &Case) -> bool {
    let cards = |case: &Case| -> Vec<String> {
        let cards = case.gpu.survey.iter().flat_map(|s| &s.cards);
        cards.filter_map(|card| card.uuid.clone()).collect()
    };
    let (ours, theirs) = (cards(a), cards(b));
    if !ours.is_empty() && !theirs.is_empty() && !ours.iter().any(|card| theirs.contains(card)) {
        return true;
    }
    let (Some(ours), Some(theirs)) = (machine(a), machine(b)) else { return false };
    // The kernel computes its start from the clock, which is set now and then. A machine that was started again is
    // taken for another one: what was measured before does not hold for it.
    ours.memory != theirs.memory || ours.booted.abs_diff(theirs.booted) > 2
}

struct Machine {
    /// Unix seconds.
    booted: u64,
    /// The line as the kernel writes it.
    memory: String,
}

fn machine(case: &Case) -> Option<Machine> {
    let first = case.host.first()?;
    let line = |file: &str, key: &str| -> Option<String> {
        let line = HostSnapshot::text(first, file)?.lines().find_map(|line| line.strip_prefix(key))?;
        Some(line.trim().to_owned())
    };
    Some(Machine {
        booted: line("proc/stat", "btime ")?.parse().ok()?,
        memory: line("proc/meminfo", "MemTotal:")?,
    })
}
