//! Benign conditions of the load: pool, queue, times, caches, speculation.

use intriage_case::{ObjectiveMetric, Ratio, Requests, Seconds, Signal};
use intriage_engines::Setting;

use super::Benign;
use crate::evidence::Evidence;
use crate::objectives::judge_objectives;
use crate::thresholds::Limit;

pub(super) static ALL: &[Benign] = &[
    Benign {
        id: "benign-high-kv-occupancy",
        looks_like: "The KV pool is 90 to 100 % full for hours.",
        explanation: "A full pool is memory put to use. It becomes a problem only when requests wait for room in it, or when running ones are thrown back.",
        needs: None,
        unless: &["kv-capacity-limited-queue", "preemption-thrash", "weights-leave-no-kv"],
        holds: high_kv_occupancy,
    },
    Benign {
        id: "benign-batch-queue",
        looks_like: "Hundreds of requests wait.",
        explanation: "A batch job keeps a standing queue so that the server never runs dry; SGLang's guide suggests 100 to 2,000. \
                      It is normal while the queue does not grow and the server is full.",
        needs: None,
        unless: &[
            "kv-capacity-limited-queue",
            "offered-load-exceeds-capacity",
            "preemption-thrash",
            "engine-stalled-not-admitting",
        ],
        holds: batch_queue,
    },
    Benign {
        id: "benign-batch-e2e",
        looks_like: "Answers take tens of seconds or minutes.",
        explanation: "A batch job counts tokens per second, not the time of one answer: larger batches are slower for each request and faster for all.",
        needs: None,
        unless: &[
            "offered-load-exceeds-capacity",
            "batch-past-knee",
            "underbatched-low-throughput",
            "overload-shedding",
        ],
        holds: batch_e2e,
    },
    Benign {
        id: "benign-chunked-prefill-itl-spikes",
        looks_like: "The gap between tokens jumps now and then.",
        explanation: "Long prompts are read in pieces between the others' tokens, and a step with such a piece takes longer. \
                      It is normal as long as the slow gaps stay within the objective.",
        needs: None,
        unless: &["prefill-decode-interference", "cpu-starvation-cgroup-throttle", "preemption-thrash"],
        holds: chunked_prefill_spikes,
    },
    Benign {
        id: "benign-low-prefix-hit",
        looks_like: "The prefix cache hits 0 to 5 %.",
        explanation: "The cache can only find again what came before: a low hit rate is normal unless prompts share their beginning. \
                      The rate counts tokens in whole blocks, so short prompts never hit.",
        needs: None,
        unless: &["prefix-cache-ineffective"],
        holds: low_prefix_hit,
    },
    Benign {
        id: "benign-spec-itl",
        looks_like: "The gap between outputs is longer since speculation is on.",
        explanation: "The gap is measured per step, and a step with accepted proposals brings several tokens. Judge by the time per token or by tokens per second.",
        needs: None,
        unless: &["speculation-ineffective", "engine-upgrade-regression"],
        holds: spec_itl,
    },
];

fn high_kv_occupancy(e: &Evidence<'_>) -> Option<String> {
    let usage = e.mean_busy(Signal::KvUsage)?;
    let waits = e.observed.series(Signal::RequestsWaiting, None, None)?.max()?;
    // An engine without the counter does not preempt, or shows it by waiting.
    let thrown_back = e.delta(Signal::RequestsPreempted).unwrap_or(0.0);
    let fine = usage >= e.limit(Limit::KvFree) && waits == 0.0 && thrown_back == 0.0;
    fine.then(|| {
        format!(
            "the KV pool is {} full, nobody waits and nothing is thrown back: that is good use of memory",
            Ratio(usage)
        )
    })
}

fn batch_queue(e: &Evidence<'_>) -> Option<String> {
    if !e.wants_throughput() {
        return None;
    }
    let waiting = e.observed.series(Signal::RequestsWaiting, None, None)?;
    let (early, late) = e.busy().split_at(e.busy().len() / 2);
    let (before, after) = (waiting.mean_at(early)?, waiting.mean_at(late)?);
    let steady = before >= 1.0 && after >= 1.0 && after <= before * (1.0 + e.limit(Limit::Growth));
    let full = e.mean_busy(Signal::KvUsage).is_some_and(|u| u >= e.limit(Limit::KvFree)) || at_cap(e);
    (steady && full && few_preemptions(e)).then(|| {
        format!(
            "{} wait on average and do not become more while the server is full: a batch job plans for that",
            Requests(f64::midpoint(before, after))
        )
    })
}

fn at_cap(e: &Evidence<'_>) -> bool {
    let pair = e.mean_busy(Signal::RequestsRunning).zip(e.setting(Setting::MaxSequences));
    pair.is_some_and(|(running, cap)| running >= e.limit(Limit::AtCap) * cap)
}

fn few_preemptions(e: &Evidence<'_>) -> bool {
    let minutes = e.busy_time().get() / 60.0;
    e.delta(Signal::RequestsPreempted).is_none_or(|n| n <= e.limit(Limit::PreemptionsPerMinute) * minutes)
}

