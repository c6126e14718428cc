//! Several servers in one case: the one that is judged, and others beside it, each a case of its own.

use crate::Case;

/// Most replicas beside the first.
pub const MAX_REPLICAS: usize = 64;

/// Longest name of a replica in bytes.
const MAX_NAME: usize = 64;

/// Another server of the same deployment, kept apart: its counters are its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Replica {
    /// Its name in the case: letters, digits, `.`, `_` and `-`. In a recording it lies under `replicas/<name>/`.
    pub name: String,
    /// Its evidence; it has no replicas itself.
    pub case: Case,
}

/// Whether a name may be a replica's: it becomes the name of a folder.
pub fn is_replica_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    !name.is_empty() && name.len() <= MAX_NAME && name.bytes().all(plain) && !name.starts_with('.')
}

/// The name nearest to a text that may be a replica's.
pub fn replica_name(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
    let name: String = text.trim_start_matches('.').chars().map(plain).take(MAX_NAME - 4).collect();
    if name.is_empty() { "replica".into() } else { name }
}

/// Splits `<name>/<file>` as it stands under `replicas/`; a replica inside a replica is none.
pub(crate) fn place(file: &str) -> Option<(&str, &str)> {
    let (name, rest) = file.split_once('/')?;
    (is_replica_name(name) && !rest.starts_with("replicas/")).then_some((name, rest))
}

impl Case {
    /// The replica of this name, made where there is none; `None` where there is no room or it is no name.
    pub fn replica_mut(&mut self, name: &str) -> Option<&mut Case> {
        if let Some(at) = self.replicas.iter().position(|r| r.name == name) {
            return self.replicas.get_mut(at).map(|r| &mut r.case);
        }
        if self.replicas.len() >= MAX_REPLICAS || !is_replica_name(name) {
            return None;
        }
        self.replicas.push(Replica { name: name.to_owned(), case: Case::default() });
        self.replicas.last_mut().map(|r| &mut r.case)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_cannot_lead_out_of_its_folder() {
        for bad in ["", ".", "..", "a/b", "a b", ".hidden", "ü"] {
            assert!(!is_replica_name(bad), "{bad:?}");
        }
        assert_eq!(place("gpu7/metrics/1.txt"), Some(("gpu7", "metrics/1.txt")));
        assert_eq!(place("gpu7/replicas/x/metrics/1.txt"), None);
        assert_eq!(place("../metrics/1.txt"), None);
    }

    #[test]
    fn there_is_an_end_to_replicas() {
        let mut case = Case::default();
        for i in 0..MAX_REPLICAS {
            assert!(case.replica_mut(&format!("r{i}")).is_some());
        }
        assert!(case.replica_mut("one-more").is_none() && case.replica_mut("r0").is_some());
    }

    proptest! {
        #[test]
        fn any_text_has_a_name(text in ".{0,90}") {
            prop_assert!(is_replica_name(&replica_name(&text)));
        }
    }
}
