//! LMDeploy: shaped like vLLM's V1, with its own prefix.

use intriage_case::Signal::{self, *};

use crate::Setting;
use crate::dialect::{Availability, Dialect, Engine, Flag, FlagValue, MetricRow};

const fn row(signal: Signal, metric: &'static str) -> MetricRow {
    MetricRow::same(signal, metric).since("0.9.2")
}

const METRICS: &[MetricRow] = &[
    row(RequestsRunning, "lmdeploy:num_requests_running"),
    row(RequestsWaiting, "lmdeploy:num_requests_waiting"),
    row(RequestsFinished, "lmdeploy:request_success_total").by("finished_reason"),
    row(TokensPrompt, "lmdeploy:prompt_tokens_total"),
    row(TokensPromptCached, "lmdeploy:cached_tokens_total").since("0.14.0"),
    row(TokensGenerated, "lmdeploy:generation_tokens_total"),
    row(TokensPerStep, "lmdeploy:iteration_tokens_total"),
    row(TokensPromptEach, "lmdeploy:request_prompt_tokens"),
    row(TokensOutputEach, "lmdeploy:request_generation_tokens"),
    row(LatencyTtft, "lmdeploy:time_to_first_token_seconds"),
    row(LatencyItl, "lmdeploy:iter_token_latency").since("0.10.0"),
    row(LatencyTpot, "lmdeploy:time_per_output_token_seconds"),
    row(LatencyE2e, "lmdeploy:e2e_request_latency_seconds"),
    row(LatencyQueue, "lmdeploy:request_queue_time_seconds"),
    row(LatencyPrefill, "lmdeploy:request_prefill_time_seconds"),
    row(LatencyDecode, "lmdeploy:request_decode_time_seconds"),
    row(LatencyInference, "lmdeploy:request_inference_time_seconds"),
    row(KvUsage, "lmdeploy:gpu_cache_usage_perc"),
    row(KvPrefixHitRatio, "lmdeploy:prefix_cache_hit_rate").since("0.14.0"),
    row(SpecDrafts, "lmdeploy:spec_decode_num_drafts_total").since("0.14.0"),
    row(SpecDraftTokens, "lmdeploy:spec_decode_num_draft_tokens_total").since("0.14.0"),
    row(SpecAcceptedTokens, "lmdeploy:spec_decode_num_accepted_tokens_total").since("0.14.0"),
    row(SpecAcceptRatio, "lmdeploy:spec_decode_mean_accept_rate").since("0.14.0"),
    row(SpecAcceptLength, "lmdeploy:spec_decode_mean_accept_length").since("0.14.0"),
];

const AVAILABILITY: &[Availability] = &[
    Availability { signal: RequestsPreempted, why: "evictions are not counted" },
    Availability { signal: TokensMaxParam, why: "the clients' limits are not recorded" },
    Availability { signal: HttpResponses, why: "answers are not counted by status" },
];

const FLAGS: &[Flag] = &[
    Flag { names: &["--max-batch-size"], setting: Setting::MaxSequences, value: FlagValue::Number },
    Flag { names: &["--max-prefill-token-num"], setting: Setting::TokenBudget, value: FlagValue::Number },
    Flag { names: &["--session-len"], setting: Setting::ContextWindow, value: FlagValue::Number },
    Flag {
        names: &["--enable-prefix-caching"],
        setting: Setting::PrefixCaching,
        value: FlagValue::Switch(true),
    },
    Flag { names: &["--eager-mode"], setting: Setting::EagerMode, value: FlagValue::Switch(true) },
    Flag { names: &["--tp"], setting: Setting::TensorParallel, value: FlagValue::Number },
    Flag { names: &["--cache-max-entry-count"], setting: Setting::MemoryFraction, value: FlagValue::Number },
    Flag { names: &["--cache-block-seq-len"], setting: Setting::KvBlockSize, value: FlagValue::Number },
    Flag { names: &["--quant-policy"], setting: Setting::KvDtype, value: FlagValue::Text },
];

pub(crate) static DIALECT: Dialect = Dialect {
    engine: Engine::Lmdeploy,
    key: "lmdeploy",
    name: "LMDeploy",
    prefixes: &["lmdeploy:", "lmdeploy_"],
    owned_by: &["lmdeploy"],
    metrics: METRICS,
    availability: AVAILABILITY,
    flags: FLAGS,
    variables: &[],
    variables_gone: &[],
    variable_prefixes: &["LMDEPLOY_"],
    log_values: &[],
    default_budgets: &[8192.0],
    endpoints: &["/v1/models"],
    newest_known: "0.18.0",
};
