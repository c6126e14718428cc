//! Text that many prompts begin with.

use intriage_case::Ratio;
use intriage_simulate::{Lengths, Random};

/// The most groups of a class.
pub const MOST_GROUPS: u32 = 1 << 24;
/// Lengths drawn to see what a prefix does to a distribution.
const DRAWS: usize = 4096;

/// Groups of prompts; those of a group begin with the same text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prefix {
    /// Tokens of the shared text. A prompt too short for it and for words of its own has less of it.
    pub tokens: u32,
    /// Different such texts, each as likely; at least one.
    pub groups: u32,
    /// Share of the sessions that belong to a group; the others have nothing in common with any.
    pub share: Ratio,
}

/// The cached share of a load, as wished for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HitRatio<'a> {
    /// Prompt tokens found in the cache, of all prompt tokens.
    pub ratio: Ratio,
    /// Lengths of the prompts, the shared text included.
    pub input: &'a Lengths,
    /// Different shared texts.
    pub groups: u32,
    /// Requests of the run; the first of each group finds nothing.
    pub requests: u64,
    /// Words a prompt needs for itself: [`super::Vocabulary::salt_words`].
    pub own: u32,
    /// Tokens of a block of the server's cache.
    pub block: u32,
}

/// A ratio that no prefix gives.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum HitRatioError {
    /// Not a share.
    #[error("a hit ratio is between 0 and 1, not {0}")]
    NotAShare(f64),
    /// Out of reach.
    #[error(
        "a hit ratio of {wanted} cannot be had: with {groups} groups, {requests} requests and these lengths at most {most} of the prompt tokens can be found in the cache (longer prompts, more requests or fewer groups raise it)"
    )]
    OutOfReach {
        /// What was wished for.
        wanted: Ratio,
        /// The most there is.
        most: Ratio,
        /// Groups.
        groups: u32,
        /// Requests.
        requests: u64,
    },
}

impl Prefix {
    /// The shortest prefix, in whole blocks, and the share of sessions that begin with it, which together give a
    /// hit ratio.
    pub fn for_hit_ratio(wish: &HitRatio<'_>) -> Result<Self, HitRatioError> {
        let wanted = wish.ratio;
        if !(0.0..=1.0).contains(&wanted.0) {
            return Err(HitRatioError::NotAShare(wanted.0));
        }
        let block = wish.block.max(1);
        let groups = wish.groups.clamp(1, MOST_GROUPS);
        let lengths = Sampled::of(wish.input, wish.own, block);
        let got =
            |blocks: u32, share: f64| lengths.cached(blocks * block) * hits(groups, wish.requests, share);
        let (mut low, mut high) = (0, lengths.most_blocks);
        if got(high, 1.0) < wanted.0 {
            let most = Ratio(got(high, 1.0));
            return Err(HitRatioError::OutOfReach { wanted, most, groups, requests: wish.requests });
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if got(middle, 1.0) < wanted.0 { low = middle + 1 } else { high = middle }
        }
        let (mut few, mut many) = (0.0, 1.0);
        for _ in 0..50 {
            let middle = f64::midpoint(few, many);
            if got(high, middle) < wanted.0 { few = middle } else { many = middle }
        }
        Ok(Self { tokens: high * block, groups, share: Ratio(many) })
    }

    /// Draws a group, or none.
    pub(super) fn draw(&self, random: &mut Random) -> Option<u32> {
        random.chance(self.share.0).then(|| random.below(u64::from(self.groups.max(1))) as u32)
    }

    /// Shared tokens of a prompt of this length that needs `own` words for itself.
    pub(super) fn within(&self, input: u32, own: u32) -> u32 {
        self.tokens.min(input.saturating_sub(own))
    }
}

/// Share of all requests that come second or later in a group.
fn hits(groups: u32, requests: u64, share: f64) -> f64 {
    let (groups, requests) = (f64::from(groups), requests.max(1) as f64);
    let members = share * requests;
    // 1 - (1 - 1/g)^m, kept exact for many groups; every group is seen by any member where there is one.
    let seen = if groups <= 1.0 {
        members.min(1.0)
    } else {
        -groups * (members * (-groups.recip()).ln_1p()).exp_m1()
    };
    ((members - seen) / requests).max(0.0)
}

/// What a prefix covers of lengths drawn once.
struct Sampled {
    rooms: Vec<u32>,
    total: f64,
    block: u32,
    most_blocks: u32,
}

impl Sampled {
    fn of(lengths: &Lengths, own: u32, block: u32) -> Self {
        let mut random = Random::new(0, "hit ratio");
        let drawn: Vec<_> = (0..DRAWS).map(|_| lengths.draw(&mut random)).collect();
        let total = drawn.iter().map(|n| f64::from(*n)).sum();
        let rooms: Vec<_> = drawn.iter().map(|n| n.saturating_sub(own)).collect();
        let most_blocks = rooms.iter().max().map_or(0, |room| room / block);
        Self { rooms, total, block, most_blocks }
    }

    /// Share of the tokens that lie in whole blocks of a prefix of this length.
    fn cached(&self, prefix: u32) -> f64 {
        let whole = |room: &u32| f64::from(prefix.min(*room) / self.block * self.block);
        self.rooms.iter().map(whole).sum::<f64>() / self.total
    }
}
