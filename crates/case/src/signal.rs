//! The signals: engine-neutral quantities every dialect translates into.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Unit;

/// How a signal behaves over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows, except when the process restarts.
    Counter,
    /// Goes up and down.
    Gauge,
    /// A distribution: buckets, sum and count.
    Histogram,
}

/// How several engines or replicas are taken together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregate {
    /// Values add up.
    Sum,
    /// The fullest one counts: an average would hide it.
    Max,
}

/// Declares the vocabulary once: variant, public name, kind, unit, aggregation, meaning.
macro_rules! signals {
    ($($variant:ident $name:literal $kind:ident $unit:ident $aggregate:ident $meaning:literal;)*) => {
        /// An engine-neutral quantity. Ratios are 0 to 1, times are seconds, cache sizes are tokens.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
        )]
        pub enum Signal {
            $(#[doc = $meaning] #[serde(rename = $name)] $variant,)*
        }

        impl Signal {
            /// Every signal, in the order of the vocabulary.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name used in output and settings, such as `requests.waiting`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// How it behaves over time.
            pub const fn kind(self) -> Kind {
                match self { $(Self::$variant => Kind::$kind,)* }
            }

            /// Its unit.
            pub const fn unit(self) -> Unit {
                match self { $(Self::$variant => Unit::$unit,)* }
            }

            /// How engines and replicas are taken together.
            pub const fn aggregate(self) -> Aggregate {
                match self { $(Self::$variant => Aggregate::$aggregate,)* }
            }

            /// What it means, in a few words.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }
        }
    };
}

