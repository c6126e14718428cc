//! Random numbers that are the same for a seed on any machine and in any release.

use rand::{RngExt as _, SeedableRng as _};
use rand_distr::{Distribution as _, Exp1, Gamma, StandardNormal};
use rand_pcg::Pcg64Mcg;

/// A stream of random numbers. Every part of a run draws from its own, so that a change in one
/// part (say a longer prompt) does not shift what the others draw.
#[derive(Debug, Clone)]
pub struct Random(Pcg64Mcg);

impl Random {
    /// The stream of this name under a seed.
    pub fn new(seed: u64, stream: &str) -> Self {
        Self(Pcg64Mcg::seed_from_u64(key(seed, stream)))
    }

    /// The stream of this name for one thing of many: any of them can be drawn without the others.
    pub fn of(seed: u64, stream: &str, index: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(mix(key(seed, stream) ^ mix(index))))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.random()
    }

    /// Uniform in `0.0..1.0`.
    pub fn unit(&mut self) -> f64 {
        self.0.random()
    }

    /// Uniform in `0..n`; zero for an empty range.
    pub fn below(&mut self, n: u64) -> u64 {
        if n == 0 { 0 } else { self.0.random_range(0..n) }
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Standard normal.
    pub fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.0)
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        Exp1.sample(&mut self.0)
    }

    /// Gamma with mean 1 and this coefficient of variation; 1 where that is zero.
    pub fn gamma(&mut self, variation: f64) -> f64 {
        let square = variation * variation;
        Gamma::new(square.recip(), square).map_or(1.0, |gamma| gamma.sample(&mut self.0))
    }

    /// Lognormal with mean 1 and this coefficient of variation.
    pub fn lognormal(&mut self, variation: f64) -> f64 {
        let variance = (variation * variation).ln_1p();
        variance.sqrt().mul_add(self.normal(), -variance / 2.0).exp()
    }
}

fn key(seed: u64, stream: &str) -> u64 {
    let name = stream
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    mix(seed ^ mix(name))
}

/// Spreads the bits of a number (the finaliser of splitmix64).
pub const fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(mut draw: impl FnMut() -> f64) -> f64 {
        (0..20_000).map(|_| draw()).sum::<f64>() / 20_000.0
    }

    #[test]
    fn a_seed_and_a_name_give_the_same_stream_and_other_names_another() {
        let draw = |seed, name| Random::new(seed, name).unit();
        assert_eq!(draw(7, "arrivals"), draw(7, "arrivals"));
        assert_ne!(draw(7, "arrivals"), draw(7, "lengths"));
        assert_ne!(draw(7, "arrivals"), draw(8, "arrivals"));
        let of = |index| Random::of(7, "arrivals", index).bits();
        assert_eq!(of(3), of(3));
        assert_ne!(of(3), of(4));
    }

    #[test]
    fn distributions_have_the_mean_they_promise() {
        let mut random = Random::new(1, "test");
        assert!((mean(|| random.gamma(2.0)) - 1.0).abs() < 0.05);
        assert!((mean(|| random.lognormal(0.5)) - 1.0).abs() < 0.02);
        assert!((mean(|| random.exponential()) - 1.0).abs() < 0.03);
        assert_eq!(random.gamma(0.0), 1.0);
    }
}
