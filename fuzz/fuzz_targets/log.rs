//! Any bytes are survived as a log, plain, packed or wrapped, and what is found in them lies inside them.
#![no_main]

use std::time::Duration;

use intriage_case::LogText;
use intriage_engines::LogReadings;
use intriage_observe::{LogLimits, TakenLog};
use libfuzzer_sys::fuzz_target;

/// Less than some packed inputs hold, so that the limit is met.
const LIMITS: LogLimits = LogLimits { bytes: 64 << 10, time: None, since: Duration::ZERO };

fuzz_target!(|bytes: &[u8]| {
    if let Ok(taken) = TakenLog::of("server.log.gz", bytes, &LIMITS) {
        assert!(taken.log.text.len() <= 4 * LIMITS.bytes);
        LogReadings::of(&taken.log);
    }
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
