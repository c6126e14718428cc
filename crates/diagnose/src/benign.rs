//! Conditions that look alarming and are not. They never raise a finding; they explain a gauge.

mod card;
mod load;
mod unseen;

use crate::diagnosis::Named;
use crate::evidence::Evidence;

/// A condition that looks alarming and is not.
#[derive(Debug)]
pub struct Benign {
    /// Stable id, never reused.
    pub id: &'static str,
    /// What people see.
    pub looks_like: &'static str,
    /// Why it is in order, and when it would not be.
    pub explanation: &'static str,
    /// The evidence this version does not collect, where the condition cannot be judged yet.
    pub needs: Option<&'static str>,
    /// Causes that turn it into a problem: where one holds, this is not said.
    pub unless: &'static [&'static str],
    /// The sentence with this case's numbers, where the case shows it.
    pub holds: fn(&Evidence<'_>) -> Option<String>,
}

/// Every benign condition, judged or not.
pub fn benign_catalogue() -> impl Iterator<Item = &'static Benign> {
    [load::ALL, card::ALL, unseen::ALL].into_iter().flatten()
}

/// The benign conditions this case shows; `held` are the causes that hold.
pub(crate) fn benign(e: &Evidence<'_>, held: &[&str]) -> Vec<Named> {
    benign_catalogue()
        .filter(|b| !b.unless.iter().any(|cause| held.contains(cause)))
        .filter_map(|b| Some(Named { id: b.id.into(), says: (b.holds)(e)? }))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use intriage_case::Case;
    use intriage_case::Signal::*;
    use intriage_engines::read;

    use super::*;
    use crate::diagnosis::Outcome;
    use crate::testing::Given;
    use crate::thresholds::Thresholds;

    /// What is said of a case in which these causes hold.
    pub(super) fn said_of(case: &Case, held: &[&str]) -> Vec<Named> {
        let observed = read(case);
        benign(&Evidence::new(&observed, &case.intent, &Thresholds::default()), held)
    }

    /// The sentence of one condition, where it is said.
    pub(super) fn said(case: &Case, id: &str) -> Option<String> {
        assert!(benign_catalogue().any(|b| b.id == id), "{id}");
        said_of(case, &[]).into_iter().find(|n| n.id == id).map(|n| n.says)
    }

    #[test]
    fn the_table_is_complete_and_its_ids_are_its_own() {
        let ids: BTreeSet<&str> = benign_catalogue().map(|b| b.id).collect();
        assert_eq!((ids.len(), benign_catalogue().count()), (14, 14));
        for b in benign_catalogue() {
            assert!(b.id.starts_with("benign-") && crate::causes::find(b.id).is_none(), "{}", b.id);
            for text in [b.looks_like, b.explanation].into_iter().chain(b.needs) {
                assert!(text.ends_with('.') && !text.contains("  "), "{}: {text:?}", b.id);
            }
        }
    }

    #[test]
    fn an_empty_case_shows_nothing() {
        assert_eq!(said_of(&Case::default(), &[]), []);
    }

    #[test]
    fn memory_overload_and_telemetry_hold_nothing_against_a_healthy_busy_server() {
        let healthy = Given::vllm("0.32.0")
            .flags("vllm serve m --max-num-queued-reqs 100")
            .on_gpu()
            .pool(430_000.0)
            .gauge(RequestsRunning, 40.0)
            .gauge(RequestsWaiting, 0.0)
            .gauge(KvUsage, 0.97)
            .counter(RequestsPreempted, 0.0)
            .counter(RequestsRejected, 0.0)
            .counter(TokensGenerated, 100_000.0)
            .observed(LatencyTtft, &[(0.08, 1100.0)])
            .observed(LatencyQueue, &[(0.001, 1100.0)])
            .observed(LatencyPrefill, &[(0.05, 1100.0)])
            .observed(LatencyInference, &[(2.0, 1100.0)])
            .observed(LatencyItl, &[(0.02, 100_000.0)])
            .observed(TokensPromptEach, &[(600.0, 1100.0)])
            .observed(TokensOutputEach, &[(90.0, 1100.0)])
            .answered("2xx", 1100.0)
            .finished("stop", 1100.0);
        for id in [
            "weights-leave-no-kv",
            "runtime-oom-non-kv",
            "vram-co-tenant-or-orphan",
            "overload-shedding",
            "telemetry-definition-gap",
            "prefill-chunk-budget-too-small",
        ] {
            let j = healthy.judge(crate::causes::find(id).unwrap());
            assert!(matches!(j.outcome, Outcome::RuledOut | Outcome::CannotTell), "{id}: {j:#?}");
        }
    }
}
