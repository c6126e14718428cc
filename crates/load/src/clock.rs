//! The run's clock: monotonic, from the start of the run; and the way from the kernel's stamps to it.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use intriage_case::{Millis, Nanos};

/// The run's clock.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// Starts now.
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// Since the start.
    pub fn now(self) -> Nanos {
        Nanos(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

/// Readings of both clocks for one measure of what lies between them.
const READINGS: u32 = 3;

/// The kernel stamps arrivals by the clock on the wall; this is what lies between that and ours. It drifts as the wall
/// clock is disciplined (at most 500 ppm), so it is measured again and again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WallOffset(u64);

impl WallOffset {
    /// Measures it: the tightest of a few readings, because the thread can lose its CPU in the middle of one.
    pub(crate) fn measure(clock: Clock) -> Self {
        let reading = |_| {
            let before = clock.now();
            let wall = wall_nanos();
            let width = clock.now().since(before).0;
            (width, Self(wall.wrapping_sub(before.0 + width / 2)))
        };
        (0..READINGS).map(reading).min_by_key(|(width, _)| *width).map_or(Self(0), |(_, offset)| offset)
    }

    /// A stamp of the wall clock on ours.
    pub(crate) const fn to_run(self, stamp: u64) -> Nanos {
        Nanos(stamp.saturating_sub(self.0))
    }
}

/// The time on the wall.
pub fn wall_clock() -> Millis {
    Millis(wall_nanos() / 1_000_000)
}

#[expect(clippy::disallowed_methods, reason = "the kernel stamps arrivals by the clock on the wall")]
fn wall_nanos() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX))
}
