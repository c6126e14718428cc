//! One list of pseudonyms for several cases that were made safe apart.

use std::collections::{BTreeMap, BTreeSet};

use crate::PseudonymMap;
use crate::pseudonyms;

/// Gives the pseudonyms of several cases numbers that do not collide.
///
/// What two owners' lists show to be the same original has one pseudonym in all; without a list nobody can know, and
/// each case's pseudonyms stay its own.
#[derive(Debug, Default)]
pub struct Unifier {
    taken: BTreeSet<String>,
    by_original: BTreeMap<(String, String), String>,
    map: PseudonymMap,
}

impl Unifier {
    /// Takes up a case by the pseudonyms found in it and its owner's list; returns what has to be renamed in it.
    pub fn take(
        &mut self,
        found: &BTreeSet<String>,
        list: Option<&PseudonymMap>,
    ) -> BTreeMap<String, String> {
        let mut renamed = BTreeMap::new();
        for pseudonym in found {
            let Some(((kind, _), (of, _))) = pseudonym.rsplit_once('-').zip(pseudonyms::read(pseudonym))
            else {
                continue;
            };
            let original = list.and_then(|list| list.originals.get(pseudonym));
            let key = original.map(|original| (kind.to_owned(), of.canonical(original)));
            let known = key.as_ref().and_then(|key| self.by_original.get(key)).cloned();
            let name = known.unwrap_or_else(|| self.free(kind, pseudonym));
            self.taken.insert(name.clone());
            if let (Some(key), Some(original)) = (key, original) {
                self.by_original.insert(key, name.clone());
                self.map.originals.entry(name.clone()).or_insert_with(|| original.clone());
            }
            if name != *pseudonym {
                renamed.insert(pseudonym.clone(), name);
            }
        }
        renamed
    }

    /// What is known of the originals, and every other pseudonym standing for itself: a redactor that goes on from it
    /// gives none of them again.
    pub fn into_map(self) -> PseudonymMap {
        let mut map = self.map;
        for pseudonym in self.taken {
            map.originals.entry(pseudonym.clone()).or_insert(pseudonym);
        }
        map
    }

    /// The pseudonym itself where nobody has it, else the next number that is free.
    fn free(&self, kind: &str, wanted: &str) -> String {
        if !self.taken.contains(wanted) {
            return wanted.to_owned();
        }
        let numbers = self.taken.iter().filter(|p| p.rsplit_once('-').is_some_and(|(k, _)| k == kind));
        let highest = numbers.filter_map(|p| Some(pseudonyms::read(p)?.1)).max().unwrap_or(0);
        format!("{kind}-{}", highest.saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|n| (*n).to_owned()).collect()
    }

    fn list(json: &str) -> PseudonymMap {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn without_lists_two_first_hosts_are_two_hosts() {
        let mut unifier = Unifier::default();
        assert!(unifier.take(&set(&["host-1", "ip-1"]), None).is_empty());
        let renamed = unifier.take(&set(&["host-1", "host-2"]), None);
        assert_eq!(renamed["host-1"], "host-2");
        assert_eq!(renamed["host-2"], "host-3");
    }

    #[test]
    fn lists_tell_which_hosts_are_the_same() {
        let mut unifier = Unifier::default();
        unifier.take(&set(&["host-1"]), Some(&list(r#"{"host-1":"a.example"}"#)));
        let second = list(r#"{"host-1":"b.example","host-2":"A.example"}"#);
        let renamed = unifier.take(&set(&["host-1", "host-2"]), Some(&second));
        assert_eq!((renamed["host-1"].as_str(), renamed["host-2"].as_str()), ("host-2", "host-1"));
        assert_eq!(unifier.into_map(), list(r#"{"host-1":"a.example","host-2":"b.example"}"#));
    }

    #[test]
    fn what_is_taken_is_not_given_again() {
        let mut unifier = Unifier::default();
        unifier.take(&set(&["host-3"]), None);
        let redactor =
            crate::Redactor::from_map(unifier.into_map()).unwrap().known_hosts(["gpu9".to_owned()]);
        assert_eq!(redactor.text("gpu9 and host-3"), "host-4 and host-3");
    }
}
