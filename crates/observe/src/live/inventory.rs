//! What the inventory says of a server: its metrics, and its other endpoints.

use std::time::Duration;

use intriage_case::{Budget, Bytes, Case, Collected, Gathered, Seconds};

use super::endpoints::Asked;
use super::{LiveError, scraped_bytes};

/// What became of the metrics and of the other endpoints.
pub(super) fn of_both(case: &mut Case, asked: &Asked, budget: Budget, in_time: bool, took: Duration) {
    let cut = (!in_time).then(|| cut_at(budget));
    let (failed, all) = (case.scrapes.iter().filter(|s| s.body().is_none()).count(), case.scrapes.len());
    let size = Bytes(scraped_bytes(case) as f64);
    let failed = (failed > 0).then(|| format!("{failed} of {all} scrapes failed"));
    let full = (size >= budget.size).then(|| format!("scraping ended at its budget of {}", budget.size));
    let why: Vec<String> = failed.into_iter().chain(full).chain(cut).collect();
    case.collected.push(Collected {
        what: "metrics".into(),
        outcome: outcome(&why),
        took: Seconds(took.as_secs_f64()),
        size,
        budget: Some(budget),
    });
    case.collected.push(of_endpoints(asked, budget, in_time, took));
}

/// A server that answers and has no metrics for us.
pub(super) fn without_metrics(
    case: &mut Case,
    why: &LiveError,
    asked: &Asked,
    budget: Budget,
    in_time: bool,
    took: Duration,
) {
    case.collected.push(Collected {
        what: "metrics".into(),
        outcome: Gathered::Skipped { why: why.to_string() },
        took: Seconds(took.as_secs_f64()),
        size: Bytes(0.0),
        budget: Some(budget),
    });
    case.collected.push(of_endpoints(asked, budget, in_time, took));
}

fn of_endpoints(asked: &Asked, budget: Budget, in_time: bool, took: Duration) -> Collected {
    let cut = (!in_time && !asked.done).then(|| cut_at(budget));
    let why: Vec<String> = asked.silent.iter().cloned().chain(cut).collect();
    let outcome = if asked.answered.is_empty() {
        let why = if why.is_empty() { "no other endpoint answered".into() } else { why.join("; ") };
        Gathered::Skipped { why }
    } else {
        outcome(&why)
    };
    let size = Bytes(asked.answered.iter().map(|(_, body)| body.len()).sum::<usize>() as f64);
    let took = Seconds(asked.took.unwrap_or(took).as_secs_f64());
    Collected { what: "endpoints".into(), outcome, took, size, budget: Some(budget) }
}

fn outcome(why: &[String]) -> Gathered {
    if why.is_empty() { Gathered::Whole } else { Gathered::Partly { why: why.join("; ") } }
}

fn cut_at(budget: Budget) -> String {
    format!("cut at its budget of {}", budget.time)
}
