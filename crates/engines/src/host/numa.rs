//! NUMA nodes: which CPUs and how much memory lie where.

use std::collections::BTreeMap;

use intriage_case::{Bytes, Events, PerSecond};

use super::text;
use super::window::{Increase, Window};

/// One NUMA node.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Its number.
    pub id: u32,
    /// Its CPUs; a node may have none.
    pub cpus: Option<Vec<u32>>,
    /// Its memory.
    pub memory: Option<Bytes>,
    /// What of it is free.
    pub free: Option<Bytes>,
    /// Distance to each node by number, 10 being itself.
    pub distances: Option<Vec<u32>>,
    /// Pages that were wanted here and had to be given elsewhere.
    pub misplaced: Option<PerSecond<Events>>,
}

pub(super) fn read(window: Window<'_>) -> Vec<Node> {
    let base = "sys/devices/system/node/";
    let ids = window.folders(base).into_iter().filter_map(|f| f.strip_prefix("node")?.parse().ok());
    let mut nodes: Vec<Node> = ids.map(|id| one(window, &format!("{base}node{id}"), id)).collect();
    nodes.sort_by_key(|n| n.id);
    nodes
}

fn one(window: Window<'_>, folder: &str, id: u32) -> Node {
    let file = |name: &str| format!("{folder}/{name}");
    // `Node 0 MemTotal:       1024 kB`
    let kilobytes = |key: &str| {
        let text = window.last(&file("meminfo"))?;
        let line = text
            .lines()
            .find(|l| l.split_whitespace().nth(2).is_some_and(|w| w.trim_end_matches(':') == key))?;
        line.split_whitespace().nth(3)?.parse::<u64>().ok().map(|kb| Bytes(kb as f64 * 1024.0))
    };
    Node {
        id,
        cpus: window.last(&file("cpulist")).and_then(text::list),
        memory: kilobytes("MemTotal"),
        free: kilobytes("MemFree"),
        distances: window
            .last(&file("distance"))
            .and_then(|t| t.split_whitespace().map(|w| w.parse().ok()).collect()),
        misplaced: window
            .increase(&file("numastat"), |t| text::number(t, "numa_foreign"))
            .map(Increase::events),
    }
}

/// Memory by node from our own sums over `numa_maps`; a sum that was cut short still tells the shares of what was seen.
pub(super) fn pages(text: &str) -> Option<BTreeMap<u32, Bytes>> {
    let mut by_node = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(node) = words.next().and_then(|w| w.strip_prefix('N')?.parse::<u32>().ok()) else {
            continue;
        };
        let mut number = || words.next()?.parse::<u64>().ok();
        let (Some(kilobytes), Some(pages)) = (number(), number()) else { continue };
        let held = by_node.entry(node).or_insert(Bytes(0.0));
        *held = *held + Bytes(kilobytes as f64 * 1024.0 * pages as f64);
    }
    (!by_node.is_empty()).then_some(by_node)
}

#[cfg(test)]
mod tests {
    use super::super::testing::host;
    use super::*;

    #[test]
    fn a_node_has_cpus_memory_and_distances() {
        let node = "sys/devices/system/node/node1";
        let names = ["cpulist", "meminfo", "distance", "numastat"].map(|n| format!("{node}/{n}"));
        let host = host(&[
            (
                0,
                &[
                    (&names[0], "32-33\n"),
                    (&names[1], "Node 1 MemTotal:       1024 kB\nNode 1 MemFree:         512 kB\n"),
                    (&names[2], "21 10\n"),
                    (&names[3], "numa_hit 5\nnuma_foreign 0\n"),
                ],
            ),
            (2000, &[(&names[3], "numa_hit 5\nnuma_foreign 40\n")]),
        ]);
        let nodes = read(Window::new(&host));
        assert_eq!(nodes.len(), 1);
        assert_eq!((nodes[0].id, nodes[0].cpus.as_deref()), (1, Some(&[32, 33][..])));
        assert_eq!((nodes[0].memory, nodes[0].free), (Some(Bytes(1_048_576.0)), Some(Bytes(524_288.0))));
        assert_eq!(nodes[0].distances.as_deref(), Some(&[21, 10][..]));
        assert_eq!(nodes[0].misplaced, Some(PerSecond(Events(20.0))));
    }

    #[test]
    fn huge_pages_weigh_as_much_as_they_are() {
        let by_node = pages("lines 9 cut\nN0 4 512\nN1 2048 1\npolicy default 9\nN x\n").unwrap();
        assert_eq!(by_node, BTreeMap::from([(0, Bytes(2_097_152.0)), (1, Bytes(2_097_152.0))]));
        assert_eq!(pages("lines 0 complete\n"), None);
    }
}
