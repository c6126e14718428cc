//! `intriage explain [CAUSE]` and `intriage schema`.

use intriage_diagnose::{benign_catalogue, catalogue, find};
use intriage_report::{
    bench_schema, benign_page, catalogue_page, cause_page, config_schema, contents_schema, difference_schema,
    health_schema, plan_schema, preflight_schema, schema as diagnosis_schema, thresholds_page,
};

use super::print;
use crate::cli::SchemaOf;
use crate::failure::{Failure, Outcome};

pub(crate) fn run(cause: Option<&str>) -> Result<Outcome, Failure> {
    let page = match cause {
        None => catalogue_page(),
        Some("thresholds") => thresholds_page(),
        Some(id) => match (find(id), benign_catalogue().find(|b| b.id == id)) {
            (Some(cause), _) => cause_page(cause),
            (None, Some(benign)) => benign_page(benign),
            (None, None) => return Err(unknown(id)),
        },
    };
    print::text(&page)?;
    Ok(Outcome::Fine)
}

/// Names the causes that share a word with what was asked for.
fn unknown(id: &str) -> Failure {
    if catalogue().any(|c| c.look_alikes.iter().any(|l| l.cause == id)) {
        return Failure::Usage(format!(
            "{id} is known as a look-alike of others, but this version does not judge it yet"
        ));
    }
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

pub(crate) fn schema(of: SchemaOf) -> Result<Outcome, Failure> {
    let schema = match of {
        SchemaOf::Diagnosis => diagnosis_schema(),
        SchemaOf::Plan => plan_schema(),
        SchemaOf::Bench => bench_schema(),
        SchemaOf::Health => health_schema(),
        SchemaOf::Contents => contents_schema(),
        SchemaOf::Difference => difference_schema(),
        SchemaOf::Config => config_schema(),
        SchemaOf::Preflight => preflight_schema(),
    };
    print::text(&schema.map_err(|e| Failure::Internal(e.to_string()))?)?;
    Ok(Outcome::Fine)
}
