//! Scores by what draws have in common, as tables.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::{DrawReport, DrawRow, Score};

/// Scores of sets of draws.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Table {
    /// What the sets are made by.
    pub by: &'static str,
    /// The sets.
    pub lines: Vec<Line>,
}

/// The score of one set of draws.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// What its draws have in common.
    pub name: String,
    /// How they were judged.
    pub score: Score,
}

/// Bounds of the bands of harm and of strength, with their names.
const HARMS: [(f64, &str); 4] = [(0.0, "below 2"), (2.0, "2 to 4"), (4.0, "4 to 10"), (10.0, "10 or more")];
const STRENGTHS: [(f64, &str); 3] = [(0.0, "0.25 to 0.5"), (0.5, "0.5 to 1"), (1.0, "1 to 2")];

pub(super) fn tables(rows: &[DrawRow]) -> Vec<Table> {
    vec![
        table("harm", rows, |row| vec![band(&HARMS, row.harm)]),
        table("what got worst", rows, |row| row.harmed_kind().map(str::to_owned).into_iter().collect()),
        table("strength", rows, |row| row.strength().map(|s| band(&STRENGTHS, s)).into_iter().collect()),
        table("objective", rows, |row| vec![either(!row.objectives.is_empty(), "given", "not given")]),
        table("faults", rows, |row| vec![["none", "one", "two"][row.faults.len().min(2)].to_owned()]),
        table("class of the true cause", rows, |row| row.class.map(str::to_owned).into_iter().collect()),
        table("fault", rows, |row| match row.faults.as_slice() {
            [one] => vec![one.name.to_owned()],
            _ => Vec::new(),
        }),
        table("evidence beside metrics", rows, |row| vec![row.evidence.clone()]),
        table("load", rows, |row| vec![row.load.to_owned()]),
        table("scrapes", rows, |row| vec![either(row.gaps, "with gaps", "complete")]),
        table("KV pool", rows, |row| vec![either(row.full_pool, "full, nobody waits", "as it is")]),
    ]
}

fn either(is: bool, yes: &str, no: &str) -> String {
    if is { yes.to_owned() } else { no.to_owned() }
}

/// Bands are numbered so that they sort by size.
fn band(bands: &[(f64, &str)], value: f64) -> String {
    let at = bands.iter().rposition(|(from, _)| value >= *from).unwrap_or(0);
    format!("{}\u{0}{}", at, bands[at].1)
}

fn table(by: &'static str, rows: &[DrawRow], names: impl Fn(&DrawRow) -> Vec<String>) -> Table {
    let mut sets = BTreeMap::<String, Vec<&DrawRow>>::new();
    for row in rows {
        for name in names(row) {
            sets.entry(name).or_default().push(row);
        }
    }
    let line = |(name, rows): (String, Vec<&DrawRow>)| Line {
        name: name.split_once('\u{0}').map_or(name.clone(), |(_, name)| name.to_owned()),
        score: Score::of(rows),
    };
    Table { by, lines: sets.into_iter().map(line).collect() }
}

pub(super) fn text(report: &DrawReport) -> String {
    let all = report.all;
    let mut out = format!(
        "{} drawn deployments, seed {}: {} hurt (2 times or more), {} between, {} calm (below 1.15; {} of them without a fault)\n",
        all.draws,
        report.seed,
        all.hurt,
        all.draws - all.hurt - all.calm,
        all.calm,
        all.without_fault
    );
    out += &head("");
    out += &line("all", all);
    for table in &report.tables {
        out += &head(table.by);
        for row in &table.lines {
            out += &line(&row.name, row.score);
        }
    }
    out
}

fn head(by: &str) -> String {
    format!(
        "\n{by:<34}{:>6}{:>9}{:>9}{:>9}{:>8}{:>8}{:>7}{:>8}{:>9}\n",
        "hurt", "healthy", "finding", "cannot", "top-1", "top-3", "calm", "alarms", "cannot"
    )
}

fn line(name: &str, s: Score) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "{name:<34}{:>6}{:>9}{:>9}{:>9}{:>8}{:>8}{:>7}{:>8}{:>9}",
        s.hurt,
        share(s.healthy, s.hurt),
        share(s.finding, s.hurt),
        share(s.cannot_tell, s.hurt),
        share(s.top1, s.hurt),
        share(s.top3, s.hurt),
        s.calm,
        share(s.alarms, s.calm),
        share(s.calm_cannot_tell, s.calm),
    );
    out
}

fn share(part: usize, of: usize) -> String {
    if of == 0 { "-".to_owned() } else { format!("{:.1} %", part as f64 / of as f64 * 100.0) }
}
