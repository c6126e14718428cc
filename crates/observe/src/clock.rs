//! The only place that reads the wall clock.

use std::time::{SystemTime, UNIX_EPOCH};

use intriage_case::Millis;

/// Now, in milliseconds since the Unix epoch.
#[expect(clippy::disallowed_methods, reason = "a live scrape must be stamped with the time it was made")]
pub fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis(since.as_millis() as u64)
}

/// Now, and later than what came before: two looks within a millisecond are two, and a case names its files by their time.
pub(crate) fn after(before: Option<Millis>) -> Millis {
    let now = now();
    before.map_or(now, |before| Millis(now.0.max(before.0 + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_looks_have_the_same_time() {
        let mut times = vec![now()];
        for _ in 0..1000 {
            times.push(after(times.last().copied()));
        }
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
        assert!(after(Some(Millis(0))) > Millis(1));
    }
}