fn batch_e2e(e: &Evidence<'_>) -> Option<String> {
    let time =
        e.mean(Signal::LatencyE2e).filter(|t| e.wants_throughput() && *t >= e.limit(Limit::LongE2e))?;
    let failing = e.failed_share().is_some_and(|s| s.get() >= e.limit(Limit::ErrorShare));
    (!failing).then(|| {
        format!(
            "an answer takes {} on average: for a batch job tokens per second count, not the single answer",
            Seconds(time)
        )
    })
}

fn chunked_prefill_spikes(e: &Evidence<'_>) -> Option<String> {
    if e.observed.config.switch(Setting::ChunkedPrefill) != Some(true)
        || e.delta(Signal::RequestsPreempted).unwrap_or(0.0) > 0.0
    {
        return None;
    }
    let gaps = e.histogram(Signal::LatencyItl).filter(|h| h.count() >= e.limit(Limit::P99Sample))?;
    let (median, slow) = (gaps.quantile(0.5)?, gaps.quantile(0.99)?);
    let prompt = e.mean(Signal::TokensPromptEach)?;
    let spikes = slow.low >= e.limit(Limit::ItlSpread) * median.high
        || slow.estimate >= e.limit(Limit::ItlSpread) * median.estimate;
    // Only an objective says whether a spike is felt.
    let stated = e
        .intent
        .objectives
        .iter()
        .zip(judge_objectives(e))
        .filter(|(o, _)| matches!(o.metric, ObjectiveMetric::Itl | ObjectiveMetric::Tpot));
    let verdicts: Vec<Option<bool>> = stated.map(|(_, result)| result.met).collect();
    let kept = !verdicts.is_empty() && verdicts.iter().all(|met| *met == Some(true));
    (spikes && kept && prompt >= e.limit(Limit::LongPrompt)).then(|| {
        format!("one token gap in a hundred is about {} where the median is {}: prompts are read in pieces in between, and the objective is kept", Seconds(slow.estimate), Seconds(median.estimate))
    })
}

fn low_prefix_hit(e: &Evidence<'_>) -> Option<String> {
    if e.observed.config.switch(Setting::PrefixCaching) != Some(true) {
        return None;
    }
    let asked = e.delta(Signal::KvPrefixQueries)?;
    let ratio = Ratio::of(e.delta(Signal::KvPrefixHits)?, asked)?;
    let long = e.mean(Signal::TokensPromptEach)? >= e.limit(Limit::LongPrompt);
    let enough = e.finished()?.get() >= e.limit(Limit::MeanSample);
    if !(long && enough && ratio.get() < e.limit(Limit::SharedHit)) {
        return None;
    }
    let felt = e.account.prefill.filter(|p| p.value >= e.limit(Limit::PrefillTime));
    let share = felt.zip(e.account.ttft).and_then(|(p, ttft)| Ratio::of(p.value, ttft.max(p.value)));
    let normal = format!(
        "the prefix cache finds {ratio} of the prompt tokens: a low hit rate is normal unless prompts share their beginning"
    );
    Some(match share {
        Some(share) if share.get() >= e.limit(Limit::PrefillShare) => format!(
            "{normal}; if they do, it would pay here, where prefill is {share} of the time to first token"
        ),
        _ => normal,
    })
}

