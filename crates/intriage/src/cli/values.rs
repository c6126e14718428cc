//! Values that several commands take.

use std::time::Duration;

use clap::ValueEnum;
use intriage_engines::is_whole_command_line;

/// Output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For machines: JSON with a published schema.
    Json,
}

/// `1s`, `500ms`, `2m`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let hint = || format!("{text:?} is not a time: write 500ms, 30s or 2m");
    let (number, scale) = [("ms", 1e-3), ("s", 1.0), ("m", 60.0)]
        .into_iter()
        .find_map(|(unit, scale)| text.strip_suffix(unit).map(|n| (n, scale)))
        .ok_or_else(hint)?;
    let seconds = number.trim().parse::<f64>().map_err(|_| hint())? * scale;
    if !(0.01..=86_400.0).contains(&seconds) {
        return Err(format!("{text:?} is out of range: between 10ms and 24 hours"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// A command line or flags, as a shell would take them.
pub(crate) fn command_line(text: &str) -> Result<String, String> {
    if is_whole_command_line(text) { Ok(text.to_owned()) } else { Err("a quote is not closed".to_owned()) }
}
