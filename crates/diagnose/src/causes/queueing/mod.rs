//! Requests wait before they run: which limit binds?

mod burst_arrival_transient;
mod by_lines;
mod clumps;
mod deferred_admission_stall;
mod engine_stalled_not_admitting;
mod hang_in_log;
mod head_of_line_blocking;
mod kv_capacity_limited_queue;
mod max_num_seqs_limited_queue;
mod offered_load_exceeds_capacity;
mod overconservative_admission;
mod token_budget_limited_queue;

pub(super) use burst_arrival_transient::arrivals;
pub(crate) use by_lines::{lines_show, through_lines};

use super::Cause;

/// The causes of this class, in the order of the catalogue.
pub(super) const CAUSES: &[&Cause] = &[
    &kv_capacity_limited_queue::CAUSE,
    &max_num_seqs_limited_queue::CAUSE,
    &token_budget_limited_queue::CAUSE,
    &head_of_line_blocking::CAUSE,
    &offered_load_exceeds_capacity::CAUSE,
    &burst_arrival_transient::CAUSE,
    &deferred_admission_stall::CAUSE,
    &overconservative_admission::CAUSE,
    &engine_stalled_not_admitting::CAUSE,
];

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSES;
    use crate::diagnosis::{Outcome, Status};
    use crate::testing::{Given, Place};

    #[test]
    fn a_healthy_busy_server_has_no_queue_that_hurts() {
        let healthy = Given::vllm("0.28.0")
            .flags("--max-num-seqs 256 --max-num-batched-tokens 8192")
            .pool(430_000.0)
            .gauge(RequestsRunning, 120.0)
            .gauges(RequestsWaiting, &[0.0, 0.0, 2.0, 0.0, 0.0, 1.0, 0.0])
            .gauge(KvUsage, 0.97)
            .counter(TokensGenerated, 200_000.0)
            .counter(TokensPrompt, 600_000.0)
            .observed(LatencyTtft, &[(0.07, 1000.0)])
            .observed(LatencyQueue, &[(0.01, 1000.0)])
            .observed(LatencyPrefill, &[(0.05, 1000.0)])
            .observed(LatencyItl, &[(0.02, 200_000.0)])
            .observed(TokensPromptEach, &[(400.0, 990.0), (20_000.0, 10.0)])
            .observed(TokensOutputEach, &[(200.0, 1000.0)])
            .finished("stop", 1000.0);
        for cause in CAUSES {
            assert!(matches!(healthy.place_of(cause), Place::Note | Place::Nowhere), "{}", cause.id);
            assert_ne!(healthy.judge(cause).outcome, Outcome::Confirmed, "{}", cause.id);
        }
        let d = healthy.verdict();
        assert_eq!(d.verdict.status, Status::Healthy, "{}", d.verdict.answer);
    }
}
