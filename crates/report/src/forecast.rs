//! What the changes are expected to do, as lines of the page.

use intriage_case::{ObjectiveMetric, Quantity, Statistic, Unit};
use intriage_diagnose::{Diagnosis, Estimate, Prediction, Times};

/// A line of the forecast.
pub(crate) enum Row {
    /// A sentence, to be wrapped.
    Says(String),
    /// Figures, already as wide as they may be.
    Figures(String),
    /// A sentence for those who want to know how.
    Aside(String),
}

/// The forecast of a diagnosis in a column of so many characters; empty where nothing was foreseen.
pub(crate) fn forecast(d: &Diagnosis, width: usize) -> Vec<Row> {
    if let Some(why) = &d.no_prediction {
        return vec![Row::Says(format!("cannot: {why}"))];
    }
    let Some((first, rest)) = d.predictions.split_first() else { return Vec::new() };
    let mut rows = Vec::new();
    if first.queue_growth.is_some() {
        rows.push(Row::Says(in_short(first)));
    } else {
        rows.push(Row::Says(format!("{}, at the same load:", title(first))));
        let (before, after) = (&first.before, &first.after);
        rows.extend(figures("TTFT", &before.ttft, &after.ttft, asks_p99(d, ObjectiveMetric::Ttft), width));
        rows.extend(figures("ITL", &before.itl, &after.itl, asks_p99(d, ObjectiveMetric::Itl), width));
        let served = change(before.tokens, after.tokens);
        rows.push(Row::Figures(format!(
            "  rate {served}, {}",
            short_change(before.requests, after.requests)
        )));
    }
    rows.extend(rest.iter().map(|p| Row::Says(in_short(p))));
    let fit = &first.fit;
    rows.push(Row::Aside(format!(
        "from a replay of this window: TTFT {} where {} was measured, ITL {} where {} was (means)",
        fit.ttft_replayed, fit.ttft_measured, fit.itl_replayed, fit.itl_measured
    )));
    rows
}

fn title(p: &Prediction) -> String {
    let change =
        p.provided.as_ref().map_or(p.change.clone(), |provided| format!("{}, if {provided}", p.change));
    if p.helps { change } else { format!("{change} would not help") }
}

/// A prediction in one sentence.
fn in_short(p: &Prediction) -> String {
    let (before, after) = (&p.before, &p.after);
    let rest = match p.queue_growth {
        Some(growth) => format!(
            "still past capacity, the queue grows by {growth}; {}",
            short_change(before.tokens, after.tokens)
        ),
        None => format!(
            "TTFT p95 {}, ITL p95 {}, {}",
            short_change(before.ttft.p95, after.ttft.p95),
            short_change(before.itl.p95, after.itl.p95),
            short_change(before.tokens, after.tokens)
        ),
    };
    format!("{}: {rest}", title(p))
}

/// Whether the user cares about the slowest in a hundred rather than the slowest in twenty.
fn asks_p99(d: &Diagnosis, metric: ObjectiveMetric) -> bool {
    let mut asked = d.objectives.iter().filter_map(|o| o.asked.as_ref());
    asked.any(|o| o.metric == metric && matches!(o.statistic, Statistic::Quantile(q) if q >= 0.98))
}

/// Median and 95th (or 99th) percentile beside each other, or below each other where the page is narrow.
fn figures(name: &str, before: &Times, after: &Times, p99: bool, width: usize) -> Vec<Row> {
    let median = format!("  {name:<4} p50 {}", change(before.p50, after.p50));
    let high = if p99 {
        format!("p99 {}", change(before.p99, after.p99))
    } else {
        format!("p95 {}", change(before.p95, after.p95))
    };
    let both = format!("{median:<46} {high}");
    if both.chars().count() <= width {
        vec![Row::Figures(both)]
    } else {
        vec![Row::Figures(median), Row::Figures(format!("       {high}"))]
    }
}

/// `6.91 s → 50.7 ms (38.2 to 66.0 ms)`.
fn change(before: Estimate, after: Estimate) -> String {
    format!("{} ({})", short_change(before, after), range(after))
}

/// `6.91 s → 50.7 ms`; the unit once where it is the same.
fn short_change(before: Estimate, after: Estimate) -> String {
    pair(&before.value.to_string(), "→", &after.value.to_string())
}

fn range(e: Estimate) -> String {
    let end = |value: f64| Quantity::new(rounded(value, e.value.unit), e.value.unit).to_string();
    pair(&end(e.low), "to", &end(e.high))
}

/// Rates to three figures: more would pretend.
fn rounded(value: f64, unit: Unit) -> f64 {
    if unit == Unit::Seconds || value < 100.0 || !value.is_finite() {
        return value;
    }
    let scale = 10_f64.powf(value.log10().floor() - 2.0);
    (value / scale).round() * scale
}

fn pair(a: &str, between: &str, b: &str) -> String {
    let unit = |text: &str| text.split_once(' ').map(|(_, unit)| unit.to_owned());
    match (unit(a), a.split_once(' ')) {
        (Some(of_a), Some((number, _))) if Some(&of_a) == unit(b).as_ref() => {
            format!("{number} {between} {b}")
        }
        _ => format!("{a} {between} {b}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(value: f64, low: f64, high: f64) -> Estimate {
        Estimate { value: Quantity::new(value, Unit::Seconds), low, high }
    }

    #[test]
    fn a_unit_is_written_once_where_it_is_the_same() {
        let (slow, fast) = (seconds(6.91, 6.0, 7.0), seconds(0.0507, 0.0382, 0.066));
        assert_eq!(change(slow, fast), "6.91 s → 50.7 ms (38.2 to 66.0 ms)");
        assert_eq!(short_change(fast, seconds(0.009, 0.0, 0.0)), "50.7 → 9.00 ms");
        assert_eq!(range(seconds(1.0, 0.9, 1.2)), "900 ms to 1.20 s");
    }

    #[test]
    fn a_narrow_page_has_one_figure_a_line() {
        let times = |value| {
            let one = seconds(value, 0.8 * value, 1.2 * value);
            Times { mean: one, p50: one, p95: one, p99: one }
        };
        let rows = |width| figures("TTFT", &times(6.9), &times(0.05), false, width);
        assert_eq!(rows(86).len(), 1);
        let narrow = rows(46);
        assert_eq!(narrow.len(), 2);
        let fits = |row: &Row| matches!(row, Row::Figures(text) if text.chars().count() <= 46);
        assert!(narrow.iter().all(fits));
    }

    #[test]
    fn rates_have_three_figures() {
        assert_eq!(rounded(6094.3, Unit::TokensPerSecond), 6090.0);
        assert_eq!(rounded(8.6543, Unit::RequestsPerSecond), 8.6543);
    }
}
