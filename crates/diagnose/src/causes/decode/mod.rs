//! Tokens are slow, or throughput is low.

mod batch_past_knee;
mod card;
mod cuda_graph_miss;
mod decode_bandwidth_roofline;
mod decode_host_overhead_bound;
mod kernel_fallback_slow_path;
mod long_context_kv_read_bound;
mod pace;
mod prefill_decode_interference;
mod roof;
mod speculation_ineffective;
mod static_batching_sequence_skew;
mod tp_communication_bound;
mod underbatched_low_throughput;

pub(super) use card::card_waits;
pub(super) use pace::pace_impact;
pub(super) use roof::step_is_far_above_floor;
pub(crate) use underbatched_low_throughput::worthwhile_batch;

use super::Cause;

/// The causes of this class, in the order of the catalogue.
pub(super) const CAUSES: &[&Cause] = &[
    &decode_bandwidth_roofline::CAUSE,
    &batch_past_knee::CAUSE,
    &long_context_kv_read_bound::CAUSE,
    &prefill_decode_interference::CAUSE,
    &decode_host_overhead_bound::CAUSE,
    &cuda_graph_miss::CAUSE,
    &tp_communication_bound::CAUSE,
    &speculation_ineffective::CAUSE,
    &kernel_fallback_slow_path::CAUSE,
    &underbatched_low_throughput::CAUSE,
    &static_batching_sequence_skew::CAUSE,
];

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSES;
    use crate::diagnosis::Outcome;
    use crate::testing::Given;

    /// An 8B model on one large card, busy and well.
    fn healthy() -> Given {
        Given::vllm("0.28.0")
            .flags("--tensor-parallel-size 1")
            .on_gpu()
            .gpu_busy(92)
            .pool(430_000.0)
            .gauges(
                RequestsRunning,
                &[30.0, 44.0, 38.0, 52.0, 60.0, 41.0, 35.0, 48.0, 55.0, 39.0, 46.0, 50.0],
            )
            .gauge(RequestsWaiting, 0.0)
            .gauge(KvUsage, 0.6)
            .observed(LatencyTtft, &[(0.08, 1500.0)])
            .observed(LatencyQueue, &[(0.002, 1500.0)])
            .observed(LatencyPrefill, &[(0.06, 1500.0)])
            .observed(LatencyDecode, &[(2.2, 1500.0)])
            .observed(LatencyItl, &[(0.009, 290_000.0), (0.04, 10_000.0)])
            .observed(TokensPromptEach, &[(3000.0, 1500.0)])
            .observed(TokensOutputEach, &[(200.0, 1500.0)])
            .counter(TokensPrompt, 4_500_000.0)
            .counter(TokensGenerated, 300_000.0)
            .counter(RequestsPreempted, 0.0)
            .finished("stop", 1500.0)
    }

    #[test]
    fn no_cause_of_slow_tokens_is_found_on_a_healthy_busy_server() {
        for given in [healthy(), healthy().objective("itl.p95=30ms").objective("ttft.p95=500ms")] {
            for cause in CAUSES {
                let j = given.judge(cause);
                assert!(matches!(j.outcome, Outcome::RuledOut | Outcome::CannotTell), "{}: {j:#?}", cause.id);
            }
        }
    }

    #[test]
    fn an_idle_server_has_no_slow_tokens() {
        let idle =
            Given::vllm("0.28.0").gauge(RequestsRunning, 0.0).gauge(RequestsWaiting, 0.0).gauge(KvUsage, 0.0);
        for cause in CAUSES {
            let j = idle.judge(cause);
            assert!(matches!(j.outcome, Outcome::RuledOut | Outcome::CannotTell), "{}: {j:#?}", cause.id);
        }
    }
}
