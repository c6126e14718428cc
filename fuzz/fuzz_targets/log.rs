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
    // Lines that were left out count like those that are there, and whoever wrote the log may have invented them.
    let is_whole = !text.contains("[intriage left out ");
    let readings = LogReadings::of(&LogText { name: "server.log".into(), text });
    for event in readings.events.iter().filter(|_| is_whole) {
        // Of an export that begins with its newest line the first is behind the last; a line may hold several records.
        for line in [event.line, event.last_line, event.told_line] {
            assert!((1..=lines).contains(&line), "{event:?}");
        }
        assert!(1 <= event.count, "{event:?}");
    }
    for thrown in readings.thrown.iter().filter(|_| is_whole) {
        assert!(1 <= thrown.line && thrown.line <= thrown.told_line && thrown.told_line <= lines, "{thrown:?}");
    }
    readings.root();
    for series in &readings.series {
        assert!(1 <= series.line && (series.line <= lines || !is_whole));
        assert_eq!(series.series.times().len(), series.series.values().len());
        assert!(readings.signal(series.signal).is_some());
    }
});

/// Parts of the input as the files of one rotation: each is in one chain, and once, or in as many as it has containers.
fn several_files(bytes: &[u8]) {
    let mut case = Case::default();
    for (part, name) in bytes.split(|byte| *byte == 0xff).zip(["v.log", "v.log.1.log", "v.log.2.log"]) {
        case.add_log(LogText { name: name.into(), text: String::from_utf8_lossy(part).into_owned() });
    }
    let observed = read(&case);
    let files = || observed.log.chains.iter().flat_map(|chain| &chain.files);
    let whole = files().filter(|file| !file.ends_with(']')).count();
    assert!(whole <= case.logs.len() && files().count() <= 64 * 64 * case.logs.len());
    for event in &observed.log.events {
        assert!(event.in_a_row >= 1 && event.line >= 1, "{event:?}");
    }
    if let Some(seen) = observed.through_log(Seconds(600.0), 3) {
        assert!(!seen.times.is_empty() && seen.times.is_sorted());
    }
}
