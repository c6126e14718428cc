//! The head of a stranger's file of weights is survived, and a file as long as its head says is not called cut.
#![no_main]

use intriage_engines::{LaunchLine, NoHead, gguf_head, phase_of, safetensors_head};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let size = bytes.len() as u64;
    for read in [safetensors_head, gguf_head] {
        if let Ok(head) = read(bytes, size) {
            assert!(read(bytes, head.needs.max(size)).is_ok());
        }
        assert_ne!(read(bytes, size), Err(NoHead::TooLong), "the whole file was read");
    }
    let text = String::from_utf8_lossy(bytes);
    let _ = text.lines().map(phase_of).count();
    let words: Vec<&str> = ["vllm", "serve"].into_iter().chain(text.split(' ')).collect();
    if let Some(line) = LaunchLine::read(&words) {
        let _ = (line.model(), line.port(), line.number(&["--max-model-len"]));
    }
});
