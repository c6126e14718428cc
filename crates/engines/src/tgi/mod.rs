//! Hugging Face text-generation-inference (in maintenance since late 2025). Counters without `_total`.

use intriage_case::Signal::{self, *};

use crate::Setting;
use crate::dialect::{Availability, Dialect, Engine, Flag, FlagValue, How, LogValue, MetricRow};

const fn row(signal: Signal, metric: &'static str) -> MetricRow {
    MetricRow::same(signal, metric).since("0.9.0")
}

const METRICS: &[MetricRow] = &[
    row(RequestsRunning, "tgi_batch_current_size"),
    row(RequestsWaiting, "tgi_queue_size"),
    row(RequestsFinished, "tgi_request_success"),
    row(RequestsAborted, "tgi_request_failure").how(How::Where("err", &["dropped"])),
    row(RequestsErrors, "tgi_request_failure").by("err"),
    row(RequestsRejected, "tgi_request_failure").how(How::Where("err", &["overloaded"])),
    row(TokensPrompt, "tgi_request_input_length").how(How::SumOfHistogram),
    row(TokensGenerated, "tgi_request_generated_tokens").how(How::SumOfHistogram),
    row(TokensPromptEach, "tgi_request_input_length"),
    row(TokensOutputEach, "tgi_request_generated_tokens"),
    row(TokensMaxParam, "tgi_request_max_new_tokens"),
    row(LatencyTpot, "tgi_request_mean_time_per_token_duration"),
    row(LatencyE2e, "tgi_request_duration"),
    row(LatencyQueue, "tgi_request_queue_duration"),
    row(LatencyPrefill, "tgi_batch_inference_duration").how(How::Where("method", &["prefill"])),
    row(LatencyItl, "tgi_batch_inference_duration").how(How::Where("method", &["decode"])),
    row(LatencyInference, "tgi_request_inference_duration"),
    row(LatencyFrontend, "tgi_request_validation_duration"),
    row(KvCapacity, "tgi_batch_max_total_tokens").since("2.4.0"),
];

const AVAILABILITY: &[Availability] = &[
    Availability {
        signal: LatencyTtft,
        why: "queue and prefill are separate; there is no first-token histogram",
    },
    Availability { signal: KvUsage, why: "only the batch's token limit is shown" },
    Availability { signal: RequestsPreempted, why: "it reserves the declared output and does not preempt" },
    Availability { signal: TokensPerStep, why: "steps are not counted by size" },
    Availability { signal: SchedulerSlots, why: "admission is by tokens; see MAX_BATCH_TOTAL_TOKENS" },
];

const FLAGS: &[Flag] = &[
    Flag { names: &["--max-batch-size"], setting: Setting::MaxSequences, value: FlagValue::Number },
    Flag {
        names: &["--max-concurrent-requests"],
        setting: Setting::ConcurrencyLimit,
        value: FlagValue::Number,
    },
    Flag { names: &["--max-batch-prefill-tokens"], setting: Setting::TokenBudget, value: FlagValue::Number },
    Flag { names: &["--max-batch-total-tokens"], setting: Setting::KvCapacity, value: FlagValue::Number },
    Flag { names: &["--max-total-tokens"], setting: Setting::ContextWindow, value: FlagValue::Number },
    Flag { names: &["--quantize"], setting: Setting::Quantization, value: FlagValue::Text },
    Flag { names: &["--kv-cache-dtype"], setting: Setting::KvDtype, value: FlagValue::Text },
    Flag { names: &["--num-shard"], setting: Setting::TensorParallel, value: FlagValue::Number },
    Flag { names: &["--speculate"], setting: Setting::SpeculativeTokens, value: FlagValue::Number },
    Flag { names: &["--model-id"], setting: Setting::Model, value: FlagValue::Text },
];

/// What the router and the launcher choose where nobody asks (0.9.4 and 2.0.0 on, by its tags).
const LOG_VALUES: &[LogValue] = &[
    LogValue {
        line: "Setting max batch total tokens to ",
        after: "Setting max batch total tokens to ",
        setting: Setting::KvCapacity,
        scale: 1.0,
    },
    LogValue {
        line: "Default `max_batch_prefill_tokens` to ",
        after: "Default `max_batch_prefill_tokens` to ",
        setting: Setting::TokenBudget,
        scale: 1.0,
    },
];

pub(crate) static DIALECT: Dialect = Dialect {
    engine: Engine::Tgi,
    key: "tgi",
    name: "TGI",
    prefixes: &["tgi_"],
    owned_by: &[],
    metrics: METRICS,
    availability: AVAILABILITY,
    flags: FLAGS,
    variables: &[],
    variables_gone: &[],
    variable_prefixes: &[],
    log_values: LOG_VALUES,
    default_budgets: &[4096.0],
    endpoints: &["/info"],
    newest_known: "3.3.7",
};
