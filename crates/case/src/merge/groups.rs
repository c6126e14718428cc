//! Which of several cases belong together.

use super::places::{self, Relation, relation};
use super::{Fate, union};
use crate::Case;

/// One case to be merged.
pub(super) struct Part {
    /// Its name as a replica.
    pub(super) name: String,
    /// What sentences call it.
    pub(super) label: String,
    /// Which of the cases given it is, counted from 0; `None` for a replica of one of them.
    pub(super) given: Option<usize>,
    pub(super) case: Case,
}

/// Cases of one server, in order of time.
pub(super) struct Group {
    parts: Vec<Part>,
    /// Why it stands apart from the first group; the first has no reason.
    apart: Option<String>,
}

/// Puts cases together that are about one server, those that begin first in front.
pub(super) fn grouped(mut parts: Vec<Part>) -> Vec<Group> {
    // What has no time comes last. Who names a server comes before who names none, so that it is seen whether one that
    // names none could complete more than one.
    parts.sort_by_key(|part| {
        (places::server(&part.case).is_none(), places::span(&part.case).map_or(u64::MAX, |(start, _)| start))
    });
    let mut groups: Vec<Group> = Vec::new();
    for part in parts {
        let relations: Vec<Relation> = groups.iter().map(|group| group.relation(&part.case)).collect();
        let of = |wanted: Relation| relations.iter().enumerate().filter(move |(_, r)| **r == wanted);
        let same = of(Relation::Same).map(|(at, _)| at).next();
        let completes: Vec<usize> = of(Relation::Completes).map(|(at, _)| at).collect();
        match (same, completes.as_slice()) {
            (Some(at), _) | (None, &[at]) => groups[at].parts.push(part),
            (None, &[]) => {
                let apart = relations.into_iter().find_map(|r| match r {
                    Relation::Apart(why) => Some(why),
                    Relation::Same | Relation::Completes => None,
                });
                groups.push(Group { parts: vec![part], apart });
            }
            (None, several) => {
                let why = format!("it names no server, and {} servers could be its own", several.len());
                groups.push(Group { parts: vec![part], apart: Some(why) });
            }
        }
    }
    for group in &mut groups {
        group.parts.sort_by_key(|part| places::span(&part.case).map_or(u64::MAX, |(start, _)| start));
    }
    groups
}

impl Group {
    /// Whether a case belongs here: one member it stands apart from is enough to say no.
    fn relation(&self, case: &Case) -> Relation {
        let mut best = Relation::Completes;
        for part in &self.parts {
            match relation(&part.case, case) {
                apart @ Relation::Apart(_) => return apart,
                Relation::Same => best = Relation::Same,
                Relation::Completes => {}
            }
        }
        best
    }

    pub(super) fn is_scraped(&self) -> bool {
        self.parts.iter().any(|part| !part.case.scrapes.is_empty())
    }

    pub(super) fn why_apart(&self) -> Option<&str> {
        self.apart.as_deref()
    }

    /// The part that names the server, or the first.
    fn head(&self) -> Option<&Part> {
        let named = self.parts.iter().find(|part| places::server(&part.case).is_some());
        named.or(self.parts.first())
    }

    /// Its name as a replica.
    pub(super) fn name(&self) -> &str {
        self.head().map_or("", |part| &part.name)
    }

    /// Writes down what became of its members.
    pub(super) fn tell(&self, fates: &mut [Fate], head_is: &Fate) {
        let Some(head) = self.head() else { return };
        // A replica of a merged case is nothing the user named: who joins it has its name.
        let joined = head.given.map_or(head_is.clone(), Fate::JoinedTo);
        for given in self.parts.iter().filter_map(|part| part.given) {
            if let Some(fate) = fates.get_mut(given) {
                *fate = if head.given == Some(given) { head_is.clone() } else { joined.clone() };
            }
        }
    }

    /// One case of all members.
    pub(super) fn united(self, unmerged: &mut Vec<String>) -> Case {
        let target = self.head().map(|part| part.case.target.clone()).unwrap_or_default();
        let mut parts = self.parts.into_iter();
        let Some(Part { label, mut case, .. }) = parts.next() else { return Case::default() };
        for part in parts {
            union::add(&label, &mut case, &part.label, part.case, unmerged);
        }
        case.target = target;
        case
    }
}
