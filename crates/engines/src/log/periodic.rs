//! Lines engines write again and again about their state, and the signals in them.

use intriage_case::Signal::{self, *};

use super::signature::{LogKind, Wording};
use crate::{Engine, VersionRange};

/// A line that carries signals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Periodic {
    /// The text that marks it.
    pub text: &'static str,
    /// A text the line must not hold; empty for none.
    pub without: &'static str,
    /// Who writes it.
    pub log: LogKind,
    /// The number of the data-parallel engine stands behind this; empty where lines have none.
    pub engine_behind: &'static str,
    /// The signals.
    pub fields: &'static [Field],
    /// The releases it was seen in.
    pub range: VersionRange,
    /// Where the wording was found.
    pub source: Wording,
    /// A line it must find.
    pub example: &'static str,
}

/// One signal of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Field {
    /// The number stands behind the first of these.
    pub behind: &'static str,
    /// The signal.
    pub signal: Signal,
    /// How it is read.
    pub how: Reading,
}

/// How a number in a line becomes a value of a signal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reading {
    /// Times a factor, into the signal's unit.
    Gauge(f64),
    /// Added to what was there: lines tell parts of a counter.
    Adds,
    /// Each such line moves the signal by this much, whatever numbers it holds; never below zero.
    Moves(f64),
    /// `True` is 1, `False` is 0.
    Switch,
}

const fn gauge(behind: &'static str, signal: Signal) -> Field {
    Field { behind, signal, how: Reading::Gauge(1.0) }
}

const fn scaled(behind: &'static str, signal: Signal, factor: f64) -> Field {
    Field { behind, signal, how: Reading::Gauge(factor) }
}

const fn adds(behind: &'static str, signal: Signal) -> Field {
    Field { behind, signal, how: Reading::Adds }
}

const fn moves(signal: Signal, by: f64) -> Field {
    Field { behind: "", signal, how: Reading::Moves(by) }
}

const VLLM: LogKind = LogKind::Engine(Engine::Vllm);
const SGLANG: LogKind = LogKind::Engine(Engine::Sglang);
const LLAMACPP: LogKind = LogKind::Engine(Engine::LlamaCpp);

