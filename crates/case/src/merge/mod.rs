//! One case out of several: one a host, or one a time, of the same deployment.
//!
//! | evidence | rule |
//! |---|---|
//! | another server: other target, other machine, or scraped at the same time by nothing that shows it is the same process | kept apart, as a replica |
//! | metrics, pages of GPU exporters, host, client's requests | all, in order of time |
//! | logs | all; a log that continues another of its name replaces it |
//! | ways to the server, inventory, notes | all |
//! | endpoints, command line, manifests, model files, GPU texts | where they differ the later one, and it is said |
//! | GPU survey | the one with more samples, and it is said |
//! | intent | the first one that has objectives, and it is said where another differs |
//!
//! What counts as another server is the table of `places.rs`.

mod groups;
mod places;
mod union;

use crate::{Case, MAX_REPLICAS, Replica, replica_name};

use groups::{Group, Part, grouped};

/// A case made of others.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged {
    /// All of them.
    pub case: Case,
    /// What became of each case given, in the order they were given.
    pub fates: Vec<Fate>,
    /// What could not be put together, one sentence each.
    pub unmerged: Vec<String>,
}

/// What became of one of the cases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It is the one that will be judged.
    First,
    /// It is part of the server that another case given is about; the number counts the cases from 0.
    JoinedTo(usize),
    /// It is kept apart under this name.
    Replica(String),
    /// There was no room for it.
    LeftOut,
}

/// Merges cases, each with the name it has as a replica; the first one with metrics is the one that will be judged.
pub fn merge(parts: Vec<(String, Case)>) -> Merged {
    let mut fates = vec![Fate::LeftOut; parts.len()];
    let mut unmerged = Vec::new();
    let mut groups = grouped(flat(parts));
    let first = groups.iter().position(Group::is_scraped).unwrap_or(0);
    let mut case = Case::default();
    if first < groups.len() {
        let judged = groups.remove(first);
        judged.tell(&mut fates, &Fate::First);
        case = judged.united(&mut unmerged);
    }
    for group in groups {
        let name = free_name(&case, &replica_name(group.name()));
        if case.replicas.len() < MAX_REPLICAS {
            let why =
                group.why_apart().unwrap_or("it has no metrics, and the one that has them is another server");
            unmerged.push(format!("{name} is kept apart: {why}"));
            group.tell(&mut fates, &Fate::Replica(name.clone()));
            let other = group.united(&mut unmerged);
            case.replicas.push(Replica { name, case: other });
        } else {
            unmerged.push(format!("{name} was left out: a case holds {MAX_REPLICAS} replicas"));
        }
    }
    case.redacted = case.redacted && case.replicas.iter().all(|r| r.case.redacted);
    for replica in &mut case.replicas {
        replica.case.redacted = case.redacted;
    }
    Merged { case, fates, unmerged }
}

/// A merged case's replicas are cases of their own again.
fn flat(parts: Vec<(String, Case)>) -> Vec<Part> {
    let mut flat = Vec::new();
    for (given, (name, mut case)) in parts.into_iter().enumerate() {
        let (replicas, redacted) = (std::mem::take(&mut case.replicas), case.redacted);
        let label = format!("case {}", given + 1);
        let others = replicas.into_iter().map(|r| Part {
            label: format!("{} of {label}", r.name),
            name: r.name,
            given: None,
            case: Case { redacted, ..r.case },
        });
        let others: Vec<Part> = others.collect();
        flat.push(Part { name, label, given: Some(given), case });
        flat.extend(others);
    }
    flat
}

fn free_name(case: &Case, wanted: &str) -> String {
    let taken = |name: &str| case.replicas.iter().any(|r| r.name == name);
    let numbered = (2..).map(|n| format!("{wanted}-{n}"));
    std::iter::once(wanted.to_owned()).chain(numbered).find(|name| !taken(name)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
