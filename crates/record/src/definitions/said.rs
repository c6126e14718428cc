//! What a tool would have said, side by side with ours.

use intriage_case::{Quantity, Ratio, Seconds, Unit};
use schemars::JsonSchema;
use serde::Serialize;

use super::rules::{Denominator, Percentiles, Rules, Total};
use super::sums::Sums;
use super::tool::Tool;
use crate::spread::Distribution;
use crate::summary::Group;

/// What a tool would have said of a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Said {
    /// The tool.
    pub tool: Tool,
    /// The release whose source the rules were read from.
    pub version: String,
    /// Its times, in the order it prints them.
    pub figures: Vec<SaidFigure>,
    /// Its single numbers: requests, duration, tokens, rates, goodput.
    pub totals: Vec<SaidTotal>,
}

/// One of a tool's times.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SaidFigure {
    /// Its word for it.
    pub name: String,
    /// In what the tool prints it: ms or s. The figures here are in seconds.
    pub unit: String,
    /// By its rules.
    pub theirs: Stats,
    /// Ours of the same word; empty where we have none.
    pub ours: Stats,
    /// How the tool computes it, in a sentence.
    pub definition: String,
    /// What our record cannot tell, and what stands in for it.
    pub estimated: Option<String>,
    /// Why it is not ours in this run, with the requests it concerns; absent where nothing differs.
    pub differs: Option<String>,
}

/// One of a tool's single numbers.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SaidTotal {
    /// Its word for it.
    pub name: String,
    /// By its rules.
    pub theirs: Option<Quantity>,
    /// Ours of the same meaning.
    pub ours: Option<Quantity>,
    /// How the tool computes it, in a sentence.
    pub definition: String,
    /// Why it is not ours in this run; absent where they agree.
    pub differs: Option<String>,
}

/// The figures of a distribution that tools print, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct Stats {
    /// Samples, or their weight where a tool weighs by tokens.
    pub n: u64,
    /// Mean.
    pub mean: Option<Seconds>,
    /// Median.
    pub p50: Option<Seconds>,
    /// 90th percentile.
    pub p90: Option<Seconds>,
    /// 95th percentile.
    pub p95: Option<Seconds>,
    /// 99th percentile.
    pub p99: Option<Seconds>,
    /// Largest.
    pub max: Option<Seconds>,
}

impl From<&Distribution> for Stats {
    fn from(d: &Distribution) -> Self {
        Self { n: d.n, mean: d.mean, p50: d.p50, p90: d.p90, p95: d.p95, p99: d.p99, max: d.max }
    }
}

/// Puts the sums of a tool beside ours.
pub(super) fn compose(tool: Tool, rules: &Rules, sums: &Sums, ours: &Group, goodput: bool) -> Said {
    let figures = rules.figures.iter().enumerate().map(|(place, figure)| SaidFigure {
        name: figure.name.to_owned(),
        unit: figure.unit.to_owned(),
        theirs: sums.stats(place, figure.percentiles),
        ours: (figure.ours)(ours).map(Stats::from).unwrap_or_default(),
        definition: figure.definition.to_owned(),
        estimated: figure.estimated.map(str::to_owned),
        differs: None,
    });
    let figures = figures.enumerate().map(|(place, said)| {
        let interpolates = rules.figures[place].percentiles == Percentiles::Interpolated;
        SaidFigure { differs: differs(sums.differs(place), &said, interpolates), ..said }
    });
    Said {
        tool,
        version: tool.version().to_owned(),
        figures: figures.collect(),
        totals: totals(rules, sums, ours, goodput),
    }
}

/// Percentiles of the same requests that differ by more have another rule behind them.
const FAR: f64 = 0.02;

/// Why a figure differs: what the requests show, and the rule for percentiles where that is what remains.
fn differs(seen: Option<String>, said: &SaidFigure, interpolates: bool) -> Option<String> {
    let far =
        |a: Option<Seconds>, b: Option<Seconds>| a.zip(b).is_some_and(|(a, b)| (a.0 - b.0).abs() > FAR * b.0);
    let tail = far(said.theirs.p99, said.ours.p99) || far(said.theirs.p95, said.ours.p95);
    let rule = (interpolates && tail && !far(said.theirs.mean, said.ours.mean)).then(|| {
        "its percentiles lie between two samples, ours is a sample: with few answers they differ".to_owned()
    });
    let all: Vec<String> = seen.into_iter().chain(rule).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

fn totals(rules: &Rules, sums: &Sums, ours: &Group, goodput: bool) -> Vec<SaidTotal> {
    let names = &rules.totals;
    let duration = sums.duration().map(|d| d.0);
    let rate = |n: u64| duration.map(|d| n as f64 / d);
    let count = |n: u64| Some(n as f64);
    let mut all = vec![
        total(&names.completed, Unit::Requests, count(sums.completed), count(ours.requests.ok)),
        total(&names.failed, Unit::Requests, count(sums.failed), count(ours.requests.failed)),
        total(&names.duration, Unit::Seconds, duration, ours.duration.map(|d| d.0)),
        total(&names.tokens, Unit::Tokens, count(sums.tokens), count(ours.throughput.output_tokens)),
        total(
            &names.request_rate,
            Unit::RequestsPerSecond,
            rate(sums.completed),
            ours.throughput.requests_per_second,
        ),
        total(
            &names.token_rate,
            Unit::TokensPerSecond,
            rate(sums.tokens),
            ours.throughput.output_tokens_per_second,
        ),
    ];
    // An answer of ours that failed is no answer, whatever a tool takes it for.
    if let (Some(first), true) = (all.first_mut(), sums.answered_for_it > 0) {
        let n = sums.answered_for_it;
        first.differs = Some(format!("{}: {n} of them", names.completed.why));
    }
    if goodput {
        let mine = ours.goodput.as_ref();
        all.push(total(
            &names.goodput,
            Unit::RequestsPerSecond,
            rate(sums.good),
            mine.and_then(|g| g.requests_per_second),
        ));
        if let Some((name, denominator)) = &names.attainment {
            let of = match denominator {
                Denominator::Completed => sums.completed,
                Denominator::Ended => sums.completed + sums.failed,
                Denominator::JudgedAndFailed => sums.judged + sums.failed,
            };
            let share = Ratio::of(sums.good as f64, of as f64).map(Ratio::get);
            let mut line = total(name, Unit::Ratio, share, mine.and_then(|g| g.share).map(Ratio::get));
            if let (Some(why), Some(mine)) = (&mut line.differs, mine) {
                *why = format!("{why}: {} of {of} there, {} of {} here", sums.good, mine.good, mine.of);
            }
            all.push(line);
        }
    }
    all
}

fn total(text: &Total, unit: Unit, theirs: Option<f64>, ours: Option<f64>) -> SaidTotal {
    let same = match (theirs, ours) {
        // What prints alike is alike: counts to the request, rates and times to a thousandth.
        (Some(a), Some(b)) if matches!(unit, Unit::Requests | Unit::Tokens) => a == b,
        (Some(a), Some(b)) => (a - b).abs() <= 1e-3 * a.abs().max(b.abs()),
        (None, None) => true,
        _ => false,
    };
    SaidTotal {
        name: text.name.to_owned(),
        theirs: theirs.map(|value| Quantity::new(value, unit)),
        ours: ours.map(|value| Quantity::new(value, unit)),
        definition: text.definition.to_owned(),
        differs: (!same).then(|| text.why.to_owned()),
    }
}
