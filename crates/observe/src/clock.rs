//! The only place that reads the wall clock.

use std::time::{SystemTime, UNIX_EPOCH};

use intriage_case::Millis;

/// Now, in milliseconds since the Unix epoch.
#[expect(clippy::disallowed_methods, reason = "a live scrape must be stamped with the time it was made")]
pub fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis(since.as_millis() as u64)
}
