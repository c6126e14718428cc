//! A fact: one statement with its number, its unit and where it was read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Quantity, Signal};

/// Where a value was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Source {
    /// One of the engine's metrics, as the engine names it.
    Metric {
        /// The metric's exposed name, such as `vllm:num_requests_waiting`.
        name: String,
    },
    /// Computed from several signals.
    Derived {
        /// The formula in words, such as `ttft - queue - prefill`.
        from: String,
    },
    /// A line of a log.
    Log {
        /// The log's name in the case.
        file: String,
        /// 1-based line number.
        line: u32,
    },
    /// The command line the server was started with.
    CommandLine,
    /// A file that says how the server is meant to be started: a unit, a compose file, a manifest.
    Manifest {
        /// The file's name in the case.
        file: String,
        /// 1-based line number.
        line: u32,
    },
    /// An environment variable of the serving process.
    Environment {
        /// The variable's name.
        name: String,
    },
    /// One of the server's own endpoints, such as `/server_info`.
    Endpoint {
        /// The path asked for.
        path: String,
    },
    /// The engine's default at this version.
    Default {
        /// Why this default applies, such as `vLLM 0.32 on CPU`.
        rule: String,
    },
    /// A tool's reading of the GPU, such as `nvidia-smi dmon`.
    Gpu {
        /// The tool.
        tool: String,
    },
    /// A file of the serving machine's kernel, such as `/proc/pressure/cpu`.
    Kernel {
        /// The file, or what it is about.
        file: String,
    },
    /// Whether and how the server answered the collector.
    Scrape,
    /// Requests as their client saw them.
    Client,
    /// A probe of a way to the server.
    Probe {
        /// The address probed.
        url: String,
    },
}

/// One value with what it means here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fact {
    /// The statement, one line, complete without the number beside it.
    pub says: String,
    /// The value, where the statement has one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub value: Option<Quantity>,
    /// What the value was compared with.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limit: Option<Quantity>,
    /// The signal it came from, where it is one signal.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub signal: Option<Signal>,
    /// Where it was read.
    pub source: Source,
}