signals! {
    RequestsRunning "requests.running" Gauge Requests Sum "requests in the batch now";
    RequestsWaiting "requests.waiting" Gauge Requests Sum "requests accepted and not yet scheduled";
    RequestsWaitingCapacity "requests.waiting_capacity" Gauge Requests Sum "waiting for room in the engine";
    RequestsWaitingDeferred "requests.waiting_deferred" Gauge Requests Sum "waiting for an adapter, a grammar or remote data";
    RequestsWaitingKvFetch "requests.waiting_kv_fetch" Gauge Requests Sum "waiting for KV blocks from elsewhere";
    RequestsSwapped "requests.swapped" Gauge Requests Sum "requests moved to host memory (old engines)";
    RequestsFinished "requests.finished" Counter Requests Sum "requests finished, by reason";
    RequestsAborted "requests.aborted" Counter Requests Sum "requests given up";
    RequestsErrors "requests.errors" Counter Requests Sum "requests that failed, by code or reason";
    RequestsRejected "requests.rejected" Counter Requests Sum "requests refused by a limit";
    RequestsPreempted "requests.preempted" Counter Events Sum "times a running request was thrown back";
    RequestsPreemptionsEach "requests.preemptions_per_request" Histogram Events Sum "preemptions per finished request";
    RequestsCorrupted "requests.corrupted" Counter Requests Sum "requests with not-a-number logits";
    RequestsPaused "requests.paused" Gauge Requests Sum "requests paused by the scheduler";
    TokensPrompt "tokens.prompt" Counter Tokens Sum "prompt tokens, cached ones included";
    TokensPromptComputed "tokens.prompt_computed" Counter Tokens Sum "prompt tokens really computed";
    TokensPromptCached "tokens.prompt_cached" Counter Tokens Sum "prompt tokens taken from a cache";
    TokensGenerated "tokens.generated" Counter Tokens Sum "output tokens";
    TokensPerStep "tokens.per_step" Histogram Tokens Sum "tokens in one engine step";
    TokensPromptEach "tokens.prompt_per_request" Histogram Tokens Sum "prompt length of finished requests";
    TokensOutputEach "tokens.output_per_request" Histogram Tokens Sum "output length of finished requests";
    TokensMaxParam "tokens.max_tokens_param" Histogram Tokens Sum "output limit the client asked for";
    TokensUncachedEach "tokens.uncached_prompt_per_request" Histogram Tokens Sum "prompt tokens computed per request";
    TokenRatePrompt "tokens.prompt_rate" Gauge TokensPerSecond Sum "prompt tokens per second, as the engine says";
    TokenRateGenerated "tokens.generated_rate" Gauge TokensPerSecond Sum "output tokens per second, as the engine says";
    LatencyTtft "latency.ttft" Histogram Seconds Sum "arrival to first token, on the server";
    LatencyItl "latency.itl" Histogram Seconds Sum "gap between outputs of one request";
    LatencyTpot "latency.tpot" Histogram Seconds Sum "per-request decode time over tokens minus one";
    LatencyE2e "latency.e2e" Histogram Seconds Sum "arrival to last token";
    LatencyQueue "latency.queue" Histogram Seconds Sum "queued to first scheduled";
    LatencyPrefill "latency.prefill" Histogram Seconds Sum "first scheduled to first token";
    LatencyDecode "latency.decode" Histogram Seconds Sum "first to last token";
    LatencyInference "latency.inference" Histogram Seconds Sum "first scheduled to last token";
    LatencyFrontend "latency.frontend" Histogram Seconds Sum "validation and tokenization before the engine";
    LatencyStep "latency.step" Gauge Seconds Max "time of one engine step";
    KvUsage "kv.usage" Gauge Ratio Max "share of the KV pool in use, reusable blocks excluded";
    KvCapacity "kv.capacity" Gauge Tokens Sum "tokens the KV pool can hold";
    KvMaxConcurrency "kv.max_concurrency" Gauge Requests Sum "full-length requests the pool can hold";
    KvHostUsage "kv.host_usage" Gauge Ratio Max "share of the host-side KV store in use";
    KvPrefixQueries "kv.prefix_queries" Counter Tokens Sum "prompt tokens looked up in the prefix cache";
    KvPrefixHits "kv.prefix_hits" Counter Tokens Sum "prompt tokens found in the prefix cache";
    KvPrefixHitRatio "kv.prefix_hit_ratio" Gauge Ratio Max "prefix hit ratio, as the engine says";
    KvExternalQueries "kv.external_queries" Counter Tokens Sum "tokens looked up in an external cache";
    KvExternalHits "kv.external_hits" Counter Tokens Sum "tokens found in an external cache";
    KvEvicted "kv.evicted" Counter Tokens Sum "tokens evicted from the prefix cache";
    KvIdleBeforeEvict "kv.idle_before_evict" Histogram Seconds Sum "idle time of a block when it is evicted";
    KvOffloadLoad "kv.offload_load" Counter Bytes Sum "bytes loaded from the offload tier";
    KvOffloadStore "kv.offload_store" Counter Bytes Sum "bytes stored to the offload tier";
    KvTransfer "kv.transfer" Histogram Seconds Sum "time of one KV transfer between engines";
    KvTransferFailures "kv.transfer_failures" Counter Events Sum "failed KV transfers";
    KvTransferExpired "kv.transfer_expired" Counter Requests Sum "KV leases that expired unused";
    SpecDrafts "spec.drafts" Counter Events Sum "speculation rounds";
    SpecDraftTokens "spec.draft_tokens" Counter Tokens Sum "tokens proposed";
    SpecAcceptedTokens "spec.accepted_tokens" Counter Tokens Sum "proposed tokens accepted";
    SpecAcceptedAt "spec.accepted_per_position" Counter Tokens Sum "accepted tokens by position";
    SpecAcceptRatio "spec.accept_ratio" Gauge Ratio Max "acceptance, as the engine says";
    SpecAcceptLength "spec.accept_length" Gauge Tokens Max "tokens gained per round, as the engine says";
    ComputeFlops "compute.flops" Counter Flop Sum "engine's own estimate of work per GPU";
    ComputeReadBytes "compute.read_bytes" Counter Bytes Sum "engine's own estimate of memory read per GPU";
    ComputeBusy "compute.busy" Counter Seconds Sum "time in forward passes";
    ComputeGraphPasses "compute.graph_passes" Counter Events Sum "forward passes, by whether a CUDA graph ran";
    ComputeGraphNow "compute.graph_now" Gauge Ratio Max "whether the last step ran in a CUDA graph";
    SchedulerStage "scheduler.stage" Counter Seconds Sum "scheduler time on the CPU, by stage";
    SchedulerSlots "scheduler.slots" Gauge Requests Sum "sequence cap, as the engine says";
    SchedulerTokenBudget "scheduler.token_budget" Gauge Tokens Max "token budget of a step, as the engine says";
    SchedulerBusySlots "scheduler.busy_slots" Gauge Requests Sum "busy slots per step, as the engine says";
    SchedulerSteps "scheduler.steps" Counter Events Sum "engine steps";
    LoraPoolUsage "lora.pool_usage" Gauge Ratio Max "share of adapter slots in use";
    LoraWaiting "lora.waiting" Gauge Requests Max "distinct adapters waiting";
    LoraRunning "lora.running" Gauge Requests Max "distinct adapters running";
    GrammarCompile "grammar.compile" Histogram Seconds Sum "time to compile one output grammar";
    EngineAwake "engine.awake" Gauge Ratio Max "1 while the engine is awake, 0 asleep";
    ContextWindow "engine.context_window" Gauge Tokens Max "longest prompt plus output";
    ProcessStart "process.start" Gauge Seconds Max "when the process started, Unix time";
    ProcessCpu "process.cpu" Counter Seconds Sum "CPU time of the answering process";
    HttpResponses "http.responses" Counter Requests Sum "HTTP responses, by status";
    HttpActive "http.active" Gauge Requests Sum "HTTP requests open now";
    GpuUtil "gpu.util" Gauge Ratio Max "share of time some kernel ran";
    GpuMemoryUtil "gpu.memory_util" Gauge Ratio Max "share of time the memory was read or written";
    GpuPower "gpu.power" Gauge Watts Max "board power";
    GpuSmClock "gpu.sm_clock" Gauge Hertz Max "SM clock";
    GpuTemperature "gpu.temperature" Gauge Celsius Max "GPU temperature";
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Signal {
    /// The signal of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|s| s.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found_again() {
        for signal in Signal::ALL {
            assert_eq!(Signal::named(signal.name()), Some(*signal));
        }
    }
}
