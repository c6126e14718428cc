//! What differs between two cases: what `intriage case diff` tells.
//!
//! Each case is read into a flat list of facts ([`facts`]); what both can tell and tell differently is a row. What only
//! one of them looked at is no difference: it is said once for the whole area.

mod areas;
mod facts;
mod figures;
mod settings;

use intriage_case::{Case, Quantity, Unit};
use intriage_engines::read;
use schemars::JsonSchema;
use serde::Serialize;

use crate::diagnosis::EngineSummary;
use crate::judge::engine_summary;
use crate::thresholds::Thresholds;

pub use areas::{Area, Weight};

use facts::{Entry, facts};

/// The version of the difference's format.
pub const DIFFERENCE_SCHEMA: &str = "intriage.difference/1";

/// What differs between two cases.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// Always `intriage.difference/1`.
    pub schema: String,
    /// The version that compared.
    pub intriage: String,
    /// The first case.
    pub a: Side,
    /// The second case.
    pub b: Side,
    /// What differs, the weightiest first.
    pub differs: Vec<Row>,
    /// How many facts are the same.
    pub same: u32,
    /// What could not be compared, and why.
    pub unseen: Vec<String>,
}

/// One of the two.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Side {
    /// What was looked at.
    pub target: String,
    /// Which engine answered.
    pub engine: EngineSummary,
}

/// One thing that differs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// Where it belongs.
    pub area: Area,
    /// What it is, such as `--max-num-seqs`.
    pub what: String,
    /// Its value in the first case; null where that says nothing of it.
    pub a: Option<String>,
    /// Its value in the second.
    pub b: Option<String>,
    /// How much it can change.
    pub weight: Weight,
    /// What bare numbers among the values count, for those who print them.
    #[serde(skip)]
    pub unit: Option<Unit>,
}

impl Row {
    /// Both values as people read them, the first case's first.
    pub fn shown(&self) -> [Option<String>; 2] {
        [&self.a, &self.b].map(|value| {
            let value = value.as_ref()?;
            let number = self.unit.zip(value.parse().ok());
            Some(number.map_or_else(|| value.clone(), |(unit, n)| Quantity::new(n, unit).to_string()))
        })
    }
}

/// Compares two cases.
pub fn difference(a: &Case, b: &Case, thresholds: &Thresholds) -> Difference {
    let (observed_a, observed_b) = (read(a), read(b));
    let (facts_a, facts_b) = (facts(&observed_a), facts(&observed_b));
    let mut unseen = Vec::new();
    let (mut differs, mut same) = (Vec::new(), 0);
    for area in Area::ALL {
        let of = |facts: &[Entry]| facts.iter().filter(|f| f.area == area).cloned().collect::<Vec<_>>();
        let (ours, theirs) = (of(&facts_a), of(&facts_b));
        match (ours.is_empty(), theirs.is_empty()) {
            (true, true) => {}
            (true, false) => unseen.push(format!("{}: only the second case has it", area.name())),
            (false, true) => unseen.push(format!("{}: only the first case has it", area.name())),
            (false, false) => same += compare(&ours, &theirs, &mut differs),
        }
    }
    same += figures::compare((&observed_a, a), (&observed_b, b), thresholds, &mut differs, &mut unseen);
    differs.sort_by(|x, y| (y.weight, x.area, &x.what).cmp(&(x.weight, y.area, &y.what)));
    let side =
        |case: &Case, observed| Side { target: case.target.name.clone(), engine: engine_summary(observed) };
    Difference {
        schema: DIFFERENCE_SCHEMA.into(),
        intriage: env!("CARGO_PKG_VERSION").into(),
        a: side(a, &observed_a),
        b: side(b, &observed_b),
        differs,
        same,
        unseen,
    }
}

/// Adds what differs, and counts what does not.
fn compare(a: &[Entry], b: &[Entry], differs: &mut Vec<Row>) -> u32 {
    let mut same = 0;
    let only_b = b.iter().filter(|theirs| !a.iter().any(|ours| ours.what == theirs.what));
    for fact in a.iter().chain(only_b) {
        let value = |facts: &[Entry]| facts.iter().find(|f| f.what == fact.what).map(|f| f.value.clone());
        let (a, b) = (value(a), value(b));
        if a == b {
            same += 1;
        } else {
            let (area, what) = (fact.area, fact.what.clone());
            differs.push(Row { area, what, a, b, weight: fact.weight, unit: fact.unit });
        }
    }
    same
}

#[cfg(test)]
mod tests;
