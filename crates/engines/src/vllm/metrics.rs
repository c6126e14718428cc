//! vLLM's metrics by release. Read from the sources of 99 releases and from real scrapes of 0.8.5,
//! 0.11.2, 0.16.0, 0.26.0 and 0.32.0.

use intriage_case::Signal::{self, *};

use crate::dialect::{Availability, How, MetricRow};

const fn row(signal: Signal, metric: &'static str) -> MetricRow {
    MetricRow::same(signal, metric)
}

pub(super) const METRICS: &[MetricRow] = &[
    row(RequestsRunning, "vllm:num_requests_running").since("0.2.3"),
    row(RequestsWaiting, "vllm:num_requests_waiting").since("0.2.3"),
    row(RequestsWaitingCapacity, "vllm:num_requests_waiting_by_reason")
        .how(How::Where("reason", &["capacity"]))
        .since("0.20.0"),
    row(RequestsWaitingDeferred, "vllm:num_requests_waiting_by_reason")
        .how(How::Where("reason", &["deferred"]))
        .since("0.20.0"),
    row(RequestsWaitingKvFetch, "vllm:num_requests_kv_fetch_by_stage").since("0.32.0"),
    row(RequestsSwapped, "vllm:num_requests_swapped").since("0.2.3").until("0.9.0.1"),
    row(RequestsFinished, "vllm:request_success_total").by("finished_reason").since("0.4.2"),
    row(RequestsErrors, "vllm:request_success_total")
        .how(How::Where("finished_reason", &["error"]))
        .since("0.14.0"),
    row(RequestsRejected, "vllm:admission_rejections_total").by("reason").since("0.32.0"),
    row(RequestsPreempted, "vllm:num_preemptions_total").since("0.4.3"),
    row(RequestsPreemptionsEach, "vllm:request_num_preemptions").since("0.30.0"),
    row(RequestsCorrupted, "vllm:corrupted_requests_total").since("0.11.1"),
    row(TokensPrompt, "vllm:prompt_tokens_total").since("0.3.1"),
    row(TokensPromptComputed, "vllm:prompt_tokens_by_source_total")
        .how(How::Where("source", &["local_compute"]))
        .since("0.16.0"),
    row(TokensPromptCached, "vllm:prompt_tokens_cached_total").since("0.16.0"),
    row(TokensPromptCached, "vllm:prompt_tokens_cached_by_source_total").since("0.32.0"),
    row(TokensGenerated, "vllm:generation_tokens_total").since("0.3.1"),
    row(TokensPerStep, "vllm:iteration_tokens_total").since("0.6.4"),
    row(TokensPromptEach, "vllm:request_prompt_tokens").since("0.4.2"),
    row(TokensOutputEach, "vllm:request_generation_tokens").since("0.4.2"),
    row(TokensMaxParam, "vllm:request_params_max_tokens").since("0.6.4"),
    row(TokensUncachedEach, "vllm:request_prefill_kv_computed_tokens").since("0.13.0"),
    row(TokenRatePrompt, "vllm:avg_prompt_throughput_toks_per_s").since("0.2.3").until("0.6.6.post1"),
    row(TokenRateGenerated, "vllm:avg_generation_throughput_toks_per_s").since("0.2.3").until("0.6.6.post1"),
    row(LatencyTtft, "vllm:time_to_first_token_seconds").since("0.3.1"),
    // 0.10.2 to 0.11.2 expose the same data under both names.
    row(LatencyItl, "vllm:inter_token_latency_seconds").since("0.10.2"),
    row(LatencyItl, "vllm:time_per_output_token_seconds").since("0.3.1").until("0.14.1"),
    row(LatencyTpot, "vllm:request_time_per_output_token_seconds").since("0.11.0"),
    row(LatencyE2e, "vllm:e2e_request_latency_seconds").since("0.3.1"),
    row(LatencyQueue, "vllm:request_queue_time_seconds").since("0.6.4"),
    row(LatencyQueue, "vllm:time_in_queue_requests").since("0.6.4").until("0.9.0.1"),
    row(LatencyPrefill, "vllm:request_prefill_time_seconds").since("0.6.4"),
    row(LatencyDecode, "vllm:request_decode_time_seconds").since("0.6.4"),
    row(LatencyInference, "vllm:request_inference_time_seconds").since("0.6.4"),
    row(KvUsage, "vllm:kv_cache_usage_perc").since("0.9.2"),
    row(KvUsage, "vllm:gpu_cache_usage_perc").since("0.2.3").until("0.11.2"),
    row(KvCapacity, "vllm:cache_config_info").how(How::Label("kv_cache_size_tokens")).since("0.24.0"),
    row(KvCapacity, "vllm:cache_config_info")
        .how(How::LabelProduct("num_gpu_blocks", "block_size"))
        .since("0.3.3"),
    row(KvMaxConcurrency, "vllm:cache_config_info")
        .how(How::Label("kv_cache_max_concurrency"))
        .since("0.24.0"),
    row(KvHostUsage, "vllm:kv_offload_cpu_cache_usage_perc").since("0.24.0"),
    row(KvHostUsage, "vllm:cpu_cache_usage_perc").since("0.2.3").until("0.9.0.1"),
    row(KvPrefixQueries, "vllm:prefix_cache_queries_total").since("0.9.2"),
    row(KvPrefixQueries, "vllm:gpu_prefix_cache_queries_total").since("0.9.0").until("0.11.2"),
    // Blocks, not tokens, until 0.8.5.post1.
    row(KvPrefixQueries, "vllm:gpu_prefix_cache_queries_total")
        .how(How::TimesBlockSize)
        .since("0.7.3")
        .until("0.8.5.post1"),
    row(KvPrefixHits, "vllm:prefix_cache_hits_total").since("0.9.2"),
    row(KvPrefixHits, "vllm:gpu_prefix_cache_hits_total").since("0.9.0").until("0.11.2"),
    row(KvPrefixHits, "vllm:gpu_prefix_cache_hits_total")
        .how(How::TimesBlockSize)
        .since("0.7.3")
        .until("0.8.5.post1"),
    row(KvPrefixHitRatio, "vllm:gpu_prefix_cache_hit_rate").since("0.5.5").until("0.9.0.1"),
    row(KvExternalQueries, "vllm:external_prefix_cache_queries_total").since("0.11.1"),
    row(KvExternalHits, "vllm:external_prefix_cache_hits_total").since("0.11.1"),
    row(KvIdleBeforeEvict, "vllm:kv_block_idle_before_evict_seconds").since("0.12.0"),
    row(KvOffloadLoad, "vllm:kv_offload_load_bytes_total").since("0.24.0"),
    row(KvOffloadLoad, "vllm:kv_offload_total_bytes_total")
        .how(How::Where("transfer_type", &["CPU_to_GPU"]))
        .since("0.16.0"),
    row(KvOffloadStore, "vllm:kv_offload_store_bytes_total").since("0.24.0"),
    row(KvOffloadStore, "vllm:kv_offload_total_bytes_total")
        .how(How::Where("transfer_type", &["GPU_to_CPU"]))
        .since("0.16.0"),
    row(KvTransfer, "vllm:nixl_xfer_time_seconds").since("0.11.1"),
    row(KvTransferFailures, "vllm:nixl_num_failed_transfers_total").since("0.11.1"),
    row(KvTransferExpired, "vllm:nixl_num_kv_expired_reqs_total").since("0.15.0"),
    row(SpecDrafts, "vllm:spec_decode_num_drafts_total").since("0.8.5"),
    row(SpecDraftTokens, "vllm:spec_decode_num_draft_tokens_total").since("0.5.3"),
    row(SpecAcceptedTokens, "vllm:spec_decode_num_accepted_tokens_total").since("0.5.3"),
    row(SpecAcceptedAt, "vllm:spec_decode_num_accepted_tokens_per_pos_total").by("position").since("0.8.5"),
    row(SpecAcceptRatio, "vllm:spec_decode_draft_acceptance_rate").since("0.5.3").until("0.9.2"),
    row(ComputeFlops, "vllm:estimated_flops_per_gpu_total").since("0.17.0"),
    row(ComputeReadBytes, "vllm:estimated_read_bytes_per_gpu_total").since("0.17.0"),
    row(LoraWaiting, "vllm:lora_requests_info").how(How::LabelCount("waiting_lora_adapters")).since("0.6.4"),
    row(LoraRunning, "vllm:lora_requests_info").how(How::LabelCount("running_lora_adapters")).since("0.6.4"),
    row(EngineAwake, "vllm:engine_sleep_state").how(How::Where("sleep_state", &["awake"])).since("0.11.1"),
    row(ProcessStart, "process_start_time_seconds"),
    row(ProcessCpu, "process_cpu_seconds_total"),
    row(HttpResponses, "http_requests_total")
        .how(How::Where("method", &["POST"]))
        .by("status")
        .since("0.8.3"),
];

pub(super) const AVAILABILITY: &[Availability] = &[
    Availability {
        signal: RequestsAborted,
        why: "a client that hangs up leaves no trace in vLLM's counters",
    },
    Availability {
        signal: LatencyStep,
        why: "only the per-iteration log has it (--enable-logging-iteration-details)",
    },
    Availability { signal: ComputeGraphPasses, why: "only --cudagraph-metrics logs it" },
    Availability { signal: ComputeGraphNow, why: "only --cudagraph-metrics logs it" },
    Availability { signal: KvEvicted, why: "--kv-cache-metrics samples block lifetimes instead" },
    Availability {
        signal: SchedulerSlots,
        why: "the cap is in the start-up log and, in dev mode, /server_info",
    },
];
