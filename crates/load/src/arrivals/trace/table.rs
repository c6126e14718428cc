//! Traces as tables: a header, then a request a line.

use intriage_simulate::Nanos;
use intriage_simulate::workload::Traced;

use super::clock;

/// The columns of a kind of trace that are needed, and how its time is written.
pub(super) struct Table {
    time: &'static str,
    input: &'static str,
    output: &'static str,
    /// Reads an instant.
    clock: fn(&str) -> Option<Nanos>,
    /// How it is written, for people.
    written: &'static str,
}

pub(super) static BURSTGPT: Table = Table {
    time: "Timestamp",
    input: "Request tokens",
    output: "Response tokens",
    clock: clock::seconds,
    written: "seconds",
};

pub(super) static AZURE: Table = Table {
    time: "TIMESTAMP",
    input: "ContextTokens",
    output: "GeneratedTokens",
    clock: clock::date,
    written: "a date and time as 2023-11-16 18:17:03.9799600",
};

impl Table {
    /// The columns needed, as a first line.
    pub(super) fn header(&self) -> String {
        [self.time, self.input, self.output].join(",")
    }

    /// Where its columns stand, if they are all there.
    fn columns(&self, header: &str) -> Option<[usize; 3]> {
        let find = |name: &str| fields(header).position(|field| field.eq_ignore_ascii_case(name));
        Some([find(self.time)?, find(self.input)?, find(self.output)?])
    }

    fn row(&self, line: &str, columns: [usize; 3]) -> Result<Traced, String> {
        let [time, input, output] = columns.map(|column| fields(line).nth(column));
        let missing = || format!("too few columns (wanted: {})", self.header());
        let (time, input, output) =
            (time.ok_or_else(missing)?, input.ok_or_else(missing)?, output.ok_or_else(missing)?);
        let at = (self.clock)(time).ok_or_else(|| format!("\"{time}\" is not {}", self.written))?;
        let tokens = |name: &str, text: &str| {
            let number = text.parse::<f64>().ok().filter(|n| (0.0..=f64::from(u32::MAX)).contains(n));
            number
                .map(|n| (n as u32).max(1))
                .ok_or_else(|| format!("{name} \"{text}\" is not a number of tokens"))
        };
        let lengths = (tokens(self.input, input)?, tokens(self.output, output)?);
        Ok(Traced { at, lengths: Some(lengths), blocks: Vec::new() })
    }
}

/// Rows of a table in its own order and time; `None` where the first line is not known. A mistake comes with its
/// line, from 1.
pub(super) fn read(text: &str, header: &str) -> Option<Result<Vec<Traced>, (usize, String)>> {
    let (table, columns) = [&BURSTGPT, &AZURE].into_iter().find_map(|t| Some((t, t.columns(header)?)))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).skip(1);
    Some(lines.map(|(index, line)| table.row(line, columns).map_err(|why| (index + 1, why))).collect())
}

/// The fields of a line. None of these traces has a comma inside quotes.
fn fields(line: &str) -> impl Iterator<Item = &str> {
    line.split(',').map(|field| field.trim().trim_matches('"'))
}
