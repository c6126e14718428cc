//! When the bytes of one read came, and how well that is known.

use intriage_case::Nanos;

/// How often the sockets are looked at while answers come, in milliseconds. Measured on a virtual machine: 0.6 % of a core
/// while one slow answer comes, nothing that shows beside 200.
pub(super) const LOOK_MS: u8 = 5;
/// The same as a time.
pub(super) const LOOK: Nanos = Nanos(LOOK_MS as u64 * 1_000_000);
/// A look that found nothing and the one that finds something take two such times at most: whoever needs longer was busy,
/// stopped, or got no CPU.
const OVERSLEPT: Nanos = Nanos(3 * LOOK.0);

/// When the bytes of one read came.
///
/// The kernel stamps the last of them only. While the program looks as often as it means to, the first woke it and came
/// at about the same time; where it overslept, chunk after chunk may have piled up since it last found the socket empty.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    /// When the last of them reached this machine.
    pub at: Nanos,
    /// How much later it was read, in nanoseconds.
    pub lag: u32,
    /// How much later the others were read at most, in nanoseconds.
    pub others_lag: u32,
}

impl Arrival {
    /// Read at `now`, with the last byte at `at`, `lag` before; the socket was last seen empty at `empty_at`.
    pub(super) fn new(at: Nanos, lag: Nanos, empty_at: Nanos, now: Nanos) -> Self {
        let since_empty = now.since(empty_at);
        let others = if since_empty > OVERSLEPT { since_empty.max(lag) } else { lag };
        Self { at, lag: short(lag), others_lag: short(others) }
    }

    /// Nothing was read; what is noted is of now.
    pub(super) const fn now(at: Nanos) -> Self {
        Self { at, lag: 0, others_lag: 0 }
    }
}

/// A duration in the 32 bits a chunk has for it: at most 4.3 s.
fn short(time: Nanos) -> u32 {
    u32::try_from(time.0).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_program_that_looks_in_time_knows_when_all_of_it_came() {
        let arrival = Arrival::new(Nanos(99 * MS), Nanos(MS), Nanos(97 * MS), Nanos(100 * MS));
        assert_eq!((arrival.lag, arrival.others_lag), (1_000_000, 1_000_000));
    }

    #[test]
    fn what_piled_up_while_it_overslept_may_have_come_at_any_time_since() {
        let arrival = Arrival::new(Nanos(1990 * MS), Nanos(10 * MS), Nanos(500 * MS), Nanos(2000 * MS));
        assert_eq!((arrival.lag, arrival.others_lag), (10_000_000, 1_500_000_000));
        let long = Arrival::new(Nanos(10_000 * MS), Nanos(0), Nanos(0), Nanos(10_000 * MS));
        assert_eq!(long.others_lag, u32::MAX, "4.3 s stand for more");
    }
}
