//! Whatever a server, a log or a settings endpoint says, reading and judging it must end in a diagnosis.
#![no_main]

use intriage_case::{Case, GpuEvidence, LogText, Millis, Scrape, ScrapeOutcome, layout};
use intriage_diagnose::{Thresholds, diagnose};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|parts: (Vec<u8>, Vec<u8>, String, String, String, String, Vec<u8>)| {
    let (first, second, log, settings, flags, dmon, ways) = parts;
    // A known engine in front, so that everything behind it is read in its dialect.
    let scrape = |body: &[u8]| ScrapeOutcome::Body([b"vllm:num_requests_running 1\n", body].concat());
    let mut case = Case {
        scrapes: vec![
            Scrape { at: Millis(1000), outcome: scrape(&first) },
            Scrape { at: Millis(2000), outcome: scrape(&second) },
            Scrape { at: Millis(9000), outcome: scrape(&first) },
        ],
        logs: vec![LogText { name: "server.log".into(), text: log }],
        command_line: Some(flags),
        gpu: GpuEvidence { dmon: Some(dmon.clone()), smi_q: Some(dmon), ..GpuEvidence::default() },
        ..Case::default()
    };
    for path in ["/version", "/server_info", "/props", "/v1/models"] {
        case.endpoints.insert(path.into(), settings.clone());
    }
    layout::add(&mut case, "path.json", ways);
    let diagnosis = diagnose(&case, &Thresholds::default());
    assert!((0.0..=1.0).contains(&diagnosis.verdict.primary.confidence));
});
