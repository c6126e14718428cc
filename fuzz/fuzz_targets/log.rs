//! Any bytes are survived as a log, plain, packed or wrapped, and what is found in them lies inside them.
#![no_main]

use std::time::Duration;

use intriage_case::{Case, LogText, Seconds};
use intriage_engines::{LogReadings, read};
use intriage_observe::{LogLimits, TakenLog};
use libfuzzer_sys::fuzz_target;

/// Less than some packed inputs hold, so that the limit is met.
const LIMITS: LogLimits = LogLimits { bytes: 64 << 10, time: None, since: Duration::ZERO };

fuzz_target!(|bytes: &[u8]| {
    if let Ok(taken) = TakenLog::of("server.log.gz", bytes, &LIMITS) {
        assert!(taken.log.text.len() <= 4 * LIMITS.bytes);
        LogReadings::of(&taken.log);
    }
    several_files(bytes);
    let text = String::from_utf8_lossy(bytes).into_owned();
    let lines = text.split('\n').count() as u32;
    let readings = LogReadings::of(&LogText { name: "server.log".into(), text });
    for event in &readings.events {
        assert!(1 <= event.line && event.line <= event.last_line && event.last_line <= lines, "{event:?}");
        assert!(1 <= event.count && event.count <= event.last_line - event.line + 1, "{event:?}");
    }
    for series in &readings.series {
        assert!(1 <= series.line && series.line <= lines);
        assert_eq!(series.series.times().len(), series.series.values().len());
        assert!(readings.signal(series.signal).is_some());
    }
});

/// Parts of the input as the files of one rotation: each is in one chain, and once.
fn several_files(bytes: &[u8]) {
    let mut case = Case::default();
    for (part, name) in bytes.split(|byte| *byte == 0xff).zip(["v.log", "v.log.1.log", "v.log.2.log"]) {
        case.add_log(LogText { name: name.into(), text: String::from_utf8_lossy(part).into_owned() });
    }
    let observed = read(&case);
    let files = observed.log.chains.iter().flat_map(|chain| &chain.files).count();
    assert!(files <= case.logs.len());
    for event in &observed.log.events {
        assert!(event.in_a_row >= 1 && event.line <= event.last_line, "{event:?}");
    }
    if let Some(seen) = observed.through_log(Seconds(600.0), 3) {
        assert!(!seen.times.is_empty() && seen.times.is_sorted());
    }
}
