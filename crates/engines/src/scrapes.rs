//! From parsed scrapes to tracks: one per signal, instance and key.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use intriage_case::{Aggregate, Histogram, Kind, Millis, Series};

use crate::dialect::{Dialect, How, MetricRow};
use crate::exposition::{Exposition, Sample};
use crate::observed::{Instance, Track, TrackData};
use crate::version::Version;

/// Reads every scrape through the dialect's table.
pub(crate) fn tracks(
    dialect: &Dialect,
    release: Option<&Version>,
    only_model: Option<&str>,
    scrapes: &[(Millis, Exposition<'_>)],
) -> Vec<Track> {
    let index = Index::new(dialect);
    let mut found: BTreeMap<Place, Vec<Option<Cell>>> = BTreeMap::new();
    for (at, (_, scrape)) in scrapes.iter().enumerate() {
        for (place, cell) in read_one(dialect, &index, only_model, scrape) {
            let column = found.entry(place).or_insert_with(|| vec![None; scrapes.len()]);
            column[at] = Some(cell);
        }
    }
    let times: Vec<Millis> = scrapes.iter().map(|(t, _)| *t).collect();
    let chosen = choose_rows(dialect, release, found.keys().map(|p| p.row));
    found
        .into_iter()
        .filter(|(place, _)| chosen.contains(&place.row))
        .map(|(place, cells)| {
            let row = &dialect.metrics[place.row];
            let data = match row.signal.kind() {
                Kind::Histogram => {
                    TrackData::Histograms(cells.into_iter().map(|c| c?.histogram(row)).collect())
                }
                Kind::Counter | Kind::Gauge => {
                    let mut values: Vec<Option<f64>> = cells.into_iter().map(|c| c?.value).collect();
                    if row.signal.kind() == Kind::Counter && row.split.is_some() {
                        start_at_zero(&mut values);
                    }
                    TrackData::Values(Series::new(times.clone(), values))
                }
            };
            Track { signal: row.signal, instance: place.instance, key: place.key, metric: row.metric, data }
        })
        .collect()
}

/// Labelled counters are often created by their first event: before it they stood at zero, and the
/// event itself must not be lost.
fn start_at_zero(values: &mut [Option<f64>]) {
    if let Some(first) = values.iter().position(Option::is_some) {
        values[..first].fill(Some(0.0));
    }
}

/// Where a value belongs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    row: usize,
    instance: Instance,
    key: Option<String>,
}

/// What one scrape says at one place.
#[derive(Debug, Clone, Default)]
struct Cell {
    value: Option<f64>,
    buckets: Vec<(f64, f64)>,
    sum: Option<f64>,
    count: Option<f64>,
    /// For `LabelCount`: the value that says which series is newest.
    stamp: f64,
}

impl Cell {
    fn histogram(self, row: &MetricRow) -> Option<Histogram> {
        // A scrape cut in the middle may hold buckets without their count: not a histogram.
        let histogram = Histogram::new(merge_buckets(self.buckets), self.sum.unwrap_or(0.0), self.count?);
        Some(if let How::Scale(factor) = row.how { histogram.scaled(factor) } else { histogram })
    }
}

/// Series that differ only in labels we do not keep add up bucket by bucket.
fn merge_buckets(buckets: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let mut merged: Vec<(f64, f64)> = Vec::with_capacity(buckets.len());
    for (bound, count) in buckets {
        match merged.iter_mut().find(|(b, _)| *b == bound) {
            Some((_, total)) => *total += count,
            None => merged.push((bound, count)),
        }
    }
    merged
}

#[derive(Clone, Copy)]
enum Role {
    Value,
    Bucket,
    Sum,
    Count,
    Other,
}

/// Which rows a metric name concerns.
struct Index(HashMap<String, Vec<(usize, Role)>>);

impl Index {
    fn new(dialect: &Dialect) -> Self {
        let mut index = Self(HashMap::new());
        for (at, row) in dialect.metrics.iter().enumerate() {
            match row.how {
                How::Over(count) => {
                    index.add(row.metric, "", at, Role::Sum);
                    index.add(count, "", at, Role::Count);
                }
                How::SumOfHistogram => index.add(row.metric, "_sum", at, Role::Value),
                How::Times(other) | How::Plus(other) => {
                    index.add(row.metric, "", at, Role::Value);
                    index.add(other, "", at, Role::Other);
                }
                _ if row.signal.kind() == Kind::Histogram => {
                    index.add(row.metric, "_bucket", at, Role::Bucket);
                    index.add(row.metric, "_sum", at, Role::Sum);
                    index.add(row.metric, "_count", at, Role::Count);
                }
                _ => index.add(row.metric, "", at, Role::Value),
            }
        }
        index
    }

    /// Colons become underscores behind Ray and some collectors: both spellings are entered.
    fn add(&mut self, metric: &str, suffix: &str, row: usize, role: Role) {
        let name = format!("{metric}{suffix}");
        let flat = name.replace(':', "_");
        let spellings = if flat == name { vec![name] } else { vec![format!("ray_{flat}"), flat, name] };
        for spelling in spellings {
            self.0.entry(spelling).or_default().push((row, role));
        }
    }
}

fn read_one(
    dialect: &Dialect,
    index: &Index,
    only_model: Option<&str>,
    scrape: &Exposition<'_>,
) -> BTreeMap<Place, Cell> {
    let mut cells: BTreeMap<Place, Cell> = BTreeMap::new();
    let mut others: HashMap<(usize, Instance), f64> = HashMap::new();
    let mut seen = HashSet::new();
    let mut block_size = None;
    for sample in &scrape.samples {
        let Some(uses) = index.0.get(sample.name) else { continue };
        // The same series twice in one scrape is an exporter's fault; it must not count twice.
        if !seen.insert(series_hash(sample)) || !is_whole_view(sample) {
            continue;
        }
        let instance = instance_of(sample);
        if let (Some(only), Some(model)) = (only_model, &instance.model)
            && only != model
        {
            continue;
        }
        block_size = block_size.or_else(|| label_number(sample, "block_size"));
        for &(row_at, role) in uses {
            let row = &dialect.metrics[row_at];
            if matches!(role, Role::Other) {
                *others.entry((row_at, instance.clone())).or_default() += sample.value;
                continue;
            }
            if let How::Where(label, wanted) = row.how
                && !sample.labels.get(label).is_some_and(|v| wanted.contains(&v.as_ref()))
            {
                continue;
            }
            let key = row.split.and_then(|label| sample.labels.get(label)).map(std::borrow::Cow::into_owned);
            let place = Place { row: row_at, instance: instance.clone(), key };
            fill(cells.entry(place).or_default(), row, role, sample);
        }
    }
    for (place, cell) in &mut cells {
        finish(cell, place, &dialect.metrics[place.row], &others, block_size);
    }
    cells.retain(|_, cell| cell.value.is_some() || cell.count.is_some());
    cells
}

fn fill(cell: &mut Cell, row: &MetricRow, role: Role, sample: &Sample<'_>) {
    let add = |old: Option<f64>, new: f64| Some(old.unwrap_or(0.0) + new);
    match role {
        Role::Bucket => {
            if let Some(bound) = sample.labels.get("le").and_then(|le| parse_bound(&le)) {
                cell.buckets.push((bound, sample.value));
            }
        }
        Role::Sum => cell.sum = add(cell.sum, sample.value),
        Role::Count => cell.count = add(cell.count, sample.value),
        Role::Other => {}
        Role::Value => {
            let value = match row.how {
                How::Label(label) => label_number(sample, label),
                How::LabelProduct(a, b) => {
                    label_number(sample, a).zip(label_number(sample, b)).map(|(a, b)| a * b)
                }
                How::LabelCount(label) => {
                    if cell.value.is_some() && sample.value <= cell.stamp {
                        return;
                    }
                    cell.stamp = sample.value;
                    cell.value = Some(count_names(sample, label));
                    return;
                }
                How::Scale(factor) => Some(sample.value * factor),
                _ => Some(sample.value),
            };
            cell.value = match (cell.value, value, row.signal.aggregate()) {
                (Some(a), Some(b), Aggregate::Sum) => Some(a + b),
                (Some(a), Some(b), Aggregate::Max) => Some(a.max(b)),
                (a, b, _) => a.or(b),
            };
        }
    }
}

fn finish(
    cell: &mut Cell,
    place: &Place,
    row: &MetricRow,
    others: &HashMap<(usize, Instance), f64>,
    block_size: Option<f64>,
) {
    let other = others.get(&(place.row, place.instance.clone())).copied();
    match row.how {
        How::Times(_) => cell.value = cell.value.zip(other).map(|(a, b)| a * b),
        How::Plus(_) => cell.value = cell.value.map(|v| v + other.unwrap_or(0.0)),
        How::TimesBlockSize => cell.value = cell.value.zip(block_size).map(|(v, b)| v * b),
        _ => {}
    }
}

/// Of the rows with data, for each signal those with the first metric; a row that belongs to another
/// release is taken only where no fitting one has data.
fn choose_rows(
    dialect: &Dialect,
    release: Option<&Version>,
    with_data: impl Iterator<Item = usize>,
) -> HashSet<usize> {
    let fits = |row: usize| release.is_none_or(|v| dialect.metrics[row].range.holds(v));
    let mut best: BTreeMap<_, usize> = BTreeMap::new();
    for row in with_data {
        best.entry(dialect.metrics[row].signal)
            .and_modify(|kept| {
                if (!fits(row), row) < (!fits(*kept), *kept) {
                    *kept = row;
                }
            })
            .or_insert(row);
    }
    best.into_values().collect()
}

/// Tensor- and pipeline-parallel ranks repeat the same figures, and with priorities the total stands
/// beside its parts: only rank 0 and the total are the whole view.
fn is_whole_view(sample: &Sample<'_>) -> bool {
    let zero_or_absent = |label: &str| sample.labels.get(label).is_none_or(|v| v == "0" || v.is_empty());
    zero_or_absent("tp_rank")
        && zero_or_absent("pp_rank")
        && sample.labels.get("priority").is_none_or(|v| v.is_empty())
}

fn instance_of(sample: &Sample<'_>) -> Instance {
    let first = |names: [&str; 2]| {
        names.into_iter().find_map(|n| sample.labels.get(n)).map(std::borrow::Cow::into_owned)
    };
    Instance { model: first(["model_name", "model"]), engine: first(["engine", "dp_rank"]) }
}

fn series_hash(sample: &Sample<'_>) -> u64 {
    // Labels have no order: the sum of their hashes does not depend on it.
    let one = |part: &dyn Fn(&mut DefaultHasher)| {
        let mut hasher = DefaultHasher::new();
        part(&mut hasher);
        hasher.finish()
    };
    let name = one(&|h| sample.name.hash(h));
    sample
        .labels
        .iter()
        .fold(name, |sum, (label, value)| sum.wrapping_add(one(&|h| (label, value.as_ref()).hash(h))))
}

fn label_number(sample: &Sample<'_>, label: &str) -> Option<f64> {
    sample.labels.get(label)?.parse().ok().filter(|n: &f64| n.is_finite())
}

fn count_names(sample: &Sample<'_>, label: &str) -> f64 {
    sample
        .labels
        .get(label)
        .map_or(0.0, |names| names.split(',').filter(|n| !n.trim().is_empty()).count() as f64)
}

fn parse_bound(text: &str) -> Option<f64> {
    match text {
        "+Inf" | "Inf" | "inf" => Some(f64::INFINITY),
        _ => text.parse().ok(),
    }
}
