//! The two clocks, in nanoseconds.

use nix::time::{ClockId, clock_gettime};

/// CLOCK_MONOTONIC, in nanoseconds: what every time in the log is.
pub fn monotonic() -> u64 {
    read(ClockId::CLOCK_MONOTONIC)
}

/// Unix time, in nanoseconds.
pub(crate) fn unix() -> u64 {
    read(ClockId::CLOCK_REALTIME)
}

fn read(clock: ClockId) -> u64 {
    // Both clocks exist on every Linux, and neither is negative.
    clock_gettime(clock).map_or(0, |time| {
        time.tv_sec()
            .unsigned_abs()
            .saturating_mul(1_000_000_000)
            .saturating_add(time.tv_nsec().unsigned_abs())
    })
}
