//! What is not in the snapshots, and why.

use std::collections::{BTreeMap, BTreeSet};

use super::window::Window;

/// Whether a file was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence<'a> {
    /// It is in the snapshots.
    Read,
    /// It exists and could not be read; this is why.
    Denied(&'a str),
    /// This kernel does not have it.
    Unsupported,
    /// Nobody asked for it.
    NotAsked,
}

/// A file that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    /// Its name, such as `proc/4711/environ`.
    pub name: String,
    /// Why, and what would help.
    pub why: String,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Gaps {
    read: BTreeSet<String>,
    denied: BTreeMap<String, String>,
    absent: BTreeSet<String>,
}

impl Gaps {
    pub(super) fn read(window: Window<'_>) -> Self {
        let mut gaps = Self::default();
        for snapshot in window.snapshots() {
            for (name, text) in &snapshot.files {
                match name.as_str() {
                    "denied" => gaps.denied.extend(
                        text.lines().filter_map(|l| l.split_once('\t')).map(|(n, w)| (n.into(), w.into())),
                    ),
                    "absent" => gaps.absent.extend(text.lines().map(str::to_owned)),
                    _ => {
                        gaps.read.insert(name.clone());
                    }
                }
            }
        }
        gaps
    }

    pub(super) fn denied(&self) -> Vec<Denied> {
        self.denied.iter().map(|(name, why)| Denied { name: name.clone(), why: why.clone() }).collect()
    }

    pub(super) fn presence(&self, name: &str) -> Presence<'_> {
        if self.read.contains(name) {
            Presence::Read
        } else if let Some(why) = self.denied.get(name) {
            Presence::Denied(why)
        } else if self.absent.contains(name) {
            Presence::Unsupported
        } else {
            Presence::NotAsked
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::moment;
    use super::*;

    #[test]
    fn not_allowed_not_there_and_not_asked_are_three_things() {
        let host = moment(&[
            ("proc/stat", "cpu 1\n"),
            ("denied", "proc/7/environ\tpermission denied; root would add its environment\n"),
            ("absent", "proc/pressure/cpu\n"),
        ]);
        let gaps = Gaps::read(Window::new(&host));
        assert_eq!(gaps.presence("proc/stat"), Presence::Read);
        assert!(matches!(gaps.presence("proc/7/environ"), Presence::Denied(why) if why.contains("root")));
        assert_eq!(gaps.presence("proc/pressure/cpu"), Presence::Unsupported);
        assert_eq!(gaps.presence("proc/vmstat"), Presence::NotAsked);
    }
}
