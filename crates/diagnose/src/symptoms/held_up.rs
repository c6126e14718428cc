//! First tokens that come late for no reason of their own: others as long came several times as fast.

use intriage_case::{QuantileBounds, Seconds, Signal};

use super::{Aspect, Harm, Symptom, Yardstick};
use crate::evidence::Evidence;
use crate::thresholds::Limit;

/// The fastest tenth of the first tokens, and the slow ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct HeldUp {
    /// A tenth came within this time.
    pub(crate) fastest: Seconds,
    /// The slower ones: half, or one in twenty, took as long or longer.
    pub(crate) slow: Seconds,
}

/// Half of the first tokens take several times as long as the fastest tenth, although the prompts are as long.
///
/// Needs no floor and no objective: in healthy recordings of all machines the middle is 1.1 to 3.1 times the fastest tenth.
pub(crate) fn held_up(e: &Evidence<'_>) -> Option<HeldUp> {
    let found = compare(e, 0.5, Limit::HeldUpSample)?;
    let longer = (found.prompts / e.limit(Limit::AlikePrompts)).max(1.0);
    found.told(e.limit(Limit::HeldUp) * longer, e.limit(Limit::PrefillExcess))
}

/// Where the slowest twentieth begins.
const SLOWEST: f64 = 0.95;

/// The slowest twentieth takes many times as long as the fastest tenth. A prompt takes at most as many times as long as it is
/// longer: the fastest tenth has a step's fixed cost in it as well.
fn held_up_tail(e: &Evidence<'_>) -> Option<HeldUp> {
    let found = compare(e, SLOWEST, Limit::HeldUpTailSample)?;
    // Where requests come in clumps all the time, the last of a clump waits for the first.
    let times = e.limit(Limit::HeldUpTail) * e.timeline.clumping();
    found.told(times.max(found.prompts), e.limit(Limit::HeldUpTailExcess))
}

/// Slow first tokens beside the fastest tenth.
struct Compared {
    fast: f64,
    slow: QuantileBounds,
    /// How many times as long the prompts are; 1 where their buckets do not show it.
    prompts: f64,
}

fn compare(e: &Evidence<'_>, q: f64, sample: Limit) -> Option<Compared> {
    let (first, prompts) = (e.histogram(Signal::LatencyTtft)?, e.histogram(Signal::TokensPromptEach)?);
    if first.count() < e.limit(sample) {
        return None;
    }
    let (short, long) = (prompts.quantile(0.1)?, prompts.quantile(q)?);
    let longer = if long.low <= short.low { 1.0 } else { long.estimate / short.estimate.max(1.0) };
    Some(Compared { fast: first.quantile(0.1)?.estimate, slow: first.quantile(q)?, prompts: longer })
}

impl Compared {
    fn told(&self, times: f64, excess: f64) -> Option<HeldUp> {
        let slow = self.slow.estimate;
        let much = slow >= times * self.fast && slow - self.fast >= excess;
        much.then_some(HeldUp { fastest: Seconds(self.fast), slow: Seconds(slow) })
    }
}

/// The same as a symptom of prefill, where it is not the queue that holds them up.
pub(super) fn held_up_prefill(e: &Evidence<'_>) -> Option<Symptom> {
    let found = held_up(e)?;
    Some(told(e, found, "half", found.slow.get() - found.fastest.get())).filter(|_| !queue_holds_up(e))
}

/// The slowest alone, as a symptom of prefill.
pub(super) fn held_up_slowest(e: &Evidence<'_>) -> Option<Symptom> {
    let found = held_up_tail(e)?;
    // One in twenty waits so long.
    let each = (found.slow.get() - found.fastest.get()) * (1.0 - SLOWEST);
    Some(told(e, found, "one in twenty", each)).filter(|_| !queue_holds_up(e))
}

fn queue_holds_up(e: &Evidence<'_>) -> bool {
    e.account.queue_share().is_some_and(|share| share >= e.limit(Limit::QueueShare))
}

fn told(e: &Evidence<'_>, found: HeldUp, who: &str, each: f64) -> Symptom {
    let says = format!(
        "{who} of the first tokens took about {} or longer, a tenth of them about {} at most, and the lengths of their prompts do not explain it",
        found.slow, found.fastest
    );
    Symptom::new(Aspect::Prefill, Harm::Hurts, Yardstick::CalmPart, says)
        .costs(e.account.share_of_life(each))
        .against(found.slow, found.fastest)
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::{held_up, held_up_tail};
    use crate::testing::Given;

    fn mixed(fast: f64, slow: f64, prompts: &[(f64, f64)]) -> bool {
        let given = Given::vllm("0.32.0")
            .gauge(RequestsRunning, 2.0)
            .observed(LatencyTtft, &[(fast, 10.0), (slow, 20.0)])
            .observed(TokensPromptEach, prompts)
            .finished("stop", 30.0);
        given.with_evidence(|e| held_up(e).is_some())
    }

    fn slowest(fast: f64, slow: f64, prompts: &[(f64, f64)]) -> bool {
        let given = Given::vllm("0.32.0")
            .gauge(RequestsRunning, 2.0)
            .observed(LatencyTtft, &[(fast, 180.0), (slow, 20.0)])
            .observed(TokensPromptEach, prompts)
            .finished("stop", 200.0);
        given.with_evidence(|e| held_up_tail(e).is_some())
    }

    #[test]
    fn one_in_twenty_that_takes_many_times_as_long_as_its_prompt_explains_is_held_up() {
        let alike = [(300.0, 200.0)];
        assert!(slowest(0.03, 0.9, &alike));
        assert!(!slowest(0.3, 0.9, &alike), "three times is within what a busy server may take");
        assert!(!slowest(0.003, 0.09, &alike), "nobody notices 90 ms");
        assert!(!slowest(0.03, 0.9, &[(300.0, 180.0), (15_000.0, 20.0)]), "prompts fifty times as long");
    }

    #[test]
    fn prompts_alike_that_take_fourteen_times_as_long_are_held_up() {
        assert!(mixed(0.11, 1.6, &[(75.0, 25.0), (1800.0, 5.0)]));
        assert!(!mixed(0.11, 0.24, &[(75.0, 30.0)]), "twice as long is one step of somebody else");
        assert!(!mixed(0.11, 1.6, &[(75.0, 10.0), (1500.0, 20.0)]), "longer prompts take longer");
        assert!(!mixed(0.01, 0.06, &[(75.0, 30.0)]), "nobody notices 50 ms");
    }
}
