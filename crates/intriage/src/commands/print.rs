//! Printing: results on standard output alone, styles only where they are wanted.

use std::io::Write as _;

use intriage_diagnose::{Contents, Diagnosis, Difference, Health, Preflight};
use intriage_plan::Plan;
use intriage_record::Summary;
use intriage_record::definitions::Said;
use intriage_report::ConfigReport;

use super::bench::BenchFormat;
use crate::cli::{ConfigFormat, Format};
use crate::failure::Failure;

/// Prints text that may carry styles.
pub(super) fn text(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    written(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Prints a diagnosis.
pub(super) fn diagnosis(diagnosis: &Diagnosis, format: Format) -> Result<(), Failure> {
    match format {
        Format::Text => text(&intriage_report::text(diagnosis, columns())),
        Format::Json => json(intriage_report::json(diagnosis)),
    }
}

/// Prints what would stop a start.
pub(super) fn preflight(answer: &Preflight, format: Format) -> Result<(), Failure> {
    match format {
        Format::Text => text(&intriage_report::preflight_text(answer, columns())),
        Format::Json => json(intriage_report::preflight_json(answer)),
    }
}

/// Prints a plan.
pub(super) fn plan(plan: &Plan, format: Format) -> Result<(), Failure> {
    match format {
        Format::Text => text(&intriage_report::plan_text(plan, columns())),
        Format::Json => json(intriage_report::plan_json(plan)),
    }
}

/// Prints a configuration; `paths` are those its manifests were given by, by their names.
pub(super) fn config(
    report: &ConfigReport,
    all: bool,
    format: ConfigFormat,
    paths: &[(String, String)],
) -> Result<(), Failure> {
    match format {
        ConfigFormat::Text => text(&intriage_report::config_text(report, all, columns())),
        ConfigFormat::Json => json(intriage_report::config_json(report)),
        ConfigFormat::Sarif => json(intriage_report::config_sarif(&report.advice, paths)),
    }
}

/// Prints the state of the machine.
pub(super) fn health(health: &Health, format: Format) -> Result<(), Failure> {
    match format {
        Format::Text => text(&intriage_report::health_text(health, columns())),
        Format::Json => json(intriage_report::health_json(health)),
    }
}

/// Prints what is in a case, and what lies beside it and was not looked at.
pub(super) fn contents(mut contents: Contents, strays: &[String], format: Format) -> Result<(), Failure> {
    match format {
        Format::Text => text(&intriage_report::contents_text(&contents, strays, columns())),
        Format::Json => {
            let note = |name: &String| format!("no part of a case, and not looked at: {name}");
            contents.notes.extend(strays.iter().map(note));
            json(intriage_report::contents_json(&contents))
        }
    }
}

/// Prints what differs between two cases.
pub(super) fn difference(found: &Difference, format: Format) -> Result<(), Failure> {
    match format {
        Format::Text => text(&intriage_report::difference_text(found, columns())),
        Format::Json => json(intriage_report::difference_json(found)),
    }
}

/// Prints a run, what other tools would have said of it, and the diagnosis beside it.
pub(super) fn bench(
    summary: &Summary,
    said: &[Said],
    beside: Option<&Diagnosis>,
    format: BenchFormat,
) -> Result<(), Failure> {
    if format == BenchFormat::Json {
        return json(intriage_report::bench_json(summary, said, beside));
    }
    text(&intriage_report::bench_text(summary, said, columns()))?;
    match beside {
        Some(found) => {
            text("\n")?;
            diagnosis(found, Format::Text)
        }
        None => Ok(()),
    }
}

/// Prints any value as JSON.
pub(super) fn value(value: &impl serde::Serialize) -> Result<(), Failure> {
    json(serde_json::to_string_pretty(value).map(|text| text + "\n"))
}

fn json(json: Result<String, serde_json::Error>) -> Result<(), Failure> {
    let json = json.map_err(|e| Failure::Internal(e.to_string()))?;
    let mut out = std::io::stdout().lock();
    written(out.write_all(json.as_bytes()).and_then(|()| out.flush()))
}

/// Columns of the terminal, where standard output is one.
fn columns() -> Option<usize> {
    terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))
}

/// A reader that has seen enough (`… | head`) is not a failure and changes no exit code.
fn written(result: std::io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(Failure::Output),
    }
}
