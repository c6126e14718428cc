//! Printing: results on standard output alone, styles only where they are wanted.

use std::io::Write as _;

use intriage_diagnose::Diagnosis;

use crate::cli::Format;
use crate::failure::Failure;

/// Prints text that may carry styles.
pub(super) fn text(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::Output)
}

/// Prints a diagnosis.
pub(super) fn diagnosis(diagnosis: &Diagnosis, format: Format) -> Result<(), Failure> {
    match format {
        Format::Text => text(&intriage_report::text(diagnosis)),
        Format::Json => {
            let json = intriage_report::json(diagnosis).map_err(|e| Failure::Internal(e.to_string()))?;
            let mut out = std::io::stdout().lock();
            out.write_all(json.as_bytes()).and_then(|()| out.flush()).map_err(Failure::Output)
        }
    }
}
