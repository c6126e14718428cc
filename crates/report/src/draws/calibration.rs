//! What a stated confidence is worth: of the verdicts given with 80 %, are 80 % right?

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

/// Stated confidence against the observed rate, over verdicts that name a cause.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Calibration {
    /// Verdicts that name a cause.
    pub stated: usize,
    /// Mean squared difference between confidence and truth, 0 being perfect; null without verdicts.
    pub brier: Option<f64>,
    /// By decile of the stated confidence; empty ones are left out.
    pub bins: Vec<Bin>,
    /// Error among the verdicts that remain when the least sure ones are withheld.
    pub coverage: Vec<Coverage>,
    /// By the class of the named cause.
    pub classes: Vec<ClassCalibration>,
}

/// Verdicts of one decile of confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bin {
    /// Least confidence in it.
    pub from: f64,
    /// Verdicts.
    pub stated: usize,
    /// Their mean confidence.
    pub confidence: f64,
    /// The share of them that is right.
    pub right: f64,
}

/// The error that is left when a share of the verdicts is withheld.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Coverage {
    /// The share of verdicts withheld, the least sure ones.
    pub withheld: f64,
    /// Verdicts that remain.
    pub kept: usize,
    /// The share of them that is wrong.
    pub error: f64,
}

/// Verdicts that name a cause of one class.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassCalibration {
    /// The class.
    pub class: String,
    /// Verdicts.
    pub stated: usize,
    /// Their mean confidence.
    pub confidence: f64,
    /// The share of them that is right.
    pub right: f64,
    /// Their Brier score.
    pub brier: f64,
}

/// Shares of verdicts that are withheld in the table of coverage.
const WITHHELD: [f64; 4] = [0.0, 0.1, 0.25, 0.5];

/// The calibration of verdicts, each with its confidence and whether it is right; the second list has their classes, too.
pub fn calibration<'a>(
    stated: &[(f64, bool)],
    by_class: impl Iterator<Item = (&'a str, f64, bool)>,
) -> Calibration {
    let mut deciles = vec![Vec::new(); 10];
    for one in stated {
        deciles[((one.0 * 10.0) as usize).min(9)].push(*one);
    }
    let bins = deciles.iter().enumerate().filter(|(_, set)| !set.is_empty()).map(|(n, set)| Bin {
        from: n as f64 / 10.0,
        stated: set.len(),
        confidence: mean(set, |(confidence, _)| *confidence),
        right: mean(set, right),
    });
    let mut classes = BTreeMap::<&str, Vec<(f64, bool)>>::new();
    for (class, confidence, right) in by_class {
        classes.entry(class).or_default().push((confidence, right));
    }
    let classes = classes.into_iter().map(|(class, set)| ClassCalibration {
        class: class.to_owned(),
        stated: set.len(),
        confidence: mean(&set, |(confidence, _)| *confidence),
        right: mean(&set, right),
        brier: mean(&set, squared),
    });
    Calibration {
        stated: stated.len(),
        brier: (!stated.is_empty()).then(|| mean(stated, squared)),
        bins: bins.collect(),
        coverage: coverage(stated),
        classes: classes.collect(),
    }
}

fn coverage(stated: &[(f64, bool)]) -> Vec<Coverage> {
    let mut surest = stated.to_vec();
    surest.sort_by(|a, b| b.0.total_cmp(&a.0));
    let at = |withheld: &f64| {
        let kept = surest.len() - (surest.len() as f64 * withheld).round() as usize;
        let set = &surest[..kept];
        (kept > 0).then(|| Coverage { withheld: *withheld, kept, error: 1.0 - mean(set, right) })
    };
    WITHHELD.iter().filter_map(at).collect()
}

fn right((_, right): &(f64, bool)) -> f64 {
    f64::from(u8::from(*right))
}

fn squared(one: &(f64, bool)) -> f64 {
    (one.0 - right(one)).powi(2)
}

fn mean(set: &[(f64, bool)], of: impl Fn(&(f64, bool)) -> f64) -> f64 {
    set.iter().map(of).sum::<f64>() / set.len() as f64
}

pub(super) fn text(c: &Calibration) -> String {
    let brier = c.brier.map_or("-".to_owned(), |b| format!("{b:.3}"));
    let mut out = format!("\n{} verdicts name a cause; Brier score {brier}\n", c.stated);
    // Writing to a string cannot fail.
    let _ = writeln!(out, "\n{:<34}{:>6}{:>12}{:>8}{:>9}", "confidence", "n", "stated", "right", "gap");
    for bin in &c.bins {
        let name = format!("{:.1} to {:.1}", bin.from, bin.from + 0.1);
        let gap = format!("{:+.1}", (bin.confidence - bin.right) * 100.0);
        let _ = writeln!(
            out,
            "{name:<34}{:>6}{:>12}{:>8}{gap:>9}",
            bin.stated,
            percent(bin.confidence),
            percent(bin.right)
        );
    }
    let _ = writeln!(out, "\n{:<34}{:>6}{:>12}", "least sure withheld", "kept", "wrong");
    for row in &c.coverage {
        let _ = writeln!(out, "{:<34}{:>6}{:>12}", percent(row.withheld), row.kept, percent(row.error));
    }
    let _ = writeln!(
        out,
        "\n{:<34}{:>6}{:>12}{:>8}{:>9}",
        "class of the named cause", "n", "stated", "right", "Brier"
    );
    for row in &c.classes {
        let _ = writeln!(
            out,
            "{:<34}{:>6}{:>12}{:>8}{:>9.3}",
            row.class,
            row.stated,
            percent(row.confidence),
            percent(row.right),
            row.brier
        );
    }
    out
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reliability_table_of_a_list_is_exact() {
        let stated = [(0.95, true), (0.85, true), (0.85, false), (0.35, false), (1.0, true), (0.3, true)];
        let classes = [("queueing", 0.95, true), ("decode", 0.35, false), ("queueing", 0.85, false)];
        let c = calibration(&stated, classes.into_iter());
        let bins: Vec<(f64, usize, f64)> = c.bins.iter().map(|b| (b.from, b.stated, b.right)).collect();
        assert_eq!(bins, [(0.3, 2, 0.5), (0.8, 2, 0.5), (0.9, 2, 1.0)]);
        assert!((c.bins[2].confidence - 0.975).abs() < 1e-12);
        let squares =
            0.05_f64.powi(2) + 0.15_f64.powi(2) + 0.85_f64.powi(2) + 0.35_f64.powi(2) + 0.7_f64.powi(2);
        assert!((c.brier.unwrap() - squares / 6.0).abs() < 1e-12);
        // The two least sure go first: 0.3 (right), 0.35 (wrong).
        let kept: Vec<(usize, f64)> = c.coverage.iter().map(|row| (row.kept, row.error)).collect();
        assert_eq!(kept[0], (6, 1.0 - 4.0 / 6.0));
        assert_eq!(kept[1], (5, 1.0 - 3.0 / 5.0));
        assert_eq!(kept[2], (4, 0.25));
        assert_eq!(
            c.classes.iter().map(|c| (c.class.as_str(), c.right)).collect::<Vec<_>>(),
            [("decode", 0.0), ("queueing", 0.5)]
        );
    }

    #[test]
    fn nothing_stated_is_no_table() {
        let c = calibration(&[], std::iter::empty());
        assert_eq!((c.brier, c.bins.len(), c.coverage.len()), (None, 0, 0));
        assert!(text(&c).contains("0 verdicts"));
    }
}
