//! The objectives that a deployment's users would state.

use intriage_case::Seconds;

use crate::draw::{Draw, Figures};
use crate::random::Random;

/// An objective as a user states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stated {
    /// In the words of `--slo`: `ttft.p95=500ms`.
    pub text: String,
    /// Whether what users had to bear exceeds it.
    pub missed: bool,
}

/// Limits people state that the engine's buckets can judge, in milliseconds.
const TTFT: &[u32] = &[100, 250, 500, 750, 1000, 2500, 5000, 7500, 10_000];
/// The same for gaps between tokens.
const GAP: &[u32] = &[10, 25, 50, 75, 100, 150, 200, 300, 400, 500, 750];
/// The same for whole answers.
const ANSWER: &[u32] = &[300, 500, 800, 1000, 1500, 2000, 2500, 5000, 10_000, 15_000, 20_000, 30_000];

/// Room that people leave above what they are used to.
const ROOM: f64 = 1.2;
/// How far beyond a limit a figure lies that misses it for sure.
const BEYOND: f64 = 1.1;

impl Draw {
    /// The objectives that are given: what the control keeps with some room. Where the fault moves a figure past such a
    /// limit, that limit is taken, as people do who know what they had before. Empty where none is given.
    pub fn objectives(&self, figures: &Figures, control: &Figures) -> Vec<Stated> {
        if !self.objective {
            return Vec::new();
        }
        let mut random = Random::of(self.seed, "objectives", self.number);
        let ttft = stated("ttft", TTFT, figures.ttft_p95, control.ttft_p95);
        let gap = if random.chance(0.6) {
            stated("itl", GAP, figures.itl_p95, control.itl_p95)
        } else {
            stated("tpot", GAP, figures.tpot_p95, control.tpot_p95)
        };
        let whole = random.chance(0.3) || self.is_honest_price();
        let answer = stated("e2e", ANSWER, figures.e2e_p95, control.e2e_p95).filter(|_| whole);
        [ttft, gap, answer].into_iter().flatten().collect()
    }
}

fn stated(name: &str, limits: &[u32], is: Option<Seconds>, was: Option<Seconds>) -> Option<Stated> {
    let (is, was) = (is?.0 * 1000.0, was?.0 * 1000.0);
    let kept = |limit: &&u32| f64::from(**limit) >= ROOM * was;
    let between = limits.iter().find(|limit| kept(limit) && f64::from(**limit) * BEYOND <= is);
    let limit = between.or_else(|| limits.iter().find(kept))?;
    Some(Stated { text: format!("{name}.p95={limit}ms"), missed: between.is_some() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_lies_between_before_and_after_or_is_kept() {
        let stated = |is, was| stated("ttft", TTFT, Some(Seconds(is)), Some(Seconds(was)));
        assert_eq!(stated(0.9, 0.05), Some(Stated { text: "ttft.p95=100ms".into(), missed: true }));
        assert_eq!(stated(0.9, 0.3), Some(Stated { text: "ttft.p95=500ms".into(), missed: true }));
        assert_eq!(stated(0.31, 0.3), Some(Stated { text: "ttft.p95=500ms".into(), missed: false }));
        assert_eq!(stated(90.0, 20.0), None, "nobody states what was never kept");
    }
}
