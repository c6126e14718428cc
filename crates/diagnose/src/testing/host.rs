//! Machines for tests: recorded ones, and kernel texts made up.

use std::path::Path;

use intriage_case::{HostSnapshot, Millis, layout};

use super::Given;

impl Given {
    /// A machine recorded under `fixtures/host`.
    pub(crate) fn host(mut self, name: &str) -> Self {
        let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/host").join(name);
        let mut folders = vec![recording.join("host")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if entry.is_dir() {
                    folders.push(entry);
                } else {
                    let name = entry.strip_prefix(&recording).unwrap().to_str().unwrap();
                    assert!(layout::add(&mut self.case, name, std::fs::read(&entry).unwrap()), "{name}");
                }
            }
        }
        self
    }

    /// These kernel texts by name, ten seconds apart.
    pub(crate) fn kernel(mut self, snapshots: &[Vec<(String, String)>]) -> Self {
        let at = |i: usize| Millis(1_700_000_000_000 + 10_000 * i as u64);
        self.case.host = snapshots
            .iter()
            .enumerate()
            .map(|(i, files)| HostSnapshot { at: at(i), files: files.iter().cloned().collect() })
            .collect();
        self
    }
}
