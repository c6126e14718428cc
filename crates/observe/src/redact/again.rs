//! The second look: names that one text gave away by where they stood, in all other texts.

use intriage_case::{Case, Gathered};
use intriage_redact::Seen;

use super::names::Unique;

/// Hides what was seen in logs, in the names of files, and in what is told of them.
pub(super) fn look(case: &mut Case, seen: &Seen) {
    let safe = |text: &mut String| {
        if let std::borrow::Cow::Owned(changed) = seen.text(text) {
            *text = changed;
        }
    };
    let (mut logs, mut manifests, mut replicas) = (Unique::default(), Unique::default(), Unique::default());
    for log in &mut case.logs {
        safe(&mut log.text);
        safe(&mut log.name);
        log.name = logs.take(&log.name);
    }
    for given in &mut case.manifests {
        safe(&mut given.name);
        given.name = manifests.take(&given.name);
    }
    for part in &mut case.collected {
        safe(&mut part.what);
        if let Gathered::Partly { why } | Gathered::Skipped { why } = &mut part.outcome {
            safe(why);
        }
    }
    case.notes.iter_mut().for_each(safe);
    for replica in &mut case.replicas {
        safe(&mut replica.name);
        replica.name = replicas.take(&replica.name);
        safe(&mut replica.case.target.name);
        look(&mut replica.case, seen);
    }
}
