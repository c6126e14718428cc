//! NVIDIA Dynamo's front end: its queue reaches until the first token, not until scheduling.

use intriage_case::Signal::{self, *};

use crate::dialect::{Availability, Dialect, Engine, How, MetricRow};

const fn row(signal: Signal, metric: &'static str) -> MetricRow {
    MetricRow::same(signal, metric).since("0.5.0")
}

const METRICS: &[MetricRow] = &[
    row(RequestsRunning, "dynamo_frontend_inflight_requests"),
    row(RequestsWaiting, "dynamo_frontend_queued_requests").since("0.6.0"),
    row(RequestsFinished, "dynamo_frontend_requests_total").by("status"),
    row(RequestsAborted, "dynamo_frontend_model_cancellation_total").since("1.1.0"),
    row(RequestsErrors, "dynamo_frontend_requests_total").how(How::Where("status", &["error"])),
    row(RequestsRejected, "dynamo_frontend_model_rejection_total").since("1.1.0"),
    row(TokensPrompt, "dynamo_frontend_input_sequence_tokens").how(How::SumOfHistogram),
    row(TokensGenerated, "dynamo_frontend_output_tokens_total").since("0.7.0"),
    row(TokensPromptEach, "dynamo_frontend_input_sequence_tokens"),
    row(TokensOutputEach, "dynamo_frontend_output_sequence_tokens"),
    row(LatencyTtft, "dynamo_frontend_time_to_first_token_seconds"),
    row(LatencyItl, "dynamo_frontend_inter_token_latency_seconds"),
    row(LatencyE2e, "dynamo_frontend_request_duration_seconds"),
    row(LatencyFrontend, "dynamo_frontend_tokenizer_latency_ms").how(How::Scale(0.001)).since("1.0.0"),
    row(KvUsage, "dynamo_component_gpu_cache_usage_percent").since("1.0.0"),
    row(KvCapacity, "dynamo_frontend_model_total_kv_blocks")
        .how(How::Times("dynamo_frontend_model_kv_cache_block_size"))
        .since("0.6.0"),
    row(SchedulerSlots, "dynamo_frontend_model_max_num_seqs").since("0.6.0"),
    row(SchedulerTokenBudget, "dynamo_frontend_model_max_num_batched_tokens").since("0.6.0"),
    row(ContextWindow, "dynamo_frontend_model_context_length").since("0.6.0"),
    row(HttpActive, "dynamo_frontend_active_requests").since("1.2.0"),
];

const BEHIND: &str = "the front end does not see it; check the worker's own metrics (DYN_SYSTEM_PORT)";

const AVAILABILITY: &[Availability] = &[
    Availability { signal: LatencyQueue, why: BEHIND },
    Availability { signal: LatencyPrefill, why: BEHIND },
    Availability { signal: RequestsPreempted, why: BEHIND },
    Availability { signal: TokensPerStep, why: BEHIND },
];

pub(crate) static DIALECT: Dialect = Dialect {
    engine: Engine::Dynamo,
    key: "dynamo",
    name: "Dynamo",
    prefixes: &["dynamo_frontend_", "dynamo_component_", "nv_llm_http_service_"],
    owned_by: &["nvidia"],
    metrics: METRICS,
    availability: AVAILABILITY,
    flags: &[],
    variables: &[],
    variables_gone: &[],
    variable_prefixes: &["DYN_"],
    log_values: &[],
    default_budgets: &[],
    endpoints: &["/v1/models", "/version"],
    newest_known: "1.5",
};
