//! Any bytes are survived as a log, plain or wrapped, and what is found in them lies inside them.
#![no_main]

use intriage_case::LogText;
use intriage_engines::LogReadings;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
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
