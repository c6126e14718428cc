//! SGLang (`--enable-metrics`). Token and request counters move when a request finishes.

use intriage_case::Signal::{self, *};

use crate::Setting;
use crate::dialect::{Availability, Dialect, Engine, Flag, FlagValue, How, LogValue, MetricRow};

const fn row(signal: Signal, metric: &'static str) -> MetricRow {
    MetricRow::same(signal, metric)
}

const METRICS: &[MetricRow] = &[
    row(RequestsRunning, "sglang:num_running_reqs").since("0.3.5.post1"),
    row(RequestsWaiting, "sglang:num_queue_reqs").since("0.3.5.post1"),
    row(RequestsWaitingDeferred, "sglang:num_grammar_queue_reqs").since("0.4.6.post4"),
    row(RequestsWaitingKvFetch, "sglang:num_decode_transfer_queue_reqs")
        .how(How::Plus("sglang:num_decode_prealloc_queue_reqs"))
        .since("0.4.6.post4"),
    row(RequestsFinished, "sglang:num_requests_total").since("0.4.1.post6"),
    row(RequestsAborted, "sglang:num_aborted_requests_total").since("0.4.7"),
    row(RequestsPreempted, "sglang:num_retracted_requests_total").since("0.5.7"),
    row(RequestsPreempted, "sglang:total_retracted_reqs").since("0.4.9.post3").until("0.5.2"),
    row(RequestsPreemptionsEach, "sglang:num_retractions").since("0.5.4.post2").until("0.5.10.post1"),
    row(RequestsPaused, "sglang:num_paused_reqs").since("0.5.2"),
    row(TokensPrompt, "sglang:prompt_tokens_total").since("0.3.5.post1"),
    row(TokensPromptComputed, "sglang:realtime_tokens_total")
        .how(How::Where("mode", &["prefill_compute"]))
        .since("0.5.7"),
    row(TokensPromptCached, "sglang:cached_tokens_total").since("0.4.3.post4"),
    // Live where it exists; the other moves only when a request finishes.
    row(TokensGenerated, "sglang:realtime_tokens_total").how(How::Where("mode", &["decode"])).since("0.5.7"),
    row(TokensGenerated, "sglang:generation_tokens_total").since("0.3.5.post1"),
    row(TokensPromptEach, "sglang:prompt_tokens_histogram").since("0.4.6.post4"),
    row(TokensOutputEach, "sglang:generation_tokens_histogram").since("0.4.6.post4"),
    row(TokensUncachedEach, "sglang:uncached_prompt_tokens_histogram").since("0.5.12"),
    row(TokenRateGenerated, "sglang:gen_throughput").since("0.3.5.post1"),
    row(LatencyTtft, "sglang:time_to_first_token_seconds").since("0.3.5.post1"),
    row(LatencyItl, "sglang:inter_token_latency_seconds").since("0.4.3.post3"),
    row(LatencyItl, "sglang:time_per_output_token_seconds").since("0.3.5.post1").until("0.4.4.post3"),
    row(LatencyTpot, "sglang:request_time_per_output_token_seconds").since("0.5.22"),
    row(LatencyE2e, "sglang:e2e_request_latency_seconds").since("0.3.5.post1"),
    row(LatencyQueue, "sglang:queue_time_seconds").since("0.5.3"),
    row(LatencyQueue, "sglang:queue_time_s").since("0.5.2").until("0.5.2"),
    row(LatencyPrefill, "sglang:per_stage_req_latency_seconds")
        .how(How::Where("stage", &["prefill_forward"]))
        .since("0.5.3"),
    row(LatencyDecode, "sglang:per_stage_req_latency_seconds")
        .how(How::Where("stage", &["decode_forward"]))
        .since("0.5.3"),
    row(LatencyFrontend, "sglang:per_stage_req_latency_seconds")
        .how(How::Where("stage", &["tokenize"]))
        .since("0.5.3"),
    row(KvUsage, "sglang:token_usage").since("0.3.5.post1"),
    row(KvCapacity, "sglang:max_total_num_tokens").since("0.5.6"),
    row(KvPrefixQueries, "sglang:prefill_effective_tokens_total").since("0.5.18"),
    row(KvPrefixHitRatio, "sglang:cache_hit_rate").since("0.3.5.post1"),
    row(KvExternalHits, "sglang:prefetched_tokens_total").since("0.5.2"),
    row(KvEvicted, "sglang:evicted_tokens_total").since("0.5.5.post1"),
    row(KvOffloadLoad, "sglang:load_back_bytes_total").since("0.5.18"),
    row(KvOffloadStore, "sglang:hicache_backup_bytes_total").since("0.5.18"),
    row(KvTransfer, "sglang:kv_transfer_latency_ms").how(How::Scale(0.001)).since("0.5.2"),
    row(KvTransferFailures, "sglang:num_transfer_failed_reqs_total").since("0.4.6.post4"),
    row(SpecDrafts, "sglang:spec_verify_calls_total").since("0.5.13"),
    row(SpecAcceptRatio, "sglang:spec_accept_rate").since("0.5.3.post2"),
    row(SpecAcceptLength, "sglang:spec_accept_length").since("0.4.1.post7"),
    row(ComputeFlops, "sglang:estimated_flops_per_gpu_total").since("0.5.10"),
    row(ComputeReadBytes, "sglang:estimated_read_bytes_per_gpu_total").since("0.5.10"),
    row(ComputeBusy, "sglang:forward_execution_seconds_total").since("0.5.11"),
    row(ComputeBusy, "sglang:gpu_execution_seconds_total").since("0.5.7").until("0.5.10.post1"),
    row(ComputeGraphPasses, "sglang:cuda_graph_passes_total").by("mode").since("0.5.7"),
    row(ComputeGraphNow, "sglang:is_cuda_graph").since("0.5.4"),
    row(SchedulerStage, "sglang:scheduler_stage_seconds_total").by("category").since("0.5.20"),
    row(LoraPoolUsage, "sglang:lora_pool_utilization").since("0.5.7"),
    row(GrammarCompile, "sglang:grammar_compilation_time_seconds").since("0.5.2"),
    row(ContextWindow, "sglang:context_len").since("0.5.11"),
    row(HttpResponses, "sglang:http_responses_total")
        .how(How::Where("method", &["POST"]))
        .by("status_code")
        .since("0.5.6.post2"),
    row(HttpActive, "sglang:http_requests_active").since("0.5.8"),
];

