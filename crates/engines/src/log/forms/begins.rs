//! Whether a line begins a message, by what loggers, runtimes and tables put in front of one.

use crate::log::sieve::gap;
use crate::log::stamp;
use crate::log::wrapping::begins_wrapped;

/// Levels, each followed by a blank or a colon.
const LEVELS: &[&str] = &[
    "INFO",
    "WARNING",
    "WARN",
    "ERROR",
    "DEBUG",
    "CRITICAL",
    "FATAL",
    "TRACE",
    "FutureWarning",
    "UserWarning",
];

/// What stands at the start of lines that have neither stamp nor level.
const STARTS: &[&str] = &[
    // Lines of ours that stand for others.
    gap::MARK,
    // Python's tracebacks.
    "Traceback (most recent call last)",
    "  File \"",
    "The above exception was",
    "During handling of the above",
    // Records and logfmt.
    "{\"",
    "time=",
    "level=",
    "ts=",
    // Progress bars.
    "Loading ",
    "Capturing ",
    "Fetching ",
    "Downloading ",
    // Tables and rulers.
    "|",
    "+-",
    "---",
    "===",
    // llama.cpp without stamps.
    "llama_",
    "ggml_",
    "common_",
    "print_info:",
    "load_tensors:",
    "load_model:",
    "load_backend:",
    "load:",
    "srv ",
    "slot ",
    "main:",
    "build:",
    "system_info:",
    "sched_reserve:",
    "graph_reserve:",
    "clip_",
];

/// Whether a line is the first of a message.
pub(super) fn begins(line: &str) -> bool {
    let bytes = line.as_bytes();
    if stamp::leading(line).is_some() || STARTS.iter().any(|start| line.starts_with(start)) {
        return true;
    }
    match bytes.first() {
        None => true,
        Some(b'(') => line[1..].split_once(')').is_some_and(|(inside, _)| inside.contains("pid=")),
        Some(b'[') => bracketed(&line[1..]),
        Some(_) => level(line) || glog(bytes) || error(line) || nccl(line) || begins_wrapped(line),
    }
}

fn level(line: &str) -> bool {
    LEVELS.iter().any(|level| line.strip_prefix(level).is_some_and(|rest| rest.starts_with([' ', ':'])))
}

/// `[2026-11-15 02:26:49 TP0] `, `[rank0]: `, `[W1115 06:28:46.0 utils.cpp:68]`; not a list of numbers, and not the source
/// that stands in the middle of vLLM's prefix.
fn bracketed(rest: &str) -> bool {
    let Some((inside, _)) = rest.split_once(']') else { return false };
    let named = inside.bytes().any(|byte| byte.is_ascii_alphabetic() || byte == b'-');
    !inside.is_empty() && named && !inside.contains(['\'', '"', ',', '=']) && !inside.contains(".py:")
}

/// `W1115 06:28:46.009392 68 utils.cpp:68]`
fn glog(bytes: &[u8]) -> bool {
    bytes.len() > 9
        && b"IWEF".contains(&bytes[0])
        && bytes[1..5].iter().all(u8::is_ascii_digit)
        && bytes[5] == b' '
        && bytes[8] == b':'
}

/// `torch.OutOfMemoryError: CUDA out of memory`
fn error(line: &str) -> bool {
    let Some((name, _)) = line.split_once(':') else { return false };
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._".contains(&byte));
    is_name && ["Error", "Exception", "Interrupt", "Exit"].iter().any(|end| name.ends_with(end))
}

/// `node1:811:930 [0] NCCL INFO`
fn nccl(line: &str) -> bool {
    let Some((place, _)) = line.split_once(" NCCL ") else { return false };
    place.len() < 80 && place.matches(':').count() >= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_engines_and_libraries_begin() {
        for line in [
            "(EngineCore_DP0 pid=271) ERROR 11-15 03:53:10 [core.py:1512] EngineCore encountered a fatal error.",
            "INFO 11-15 02:26:49 [metrics.py:486] Avg prompt throughput",
            "INFO:     127.0.0.1:1 - \"GET /health HTTP/1.1\" 200 OK",
            "[2026-11-15 02:26:49 TP0] Decode batch",
            "[rank0]: Traceback (most recent call last):",
            "[W1115 06:28:46.009392610 utils.cpp:68] Warning: NUMA binding",
            "0.03.803.226 I slot print_timing: id  3",
            "torch.OutOfMemoryError: CUDA out of memory.",
            "node1:811:930 [0] NCCL INFO Using network Socket",
            "vllm-1  | INFO ready",
            "[pod/vllm-0/server] INFO ready",
            "2026-11-15T02:26:49.5Z stderr F x",
        ] {
            assert!(begins(line), "{line}");
        }
    }

    #[test]
    fn the_rest_of_a_broken_line_does_not() {
        for line in [
            "tokens/s, Running: 6 reqs, Waiting: 4 reqs, GPU KV cache usage: 92.3%",
            " cache size: 931,104 tokens",
            "roughput: 10.9 tokens/s",
            "[1, 2, 4, 8, 16], 'cudagraph_num_of_warmups': 1",
            "[loggers.py:259] Engine 000: Avg prompt throughput: 0.0 tokens/s",
            "'max_model_len': 16384, 'load_format': 'dummy'}",
            "3 | task 2 | prompt eval time",
            "size: 1, max_seq_len=8192",
        ] {
            assert!(!begins(line), "{line}");
        }
    }
}
