//! TensorRT-LLM: trtllm-serve's `/prometheus/metrics` and Triton's backend.

use intriage_case::Signal::{self, *};

use crate::Setting;
use crate::dialect::{Availability, Dialect, Engine, Flag, FlagValue, How, LogValue, MetricRow};

const fn row(signal: Signal, metric: &'static str) -> MetricRow {
    MetricRow::same(signal, metric)
}

const METRICS: &[MetricRow] = &[
    row(RequestsRunning, "trtllm_num_requests_running"),
    row(RequestsRunning, "nv_trt_llm_request_metrics").how(How::Where("request_type", &["active"])),
    row(RequestsWaiting, "trtllm_num_requests_waiting"),
    row(RequestsWaiting, "nv_trt_llm_request_metrics").how(How::Where("request_type", &["waiting"])),
    row(RequestsFinished, "trtllm_request_success_total").by("finished_reason"),
    row(RequestsErrors, "trtllm_request_error_total").by("http_code"),
    row(RequestsPaused, "trtllm_num_paused_requests"),
    row(TokensPrompt, "trtllm_prompt_tokens_total"),
    row(TokensPromptCached, "trtllm_prompt_cached_tokens_total"),
    row(TokensGenerated, "trtllm_generation_tokens_total"),
    row(LatencyTtft, "trtllm_time_to_first_token_seconds"),
    row(LatencyTpot, "trtllm_time_per_output_token_seconds"),
    row(LatencyE2e, "trtllm_e2e_request_latency_seconds"),
    row(LatencyQueue, "trtllm_request_queue_time_seconds"),
    row(LatencyPrefill, "trtllm_request_prefill_time_seconds"),
    row(LatencyDecode, "trtllm_request_decode_time_seconds"),
    row(LatencyInference, "trtllm_request_inference_time_seconds"),
    row(LatencyStep, "trtllm_iteration_latency_seconds"),
    row(KvUsage, "trtllm_kv_cache_utilization"),
    row(KvUsage, "nv_trt_llm_kv_cache_block_metrics").how(How::Where("kv_cache_block_type", &["fraction"])),
    row(KvCapacity, "trtllm_kv_cache_max_blocks").how(How::Times("trtllm_kv_cache_tokens_per_block")),
    row(KvHostUsage, "trtllm_kv_cache_host_utilization"),
    row(KvPrefixHits, "trtllm_kv_cache_reused_blocks_total")
        .how(How::Times("trtllm_kv_cache_tokens_per_block")),
    row(KvPrefixHitRatio, "trtllm_kv_cache_hit_rate"),
    row(KvOffloadLoad, "trtllm_kv_cache_onboard_bytes_total"),
    row(KvOffloadStore, "trtllm_kv_cache_offload_bytes_total"),
    row(SpecDraftTokens, "trtllm_spec_decode_num_draft_tokens_total"),
    row(SpecAcceptedTokens, "trtllm_spec_decode_num_accepted_tokens_total"),
    row(SpecAcceptLength, "trtllm_spec_decode_acceptance_length"),
    row(SchedulerSlots, "trtllm_max_batch_size_runtime"),
    row(SchedulerSlots, "nv_trt_llm_request_metrics").how(How::Where("request_type", &["max"])),
    row(SchedulerTokenBudget, "trtllm_max_num_tokens_runtime"),
];

const AVAILABILITY: &[Availability] = &[
    Availability { signal: LatencyItl, why: "it records per-request TPOT, not gaps" },
    Availability {
        signal: RequestsPreempted,
        why: "paused requests are a gauge, and only under MAX_UTILIZATION",
    },
    Availability { signal: TokensPerStep, why: "only context tokens are shown" },
    Availability { signal: TokensMaxParam, why: "the clients' limits are not recorded" },
];

const FLAGS: &[Flag] = &[
    Flag {
        names: &["--max_batch_size", "--max-batch-size"],
        setting: Setting::MaxSequences,
        value: FlagValue::Number,
    },
    Flag {
        names: &["--max_num_tokens", "--max-num-tokens"],
        setting: Setting::TokenBudget,
        value: FlagValue::Number,
    },
    Flag {
        names: &["--max_seq_len", "--max-seq-len"],
        setting: Setting::ContextWindow,
        value: FlagValue::Number,
    },
    Flag { names: &["--tp_size", "--tp-size"], setting: Setting::TensorParallel, value: FlagValue::Number },
    Flag {
        names: &["--kv_cache_free_gpu_memory_fraction", "--kv-cache-free-gpu-memory-fraction"],
        setting: Setting::MemoryFraction,
        value: FlagValue::Number,
    },
    Flag { names: &["capacity_scheduler_policy"], setting: Setting::CapacityPolicy, value: FlagValue::Text },
    Flag { names: &["enable_block_reuse"], setting: Setting::PrefixCaching, value: FlagValue::Switch(true) },
];

const GIB: f64 = 1_073_741_824.0;

const fn logged(line: &'static str, after: &'static str, setting: Setting, scale: f64) -> LogValue {
    LogValue { line, after, setting, scale }
}

/// The PyTorch backend's account of memory and limits (`tensorrt_llm/_torch/pyexecutor/_util.py`, read at releases of 2025
/// and 2026). What it says it allocated stands there twice, for a trial run first, and is left out.
const LOG_VALUES: &[LogValue] = &[
    logged("KV cache memory when calculating max tokens: ", "fraction is set ", Setting::MemoryFraction, 1.0),
    logged("KV cache memory when calculating max tokens: ", "max tokens: ", Setting::KvBytes, GIB),
    logged(", max_num_requests=", ", max_num_requests=", Setting::MaxSequences, 1.0),
    logged(", max_num_requests=", ", max_num_tokens=", Setting::TokenBudget, 1.0),
    logged(", max_num_requests=", "max_seq_len=", Setting::ContextWindow, 1.0),
];

pub(crate) static DIALECT: Dialect = Dialect {
    engine: Engine::TensorRtLlm,
    key: "trtllm",
    name: "TensorRT-LLM",
    prefixes: &["trtllm_", "nv_trt_llm_", "trtllm:"],
    owned_by: &["tensorrt_llm"],
    metrics: METRICS,
    availability: AVAILABILITY,
    flags: FLAGS,
    variables: &[],
    variables_gone: &[],
    variable_prefixes: &["TRTLLM_", "TLLM_"],
    log_values: LOG_VALUES,
    default_budgets: &[8192.0],
    endpoints: &["/version", "/v1/models", "/server_info"],
    newest_known: "1.3",
};
