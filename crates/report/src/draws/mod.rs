//! The scoreboard of drawn deployments: how often harm is seen and named, and what a stated confidence is worth.

mod calibration;
mod score;
mod table;
#[cfg(test)]
mod tests;

pub use calibration::{Bin, Calibration, ClassCalibration, Coverage, calibration};
pub use score::Score;
pub use table::{Line, Table};

use std::fmt::Write as _;

use intriage_diagnose::Status;
use serde::Serialize;

/// A control-relative ratio from which a fault counts as harm.
pub const HURTS: f64 = 2.0;
/// A ratio below which nothing happened that a user could notice.
pub const CALM: f64 = 1.15;

/// One drawn deployment, the truth about it and what was said.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DrawRow {
    /// Its number in the batch.
    pub number: u64,
    /// What is wrong with it; empty where nothing is.
    pub faults: Vec<FaultOf>,
    /// Symptom class of the true cause, of the first fault; null where nothing is wrong.
    pub class: Option<&'static str>,
    /// Card and model.
    pub deployment: String,
    /// The shape of its load.
    pub load: &'static str,
    /// What the diagnosis was given beside metrics.
    pub evidence: String,
    /// Whether scrapes are missing.
    pub gaps: bool,
    /// Whether the KV pool is nearly full although nobody waits for it.
    pub full_pool: bool,
    /// Objectives that were given.
    pub objectives: Vec<String>,
    /// The worst ratio between its users' figures and those of its control.
    pub harm: f64,
    /// Of which figure that is the ratio.
    pub harmed: &'static str,
    /// That figure with and without the faults: seconds, tokens a second, or a share; null where nothing got worse.
    pub moved: Option<(f64, f64)>,
    /// Ratios by figure.
    pub ratios: Vec<(&'static str, Option<f64>)>,
    /// What these ratios make of it.
    pub truth: Truth,
    /// The verdict's status.
    pub status: Status,
    /// The verdict's cause.
    pub cause: Option<String>,
    /// How sure.
    pub confidence: f64,
    /// Causes of the findings in order, without those that only follow from another.
    pub findings: Vec<String>,
}

/// A fault of a drawn deployment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FaultOf {
    /// Its name.
    pub name: &'static str,
    /// How strong, 1 being a plain case.
    pub strength: f64,
    /// The true cause.
    pub cause: &'static str,
    /// Other answers that are just as true.
    pub accept: &'static [&'static str],
    /// The worst ratio where it strikes alone.
    pub harm_alone: f64,
}

/// What the ratios make of a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Truth {
    /// Users bear twice as much, or more.
    Hurt,
    /// Not scored: too much for healthy, too little for harm, or the price of what is asked while no objective is missed.
    Between,
    /// Nothing that a user could notice.
    Calm,
}

impl Truth {
    /// By the worst ratio.
    pub fn of(harm: f64) -> Self {
        match harm {
            _ if harm >= HURTS => Self::Hurt,
            _ if harm < CALM => Self::Calm,
            _ => Self::Between,
        }
    }
}

impl DrawRow {
    /// Whether a cause is true of it: for two faults, of either that would be noticed alone.
    pub fn accepts(&self, cause: &str) -> bool {
        let noticed = |fault: &&FaultOf| fault.harm_alone >= CALM;
        // Two faults that hurt together alone are both true.
        let together = !self.faults.iter().any(|fault| noticed(&fault));
        let mut true_ones = self.faults.iter().filter(|fault| together || noticed(fault));
        true_ones.any(|fault| fault.cause == cause || fault.accept.contains(&cause))
    }

    /// Whether the verdict's cause is true.
    pub fn is_named(&self) -> bool {
        self.status == Status::Finding && self.cause.as_deref().is_some_and(|cause| self.accepts(cause))
    }

    /// Whether a true cause is among the first three that the verdict names: findings, then the nearest others.
    pub fn is_among_three(&self) -> bool {
        self.is_named() || self.findings.iter().take(3).any(|cause| self.accepts(cause))
    }

    /// Whether an alarm was raised where nothing hurts.
    pub fn is_alarm(&self) -> bool {
        self.truth == Truth::Calm && self.status == Status::Finding
    }

    /// Whether it counts against the diagnosis.
    pub fn is_miss(&self) -> bool {
        self.is_alarm() || self.truth == Truth::Hurt && !self.is_named()
    }

