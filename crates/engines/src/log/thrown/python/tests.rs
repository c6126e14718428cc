//! Tracebacks as engines and people write them.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;

const CHAINED: &str = r#"Traceback (most recent call last):
  File "/usr/local/lib/python3.12/site-packages/vllm/v1/worker/gpu_model_runner.py", line 4012, in _dummy_run
    hidden = self.model(**kwargs)
             ^^^^^^^^^^^^^^^^^^^^
  File "/usr/local/lib/python3.12/site-packages/torch/nn/modules/module.py", line 1775, in _call_impl
    return forward_call(*args, **kwargs)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/usr/local/lib/python3.12/site-packages/vllm/v1/engine/core.py", line 700, in run_engine_core
    engine_core = EngineCoreProc(*args, **kwargs)
RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests.
"#;

#[test]
fn of_a_chain_the_first_exception_counts_and_its_innermost_frame_in_the_engine() {
    let thrown = traceback(CHAINED, 7).expect("a traceback");
    assert_eq!(thrown.kind, "torch.OutOfMemoryError");
    assert_eq!(thrown.place().as_deref(), Some("vllm/v1/worker/gpu_model_runner.py:4012 in _dummy_run"));
    assert_eq!((thrown.line, thrown.told_line), (7, 13));
    assert!(!thrown.is_echo);
    assert_eq!(thrown.starting, Some(true));
}

/// Each line with what a worker's logger puts in front, and lines of another worker in between.
fn interleaved() -> String {
    let mut text = String::new();
    for line in CHAINED.lines() {
        let prefix = "ERROR 11-15 03:53:11 [multiproc_executor.py:870]";
        let _ = writeln!(text, "(Worker_TP1 pid=9) {prefix} {line}");
        let _ = writeln!(text, "(Worker_TP0 pid=8) {prefix} {}", line.replace("torch.", "other."));
    }
    text + "(Worker_TP1 pid=9) INFO 11-15 03:53:12 [multiproc_executor.py:640] Parent process exited\n"
}

#[test]
fn ranks_that_fail_together_are_told_apart() {
    let text = interleaved();
    let thrown = traceback(&text, 1).expect("a traceback");
    assert_eq!((thrown.kind.as_str(), thrown.rank.as_deref()), ("torch.OutOfMemoryError", Some("TP1")));
    let second = text.split_once('\n').expect("lines").1;
    let thrown = traceback(second, 2).expect("a traceback");
    assert_eq!((thrown.kind.as_str(), thrown.rank.as_deref()), ("other.OutOfMemoryError", Some("TP0")));
}

#[test]
fn a_lookup_that_failed_says_less_than_what_was_thrown_while_it_was_handled() {
    let text = "[2026-01-10 12:00:05 TP2] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/sgl-workspace/sglang/python/sglang/srt/configs/model_config.py\", line 9, in f\n    x = table[name]\nKeyError: 'qwen9'\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"/sgl-workspace/sglang/python/sglang/srt/managers/scheduler.py\", line 3012, in run\n    assert x == y\nAssertionError\n\n[2026-01-10 12:00:06] Received sigquit from a child process.\n";
    let thrown = traceback(text, 1).expect("a traceback");
    assert_eq!(thrown.says(), "AssertionError: assert x == y");
    assert_eq!(thrown.place().as_deref(), Some("sglang/srt/managers/scheduler.py:3012 in run"));
    assert_eq!(thrown.rank.as_deref(), Some("TP2"));
}

#[test]
fn a_box_drawn_around_a_traceback_is_read() {
    let text = "╭───────────────────── Traceback (most recent call last) ─────────────────────╮\n│ /usr/src/server/text_generation_server/cli.py:106 in serve                   │\n│                                                                              │\n│ /opt/conda/lib/python3.11/site-packages/torch/nn/x.py:12 in f                │\n╰──────────────────────────────────────────────────────────────────────────────╯\nRuntimeError: CUDA error: no kernel image is available for execution on the device\n";
    let thrown = traceback(text, 1).expect("a traceback");
    assert!(thrown.says().starts_with("RuntimeError: CUDA error: no kernel image"), "{}", thrown.says());
    assert_eq!(thrown.place().as_deref(), Some("text_generation_server/cli.py:106 in serve"));
}

#[test]
fn an_exception_that_only_tells_of_another_process_is_an_echo() {
    let text = "Traceback (most recent call last):\n  File \"/x/site-packages/vllm/v1/engine/utils.py\", line 7, in wait\n    raise RuntimeError(\nRuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n";
    assert!(traceback(text, 1).expect("a traceback").is_echo);
    assert!(traceback("Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n", 1).is_none());
}

proptest! {
    #[test]
    fn any_text_is_survived(text in "(Traceback \\(most recent call last\\)[:─]\n)(  File \"|\", line |[0-9]|\n|│ |╰|During handling of the above exception, another exception occurred:\n|é|    |Error: |[rank0]: |\\PC){0,60}") {
        if let Some(thrown) = traceback(&text, 1) {
            let lines = text.split('\n').count() as u32;
            prop_assert!(thrown.line <= thrown.told_line && thrown.told_line <= thrown.until && thrown.until <= lines);
            let _ = (thrown.says(), thrown.place());
        }
    }
}
