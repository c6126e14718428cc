//! Any bytes are survived as a manifest; every word stands inside the file, and nothing of the file is in an error.
#![no_main]

use intriage_engines::{manifest_texts, read_manifest};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    // A carriage return alone ends a line in YAML.
    let lines = text.split(['\n', '\r']).count() as u32;
    for name in ["vllm.service", "deploy.yaml"] {
        match read_manifest(name, &text) {
            Ok(launches) => {
                assert!(!launches.is_empty());
                for launch in &launches {
                    assert!(launch.words.iter().all(|word| word.at.line <= lines), "{launch:?}");
                    assert!(launch.environment.iter().all(|variable| variable.at.line <= lines), "{launch:?}");
                }
                assert!(manifest_texts(name, &text).is_ok());
            }
            Err(why) => {
                assert!(why.line() <= lines + 1, "{why:?}");
                assert!(!why.to_string().is_empty());
            }
        }
    }
});