    /// Whether the stated confidence was deserved; `None` where no cause was named.
    fn confidence_and_truth(&self) -> Option<(f64, bool)> {
        let named = self.status == Status::Finding && self.cause.is_some();
        named.then(|| (self.confidence, self.truth != Truth::Calm && self.is_named()))
    }

    /// The figure that got worst, and for the first token whether it is later by a tenth of a second.
    fn harmed_kind(&self) -> Option<&'static str> {
        let (is, was) = self.moved?;
        Some(match self.harmed {
            "ttft_p50" | "ttft_p95" if is - was < 0.1 => "first token, by less than 0.1 s",
            "ttft_p50" | "ttft_p95" => "first token, by 0.1 s or more",
            "tpot_p50" | "tpot_p95" => "time per token",
            "e2e_p95" => "whole answer",
            other => other,
        })
    }

    fn strength(&self) -> Option<f64> {
        self.faults.iter().map(|fault| fault.strength).reduce(f64::max)
    }

    /// `low-sequence-cap 1.20 + far-away 0.40`.
    fn injected(&self) -> String {
        let parts: Vec<String> =
            self.faults.iter().map(|f| format!("{} {:.2}", f.name, f.strength)).collect();
        if parts.is_empty() { "nothing".to_owned() } else { parts.join(" + ") }
    }

    fn said(&self) -> String {
        match (self.status, &self.cause) {
            (Status::Healthy, _) => "healthy".to_owned(),
            (Status::CannotTell, _) => "cannot tell".to_owned(),
            (Status::Finding, Some(cause)) => format!("{cause} {:.2}", self.confidence),
            (Status::Finding, None) => "finding without a cause".to_owned(),
        }
    }
}

/// The whole scoreboard of a batch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DrawReport {
    /// Always `intriage.draws/1`.
    pub schema: &'static str,
    /// The seed of the batch.
    pub seed: u64,
    /// All draws together.
    pub all: Score,
    /// Scores by what the draws have in common.
    pub tables: Vec<Table>,
    /// What a stated confidence is worth.
    pub calibration: Calibration,
    /// Every draw.
    pub rows: Vec<DrawRow>,
}

/// Scores a batch.
pub fn draw_report(seed: u64, rows: Vec<DrawRow>) -> DrawReport {
    let stated: Vec<(f64, bool)> = rows.iter().filter_map(DrawRow::confidence_and_truth).collect();
    let by_class = rows.iter().filter_map(|row| {
        let cause = row.cause.as_deref()?;
        let class = intriage_diagnose::find(cause).map_or("unknown", |cause| cause.class.name());
        row.confidence_and_truth().map(|(confidence, right)| (class, confidence, right))
    });
    DrawReport {
        schema: "intriage.draws/1",
        seed,
        all: Score::of(&rows),
        tables: table::tables(&rows),
        calibration: calibration(&stated, by_class),
        rows,
    }
}

/// The scoreboard as JSON, a newline at the end.
pub fn draws_json(report: &DrawReport) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(report).map(|text| text + "\n")
}

/// The scoreboard as text; with `list` one line a miss.
pub fn draws_text(report: &DrawReport, list: bool) -> String {
    let mut out = table::text(report);
    out += &calibration::text(&report.calibration);
    if list {
        out += &misses(&report.rows);
    }
    out
}

/// One line a draw that counts against the diagnosis, the worst harm first within each kind of fault.
fn misses(rows: &[DrawRow]) -> String {
    let mut missed: Vec<&DrawRow> = rows.iter().filter(|row| row.is_miss()).collect();
    missed.sort_by(|a, b| {
        let name = |row: &DrawRow| row.faults.first().map_or("", |fault| fault.name);
        name(a).cmp(name(b)).then(b.harm.total_cmp(&a.harm))
    });
    let mut out = format!("\n{} misses: number, injected, harm, given, said\n", missed.len());
    for row in missed {
        let objective =
            if row.objectives.is_empty() { "no objective".into() } else { row.objectives.join(" ") };
        let three = if row.is_alarm() || !row.is_among_three() { "" } else { " (true cause among three)" };
        let moved = row.moved.map_or(String::new(), |(is, was)| format!(" {was:.3} to {is:.3}"));
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{:>6}  {:<42} {:>7} {:<26} {} · {} · {objective} · {}: {}{three}",
            row.number,
            row.injected(),
            format!("{:.1}x", row.harm),
            format!("{}{moved}", row.harmed),
            row.deployment,
            row.load,
            row.evidence,
            row.said(),
        );
    }
    out
}
