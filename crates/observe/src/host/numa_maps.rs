//! Sums over `/proc/<pid>/numa_maps`, which has a line for each of perhaps 100,000 mappings.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, Instant};

/// Longest text read: reading walks the process's page tables and holds its mappings while it does.
const MAX_BYTES: usize = 4 << 20;
/// Longest time spent on one process, for the same reason.
const MAX_TIME: Duration = Duration::from_millis(200);

/// Pages by node and page size, and lines by policy.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Sums {
    lines: u64,
    pages: BTreeMap<(u32, u64), u64>,
    policies: BTreeMap<String, u64>,
}

/// Reads and sums within the limits; the text is in the format `intriage_case::host` documents.
pub(super) fn summary(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut sums = Sums::default();
    let mut chunk = vec![0; 64 << 10];
    let mut rest: Vec<u8> = Vec::new();
    let mut total = 0;
    let started = Instant::now();
    let complete = loop {
        let n = file.read(&mut chunk)?;
        if n == 0 {
            break true;
        }
        total += n;
        rest.extend_from_slice(&chunk[..n]);
        let whole = rest.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        sums.add(&String::from_utf8_lossy(&rest[..whole]));
        rest.drain(..whole);
        if total > MAX_BYTES || started.elapsed() > MAX_TIME {
            break false;
        }
    };
    Ok(sums.text(complete))
}

impl Sums {
    /// Lines such as `7f00… default file=/x mapped=5 N0=3 N1=2 kernelpagesize_kB=4`.
    fn add(&mut self, text: &str) {
        for line in text.lines() {
            let mut words = line.split(' ').skip(1);
            let Some(policy) = words.next() else { continue };
            self.lines += 1;
            *self.policies.entry(policy.to_owned()).or_default() += 1;
            let mut here: Vec<(u32, u64)> = Vec::new();
            let mut kilobytes = 4;
            for (key, value) in words.filter_map(|w| w.split_once('=')) {
                let Ok(value) = value.parse::<u64>() else { continue };
                if let Some(node) = key.strip_prefix('N').and_then(|n| n.parse().ok()) {
                    here.push((node, value));
                } else if key == "kernelpagesize_kB" {
                    kilobytes = value;
                }
            }
            for (node, pages) in here {
                let sum = self.pages.entry((node, kilobytes)).or_default();
                *sum = sum.saturating_add(pages);
            }
        }
    }

    fn text(&self, complete: bool) -> String {
        let mut lines = vec![format!("lines {} {}", self.lines, if complete { "complete" } else { "cut" })];
        lines.extend(self.pages.iter().map(|((node, size), pages)| format!("N{node} {size} {pages}")));
        lines.extend(self.policies.iter().take(64).map(|(policy, count)| format!("policy {policy} {count}")));
        lines.join("\n") + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_summed_by_node_and_size() {
        let mut sums = Sums::default();
        sums.add("7f00 default file=/x N9 mapped=5 N0=3 N1=2 kernelpagesize_kB=4\n7f10 bind:1 anon=1 N1=1 kernelpagesize_kB=2048\n7f20 default heap anon=4 N0=4 kernelpagesize_kB=4\n");
        assert_eq!(
            sums.text(true),
            "lines 3 complete\nN0 4 7\nN1 4 2\nN1 2048 1\npolicy bind:1 1\npolicy default 2\n"
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_survived(text in "[ -~\n]{0,200}") {
            let mut sums = Sums::default();
            sums.add(&text);
            sums.text(false);
        }
    }
}
