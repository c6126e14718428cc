//! Ollama: no metrics at all. What is known of it comes from its log, its variables and its API.

use intriage_case::Signal::*;

use crate::Setting;
use crate::config::VariableRow;
use crate::dialect::{Availability, Dialect, Engine, LogValue};

const NO_METRICS: &str = "it has no metrics endpoint; ask a client";

const AVAILABILITY: &[Availability] = &[
    Availability { signal: RequestsRunning, why: NO_METRICS },
    Availability { signal: RequestsWaiting, why: NO_METRICS },
    Availability { signal: LatencyTtft, why: NO_METRICS },
    Availability { signal: LatencyE2e, why: NO_METRICS },
    Availability {
        signal: LatencyQueue,
        why: "the wait is inside total_duration of each answer and nowhere else",
    },
];

const fn variable(name: &'static str, setting: Setting) -> VariableRow {
    VariableRow { name, setting, scale: 1.0, beats_flag: false }
}

/// The server has no flags; these are all there is (engines.md 6).
const VARIABLES: &[VariableRow] = &[
    variable("OLLAMA_NUM_PARALLEL", Setting::MaxSequences),
    variable("OLLAMA_MAX_QUEUE", Setting::QueueLimit),
    variable("OLLAMA_CONTEXT_LENGTH", Setting::ContextWindow),
];

/// The command of the runner it starts for a model: all slots share the context it is given.
const fn of_runner(after: &'static str, setting: Setting) -> LogValue {
    LogValue { line: "msg=\"starting llama server\"", after, setting, scale: 1.0 }
}

const LOG_VALUES: &[LogValue] = &[
    of_runner(" --parallel ", Setting::MaxSequences),
    of_runner(" --ctx-size ", Setting::KvCapacity),
    of_runner(" --batch-size ", Setting::TokenBudget),
    of_runner(" --n-gpu-layers ", Setting::GpuLayers),
    of_runner(" --threads ", Setting::Threads),
];

pub(crate) static DIALECT: Dialect = Dialect {
    engine: Engine::Ollama,
    key: "ollama",
    name: "Ollama",
    prefixes: &[],
    owned_by: &["library"],
    metrics: &[],
    availability: AVAILABILITY,
    flags: &[],
    variables: VARIABLES,
    variables_gone: &[],
    variable_prefixes: &["OLLAMA_"],
    log_values: LOG_VALUES,
    default_budgets: &[512.0],
    endpoints: &["/api/version"],
    // No recording of it was made.
    newest_known: "",
};
