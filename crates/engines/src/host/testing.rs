//! Snapshots written by hand, for the tests of the readers.

use intriage_case::{HostSnapshot, Millis};

/// Snapshots from times and files.
pub(super) fn host(snapshots: &[(u64, &[(&str, &str)])]) -> Vec<HostSnapshot> {
    snapshots
        .iter()
        .map(|(at, files)| HostSnapshot {
            at: Millis(*at),
            files: files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect(),
        })
        .collect()
}

/// One snapshot.
pub(super) fn moment(files: &[(&str, &str)]) -> Vec<HostSnapshot> {
    host(&[(1000, files)])
}

/// A line of `stat` as the kernel writes it, 50 fields after the name, with `ticks` in user space.
pub(super) fn stat_line(pid: u32, parent: u32, ticks: u32, started: u32, cpu: u32) -> String {
    let mut fields = [0; 49];
    for (at, value) in [(0, parent), (10, ticks), (16, 3), (18, started), (35, cpu)] {
        fields[at] = value;
    }
    format!("{pid} (x) S {}\n", fields.map(|f: u32| f.to_string()).join(" "))
}
