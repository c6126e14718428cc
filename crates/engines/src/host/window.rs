//! The time between the first and the last snapshot, and what counters did in it.

use std::ops::Bound;

use intriage_case::{Events, HostSnapshot, Millis, PerSecond, Ratio, Seconds};

/// Some snapshots in order of time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window<'a> {
    snapshots: &'a [HostSnapshot],
}

/// What a counter did: how much it grew over how long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Increase {
    pub(super) by: f64,
    pub(super) over: Seconds,
}

impl Increase {
    /// Growth each second.
    pub(super) fn rate(self) -> f64 {
        self.by / self.over.get()
    }

    /// Occurrences each second.
    pub(super) fn events(self) -> PerSecond<Events> {
        PerSecond(Events(self.rate()))
    }

    /// The share of the time, where the counter counts time at `per_second` to the second.
    pub(super) fn share(self, per_second: f64) -> Option<Ratio> {
        Ratio::of(self.by, self.over.get() * per_second)
    }
}

impl<'a> Window<'a> {
    pub(super) fn new(snapshots: &'a [HostSnapshot]) -> Self {
        Self { snapshots }
    }

    pub(super) fn snapshots(self) -> &'a [HostSnapshot] {
        self.snapshots
    }

    /// Time between the first and the last snapshot; `None` for a single one.
    pub(super) fn length(self) -> Option<Seconds> {
        let length = self.snapshots.last()?.at.since(self.snapshots.first()?.at);
        (length.get() > 0.0).then_some(length)
    }

    /// The latest text of a file.
    pub(super) fn last(self, name: &str) -> Option<&'a str> {
        self.snapshots.iter().rev().find_map(|s| s.text(name))
    }

    /// Every text of a file with its time.
    pub(super) fn all(self, name: &str) -> impl Iterator<Item = (Millis, &'a str)> {
        self.snapshots.iter().filter_map(move |s| Some((s.at, s.text(name)?)))
    }

    /// What a counter in a file did from its first to its last reading.
    ///
    /// `None` with fewer than two readings, and where it fell: a counter that falls belongs to something new, and what
    /// it did before is not known.
    pub(super) fn increase(self, name: &str, read: impl Fn(&str) -> Option<f64>) -> Option<Increase> {
        increase(self.all(name).filter_map(|(at, text)| Some((at, read(text)?))))
    }

    /// The snapshots from the first on for which `same` holds without a break to the end.
    pub(super) fn since(self, same: impl Fn(&HostSnapshot) -> bool) -> Self {
        let kept = self.snapshots.iter().rev().take_while(|s| same(s)).count();
        Self { snapshots: &self.snapshots[self.snapshots.len() - kept..] }
    }

    /// Names of the files that begin with `prefix`, in every snapshot.
    pub(super) fn names(self, prefix: &str) -> Vec<&'a str> {
        let mut names: Vec<&str> = self
            .snapshots
            .iter()
            .flat_map(|s| {
                let from = s.files.range::<str, _>((Bound::Included(prefix), Bound::Unbounded));
                from.map(|(name, _)| name.as_str()).take_while(|name| name.starts_with(prefix))
            })
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// What stands at the first `*` of `before/*/after`-like names: the folders directly below `prefix`.
    pub(super) fn folders(self, prefix: &str) -> Vec<&'a str> {
        let mut found: Vec<&str> = self
            .names(prefix)
            .into_iter()
            .filter_map(|name| name[prefix.len()..].split_once('/').map(|(folder, _)| folder))
            .collect();
        found.dedup();
        found
    }
}

/// What a series of readings did; see [`Window::increase`].
pub(super) fn increase(readings: impl Iterator<Item = (Millis, f64)>) -> Option<Increase> {
    let mut first: Option<(Millis, f64)> = None;
    let mut last: Option<(Millis, f64)> = None;
    for (at, value) in readings {
        if last.is_some_and(|(_, before)| value < before) {
            return None;
        }
        first = first.or(Some((at, value)));
        last = Some((at, value));
    }
    let ((from, low), (to, high)) = (first?, last?);
    let over = to.since(from);
    (over.get() > 0.0).then_some(Increase { by: high - low, over })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::host;
    use super::super::text::single;
    use super::*;

    #[test]
    fn a_counter_grows_over_its_own_readings() {
        let host = host(&[(1000, &[("a", "5")]), (2000, &[]), (3000, &[("a", "11")]), (4000, &[])]);
        let grown = Window::new(&host).increase("a", single).unwrap();
        assert_eq!((grown.by, grown.over, grown.rate()), (6.0, Seconds(2.0), 3.0));
        assert_eq!(Window::new(&host).length(), Some(Seconds(3.0)));
    }

    #[test]
    fn one_reading_is_no_increase_and_the_same_reading_twice_is_zero() {
        let host = host(&[(1000, &[("a", "5"), ("b", "5")]), (3000, &[("b", "5")])]);
        assert_eq!(Window::new(&host).increase("a", single), None);
        assert_eq!(Window::new(&host).increase("b", single).map(Increase::rate), Some(0.0));
        assert_eq!(Window::new(&host).increase("c", single), None);
    }

    proptest! {
        #[test]
        fn a_counter_that_goes_backwards_gives_nothing(mut values in prop::collection::vec(0..1000u32, 2..9)) {
            let series = |values: &[u32]| {
                increase(values.iter().enumerate().map(|(i, v)| (Millis(i as u64 * 1000), f64::from(*v))))
            };
            let falls = values.windows(2).any(|w| w[1] < w[0]);
            prop_assert_eq!(series(&values).is_none(), falls);
            values.sort_unstable();
            prop_assert!(series(&values).is_some_and(|i| i.by >= 0.0));
        }
    }
}
