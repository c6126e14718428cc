//! llama.cpp's llama-server (`--metrics`); no labels, no histograms.

use intriage_case::Signal::{self, *};

use crate::Setting;
use crate::config::VariableRow;
use crate::dialect::{Availability, Dialect, Engine, Flag, FlagValue, How, LogValue, MetricRow};

const fn row(signal: Signal, metric: &'static str) -> MetricRow {
    MetricRow::same(signal, metric)
}

const METRICS: &[MetricRow] = &[
    row(RequestsRunning, "llamacpp:requests_processing").since("b2258"),
    row(RequestsWaiting, "llamacpp:requests_deferred").since("b2258"),
    // Its prompt counter leaves cached tokens out.
    row(TokensPrompt, "llamacpp:prompt_tokens_total")
        .how(How::Plus("llamacpp:prompt_tokens_cached_total"))
        .since("b2258"),
    row(TokensPromptComputed, "llamacpp:prompt_tokens_total").since("b2258"),
    row(TokensPromptCached, "llamacpp:prompt_tokens_cached_total").since("b10408"),
    row(TokensGenerated, "llamacpp:tokens_predicted_total").since("b2258"),
    row(LatencyItl, "llamacpp:tokens_predicted_seconds_total")
        .how(How::Over("llamacpp:tokens_predicted_total"))
        .since("b2364"),
    row(KvUsage, "llamacpp:kv_cache_usage_ratio").since("b2258").until("b5440"),
    row(SchedulerBusySlots, "llamacpp:n_busy_slots_per_decode").since("b3678"),
    row(SchedulerSteps, "llamacpp:n_decode_total").since("b3678"),
    row(SpecDrafts, "llamacpp:spec_decode_num_drafts_total").since("b10282"),
    row(SpecDraftTokens, "llamacpp:spec_decode_num_draft_tokens_total").since("b10282"),
    row(SpecAcceptedTokens, "llamacpp:spec_decode_num_accepted_tokens_total").since("b10282"),
    row(ComputeBusy, "llamacpp:prompt_seconds_total")
        .how(How::Plus("llamacpp:tokens_predicted_seconds_total"))
        .since("b2364"),
];

const NO_HISTOGRAM: &str = "its metrics hold totals only; its log (--log) tells the times of each request where nobody waits for a slot";
const NO_QUEUE: &str = "neither its metrics nor its log tell how long a request waits for a slot";

const AVAILABILITY: &[Availability] = &[
    Availability { signal: LatencyTtft, why: NO_HISTOGRAM },
    Availability { signal: LatencyQueue, why: NO_QUEUE },
    Availability { signal: LatencyE2e, why: NO_HISTOGRAM },
    Availability { signal: LatencyPrefill, why: NO_HISTOGRAM },
    Availability { signal: RequestsFinished, why: "finished requests are not counted" },
    Availability {
        signal: RequestsPreempted,
        why: "each slot owns its part of the cache, nothing is preempted",
    },
    Availability { signal: KvUsage, why: "removed in b5441 (May 2025); /slots shows it per slot" },
    Availability { signal: HttpResponses, why: "answers are not counted by status" },
];

const FLAGS: &[Flag] = &[
    Flag {
        names: &["-np", "--parallel", "total_slots"],
        setting: Setting::MaxSequences,
        value: FlagValue::Number,
    },
    Flag { names: &["-c", "--ctx-size"], setting: Setting::KvCapacity, value: FlagValue::Number },
    Flag { names: &["n_ctx"], setting: Setting::ContextWindow, value: FlagValue::Number },
    Flag { names: &["-ub", "--ubatch-size"], setting: Setting::TokenBudget, value: FlagValue::Number },
    Flag { names: &["-ctk", "--cache-type-k"], setting: Setting::KvDtype, value: FlagValue::Text },
    Flag {
        names: &["-ngl", "--gpu-layers", "--n-gpu-layers"],
        setting: Setting::GpuLayers,
        value: FlagValue::Number,
    },
    Flag { names: &["-t", "--threads"], setting: Setting::Threads, value: FlagValue::Number },
    Flag {
        names: &["-nocb", "--no-cont-batching"],
        setting: Setting::ContinuousBatching,
        value: FlagValue::Switch(false),
    },
    Flag {
        names: &["-cb", "--cont-batching"],
        setting: Setting::ContinuousBatching,
        value: FlagValue::Switch(true),
    },
    Flag { names: &["--no-cache-prompt"], setting: Setting::PrefixCaching, value: FlagValue::Switch(false) },
    Flag { names: &["--cache-prompt"], setting: Setting::PrefixCaching, value: FlagValue::Switch(true) },
    Flag { names: &["-m", "--model", "model_path"], setting: Setting::Model, value: FlagValue::Text },
];

const fn variable(name: &'static str, setting: Setting) -> VariableRow {
    VariableRow { name, setting, scale: 1.0, beats_flag: false }
}

/// Every flag has a variable; a flag that is given beats it (names as in `common/arg.cpp` at b21e4de, August 2026).
const VARIABLES: &[VariableRow] = &[
    variable("LLAMA_ARG_N_PARALLEL", Setting::MaxSequences),
    variable("LLAMA_ARG_CTX_SIZE", Setting::KvCapacity),
    variable("LLAMA_ARG_UBATCH", Setting::TokenBudget),
    variable("LLAMA_ARG_N_GPU_LAYERS", Setting::GpuLayers),
    variable("LLAMA_ARG_THREADS", Setting::Threads),
];

const LOG_VALUES: &[LogValue] = &[
    LogValue { line: "n_slots = ", after: "n_slots = ", setting: Setting::MaxSequences, scale: 1.0 },
    LogValue {
        line: "llama threadpool init, n_threads = ",
        after: "n_threads = ",
        setting: Setting::Threads,
        scale: 1.0,
    },
    LogValue { line: "n_ctx_slot = ", after: "n_ctx_slot = ", setting: Setting::ContextWindow, scale: 1.0 },
];

pub(crate) static DIALECT: Dialect = Dialect {
    engine: Engine::LlamaCpp,
    key: "llamacpp",
    name: "llama.cpp",
    prefixes: &["llamacpp:", "llamacpp_"],
    owned_by: &["llamacpp"],
    metrics: METRICS,
    availability: AVAILABILITY,
    flags: FLAGS,
    variables: VARIABLES,
    variables_gone: &[],
    variable_prefixes: &["LLAMA_ARG_"],
    log_values: LOG_VALUES,
    default_budgets: &[512.0],
    endpoints: &["/props", "/v1/models"],
    newest_known: "b10586",
};
