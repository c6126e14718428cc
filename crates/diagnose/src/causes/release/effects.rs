//! What a setting brings about where it has another value than people believe.

use intriage_engines::{Setting, SettingValue};

use crate::causes::{Cause, find};
use crate::diagnosis::Outcome;
use crate::evidence::Evidence;
use crate::weighing::Judgement;

/// Causes by the way a setting is off: less in force than believed (or off instead of on), or more.
struct Row {
    setting: Setting,
    less: &'static [&'static str],
    more: &'static [&'static str],
}

const fn row(setting: Setting, less: &'static [&'static str], more: &'static [&'static str]) -> Row {
    Row { setting, less, more }
}

const POOL: &[&str] = &["kv-capacity-limited-queue", "preemption-thrash", "weights-leave-no-kv"];
const HOST: &[&str] = &["decode-host-overhead-bound"];

/// The cause that shows the effect most directly first.
const TABLE: &[Row] = &[
    row(
        Setting::MaxSequences,
        &["max-num-seqs-limited-queue", "underbatched-low-throughput"],
        &["batch-past-knee", "preemption-thrash"],
    ),
    row(
        Setting::TokenBudget,
        &["token-budget-limited-queue", "prefill-chunk-budget-too-small"],
        &["prefill-decode-interference"],
    ),
    row(Setting::ContextWindow, &["client-request-rejected"], POOL),
    row(Setting::PrefixCaching, &["prefix-cache-ineffective", "long-prompt-compute-bound"], &[]),
    row(Setting::EagerMode, &[], &["cuda-graph-miss", "decode-host-overhead-bound"]),
    row(Setting::GraphMaxBatch, &["cuda-graph-miss"], &[]),
    row(Setting::AsyncScheduling, HOST, &[]),
    row(Setting::ChunkedPrefill, &["prefill-decode-interference", "head-of-line-blocking"], &[]),
    row(Setting::KvBytes, POOL, &["runtime-oom-non-kv"]),
    row(Setting::KvBlocks, POOL, &[]),
    row(Setting::KvBlocksOverride, POOL, &[]),
    row(Setting::KvCapacity, POOL, &[]),
    row(Setting::MemoryFraction, POOL, &["runtime-oom-non-kv"]),
    row(Setting::TensorParallel, POOL, &["tp-communication-bound"]),
    row(Setting::QueueLimit, &["overload-shedding"], &[]),
    row(Setting::ConcurrencyLimit, &["overload-shedding"], &[]),
    row(Setting::ApiServers, &["frontend-input-processing-bound"], &[]),
    row(Setting::ContinuousBatching, &["static-batching-sequence-skew"], &[]),
];

/// A cause that holds in this case because a setting is off.
pub(super) struct Felt {
    pub(super) cause: &'static Cause,
    pub(super) judgement: Judgement,
}

/// What of it is felt in this case: the first cause of the table that holds.
pub(super) fn felt(
    e: &Evidence<'_>,
    setting: Setting,
    believed: &SettingValue,
    in_force: &SettingValue,
) -> Option<Felt> {
    let row = TABLE.iter().find(|row| row.setting == setting)?;
    let causes = match (number(believed)?, number(in_force)?) {
        (believed, now) if now < believed => row.less,
        (believed, now) if now > believed => row.more,
        _ => return None,
    };
    causes.iter().find_map(|id| {
        let cause = find(id)?;
        let judgement = (cause.judge)(e);
        let holds = matches!(judgement.outcome, Outcome::Confirmed | Outcome::Likely);
        holds.then_some(Felt { cause, judgement })
    })
}

/// Off is less than on.
fn number(value: &SettingValue) -> Option<f64> {
    value.number().or_else(|| value.switch().map(|on| f64::from(u8::from(on))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_effect_is_a_cause_of_the_catalogue() {
        for row in TABLE {
            for id in row.less.iter().chain(row.more) {
                assert!(find(id).is_some(), "{id}");
            }
        }
    }
}
