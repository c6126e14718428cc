//! Recordings of real engines are read the same before and after.

#![expect(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;
use std::path::{Path, PathBuf};

use intriage_case::{Case, LogText, ScrapeOutcome, layout};
use intriage_engines::{LogEvent, read};
use intriage_redact::Redactor;

fn recordings() -> Vec<PathBuf> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let folders = ["recordings", "lab", "h200", "made"].map(|group| fixtures.join(group));
    let mut all: Vec<PathBuf> =
        folders.iter().flat_map(|group| entries(group)).filter(|p| p.is_dir()).collect();
    all.sort();
    all
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).map(|all| all.map(|entry| entry.unwrap().path()).collect()).unwrap_or_default()
}

fn case(folder: &Path) -> Case {
    let mut case = Case::default();
    let mut files = entries(folder);
    files.extend(entries(&folder.join("metrics")));
    files.extend(entries(&folder.join("endpoints")));
    files.sort();
    for file in files.into_iter().filter(|file| file.is_file()) {
        let name = file.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
        if layout::wants(&name) {
            layout::add(&mut case, &name, fs::read(&file).unwrap());
        }
    }
    case
}

fn redacted(redactor: &Redactor, case: &Case) -> Case {
    let mut safe = case.clone();
    for LogText { text, .. } in &mut safe.logs {
        let lines = text.matches('\n').count();
        *text = redactor.text(text).into_owned();
        assert_eq!(text.matches('\n').count(), lines);
        assert_eq!(redactor.text(text), *text);
    }
    for scrape in &mut safe.scrapes {
        if let ScrapeOutcome::Body(page) = &mut scrape.outcome {
            *page = redactor.exposition(page);
        }
    }
    for body in safe.endpoints.values_mut() {
        *body = redactor.json(body);
    }
    safe.command_line = safe.command_line.map(|line| redactor.command_line(&line));
    safe
}

#[test]
fn the_engines_read_the_same_settings_signals_and_signatures() {
    let recordings = recordings();
    assert!(recordings.len() >= 17, "{} recordings", recordings.len());
    for folder in recordings {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let before = case(&folder);
        let redactor = Redactor::new();
        let after = redacted(&redactor, &before);
        // Nothing here is secret: whatever else was hidden was a mistake.
        let expected = ["address", "url-host", "host-field"];
        for (rule, count) in redactor.found() {
            assert!(expected.contains(&rule), "{name}: {rule} hid {count}: {:?}", redactor.map());
        }
        let (before, after) = (read(&before), read(&after));
        assert_eq!(before.identity, after.identity, "{name}");
        assert_eq!(before.config, after.config, "{name}");
        assert_eq!((before.times, before.failed), (after.times, after.failed), "{name}");
        assert!(before.tracks == after.tracks, "{name}: tracks differ");
        assert_eq!(before.log.answers, after.log.answers, "{name}");
        let events =
            |all: &[LogEvent]| -> Vec<_> { all.iter().map(|e| (e.meaning, e.line, e.count)).collect() };
        assert_eq!(events(&before.log.events), events(&after.log.events), "{name}");
        assert_eq!(before.notes, after.notes, "{name}");
    }
}

#[test]
fn a_kernels_line_that_somebody_asked_about_is_no_fault_of_this_machine() {
    let fault = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.";
    let (record, next) = ("INFO 11-16 07:40:20 [x.py:3] ", "INFO 11-16 07:40:21 [x.py:3] ready");
    let faults = |text: String| {
        let text = Redactor::new().text(&text).into_owned();
        let log = LogText { name: "server.log".into(), text };
        read(&Case { logs: vec![log], ..Case::default() }).log.events.len()
    };
    for asked in [
        format!("{record}Received request: prompt: 'what is this\n{fault}\nhelp', n=7\n{next}\n"),
        format!("{record}Prompt: what is this\n{fault}\n{next}\n"),
        format!("{record}prompt=\"\"\"what is this\n{fault}\"\"\"\n{next}\n"),
        format!("User: what is {fault}\n{next}\n"),
    ] {
        assert_eq!(faults(asked), 0);
    }
    assert_eq!(faults(format!("{next}\n{fault}\n{next}\n")), 1);
    assert_eq!(faults(format!("{record}Received request: prompt: 'who is it', n=7\n{fault}\n")), 1);
}

#[test]
fn the_address_in_a_real_log_is_hidden() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/recordings/vllm-h200-healthy");
    let redactor = Redactor::new();
    let after = redacted(&redactor, &case(&folder));
    let log = &after.logs[0].text;
    assert!(!log.contains("192.0.2.2") && log.contains("distributed_init_method=tcp://ip-1:37901"));
    assert_eq!(redactor.map().originals["ip-1"], "192.0.2.2");
}