/// Every periodic line known.
pub(super) const PERIODIC: &[Periodic] = &[
    // In both engines of vLLM. Where a line names two pools, the first is the one on the device.
    Periodic {
        text: "Avg prompt throughput: ",
        // The sum of several engines has no limit that is known: each has its own.
        without: " Engines Aggregated: ",
        log: VLLM,
        engine_behind: "Engine ",
        fields: &[
            gauge("Avg prompt throughput: ", TokenRatePrompt),
            gauge("Avg generation throughput: ", TokenRateGenerated),
            gauge("Running: ", RequestsRunning),
            gauge("Waiting: ", RequestsWaiting),
            gauge("Pending: ", RequestsWaiting),
            gauge("Swapped: ", RequestsSwapped),
            gauge("Deferred: ", RequestsWaitingDeferred),
            scaled("KV cache usage: ", KvUsage, 0.01),
            scaled("Prefix cache hit rate: ", KvPrefixHitRatio, 0.01),
        ],
        range: VersionRange { since: "0.2.3", until: "" },
        source: Wording::Recording("recordings/vllm016-cpu-kvsmall/server.log"),
        example: "(APIServer pid=4719) INFO 11-15 04:34:38 [loggers.py:259] Engine 000: Avg prompt throughput: 108.9 tokens/s, Avg generation throughput: 10.9 tokens/s, Running: 6 reqs, Waiting: 4 reqs, GPU KV cache usage: 92.3%, Prefix cache hit rate: 0.0%",
    },
    Periodic {
        text: "SpecDecoding metrics: ",
        without: "",
        log: VLLM,
        engine_behind: "",
        fields: &[
            gauge("Mean acceptance length: ", SpecAcceptLength),
            scaled("Avg Draft acceptance rate: ", SpecAcceptRatio, 0.01),
        ],
        range: VersionRange { since: "0.8.5", until: "" },
        source: Wording::Knowledge("observed.md 4"),
        example: "(APIServer pid=9) INFO 11-15 02:47:32 [metrics.py:120] SpecDecoding metrics: Mean acceptance length: 1.10, Accepted throughput: 0.40 tokens/s, Drafted throughput: 15.80 tokens/s, Accepted: 4 tokens, Drafted: 158 tokens, Per-position acceptance rate: 0.098, 0.000, 0.000, 0.000, Avg Draft acceptance rate: 2.5%",
    },
    Periodic {
        text: "Speculative metrics: ",
        without: "",
        log: VLLM,
        engine_behind: "",
        fields: &[gauge("Draft acceptance rate: ", SpecAcceptRatio)],
        range: VersionRange { since: "0.5.1", until: "0.10.2" },
        source: Wording::Code("vllm-project/vllm:vllm/engine/metrics.py"),
        example: "INFO 02-11 14:50:38 [metrics.py:477] Speculative metrics: Draft acceptance rate: 0.121, System efficiency: 0.139, Number of speculative tokens: 10, Number of accepted tokens: 509, Number of draft tokens: 4210, Number of emitted tokens: 640.",
    },
    Periodic {
        text: "iteration elapsed time: ",
        without: "",
        log: VLLM,
        engine_behind: "Engine ",
        fields: &[
            scaled("iteration elapsed time: ", LatencyStep, 0.001),
            scaled("KV cache usage: ", KvUsage, 0.01),
        ],
        range: VersionRange { since: "0.26.0", until: "" },
        source: Wording::Knowledge("observed.md 4"),
        example: "(APIServer pid=9) INFO 11-15 02:47:32 [loggers.py:199] Engine 000: Iteration(25): 3 context requests, 890 context tokens, 1 generation requests, 1 generation tokens, iteration elapsed time: 1600.54 ms, CPU KV cache usage: 2.8%",
    },
    Periodic {
        text: "Prefill batch",
        without: "",
        log: SGLANG,
        engine_behind: "",
        fields: &[
            gauge("#running-req: ", RequestsRunning),
            gauge("#queue-req: ", RequestsWaiting),
            gauge("token usage: ", KvUsage),
            gauge("input throughput (token/s): ", TokenRatePrompt),
        ],
        range: VersionRange::ALL,
        source: Wording::Knowledge("engines.md 2, logs"),
        example: "Prefill batch, #new-seq: 1, #new-token: 512, #cached-token: 0, token usage: 0.25, #running-req: 3, #queue-req: 2, input throughput (token/s): 4096.50",
    },
    Periodic {
        text: "Decode batch",
        without: "",
        log: SGLANG,
        engine_behind: "",
        fields: &[
            gauge("#running-req: ", RequestsRunning),
            gauge("#queue-req: ", RequestsWaiting),
            gauge("token usage: ", KvUsage),
            gauge("gen throughput (token/s): ", TokenRateGenerated),
            gauge("accept len: ", SpecAcceptLength),
            gauge("accept rate: ", SpecAcceptRatio),
            Field { behind: "cuda graph: ", signal: ComputeGraphNow, how: Reading::Switch },
        ],
        range: VersionRange::ALL,
        source: Wording::Knowledge("engines.md 2, logs"),
        example: "Decode batch, #running-req: 2, #token: 512, token usage: 0.01, accept len: 2.50, accept rate: 0.62, cuda graph: True, gen throughput (token/s): 210.10, #queue-req: 0",
    },
    // llama.cpp tells of each request when a slot takes it and when it is done.
    Periodic {
        text: "processing task, is_child = ",
        without: "",
        log: LLAMACPP,
        engine_behind: "",
        fields: &[moves(RequestsRunning, 1.0)],
        range: VersionRange::ALL,
        source: Wording::Recording("recordings/llamacpp-healthy/server.log"),
        example: "0.02.295.319 I slot launch_slot_: id  3 | task 2 | processing task, is_child = 0",
    },
    Periodic {
        text: "stop processing: n_tokens = ",
        without: "",
        log: LLAMACPP,
        engine_behind: "",
        fields: &[moves(RequestsRunning, -1.0), moves(RequestsFinished, 1.0)],
        range: VersionRange::ALL,
        source: Wording::Recording("recordings/llamacpp-healthy/server.log"),
        example: "0.03.815.051 I slot      release: id  3 | task 2 | stop processing: n_tokens = 48, truncated = 0",
    },
    Periodic {
        text: "prompt eval time = ",
        without: "",
        log: LLAMACPP,
        engine_behind: "",
        fields: &[
            adds(" ms / ", TokensPromptComputed),
            gauge(" ms / ", TokensUncachedEach),
            scaled("prompt eval time = ", LatencyPrefill, 0.001),
        ],
        range: VersionRange::ALL,
        source: Wording::Recording("recordings/llamacpp-healthy/server.log"),
        example: "0.03.803.226 I slot print_timing: id  3 | task 2 | prompt eval time =     874.14 ms /    37 tokens (   23.63 ms per token,    42.33 tokens per second)",
    },
    Periodic {
        text: " eval time = ",
        without: "prompt eval time",
        log: LLAMACPP,
        engine_behind: "",
        fields: &[
            adds(" ms / ", TokensGenerated),
            gauge(" ms / ", TokensOutputEach),
            scaled(" eval time = ", LatencyDecode, 0.001),
            scaled(" tokens (", LatencyTpot, 0.001),
        ],
        range: VersionRange::ALL,
        source: Wording::Recording("recordings/llamacpp-healthy/server.log"),
        example: "0.03.803.275 I slot print_timing: id  3 | task 2 |        eval time =     633.71 ms /    12 tokens (   57.61 ms per token,    17.36 tokens per second)",
    },
    Periodic {
        text: " total time = ",
        without: "",
        log: LLAMACPP,
        engine_behind: "",
        fields: &[scaled(" total time = ", LatencyE2e, 0.001)],
        range: VersionRange::ALL,
        source: Wording::Recording("recordings/llamacpp-healthy/server.log"),
        example: "0.03.803.294 I slot print_timing: id  3 | task 2 |       total time =    1507.86 ms /    49 tokens",
    },
    Periodic {
        text: "exceeds the available context size",
        without: "",
        log: LLAMACPP,
        engine_behind: "",
        fields: &[moves(RequestsErrors, 1.0)],
        range: VersionRange::ALL,
        source: Wording::Recording("recordings/llamacpp-healthy/server.log"),
        example: "0.12.538.661 E srv    send_error: task id = 162, error: request (20001 tokens) exceeds the available context size (2048 tokens), try increasing it",
    },
];
