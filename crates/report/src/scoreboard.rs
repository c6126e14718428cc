//! The scoreboard: every labelled case with its truth, the verdict, and the totals.

use std::fmt::Write as _;

use intriage_diagnose::{Diagnosis, Status};

/// Confidence from which a wrong verdict counts as wrong with confidence.
const CONFIDENT: f64 = 0.7;

/// One labelled case and what was made of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The recording's name.
    pub name: String,
    /// The true cause; `None` where nothing is wrong.
    pub truth: Option<String>,
    /// Other causes that are also right.
    pub accept: Vec<String>,
    /// The verdict's status.
    pub status: Status,
    /// The verdict's cause.
    pub verdict: Option<String>,
    /// How sure.
    pub confidence: f64,
    /// Causes of the first three findings.
    pub top3: Vec<String>,
    /// Whether the truth is that nobody can tell.
    pub truth_open: bool,
}

/// The sums that must not get worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Labelled cases.
    pub cases: usize,
    /// Verdict is the truth, an accepted cause, or rightly healthy.
    pub top1: usize,
    /// Verdict is the very cause of the truth file, or rightly healthy.
    pub exact: usize,
    /// Truth among the first three findings, or rightly healthy.
    pub top3: usize,
    /// Alarms where nothing is wrong.
    pub false_alarms: usize,
    /// Wrong cause, and sure of it.
    pub wrong_and_sure: usize,
    /// No verdict where there was one to find.
    pub cannot_tell: usize,
}

impl Row {
    /// Compares a diagnosis with the truth.
    pub fn new(
        name: &str,
        truth: Option<String>,
        accept: Vec<String>,
        truth_open: bool,
        d: &Diagnosis,
    ) -> Self {
        Self {
            name: name.to_owned(),
            truth,
            accept,
            status: d.verdict.status,
            verdict: d.verdict.primary.cause.clone(),
            confidence: d.verdict.primary.confidence,
            top3: d.findings.iter().take(3).map(|f| f.cause.clone()).collect(),
            truth_open,
        }
    }

    fn accepts(&self, cause: &str) -> bool {
        self.truth.as_deref() == Some(cause) || self.accept.iter().any(|a| a == cause)
    }

    fn right(&self) -> bool {
        match (&self.truth, &self.verdict) {
            (None, None) => self.status != Status::CannotTell || self.truth_open,
            (Some(_), Some(verdict)) => self.accepts(verdict),
            _ => false,
        }
    }
}

/// The totals over all rows.
pub fn totals(rows: &[Row]) -> Totals {
    let count = |test: &dyn Fn(&Row) -> bool| rows.iter().filter(|r| test(r)).count();
    Totals {
        cases: rows.len(),
        top1: count(&Row::right),
        exact: count(&|r| r.right() && r.truth == r.verdict),
        top3: count(&|r| r.right() || r.top3.iter().any(|c| r.accepts(c))),
        false_alarms: count(&|r| r.truth.is_none() && r.status == Status::Finding),
        wrong_and_sure: count(&|r| r.verdict.is_some() && !r.right() && r.confidence >= CONFIDENT),
        cannot_tell: count(&|r| r.status == Status::CannotTell && !r.truth_open),
    }
}

/// The scoreboard as plain text.
pub fn scoreboard(rows: &[Row]) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{:<28} {:<30} {:<30} {:>5}  ", "case", "truth", "verdict", "sure");
    for row in rows {
        let truth =
            row.truth.as_deref().unwrap_or(if row.truth_open { "(nobody can tell)" } else { "(healthy)" });
        let verdict = row.verdict.as_deref().unwrap_or(match row.status {
            Status::CannotTell => "(cannot tell)",
            _ => "(healthy)",
        });
        let sure = if row.verdict.is_some() { format!("{:.2}", row.confidence) } else { "-".into() };
        let mark = match (row.right(), row.truth == row.verdict) {
            (true, true) => "",
            (true, false) => "accepted",
            (false, _) => "WRONG",
        };
        let line = format!("{:<28} {truth:<30} {verdict:<30} {sure:>5}  {mark}", row.name);
        let _ = writeln!(out, "{}", line.trim_end());
    }
    let t = totals(rows);
    let _ = writeln!(
        out,
        "\ncases {}\ntop-1 {}\nexact {}\ntop-3 {}\nalarms on healthy {}\nwrong and sure {}\ncannot tell {}",
        t.cases, t.top1, t.exact, t.top3, t.false_alarms, t.wrong_and_sure, t.cannot_tell
    );
    out
}
