//! `intriage explain [CAUSE]` and `intriage schema`.

use intriage_diagnose::{catalogue, find};
use intriage_report::{catalogue_page, cause_page, schema as diagnosis_schema};

use super::print;
use crate::failure::{Failure, Outcome};

pub(crate) fn run(cause: Option<&str>) -> Result<Outcome, Failure> {
    let page = match cause {
        None => catalogue_page(),
        Some(id) => cause_page(find(id).ok_or_else(|| unknown(id))?),
    };
    print::text(&page)?;
    Ok(Outcome::Fine)
}

/// Names the causes that share a word with what was asked for.
fn unknown(id: &str) -> Failure {
    let near: Vec<&str> = catalogue()
        .map(|c| c.id)
        .filter(|known| id.split('-').any(|word| word.len() > 1 && known.contains(word)))
        .collect();
    let hint = if near.is_empty() {
        "`intriage explain` lists them".to_owned()
    } else {
        format!("did you mean {}?", near.join(", "))
    };
    Failure::Usage(format!("there is no cause called {id:?}; {hint}"))
}

pub(crate) fn schema() -> Result<Outcome, Failure> {
    print::text(&diagnosis_schema().map_err(|e| Failure::Internal(e.to_string()))?)?;
    Ok(Outcome::Fine)
}
