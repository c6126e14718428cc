//! `intriage case diff`: what differs between two cases.

use std::collections::BTreeMap;
use std::path::Path;

use intriage_case::Case;
use intriage_diagnose::difference;
use intriage_observe::{pseudonyms_of, redacted, renamed};
use intriage_redact::Redactor;

use super::super::print;
use super::opened;
use crate::cli::DiffArgs;
use crate::failure::{Failure, Outcome};
use crate::settings::Settings;

pub(super) fn run(args: &DiffArgs) -> Result<Outcome, Failure> {
    let thresholds = Settings::load(args.config.as_deref())?.thresholds()?;
    let found = difference(&comparable(&args.a)?, &comparable(&args.b)?, &thresholds);
    print::difference(&found, args.format)?;
    Ok(match (found.differs.is_empty(), found.same) {
        (false, _) => Outcome::Wrong,
        (true, 0) => Outcome::Open,
        (true, _) => Outcome::Fine,
    })
}

/// Safe to print, and with one pseudonym for all of a kind: `host-1` here and `host-2` there may be the same host.
fn comparable(path: &Path) -> Result<Case, Failure> {
    let case = redacted(opened(path)?, &Redactor::new());
    let kind = |pseudonym: &str| pseudonym.rsplit_once('-').map(|(kind, _)| format!("{kind}-1"));
    let names: BTreeMap<String, String> =
        pseudonyms_of(&case)?.into_iter().filter_map(|p| kind(&p).map(|k| (p, k))).collect();
    let mut case = renamed(case, &names)?;
    case.target.name = path.display().to_string();
    Ok(case)
}
