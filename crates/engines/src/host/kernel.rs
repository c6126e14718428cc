//! The kernel and the switches set on it.

use intriage_case::Millis;

use super::text;
use super::window::Window;

/// The kernel.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Kernel {
    /// Its release, such as `6.8.0-45-generic`.
    pub release: Option<String>,
    /// Its parameters at start; values that nobody needs to know are masked.
    pub command_line: Vec<String>,
    /// When it started, on the wall clock.
    pub booted: Option<Millis>,
    /// Whether pages are moved after the threads that use them.
    pub numa_balancing: Option<bool>,
    /// Kinds of IOMMU that are active, such as `dmar0`; empty where none is.
    pub iommus: Option<Vec<String>>,
}

impl Kernel {
    /// The value of a parameter it was started with; an empty one for a switch such as `nosmt`.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.command_line.iter().rev().find_map(|word| match word.split_once('=') {
            Some((key, value)) => (key == name).then_some(value),
            None => (word == name).then_some(""),
        })
    }
}

pub(super) fn read(window: Window<'_>) -> Kernel {
    Kernel {
        release: window.last("proc/sys/kernel/osrelease").map(|t| t.trim().to_owned()),
        command_line: window
            .last("proc/cmdline")
            .map(|t| t.split_whitespace().map(str::to_owned).collect())
            .unwrap_or_default(),
        booted: booted(window),
        numa_balancing: window
            .last("proc/sys/kernel/numa_balancing")
            .and_then(text::single)
            .map(|mode| mode > 0.0),
        iommus: window
            .last("listing/sys/class/iommu")
            .map(|t| t.lines().filter(|l| !l.is_empty()).map(str::to_owned).collect()),
    }
}

/// The kernel's own word, else what the machine has been up for before the snapshot.
pub(super) fn booted(window: Window<'_>) -> Option<Millis> {
    let said = window.last("proc/stat").and_then(|stat| text::number(stat, "btime"));
    let said = said.filter(|seconds| *seconds > 0.0).map(|seconds| Millis((seconds * 1000.0) as u64));
    said.or_else(|| {
        let (at, up) = window.all("proc/uptime").last()?;
        let seconds: f64 = up.split_whitespace().next()?.parse().ok().filter(|up| *up >= 0.0)?;
        at.0.checked_sub((seconds * 1000.0) as u64).map(Millis)
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::moment;
    use super::*;

    #[test]
    fn parameters_are_found_by_name_and_the_last_one_counts() {
        let host = moment(&[
            ("proc/cmdline", "iommu=off nosmt iommu=pt\n"),
            ("proc/sys/kernel/numa_balancing", "1\n"),
            ("listing/sys/class/iommu", ""),
        ]);
        let kernel = read(Window::new(&host));
        assert_eq!((kernel.parameter("iommu"), kernel.parameter("nosmt")), (Some("pt"), Some("")));
        assert_eq!((kernel.parameter("quiet"), kernel.numa_balancing), (None, Some(true)));
        assert_eq!(kernel.iommus, Some(vec![]));
    }

    #[test]
    fn the_start_of_the_machine_is_the_kernels_word_or_counted_back() {
        let booted = |files: &[(&str, &str)]| {
            let mut snapshots = moment(files);
            snapshots[0].at = Millis(1_794_782_144_000);
            booted(Window::new(&snapshots))
        };
        assert_eq!(booted(&[("proc/stat", "cpu 1\nbtime 1794776647\n")]), Some(Millis(1_794_776_647_000)));
        assert_eq!(booted(&[("proc/uptime", "5497.50 900.00\n")]), Some(Millis(1_794_776_646_500)));
        for damaged in ["", "x 1", "-1 1", "1e30 1"] {
            assert_eq!(booted(&[("proc/uptime", damaged)]), None, "{damaged}");
        }
    }
}
