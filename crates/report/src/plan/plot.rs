//! Bars and a small plot in block characters: readable without colour, at any width.

use std::fmt::Write as _;

use intriage_case::{Quantity, Ratio, Seconds, Unit};
use intriage_plan::{Capacity, RatePoint};

use crate::style::{BAR, HEAD, QUIET, styled};
use crate::wrap::hang_within;

const BLOCKS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Lines of one panel.
const ROWS: usize = 4;
/// Columns left of a panel.
const LABELS: usize = 18;

/// A horizontal bar of at most `width` columns.
pub(super) fn bar(share: Ratio, width: usize) -> String {
    let eighths = (share.get().clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    "█".repeat(eighths / 8) + BLOCKS[eighths % 8]
}

/// Throughput and time to first token over the rate, with the knee and the objectives marked.
pub(super) fn plot(capacity: &Capacity, width: usize) -> String {
    let columns = (width - LABELS - 2).min(64);
    let highest = capacity.sweep.iter().map(|point| point.rate.0.get()).fold(0.0, f64::max);
    if capacity.sweep.len() < 2 || highest <= 0.0 {
        return String::new();
    }
    let at = |column: usize| (column as f64 + 0.5) / columns as f64 * highest;
    let column_of = |rate: f64| ((rate / highest * columns as f64) as usize).min(columns - 1);
    let output = |point: &RatePoint| point.output.0.get();
    // Waiting explodes: only its logarithm shows both ends.
    let ttft = |point: &RatePoint| point.ttft_p95.get().max(1e-6).ln();
    let mut out = String::new();
    let outputs: Vec<f64> = (0..columns).map(|c| between(&capacity.sweep, at(c), output)).collect();
    let most = outputs.iter().copied().fold(0.0, f64::max);
    let label = Quantity::new(most.round(), Unit::TokensPerSecond).to_string();
    panel(&mut out, &["output", &label], &outputs, (0.0, most));
    let waits: Vec<f64> = (0..columns).map(|c| between(&capacity.sweep, at(c), ttft)).collect();
    let (low, high) = waits.iter().fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(*v), h.max(*v)));
    let (longest, shortest) = (Seconds(high.exp()).to_string(), Seconds(low.exp()).to_string());
    // A flat line is drawn at the bottom and not as a cliff of rounding.
    let high = high.max(low + 0.5);
    let from = format!("from {shortest}");
    panel(&mut out, &["TTFT p95 (log)", &format!("to {longest}"), "", &from], &waits, (low - 0.15, high));

    let mut axis: Vec<char> = vec!['─'; columns];
    let mut legend = Vec::new();
    if let Some(knee) = capacity.knee {
        axis[column_of(knee.0.get())] = 'K';
        legend.push(format!("K knee {}", Quantity::from(knee)));
    }
    if let Some(best) = &capacity.at_objectives {
        let place = column_of(best.rate.0.get());
        let shared = axis[place] == 'K';
        axis[place] = if shared { '×' } else { 'S' };
        let mark = if shared { "× both, S" } else { "S" };
        legend.push(format!("{mark} objectives hold up to {}", Quantity::from(best.rate)));
    }
    let end = Quantity::new(highest, Unit::RequestsPerSecond).to_string();
    let axis: String = axis.into_iter().collect();
    let indent = " ".repeat(LABELS);
    let _ = writeln!(out, "{:>LABELS$}{axis}", "0 ");
    let _ = writeln!(out, "{indent}{end:>columns$}");
    for line in hang_within(width, &indent, &legend.join(" · ")).lines() {
        let _ = writeln!(out, "{}", styled(QUIET, line));
    }
    out
}

/// Columns of eighths, one line a row, labels at the left.
fn panel(out: &mut String, labels: &[&str], values: &[f64], (low, high): (f64, f64)) {
    let span = (high - low).max(f64::MIN_POSITIVE);
    for row in 0..ROWS {
        let label = labels.get(row).copied().unwrap_or_default();
        let label = format!("{label:<width$}", width = LABELS - 2);
        let label = if row == 0 { styled(HEAD, label) } else { styled(QUIET, label) };
        let floor = (ROWS - 1 - row) as f64;
        let line: String = values
            .iter()
            .map(|value| {
                let height = (value - low) / span * ROWS as f64 - floor;
                LEVELS[(height.clamp(0.0, 1.0) * 8.0).round() as usize]
            })
            .collect();
        let _ = writeln!(out, "  {label}{}", styled(BAR, line.trim_end()));
    }
}

/// A value of the sweep at a rate, on the line between its neighbours.
fn between(sweep: &[RatePoint], rate: f64, value: impl Fn(&RatePoint) -> f64) -> f64 {
    let after = sweep.partition_point(|point| point.rate.0.get() < rate);
    match (after.checked_sub(1).and_then(|i| sweep.get(i)), sweep.get(after)) {
        (Some(a), Some(b)) => {
            let (from, to) = (a.rate.0.get(), b.rate.0.get());
            let share = if to > from { (rate - from) / (to - from) } else { 0.0 };
            value(a) + (value(b) - value(a)) * share
        }
        (None, Some(only)) | (Some(only), None) => value(only),
        (None, None) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        assert_eq!(bar(Ratio(0.5), 4), "██");
        assert_eq!(bar(Ratio(0.53), 4), "██▏");
        assert_eq!(bar(Ratio(7.0), 2), "██");
        assert_eq!(bar(Ratio(f64::NAN), 4), "");
    }
}
