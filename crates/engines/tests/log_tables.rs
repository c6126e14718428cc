//! Rules every row of the log tables keeps.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

use std::collections::BTreeSet;
use std::path::PathBuf;

use intriage_case::LogText;
use intriage_engines::{
    LogReadings, Signature, StartLine, Version, Wording, log_texts, periodic_lines, signatures, start_lines,
};

fn read(line: &str) -> LogReadings {
    LogReadings::of(&LogText { name: "server.log".into(), text: format!("ok\n{line}\nok\n") })
}

/// Whether the row, and not only another of the same meaning, finds the line: its own text is in it.
fn finds(signature: &Signature, line: &str) -> bool {
    let event =
        read(line).events.into_iter().find(|e| e.meaning == signature.meaning && e.log == signature.log);
    line.contains(signature.text) && event.is_some_and(|e| (e.line, e.last_line, e.count) == (2, 2, 1))
}

fn recording(path: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(path);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn every_signature_finds_its_example_and_not_the_line_that_looks_like_it() {
    for signature in signatures() {
        assert!(finds(signature, signature.example), "{signature:?}");
        assert!(!signature.not.is_empty() && !finds(signature, signature.not), "{signature:?}");
    }
}

#[test]
fn every_wording_says_where_it_was_found() {
    for signature in signatures() {
        match signature.source {
            Wording::Recording(path) => {
                assert!(recording(path).contains(signature.example), "{signature:?}");
            }
            Wording::Knowledge(place) => {
                assert!(place.contains(".md") || place.contains(".json"), "{signature:?}");
            }
            Wording::Code(place) => {
                assert!(place.contains(':') && signature.source.url().is_some(), "{signature:?}");
            }
            Wording::Library(file) => {
                assert!(!file.is_empty() && signature.source.url().is_none(), "{signature:?}");
            }
            Wording::Incident(id) => {
                assert!(
                    id.contains('#') && signature.source.url().unwrap().starts_with("https://"),
                    "{signature:?}"
                );
            }
        }
    }
    for periodic in periodic_lines() {
        if let Wording::Recording(path) = periodic.source {
            assert!(recording(path).contains(periodic.example), "{periodic:?}");
        }
    }
    for start in start_lines() {
        match start.source {
            Wording::Recording(path) => assert!(recording(path).contains(start.example), "{start:?}"),
            _ => assert!(start.source.url().is_some(), "{start:?}"),
        }
    }
}

#[test]
fn every_start_is_told_by_its_example_and_not_by_the_line_that_looks_like_it() {
    for start in start_lines() {
        assert!(start.example.contains(start.text), "{start:?}");
        assert!(!start.not.is_empty() && !start.not.contains(start.text), "{start:?}");
    }
}

/// Each recording is of one process: none of its lines begins a second start.
#[test]
fn a_recording_holds_one_start() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/recordings");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path().join("server.log");
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        let count = |start: &StartLine| text.lines().filter(|line| line.contains(start.text)).count();
        assert!(start_lines().iter().all(|start| count(start) <= 1), "{}", path.display());
        assert!(start_lines().iter().any(|start| count(start) == 1), "{}", path.display());
    }
}

/// A line that only scares says why it does; no other line does.
#[test]
fn harmless_lines_have_a_reason() {
    for signature in signatures() {
        let harmless = signature.meaning == intriage_engines::Meaning::Harmless;
        assert_eq!(harmless, !signature.reason.is_empty(), "{signature:?}");
    }
}

/// None of the lines that end a start stands in the log of a server that came up.
#[test]
fn recordings_of_running_servers_hold_no_line_that_ends_a_start() {
    use intriage_engines::Meaning::*;
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    for set in ["recordings", "h200", "lab"] {
        for entry in std::fs::read_dir(folder.join(set)).unwrap() {
            let path = entry.unwrap().path().join("server.log");
            let Ok(bytes) = std::fs::read(&path) else { continue };
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let readings = LogReadings::of(&LogText { name: path.display().to_string(), text });
            for ends in [
                DriverTooOld,
                FabricNotReady,
                NoGpu,
                NotBuiltForGpu,
                NoKernelImage,
                DtypeUnsupported,
                QuantizationUnsupported,
                AttentionUnsupported,
                CpuInstruction,
                ModelUnknown,
                RemoteCode,
                HubAuth,
                HubUnreachable,
                ModelFiles,
                LoraRank,
                PortInUse,
                DiskFull,
                SharedMemoryShort,
                PermissionDenied,
                BadArgument,
                ConfigurationRefused,
                ContextBeyondModel,
                ParallelismUnfit,
                CollectiveFailed,
                ProbeKilled,
                ProbeFailed,
                HostKilled,
                ExitedKilled,
                NotScheduled,
                ImageNotPulled,
                EnvironmentBroken,
                ForkedCuda,
                CppException,
                GpuEcc,
                CoordinationUnreachable,
                EngineFileUnfit,
                KernelBuild,
                LoadTimedOut,
            ] {
                assert!(readings.first(ends).is_none(), "{}: {:?}", path.display(), readings.first(ends));
            }
        }
    }
}

#[test]
fn no_two_signatures_are_the_same() {
    let rows: BTreeSet<_> = signatures().map(|s| (s.text, s.with, s.without, s.meaning)).collect();
    assert_eq!(rows.len(), signatures().count());
}

#[test]
fn texts_are_long_enough_to_be_searched_for_fast_and_lie_in_one_line() {
    for text in log_texts() {
        assert!(text.len() >= 4 && !text.contains(['\n', '\r', '\u{1b}']), "{text:?}");
    }
}

#[test]
fn version_ranges_are_releases_in_order() {
    let starts = start_lines().iter().map(|s| s.range);
    for range in signatures().map(|s| s.range).chain(periodic_lines().iter().map(|p| p.range)).chain(starts) {
        for end in [range.since, range.until] {
            assert!(end.is_empty() || Version::parse(end).is_some(), "{range:?}");
        }
        assert!(
            range.until.is_empty() || Version::parse(range.since) <= Version::parse(range.until),
            "{range:?}"
        );
    }
}

#[test]
fn every_periodic_line_gives_values_for_its_example() {
    for periodic in periodic_lines() {
        // Lines without a stamp of their own get one, as a container's log would give it.
        let stamped = format!("2026-11-15 02:26:49 {}", periodic.example);
        let readings = read(&stamped);
        let given: Vec<_> = periodic
            .fields
            .iter()
            .filter(|f| periodic.example.contains(f.behind))
            .map(|f| (f.signal, readings.signal(f.signal)))
            .collect();
        assert!(!given.is_empty(), "{periodic:?}");
        for (signal, series) in given {
            assert!(series.is_some_and(|s| s.last().is_some()), "{signal}: {periodic:?}");
        }
    }
}

#[test]
fn healthy_recordings_hold_no_line_that_says_something_broke() {
    use intriage_engines::Meaning::*;
    for name in ["recordings/vllm-h200-healthy", "recordings/vllm-cpu-healthy", "lab/healthy6"] {
        let text = recording(&format!("{name}/server.log"));
        let readings = LogReadings::of(&LogText { name: name.into(), text });
        for broken in [
            EngineDied,
            CrashDump,
            WorkerSilent,
            WatchdogFired,
            GpuOutOfMemory,
            NoRoomForKv,
            Xid,
            Compiling,
            KernelFallback,
        ] {
            assert!(readings.first(broken).is_none(), "{name}: {:?}", readings.first(broken));
        }
    }
}
