//! Signals read from a log's periodic lines, over time.

use std::collections::BTreeMap;

use intriage_case::{Aggregate, Millis, Series, Signal, Source};

use super::calendar::LogClock;
use super::line::{Line, number_behind};
use super::periodic::{Field, Periodic, Reading};

/// One signal of one engine, from the periodic lines of one log.
///
/// Times are those of a container runtime or a journal where one stamped the line, else of the line's own stamp. A stamp
/// without a year (vLLM's `11-15 02:26:49`) gets the year that brings it nearest to the case's last scrape, one without a
/// zone is taken for UTC; [`clock`](Self::clock) says where no year could be found.
#[derive(Debug, Clone, PartialEq)]
pub struct LogSeries {
    /// The signal.
    pub signal: Signal,
    /// The data-parallel engine the lines name.
    pub engine: Option<u32>,
    /// Which of the logs side by side it is of.
    pub(crate) chain: u32,
    /// The name of the file it begins in.
    pub file: String,
    /// The first line it was read from, from 1.
    pub line: u32,
    /// What the times are counted from.
    pub clock: LogClock,
    /// The values, each at the time its line was stamped with.
    pub series: Series,
}

impl LogSeries {
    /// As a fact's source: the first line it was read from.
    pub fn source(&self) -> Source {
        Source::Log { file: self.file.clone(), line: self.line }
    }
}

/// All engines of the log the signal was found in first, taken together as the signal wants it: at each time the last
/// value of each engine counts.
pub(super) fn together(all: &[LogSeries], signal: Signal) -> Option<Series> {
    let first = all.iter().find(|one| one.signal == signal)?;
    let parts: Vec<&Series> = all
        .iter()
        .filter(|one| one.signal == signal && one.clock == first.clock && one.chain == first.chain)
        .map(|one| &one.series)
        .collect();
    if let [alone] = parts[..] {
        return Some(alone.clone());
    }
    let mut events: Vec<(Millis, usize, f64)> = Vec::new();
    for (part, series) in parts.iter().enumerate() {
        events.extend(series.known().map(|(i, value)| (series.times()[i], part, value)));
    }
    events.sort_by_key(|event| event.0);
    let mut latest = vec![None; parts.len()];
    let (mut times, mut values) = (Vec::new(), Vec::new());
    for (at, part, value) in events {
        latest[part] = Some(value);
        let known = latest.iter().flatten().copied();
        times.push(at);
        values.push(match signal.aggregate() {
            Aggregate::Sum => Some(known.sum()),
            Aggregate::Max => known.reduce(f64::max),
        });
    }
    Some(Series::new(times, values))
}

/// Collects the series of one log, which may be several files.
#[derive(Default)]
pub(super) struct Collector {
    columns: BTreeMap<(Signal, Option<u32>), Column>,
}

struct Column {
    file: String,
    line: u32,
    clock: LogClock,
    times: Vec<Millis>,
    values: Vec<Option<f64>>,
    total: f64,
}

impl Collector {
    /// Adds what a periodic line tells.
    pub(super) fn add(
        &mut self,
        periodic: &Periodic,
        file: &str,
        line: Line<'_>,
        at: Millis,
        clock: LogClock,
    ) {
        let engine = (!periodic.engine_behind.is_empty())
            .then(|| number_behind(line.text, periodic.engine_behind))
            .flatten()
            .map(|number| number as u32);
        for field in periodic.fields {
            let Some(number) = read(field, line.text) else { continue };
            let column = self.columns.entry((field.signal, engine)).or_insert_with(|| Column {
                file: file.to_owned(),
                line: line.number,
                clock,
                times: Vec::new(),
                values: Vec::new(),
                total: 0.0,
            });
            let value = match field.how {
                Reading::Gauge(factor) => number * factor,
                Reading::Switch => number,
                Reading::Adds | Reading::Moves(_) => {
                    column.total = (column.total + number).max(0.0);
                    column.total
                }
            };
            // Lines of two clocks cannot be ordered; the first clock stays.
            if column.clock == clock {
                column.times.push(at);
                column.values.push(Some(value));
            }
        }
    }

    /// Lines that were left out moved a signal that lines add up to.
    pub(super) fn moved(&mut self, signal: Signal, by: f64) {
        if let Some((_, column)) = self.columns.iter_mut().find(|((of, _), _)| *of == signal) {
            column.total = (column.total + by).max(0.0);
        }
    }

    /// The series, by signal and engine.
    pub(super) fn finish(self, chain: u32) -> Vec<LogSeries> {
        self.columns
            .into_iter()
            .map(|((signal, engine), column)| LogSeries {
                signal,
                engine,
                chain,
                file: column.file,
                line: column.line,
                clock: column.clock,
                series: Series::new(column.times, column.values),
            })
            .collect()
    }
}

fn read(field: &Field, line: &str) -> Option<f64> {
    match field.how {
        Reading::Moves(by) => Some(by),
        Reading::Switch => {
            let (_, rest) = line.split_once(field.behind)?;
            if rest.starts_with("True") { Some(1.0) } else { rest.starts_with("False").then_some(0.0) }
        }
        Reading::Gauge(_) | Reading::Adds => number_behind(line, field.behind),
    }
}
