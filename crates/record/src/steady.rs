//! Second by second, and whether the run ever settled.

use intriage_case::Seconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::{Finished, Outcome};

/// What happened in one second of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Second {
    /// Requests sent.
    pub sent: u32,
    /// Requests ended, however.
    pub ended: u32,
    /// Of them failed.
    pub failed: u32,
    /// Generated chunks that arrived.
    pub chunks: u64,
    /// First tokens that arrived.
    pub firsts: u32,
    /// Their times to first token, summed, in microseconds.
    pub first_micros: u64,
}

/// Longest run told second by second: 12 days.
const MOST_SECONDS: usize = 1 << 20;

impl Second {
    pub(crate) fn count(seconds: &mut Vec<Self>, finished: &Finished) {
        let request = &finished.request;
        if request.outcome == Outcome::NeverSent {
            return;
        }
        let mut of = |nanos: u64| {
            let second = ((nanos / 1_000_000_000) as usize).min(MOST_SECONDS);
            if seconds.len() <= second {
                seconds.resize(second + 1, Self::default());
            }
            second
        };
        let (sent, ended) = (of(request.sent.0), of(request.ended.0));
        let mut generated = finished.chunks.iter().filter(|c| c.kind.is_generated()).peekable();
        let first = generated.peek().map(|c| (of(c.at.0), c.at.since(request.sent).0 / 1_000));
        // Runs of chunks within one second are added at once.
        let (mut second, mut run) = (0usize, 0u64);
        let mut ends = 0u64;
        for chunk in generated {
            if chunk.at.0 >= ends {
                seconds_add(seconds, second, run);
                second = ((chunk.at.0 / 1_000_000_000) as usize).min(MOST_SECONDS);
                ends = (second as u64 + 1) * 1_000_000_000;
                run = 0;
            }
            run += 1;
        }
        seconds_add(seconds, second, run);
        seconds[sent].sent += 1;
        seconds[ended].ended += 1;
        seconds[ended].failed += u32::from(request.outcome.is_failure());
        if let Some((second, micros)) = first {
            seconds[second].firsts += 1;
            seconds[second].first_micros = seconds[second].first_micros.saturating_add(micros);
        }
    }
}

fn seconds_add(seconds: &mut Vec<Second>, second: usize, run: u64) {
    if run > 0 {
        if seconds.len() <= second {
            seconds.resize(second + 1, Second::default());
        }
        seconds[second].chunks += run;
    }
}

/// Whether the run settled, and where.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum Steady {
    /// Too short to tell.
    TooShort {
        /// Whole seconds at full load.
        seconds: u32,
    },
    /// It held one level.
    Held {
        /// From the start of the run.
        from: Seconds,
        /// To.
        to: Seconds,
        /// Chunks a second there.
        chunks_per_second: f64,
    },
    /// More and more requests were in flight: the load was more than the server could take.
    Grew {
        /// In flight on average in the first quarter.
        first: f64,
        /// And in the last.
        last: f64,
    },
    /// The pace of the answers changed by more than a fifth between the halves.
    Drifted {
        /// Chunks a second in the first half.
        first: f64,
        /// And in the second.
        last: f64,
    },
}

/// Seconds at full load needed to judge.
const ENOUGH: usize = 8;
/// A pace that changes by less is level.
const LEVEL: f64 = 0.2;

impl Steady {
    /// Judges a run by its seconds: the middle, without the filling at the start and the draining at the end.
    pub fn of(seconds: &[Second]) -> Self {
        let mut flying = 0i64;
        let in_flight: Vec<f64> = seconds
            .iter()
            .map(|s| {
                // Halfway between the level before and after the second.
                let before = flying;
                flying += i64::from(s.sent) - i64::from(s.ended);
                (before + flying) as f64 / 2.0
            })
            .collect();
        let last_sent = seconds.iter().rposition(|s| s.sent > 0).unwrap_or(0);
        let first_ended = seconds.iter().position(|s| s.ended > 0).unwrap_or(0);
        // Full load: from the second after the first answer to the one before the last send.
        let (from, to) = (first_ended + 1, last_sent);
        if to < from + ENOUGH {
            return Self::TooShort { seconds: to.saturating_sub(from) as u32 };
        }
        let (window, flights) = (&seconds[from..to], &in_flight[from..to]);
        let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len().max(1) as f64;
        let quarter = flights.len() / 4;
        let quarters: Vec<f64> = flights.chunks(quarter.max(1)).take(4).map(mean).collect();
        let (first, last) = (quarters[0], quarters[quarters.len() - 1]);
        let rises = quarters.windows(2).all(|w| w[1] > w[0]);
        // A random walk of arrivals moves by its root; growth is more than that.
        if rises && last - first > (first.max(1.0).sqrt() * 3.0).max(first * 0.3) {
            return Self::Grew { first, last };
        }
        let pace: Vec<f64> = window.iter().map(|s| s.chunks as f64).collect();
        let (early, late) = pace.split_at(pace.len() / 2);
        let (early, late) = (mean(early), mean(late));
        if (early - late).abs() > LEVEL * early.max(late) {
            return Self::Drifted { first: early, last: late };
        }
        Self::Held { from: Seconds(from as f64), to: Seconds(to as f64), chunks_per_second: mean(&pace) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(length: u32, each: impl Fn(u32) -> (u32, u32, u64)) -> Vec<Second> {
        (0..length)
            .map(|i| {
                let (sent, ended, chunks) = each(i);
                Second { sent, ended, chunks, ..Second::default() }
            })
            .collect()
    }

    #[test]
    fn a_level_run_is_steady_and_a_growing_one_is_not() {
        assert!(matches!(Steady::of(&run(20, |_| (10, 10, 1000))), Steady::Held { .. }));
        assert!(matches!(Steady::of(&run(20, |_| (10, 6, 600))), Steady::Grew { .. }));
        assert!(matches!(
            Steady::of(&run(20, |i| (10, 10, if i < 10 { 1000 } else { 700 }))),
            Steady::Drifted { .. }
        ));
        assert!(matches!(Steady::of(&run(6, |_| (10, 10, 1000))), Steady::TooShort { .. }));
        assert!(matches!(Steady::of(&[]), Steady::TooShort { seconds: 0 }));
    }
}
