//! The flag that brings the answers a percentile lacks.

use super::percentiles::AskedPercentile;
use crate::event::Outcome;
use crate::header::{Arrival, Declared};
use crate::tally::GroupTally;

/// Standard deviations of a Poisson count that the advised run has to spare.
const SPARE: f64 = 2.0;
/// Steps to which an advised duration is rounded up, each in seconds up to a duration in seconds.
const STEPS: [(f64, f64); 3] = [(60.0, 5.0), (600.0, 30.0), (f64::INFINITY, 60.0)];

/// What to write instead; `None` where no answer came, so that no rate is known.
pub(super) fn advice(
    declared: &Declared,
    all: Option<&GroupTally>,
    asked: &AskedPercentile,
) -> Option<String> {
    if let Arrival::Open { shape, .. } = &declared.arrival {
        match shape.as_str() {
            "trace" => return Some("replay a longer trace".to_owned()),
            "steps" => return Some("make the steps longer".to_owned()),
            _ => {}
        }
    }
    let all = all.filter(|_| asked.answers > 0)?;
    let (needs, answers) = (asked.needs as f64, asked.answers as f64);
    let planned: u64 = all.outcomes.values().sum();
    let never_sent = all.outcomes.get(&Outcome::NeverSent).copied().unwrap_or(0);
    let shards = declared.shard.map_or(1, |(_, of)| u64::from(of.max(1)));
    let ended_by_prompts = declared.num_prompts.filter(|n| never_sent == 0 && planned >= (n / shards).max(1));
    if let Some(prompts) = ended_by_prompts {
        return Some(format!("--num-prompts {}", two_figures(prompts as f64 * needs / answers)));
    }
    if declared.without_starts {
        return None;
    }
    let took = all.last_ended?.since(all.first_sent?).seconds().0;
    let wanted = took * (needs + SPARE * needs.sqrt()) / answers;
    let step = STEPS.iter().find(|(up_to, _)| wanted <= *up_to).map_or(60.0, |(_, step)| *step);
    let seconds = (wanted / step).ceil() * step;
    (wanted > 0.0).then(|| format!("--duration {seconds}s"))
}

/// Rounded up to two figures.
fn two_figures(number: f64) -> u64 {
    let unit = 10f64.powf((number.max(10.0).log10() + 1e-9).floor() - 1.0);
    ((number / unit - 1e-6).ceil() * unit) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_up_to_two_figures() {
        for (exact, rounded) in [(1000.0, 1000), (1001.0, 1100), (1214.0, 1300), (20.0, 20), (99.5, 100)] {
            assert_eq!(two_figures(exact), rounded, "{exact}");
        }
    }
}
