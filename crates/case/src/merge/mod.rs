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

mod places;
mod union;

use crate::{Case, MAX_REPLICAS, Replica, replica_name};

use places::{Relation, relation};

/// A case made of others.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged {
    /// All of them.
    pub case: Case,
    /// What could not be put together, one sentence each.
    pub unmerged: Vec<String>,
}

/// Merges cases, each with the name it was given by; the first one with metrics is the one that will be judged.
pub fn merge(parts: Vec<(String, Case)>) -> Merged {
    let mut unmerged = Vec::new();
    let mut groups: Vec<(String, Case)> = Vec::new();
    let mut parts: Vec<(String, Case)> =
        parts.into_iter().flat_map(|(name, case)| flat(name, case)).collect();
    // In order of time, so that the later one is the later one; what has no time comes last.
    parts.sort_by_key(|(_, case)| places::span(case).map_or(u64::MAX, |(start, _)| start));
    for (name, case) in parts {
        let apart: Vec<Relation> = groups.iter().map(|(_, known)| relation(known, &case)).collect();
        if let Some(at) = apart.iter().position(|r| matches!(r, Relation::Same)) {
            union::add(&mut groups[at], &name, case, &mut unmerged);
            continue;
        }
        if let Some(Relation::Apart(why)) = apart.into_iter().next() {
            unmerged.push(format!("{name} is kept apart: {why}"));
        }
        groups.push((name, case));
    }
    let first = groups.iter().position(|(_, case)| !case.scrapes.is_empty()).unwrap_or(0);
    let mut case = if groups.is_empty() { Case::default() } else { groups.remove(first).1 };
    for (name, other) in groups {
        let name = free_name(&case, &replica_name(&name));
        if case.replicas.len() < MAX_REPLICAS {
            case.replicas.push(Replica { name, case: other });
        } else {
            unmerged.push(format!("{name} was left out: a case holds {MAX_REPLICAS} replicas"));
        }
    }
    case.redacted = case.redacted && case.replicas.iter().all(|r| r.case.redacted);
    for replica in &mut case.replicas {
        replica.case.redacted = case.redacted;
    }
    Merged { case, unmerged }
}

/// A merged case's replicas are cases of their own again.
fn flat(name: String, mut case: Case) -> Vec<(String, Case)> {
    let replicas = std::mem::take(&mut case.replicas);
    let redacted = case.redacted;
    let others = replicas.into_iter().map(|r| (r.name, Case { redacted, ..r.case }));
    std::iter::once((name, case)).chain(others).collect()
}

fn free_name(case: &Case, wanted: &str) -> String {
    let taken = |name: &str| case.replicas.iter().any(|r| r.name == name);
    let numbered = (2..).map(|n| format!("{wanted}-{n}"));
    std::iter::once(wanted.to_owned()).chain(numbered).find(|name| !taken(name)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
