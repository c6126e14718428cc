//! Rules about what was switched on to look for a fault, and left on.

use super::scene::{Hit, Scene};
use super::{AdviceRule, Severity};

pub(super) const RULES: &[AdviceRule] = &[
    AdviceRule {
        id: "debug-logging-on",
        summary: "debug or trace logging is left on",
        severity: Severity::Warning,
        source: "vLLM 0.32.0 envs.py, VLLM_LOGGING_LEVEL; entrypoints, --uvicorn-log-level",
        judge: |scene| left_on(scene, LOGGING),
    },
    AdviceRule {
        id: "request-logging-on",
        summary: "every request is logged",
        severity: Severity::Warning,
        source: "vLLM 0.32.0 entrypoints/serve/utils/request_logger.py; off by default since 0.10.1",
        judge: requests,
    },
    AdviceRule {
        id: "profiling-left-on",
        summary: "profiling or tracing is left on",
        severity: Severity::Warning,
        source: "vLLM 0.32.0 envs.py, config/observability.py, entrypoints/serve/profile; CUDA_LAUNCH_BLOCKING and NCCL_DEBUG: general knowledge, not looked up",
        judge: profiling,
    },
];

/// A variable or flag, the values that mean it is on (in lower case; none: any that is no zero), and what it costs.
struct LeftOn {
    name: &'static str,
    values: &'static [&'static str],
    costs: &'static str,
}

const LOGGING: &[LeftOn] = &[
    LeftOn {
        name: "VLLM_LOGGING_LEVEL",
        values: &["debug", "trace"],
        costs: "the engine writes lines in every step",
    },
    LeftOn {
        name: "--uvicorn-log-level",
        values: &["debug", "trace"],
        costs: "the HTTP server writes lines for every event",
    },
    LeftOn {
        name: "VLLM_DEBUG_LOG_API_SERVER_RESPONSE",
        values: &["true"],
        costs: "every response is written to the log",
    },
];

const PROFILING: &[LeftOn] = &[
    LeftOn { name: "CUDA_LAUNCH_BLOCKING", values: &["1"], costs: "the CPU waits for every kernel" },
    LeftOn { name: "VLLM_TRACE_FUNCTION", values: &["1"], costs: "every Python call is written to a file" },
    LeftOn {
        name: "NCCL_DEBUG",
        values: &["trace"],
        costs: "every collective operation is written to the log",
    },
    LeftOn {
        name: "--collect-detailed-traces",
        values: &["all", "model", "worker"],
        costs: "traces wait for the GPU in every step",
    },
    LeftOn {
        name: "--profiler-config",
        values: &[],
        costs: "anybody who reaches the port can start the profiler",
    },
];

fn left_on(scene: &Scene<'_>, rows: &[LeftOn]) -> Vec<Hit> {
    let is_on = |row: &LeftOn, value: &str| {
        let value = value.to_ascii_lowercase();
        let off = ["", "0", "false", "none"].contains(&value.as_str());
        if row.values.is_empty() { !off } else { row.values.contains(&value.as_str()) }
    };
    let told = |row: &LeftOn| {
        let (reason, change) = (row.costs.to_owned(), format!("remove {}", row.name));
        if row.name.starts_with('-') {
            let flag = scene.flag(row.name).filter(|flag| flag.values.iter().any(|v| is_on(row, v)))?;
            return Some(Hit::flag(scene, Severity::Warning, flag, reason, change));
        }
        let variable = scene.variable(row.name).filter(|variable| is_on(row, &variable.value))?;
        Some(Hit::variable(Severity::Warning, variable, reason, change))
    };
    rows.iter().filter_map(told).collect()
}

/// The variable that offered the profiler to clients. `envs.py` of 0.32.0 does not have it; which release dropped it is not known.
const PROFILER: &str = "VLLM_TORCH_PROFILER_DIR";

fn profiling(scene: &Scene<'_>) -> Vec<Hit> {
    let mut hits = left_on(scene, PROFILING);
    let variable = scene.variable(PROFILER).filter(|variable| !variable.value.is_empty());
    hits.extend(variable.map(|variable| {
        let (severity, reason) = if scene.is_from("0.32.0") == Some(true) {
            (Severity::Note, "this release does not read it; --profiler-config does its work")
        } else {
            (Severity::Warning, "older releases let anybody who reaches the port start the profiler with it")
        };
        Hit::variable(severity, variable, reason.to_owned(), format!("remove {PROFILER}"))
    }));
    hits
}

fn requests(scene: &Scene<'_>) -> Vec<Hit> {
    match (scene.switched("--enable-log-requests"), scene.flag("--max-log-len")) {
        (Some((true, flag)), _) => {
            let reason = "every request is written to the log: it grows with the load, and may hold prompts";
            let change = format!("remove {}", flag.written);
            vec![Hit::flag(scene, Severity::Warning, flag, reason.to_owned(), change)]
        }
        (_, Some(flag)) if scene.is_from("0.10.1").unwrap_or(true) => {
            let reason = "it limits the log of requests, which is off: it does nothing";
            vec![Hit::flag(
                scene,
                Severity::Note,
                flag,
                reason.to_owned(),
                format!("remove {}", flag.written),
            )]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ids, rules, unit};

    fn with(variable: &str) -> Vec<String> {
        ids(&unit(&format!("Environment={variable}\nExecStart=vllm serve m"), |_| {}))
    }

    #[test]
    fn debug_logging_is_found() {
        assert_eq!(with("VLLM_LOGGING_LEVEL=DEBUG"), ["debug-logging-on"]);
        assert_eq!(rules("m --uvicorn-log-level trace", |_| {}), ["debug-logging-on"]);
        assert!(with("VLLM_LOGGING_LEVEL=INFO").is_empty());
        assert!(rules("m --uvicorn-log-level info", |_| {}).is_empty());
    }

    #[test]
    fn request_logging_is_found() {
        assert_eq!(rules("m --enable-log-requests --max-log-len 50", |_| {}), ["request-logging-on"]);
        assert_eq!(rules("m --max-log-len 50", |_| {}), ["request-logging-on"]);
        assert!(rules("m --no-enable-log-requests", |_| {}).is_empty());
    }

    #[test]
    fn profiling_is_found() {
        for variable in ["CUDA_LAUNCH_BLOCKING=1", "VLLM_TORCH_PROFILER_DIR=/tmp/p", "NCCL_DEBUG=TRACE"] {
            assert_eq!(with(variable), ["profiling-left-on"], "{variable}");
        }
        for variable in ["CUDA_LAUNCH_BLOCKING=0", "NCCL_DEBUG=WARN", "VLLM_TRACE_FUNCTION=0"] {
            assert!(with(variable).is_empty(), "{variable}");
        }
    }
}