fn spec_itl(e: &Evidence<'_>) -> Option<String> {
    let rounds = e.delta(Signal::SpecDrafts)?;
    let extra = Ratio::of(e.delta(Signal::SpecAcceptedTokens)?, rounds)?.get();
    let (gap, token) = (e.account.itl?, e.mean(Signal::LatencyTpot)?);
    (extra >= e.limit(Limit::SpecAccept) && token < gap).then(|| {
        format!(
            "the gap between outputs is {} and a token takes {}: a step brings {:.1} tokens",
            Seconds(gap),
            Seconds(token),
            1.0 + extra
        )
    })
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;
    use intriage_engines::Engine;

    use crate::benign::tests::{said, said_of};
    use crate::testing::Given;

    /// Scenario H04: 97 % full, nobody waits.
    fn full_and_calm() -> Given {
        Given::vllm("0.28.0")
            .gauge(RequestsRunning, 80.0)
            .gauge(RequestsWaiting, 0.0)
            .gauge(KvUsage, 0.97)
            .counter(RequestsPreempted, 0.0)
    }

    #[test]
    fn a_full_pool_is_good_use_until_somebody_waits_or_is_thrown_back() {
        let id = "benign-high-kv-occupancy";
        assert!(said(&full_and_calm().case(), id).unwrap().contains("97 % full"));
        assert_eq!(said(&full_and_calm().gauges(RequestsWaiting, &[0.0, 3.0, 0.0]).case(), id), None);
        assert_eq!(said(&full_and_calm().counter(RequestsPreempted, 2.0).case(), id), None);
        assert_eq!(said(&full_and_calm().gauge(KvUsage, 0.4).case(), id), None);
    }

    #[test]
    fn a_cause_that_holds_silences_its_harmless_twin() {
        let case = full_and_calm().case();
        assert_eq!(said_of(&case, &["kv-capacity-limited-queue"]), []);
    }

    /// Scenario H05: 800 queued, the pool 93 % full.
    fn batch_job() -> Given {
        Given::engine(Engine::Sglang, "0.5.20")
            .batch()
            .gauge(RequestsRunning, 200.0)
            .gauge(RequestsWaiting, 800.0)
            .gauge(KvUsage, 0.93)
    }

    #[test]
    fn a_standing_queue_is_a_batch_job_s_plan() {
        let id = "benign-batch-queue";
        assert!(said(&batch_job().case(), id).unwrap().starts_with("800 requests wait"));
        let growing: Vec<f64> = (0..12).map(|i| 100.0 + 100.0 * f64::from(i)).collect();
        assert_eq!(said(&batch_job().gauges(RequestsWaiting, &growing).case(), id), None);
        assert_eq!(said(&batch_job().gauge(KvUsage, 0.3).case(), id), None);
        let people = Given::vllm("0.28.0")
            .gauge(RequestsRunning, 200.0)
            .gauge(RequestsWaiting, 800.0)
            .gauge(KvUsage, 0.93);
        assert_eq!(said(&people.case(), id), None);
    }

    #[test]
    fn long_answers_are_a_batch_job_s_plan() {
        let id = "benign-batch-e2e";
        let slow = Given::vllm("0.28.0").gauge(RequestsRunning, 200.0).observed(LatencyE2e, &[(90.0, 300.0)]);
        assert!(said(&slow.clone().batch().case(), id).unwrap().contains("90.0 s"));
        assert_eq!(said(&slow.clone().case(), id), None);
        let failing = slow.batch().answered("2xx", 300.0).answered("5xx", 30.0);
        assert_eq!(said(&failing.case(), id), None);
    }

    /// Scenario H02: gaps of 6 ms with spikes of 24 ms, objective 30 ms.
    fn spikes() -> Given {
        Given::vllm("0.28.0")
            .gauge(RequestsRunning, 20.0)
            .observed(LatencyItl, &[(0.004, 9500.0), (0.024, 500.0)])
            .observed(TokensPromptEach, &[(6000.0, 100.0)])
    }

    #[test]
    fn spikes_within_the_objective_are_chunked_prefill_at_work() {
        let id = "benign-chunked-prefill-itl-spikes";
        assert!(said(&spikes().objective("itl.p99=30ms").case(), id).is_some());
        assert_eq!(said(&spikes().case(), id), None);
        assert_eq!(said(&spikes().objective("itl.p99=8ms").case(), id), None);
        assert_eq!(
            said(&spikes().objective("itl.p99=30ms").observed(LatencyItl, &[(0.004, 10_000.0)]).case(), id),
            None
        );
    }

    /// Scenario H08: unique documents, 2 % found again.
    fn unique_prompts() -> Given {
        Given::vllm("0.28.0")
            .gauge(RequestsRunning, 4.0)
            .counter(KvPrefixQueries, 200_000.0)
            .counter(KvPrefixHits, 4000.0)
            .observed(TokensPromptEach, &[(2000.0, 100.0)])
            .finished("stop", 100.0)
    }

    #[test]
    fn a_low_hit_rate_is_normal_unless_prompts_share_their_beginning() {
        let id = "benign-low-prefix-hit";
        let says = said(&unique_prompts().case(), id).unwrap();
        assert!(
            says.contains("finds 2 %") && says.ends_with("unless prompts share their beginning"),
            "{says}"
        );
        let slow =
            unique_prompts().observed(LatencyTtft, &[(1.0, 100.0)]).observed(LatencyPrefill, &[(0.9, 100.0)]);
        assert!(said(&slow.case(), id).unwrap().contains("would pay here"));
        assert_eq!(said(&unique_prompts().flags("--no-enable-prefix-caching").case(), id), None);
        assert_eq!(said(&unique_prompts().counter(KvPrefixHits, 90_000.0).case(), id), None);
        assert_eq!(said_of(&unique_prompts().case(), &["prefix-cache-ineffective"]), []);
    }

    /// Scenario H11: 24 ms per step, 10 ms per token.
    fn speculating() -> Given {
        Given::vllm("0.28.0")
            .gauge(RequestsRunning, 8.0)
            .counter(SpecDrafts, 1000.0)
            .counter(SpecAcceptedTokens, 1300.0)
            .observed(LatencyItl, &[(0.024, 1000.0)])
            .observed(LatencyTpot, &[(0.010, 100.0)])
    }

    #[test]
    fn a_longer_gap_with_several_tokens_in_it_is_faster() {
        let id = "benign-spec-itl";
        assert!(said(&speculating().case(), id).unwrap().ends_with("a step brings 2.3 tokens"));
        assert_eq!(said(&speculating().counter(SpecAcceptedTokens, 100.0).case(), id), None);
        assert_eq!(said(&speculating().observed(LatencyTpot, &[(0.03, 100.0)]).case(), id), None);
    }
}
