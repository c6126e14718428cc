//! What happened in recordings of real servers, and in windows made by hand.

mod made;
mod recordings;

use std::path::{Path, PathBuf};

use intriage_case::{Case, layout};

use super::{EventKind, Timeline};
use crate::evidence::Evidence;
use crate::thresholds::Thresholds;

pub(in crate::timeline) fn timeline_of(case: &Case) -> Timeline {
    let observed = intriage_engines::read(case);
    let thresholds = Thresholds::default();
    Timeline::of(&Evidence::new(&observed, &case.intent, &thresholds))
}

/// What is said of the events of one kind.
fn says(timeline: &Timeline, kind: EventKind) -> Vec<String> {
    timeline.of_kind(kind).map(|event| event.says.clone()).collect()
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// A recording below `fixtures`, such as `lab/frozen`.
fn recording(name: &str) -> Case {
    let folder = fixtures().join(name);
    let mut case = Case::default();
    for file in files(&folder) {
        let inside = file.strip_prefix(&folder).unwrap().to_string_lossy().into_owned();
        if layout::wants(&inside) {
            layout::add(&mut case, &inside, std::fs::read(&file).unwrap());
        }
    }
    case
}

/// Every file below a folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries.into_iter().flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}