const AVAILABILITY: &[Availability] = &[
    Availability { signal: TokensPerStep, why: "steps are not counted by size" },
    Availability { signal: TokensMaxParam, why: "the clients' limits are not recorded" },
    Availability { signal: SchedulerSlots, why: "the cap is in /server_info and the start-up log" },
    Availability { signal: ProcessStart, why: "its registry is shared by several processes" },
    Availability { signal: RequestsWaitingCapacity, why: "the queue is not split by reason" },
];

const FLAGS: &[Flag] = &[
    Flag { names: &["--max-running-requests"], setting: Setting::MaxSequences, value: FlagValue::Number },
    Flag { names: &["--chunked-prefill-size"], setting: Setting::TokenBudget, value: FlagValue::Number },
    Flag {
        names: &["--context-length", "context_len"],
        setting: Setting::ContextWindow,
        value: FlagValue::Number,
    },
    Flag {
        names: &["--disable-radix-cache"],
        setting: Setting::PrefixCaching,
        value: FlagValue::Switch(false),
    },
    Flag { names: &["--disable-cuda-graph"], setting: Setting::EagerMode, value: FlagValue::Switch(true) },
    Flag {
        names: &["--cuda-graph-max-bs-decode", "--cuda-graph-max-bs"],
        setting: Setting::GraphMaxBatch,
        value: FlagValue::Number,
    },
    Flag { names: &["--device"], setting: Setting::Device, value: FlagValue::Text },
    Flag {
        names: &["--tp", "--tp-size", "--tensor-parallel-size"],
        setting: Setting::TensorParallel,
        value: FlagValue::Number,
    },
    Flag { names: &["--dp", "--dp-size"], setting: Setting::DataParallel, value: FlagValue::Number },
    Flag { names: &["--page-size"], setting: Setting::KvBlockSize, value: FlagValue::Number },
    Flag {
        names: &["--max-total-tokens", "max_total_num_tokens"],
        setting: Setting::KvCapacity,
        value: FlagValue::Number,
    },
    Flag { names: &["--kv-cache-dtype"], setting: Setting::KvDtype, value: FlagValue::Text },
    Flag { names: &["--mem-fraction-static"], setting: Setting::MemoryFraction, value: FlagValue::Number },
    Flag { names: &["--load-format"], setting: Setting::LoadFormat, value: FlagValue::Text },
    Flag { names: &["--quantization"], setting: Setting::Quantization, value: FlagValue::Text },
    Flag {
        names: &["--disable-overlap-schedule"],
        setting: Setting::AsyncScheduling,
        value: FlagValue::Switch(false),
    },
    Flag { names: &["--speculative-algorithm"], setting: Setting::Speculation, value: FlagValue::Text },
    Flag {
        names: &["--speculative-num-draft-tokens"],
        setting: Setting::SpeculativeTokens,
        value: FlagValue::Number,
    },
    Flag { names: &["--max-queued-requests"], setting: Setting::QueueLimit, value: FlagValue::Number },
    Flag { names: &["--max-loras-per-batch"], setting: Setting::MaxLoras, value: FlagValue::Number },
    Flag { names: &["--stream-interval"], setting: Setting::StreamInterval, value: FlagValue::Number },
    Flag { names: &["--schedule-policy"], setting: Setting::SchedulingPolicy, value: FlagValue::Text },
    Flag {
        names: &["--schedule-conservativeness"],
        setting: Setting::ScheduleConservativeness,
        value: FlagValue::Number,
    },
    Flag { names: &["--model-path", "--model"], setting: Setting::Model, value: FlagValue::Text },
];

const LOG_VALUES: &[LogValue] = &[
    LogValue {
        line: "max_total_num_tokens=",
        after: "max_total_num_tokens=",
        setting: Setting::KvCapacity,
        scale: 1.0,
    },
    LogValue {
        line: "chunked_prefill_size=",
        after: "chunked_prefill_size=",
        setting: Setting::TokenBudget,
        scale: 1.0,
    },
    LogValue {
        line: "max_running_requests=",
        after: "max_running_requests=",
        setting: Setting::MaxSequences,
        scale: 1.0,
    },
    LogValue { line: "context_len=", after: "context_len=", setting: Setting::ContextWindow, scale: 1.0 },
];

pub(crate) static DIALECT: Dialect = Dialect {
    engine: Engine::Sglang,
    key: "sglang",
    name: "SGLang",
    prefixes: &["sglang:", "sglang_"],
    owned_by: &["sglang"],
    metrics: METRICS,
    availability: AVAILABILITY,
    flags: FLAGS,
    variables: &[],
    variables_gone: &[],
    variable_prefixes: &["SGLANG_", "SGL_"],
    log_values: LOG_VALUES,
    default_budgets: &[2048.0, 4096.0, 8192.0],
    endpoints: &["/server_info", "/get_server_info", "/v1/models"],
    newest_known: "0.5.23",
};
