//! The wall clock, read in one place.

use std::time::{SystemTime, UNIX_EPOCH};

use intriage_case::Millis;

/// Now, in milliseconds since the Unix epoch.
#[expect(
    clippy::disallowed_methods,
    reason = "a server and a client stamp what they do with the time of day"
)]
pub(super) fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis(since.as_millis() as u64)
}
