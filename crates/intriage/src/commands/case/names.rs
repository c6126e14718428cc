//! The owner's list of pseudonyms beside a case.

use std::io::Read as _;
use std::path::Path;

use intriage_redact::PseudonymMap;

use super::super::keeping::names_file;
use crate::failure::Failure;

/// Most bytes of a list.
const MAX_LIST: u64 = 16 << 20;

/// The list beside a case, where there is one.
pub(super) fn beside(case: &Path) -> Result<Option<PseudonymMap>, Failure> {
    let path = names_file(case);
    if !path.is_file() {
        return Ok(None);
    }
    let failed = |why: String| Failure::File { path: path.display().to_string(), why };
    let mut text = String::new();
    let file = std::fs::File::open(&path).map_err(|e| failed(e.to_string()))?;
    file.take(MAX_LIST).read_to_string(&mut text).map_err(|e| failed(e.to_string()))?;
    // What stands in the file is secret: the error tells the place alone.
    let list = serde_json::from_str(&text)
        .map_err(|e| failed(format!("no list of pseudonyms, at line {} column {}", e.line(), e.column())))?;
    Ok(Some(list))
}
