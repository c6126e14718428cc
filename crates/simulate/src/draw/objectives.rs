//! The objectives that a deployment's users would state.

use intriage_case::Seconds;

use crate::draw::{Draw, Figures};
use crate::random::Random;

/// Limits people state that the engine's buckets can judge, in milliseconds.
const TTFT: &[u32] = &[100, 250, 500, 750, 1000, 2500, 5000, 7500, 10_000];
/// The same for gaps between tokens.
const GAP: &[u32] = &[10, 25, 50, 75, 100, 150, 200, 300, 400, 500, 750];
/// The same for whole answers.
const ANSWER: &[u32] = &[300, 500, 800, 1000, 1500, 2000, 2500, 5000, 10_000, 15_000, 20_000, 30_000];

impl Draw {
    /// The objectives that are given, in the words of `--slo`: what the control keeps with some room. Where the fault moves
    /// a figure past such a limit, that limit is taken, as people do who know what they had before. Empty where none is given.
    pub fn objectives(&self, figures: &Figures, control: &Figures) -> Vec<String> {
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
        let answer = stated("e2e", ANSWER, figures.e2e_p95, control.e2e_p95).filter(|_| random.chance(0.3));
        [ttft, gap, answer].into_iter().flatten().map(|(text, _)| text).collect()
    }

    /// Whether one of its objectives is missed by what its users had to bear.
    pub fn misses_objective(&self, figures: &Figures, control: &Figures) -> bool {
        let pairs = [
            stated("ttft", TTFT, figures.ttft_p95, control.ttft_p95),
            stated("itl", GAP, figures.itl_p95, control.itl_p95),
            stated("e2e", ANSWER, figures.e2e_p95, control.e2e_p95),
        ];
        self.objective && pairs.into_iter().flatten().any(|(_, missed)| missed)
    }
}

/// An objective, and whether it is missed.
fn stated(name: &str, limits: &[u32], is: Option<Seconds>, was: Option<Seconds>) -> Option<(String, bool)> {
    let (is, was) = (is?.0 * 1000.0, was?.0 * 1000.0);
    let kept = |limit: &&u32| f64::from(**limit) >= 1.2 * was;
    let between = limits.iter().find(|limit| kept(limit) && f64::from(**limit) * 1.1 <= is);
    let limit = between.or_else(|| limits.iter().find(kept))?;
    Some((format!("{name}.p95={limit}ms"), between.is_some()))
}
