//! Conditions whose evidence this version does not collect: they are explained, never claimed.

use super::Benign;
use crate::evidence::Evidence;

pub(super) static ALL: &[Benign] = &[
    Benign {
        id: "benign-batch-nondeterminism",
        looks_like: "The same question at temperature 0 gets slightly different answers.",
        explanation: "The size of the batch and the prefix cache change the order of sums, so two nearly equal tokens can swap places. \
                      It is normal while the answers part at such a near tie and are as good as before. \
                      Where equal text matters: VLLM_BATCH_INVARIANT=1, or --enable-deterministic-inference on SGLang; both cost speed.",
        needs: Some("Answers of the same prompts with their token probabilities."),
        unless: &["kernel-numerical-corruption", "over-aggressive-quantization", "replica-version-skew"],
        holds: never,
    },
    Benign {
        id: "benign-busy-loop-core",
        looks_like: "A processor core is at 100 %, even without traffic.",
        explanation: "The engine's core and its workers poll for work instead of sleeping, because waking up costs time. \
                      It is normal as long as no other thread waits for that core and no quota throttles it.",
        needs: Some("Processor time by process, run-queue waits and quota throttling of the host."),
        unless: &["decode-host-overhead-bound", "cpu-starvation-cgroup-throttle"],
        holds: never,
    },
    Benign {
        id: "benign-low-tensor-active",
        looks_like: "The tensor cores are busy a tenth of the time while the GPU shows 99 %.",
        explanation: "Decoding reads all weights for every step and computes little with them, so memory is the limit and the tensor cores wait. \
                      It is normal while memory is busy and the token gap is near what the bandwidth allows.",
        needs: Some("DCGM's tensor and memory activity."),
        unless: &["kernel-fallback-slow-path", "underbatched-low-throughput"],
        holds: never,
    },
    Benign {
        id: "benign-rolling-deploy",
        looks_like: "Two versions answer, first tokens are cold and the prefix cache misses.",
        explanation: "New replicas start with empty caches and uncompiled kernels while the old ones leave. \
                      It is normal until the rollout's planned end, as long as users stay within the objectives.",
        needs: Some("The replicas' versions and the state of the rollout."),
        unless: &["replica-version-skew", "cold-start-warmup", "prefix-affinity-lost"],
        holds: never,
    },
];

fn never(_: &Evidence<'_>) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_cannot_be_seen_says_what_it_needs() {
        assert!(super::ALL.iter().all(|b| b.needs.is_some()));
    }
}
