//! What each collector may take. One that wants more is cut, and the others are whole.
//!
//! | collector | time | size |
//! |---|---|---|
//! | metrics, endpoints | the window and 2 s | 64 MiB |
//! | gpu, host | the window and 4.5 s (`observe`) | 16 MiB, 64 MiB |
//! | path | the window and 2 s | 8 MiB |
//! | model | 5 s, beside the window | 4 MiB kept |
//! | each log | 3 s from the window's end | `--max-log`, 8 MiB unless said |
//!
//! With the window of 10 s that `collect` has, all of it ends within 15 s.

use std::time::{Duration, Instant};

use intriage_case::{Budget, Bytes, Seconds};

/// How much longer than the window something may take.
const GRACE: Duration = Duration::from_secs(2);

/// Most time for reading one log.
pub(super) const LOG_TIME: Duration = Duration::from_secs(3);

/// Most time for reading a model's files; it runs beside the window.
pub(super) const MODEL_TIME: Duration = Duration::from_secs(5);

/// How far back a journal is read unless the window is longer: far enough to see how an incident began.
pub(super) const JOURNAL: Duration = Duration::from_hours(1);

/// The server's metrics and endpoints.
pub(super) fn metrics(window: Duration) -> Budget {
    of(window + GRACE, 64 << 20)
}

/// Probes of the ways to the server.
pub(super) fn path(window: Duration) -> Budget {
    of(window + GRACE, 8 << 20)
}

/// How long those probes go on, so that what they saw is there before their budget is used up.
pub(super) fn path_time(window: Duration) -> Duration {
    window + GRACE.saturating_sub(Duration::from_millis(500))
}

/// A model's files.
pub(super) fn model() -> Budget {
    of(MODEL_TIME, 4 << 20)
}

/// One log of at most so many bytes.
pub(super) fn log(bytes: usize) -> Budget {
    of(LOG_TIME, bytes)
}

/// How long something has taken.
pub(super) fn since(began: Instant) -> Seconds {
    Seconds(began.elapsed().as_secs_f64())
}

fn of(time: Duration, bytes: usize) -> Budget {
    Budget { time: Seconds(time.as_secs_f64()), size: Bytes(bytes as f64) }
}
