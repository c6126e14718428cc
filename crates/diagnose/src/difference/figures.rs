//! What was measured, compared as numbers: two windows are never the same to the digit.

use intriage_case::{Case, PerSecond, Quantity, Requests, Seconds, Signal, Tokens};
use intriage_engines::Observed;

use super::Row;
use super::areas::{Area, Weight};
use crate::evidence::Evidence;
use crate::objectives::judge_objectives;
use crate::thresholds::{Limit, Thresholds};

/// Means compared, with their names.
const MEANS: &[(Signal, &str)] = &[
    (Signal::LatencyTtft, "mean time to first token"),
    (Signal::LatencyItl, "mean gap between tokens"),
    (Signal::LatencyE2e, "mean request time"),
    (Signal::LatencyQueue, "mean queue time"),
    (Signal::LatencyPrefill, "mean prefill time"),
];

/// Adds figures that differ by more than chance, counts those that do not, and says what was not measured twice.
pub(super) fn compare(
    (observed_a, a): (&Observed, &Case),
    (observed_b, b): (&Observed, &Case),
    thresholds: &Thresholds,
    differs: &mut Vec<Row>,
    unseen: &mut Vec<String>,
) -> u32 {
    let first = Evidence::new(observed_a, &a.intent, thresholds);
    let second = Evidence::new(observed_b, &b.intent, thresholds);
    let (ours, theirs) = (measured(&first), measured(&second));
    let mut same = 0;
    for (what, a) in &ours {
        let Some((_, b)) = theirs.iter().find(|(name, _)| name == what) else { continue };
        let apart = (a.value - b.value).abs();
        if apart <= thresholds.get(Limit::FigureDiffers) * a.value.abs().min(b.value.abs()) {
            same += 1;
        } else {
            let (a, b) = (Some(a.to_string()), Some(b.to_string()));
            differs.push(Row {
                area: Area::Figures,
                what: what.clone(),
                a,
                b,
                weight: Weight::Medium,
                unit: None,
            });
        }
    }
    if ours.is_empty() != theirs.is_empty() {
        let which = if ours.is_empty() { "second" } else { "first" };
        unseen.push(format!("figures: only the {which} case has finished requests"));
    }
    same + objectives(&first, &second, differs)
}

fn measured(e: &Evidence<'_>) -> Vec<(String, Quantity)> {
    let means = MEANS
        .iter()
        .filter_map(|(signal, what)| Some(((*what).to_owned(), Quantity::from(Seconds(e.mean(*signal)?)))));
    let time = e.elapsed().get();
    let rate = |n: f64| (time > 0.0).then_some(n / time);
    let finished = e.finished().and_then(|n| rate(n.get())).map(|r| Quantity::from(PerSecond(Requests(r))));
    let tokens =
        e.delta(Signal::TokensGenerated).and_then(rate).map(|r| Quantity::from(PerSecond(Tokens(r))));
    let rates = finished.map(|q| ("finished requests".to_owned(), q)).into_iter();
    means.chain(rates).chain(tokens.map(|q| ("generated tokens".to_owned(), q))).collect()
}

/// An objective that one case meets and the other misses.
fn objectives(a: &Evidence<'_>, b: &Evidence<'_>, differs: &mut Vec<Row>) -> u32 {
    let (ours, theirs) = (judge_objectives(a), judge_objectives(b));
    let mut same = 0;
    for one in &ours {
        let Some(other) = theirs.iter().find(|o| o.objective == one.objective) else { continue };
        if one.met == other.met {
            same += 1;
            continue;
        }
        let word = |met| match met {
            Some(true) => "met",
            Some(false) => "missed",
            None => "cannot tell",
        };
        differs.push(Row {
            area: Area::Figures,
            what: format!("objective {}", one.objective),
            a: Some(format!("{} ({})", word(one.met), one.measured)),
            b: Some(format!("{} ({})", word(other.met), other.measured)),
            weight: Weight::High,
            unit: None,
        });
    }
    same
}
