//! Where a cause stands in the whole verdict, after symptoms, causes and rank.

use super::Given;
use crate::causes::Cause;
use crate::diagnosis::Diagnosis;

/// The place of a cause in a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// It is the answer.
    First,
    /// It is a finding behind another.
    Behind,
    /// Its mechanism is there, and nothing that it explains hurts.
    Note,
    /// It is ruled out, or nobody can tell.
    Nowhere,
}

impl Given {
    /// Where the whole verdict puts this cause.
    pub(crate) fn place_of(&self, cause: &Cause) -> Place {
        place_in(&self.verdict(), cause.id)
    }
}

fn place_in(verdict: &Diagnosis, id: &str) -> Place {
    let note = format!("{id} (nothing that it explains hurts)");
    if verdict.verdict.primary.cause.as_deref() == Some(id) {
        Place::First
    } else if verdict.findings.iter().any(|f| f.cause == id) {
        Place::Behind
    } else if verdict.notes.iter().any(|n| n.starts_with(&note)) {
        Place::Note
    } else {
        Place::Nowhere
    }
}
