//! A log gives the same verdict in every form in which people hand it on.
//!
//! Every recorded log, and a start that ends with the example of each row of the tables, is broken at the edge of a
//! terminal, turned round, cut, put behind a container's name, between another container's lines, into JSON. What cannot
//! give the same verdict stands in [`CANNOT`] with the reason.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::path::{Path, PathBuf};

use intriage_case::{Case, LogText};
use intriage_diagnose::{Status, Thresholds, diagnose};
use intriage_engines::{Meaning, signatures};

/// Logs that lose their cause in a form: none can be told then, and no other is.
const CANNOT: &[(&str, &str, &str)] = &[
    ("vllm-h200-kv1200", "without its first half", FEW),
    ("vllm-h200-kvsmall", "without its first half", FEW),
    ("vllm-h200-kvsmall", "without its last lines", FEW),
    ("vllm-h200-longprompt9k", "without its first half", FEW),
    ("vllm-h200-maxseqs4", "without its first half", FEW),
    ("vllm-h200-maxseqs8", "without its first half", FEW),
    ("vllm-h200-pair-kv1040", "without its first half", FEW),
    ("vllm-h200-pair-maxseqs8", "without its first half", FEW),
    ("vllm-h200-prefixoff", "without its last lines", FEW),
    ("vllm-h200-prefixoff4500", "without its first half", FEW),
    ("vllm016-cpu-kvsmall", "without its first half", SIZE),
    ("wrong-card", "without its last lines", "the last line alone says why"),
];

const FEW: &str =
    "of three or four statistics lines under load two are left, and a verdict by lines needs three";

const SIZE: &str = "the size of the pool stands at the start, and without it nobody knows that the last tenth of it is no room";

/// What must be the same.
#[derive(Debug, Clone, PartialEq)]
struct Told {
    status: Status,
    cause: Option<String>,
    engine: Option<String>,
}

fn told(text: &str) -> Told {
    let mut case = Case::default();
    case.add_log(LogText { name: "server.log".into(), text: text.into() });
    let diagnosis = diagnose(&case, &Thresholds::default());
    Told {
        status: diagnosis.verdict.status,
        cause: diagnosis.verdict.primary.cause,
        engine: diagnosis.engine.name,
    }
}

/// Every recorded log by the name of its folder.
fn recorded() -> Vec<(String, String)> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let folders = |path: &Path| -> Vec<PathBuf> {
        let mut all: Vec<_> = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        all.retain(|path| path.is_dir());
        all.sort();
        all
    };
    let mut logs = Vec::new();
    for folder in folders(&fixtures).iter().flat_map(|kind| folders(kind)) {
        if let Ok(bytes) = std::fs::read(folder.join("server.log")) {
            let name = folder.file_name().unwrap().to_string_lossy().into_owned();
            logs.push((name, String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    assert!(logs.len() > 40, "{} logs", logs.len());
    logs
}

/// A start of vLLM up to the moment its engine begins, and behind it the example of a row that says why it ended.
fn failed_starts() -> Vec<(String, String)> {
    let recorded = recorded();
    let (_, healthy) = recorded.iter().find(|(name, _)| name == "vllm-h200-healthy").unwrap();
    let start: String = healthy.lines().take(24).flat_map(|line| [line, "\n"]).collect();
    assert!(!start.contains("startup complete"));
    let ends = |meaning: Meaning| {
        use Meaning::*;
        matches!(
            meaning,
            DriverTooOld
                | FabricNotReady
                | NoGpu
                | NoKernelImage
                | DtypeUnsupported
                | QuantizationUnsupported
                | AttentionUnsupported
                | ModelUnknown
                | HubAuth
                | ModelFiles
                | LoraRank
                | PortInUse
                | DiskFull
                | SharedMemoryShort
                | PermissionDenied
                | BadArgument
                | ContextBeyondModel
                | ParallelismUnfit
                | NoRoomForKv
                | GpuOutOfMemory
                | HostKilled
                | ProbeKilled
        )
    };
    let rows = signatures().filter(|row| ends(row.meaning));
    let logs: Vec<_> = rows.map(|row| (row.text.to_owned(), format!("{start}{}\n", row.example))).collect();
    assert!(logs.len() > 60, "{} rows", logs.len());
    logs
}

type Form = (&'static str, fn(&str) -> String);

const FORMS: &[Form] = &[
    ("broken at 80", |text| broken(text, 80)),
    ("broken at 120", |text| broken(text, 120)),
    ("broken at 132", |text| broken(text, 132)),
    ("broken at blanks before 100", |text| broken_at_blanks(text, 100)),
    ("newest first", newest_first),
    ("carriage returns", |text| text.replace('\n', "\r\n")),
    ("compose", |text| each(text, |line, _| format!("vllm-1  | {line}\n"))),
    ("compose beside nginx", beside_nginx),
    ("stern", |text| each(text, |line, _| format!("vllm-7d9fcb4c5d-x2k9p server {line}\n"))),
    ("Fluent Bit without line ends", |text| fluent_bit(text).concat()),
    ("a list of records", |text| format!("[\n{}\n]\n", fluent_bit(text).join(",\n"))),
    ("CloudWatch, newest first", |text| {
        let event = |(line, at)| format!("{{\"timestamp\":{at},\"message\":{}}}", json(line));
        let mut events: Vec<String> = dated(text).into_iter().map(event).collect();
        events.reverse();
        format!("{{\"events\":[{}]}}\n", events.join(","))
    }),
    ("Loki, newest first", |text| {
        let value = |(line, at)| format!("[\"{at}000000\",{}]", json(line));
        let mut values: Vec<String> = dated(text).into_iter().map(value).collect();
        values.reverse();
        let streams = format!("[{{\"stream\":{{\"pod\":\"vllm-0\"}},\"values\":[{}]}}]", values.join(","));
        format!("{{\"status\":\"success\",\"data\":{{\"resultType\":\"streams\",\"result\":{streams}}}}}")
    }),
    ("colours and bars", |text| each(text, |line, _| format!("bar 1%\rbar 50%\r\x1b[32m{line}\x1b[0m\n"))),
    ("without its first half", |text| {
        let lines: Vec<&str> = text.lines().collect();
        lines.iter().skip(lines.len() / 2).flat_map(|line| [line, "\n"]).collect()
    }),
    ("without its last lines", |text| {
        let lines: Vec<&str> = text.lines().collect();
        lines.iter().take(lines.len() - lines.len() / 50).flat_map(|line| [line, "\n"]).collect()
    }),
];

fn each(text: &str, form: impl Fn(&str, usize) -> String) -> String {
    text.lines().enumerate().map(|(at, line)| form(line, at)).collect()
}

fn broken(text: &str, width: usize) -> String {
    // A terminal shows neither colours nor the states a bar had.
    let shown = without_colours(text);
    let pieces = |line: &str| -> String {
        let letters: Vec<char> = line.chars().collect();
        if letters.is_empty() {
            return "\n".to_owned();
        }
        letters.chunks(width).map(|piece| piece.iter().collect::<String>() + "\n").collect()
    };
    shown.lines().map(pieces).collect()
}

fn broken_at_blanks(text: &str, width: usize) -> String {
    let mut out = String::new();
    for line in without_colours(text).lines() {
        let mut used = 0;
        for (i, word) in line.split(' ').enumerate() {
            let mut letters: Vec<char> = word.chars().collect();
            if i > 0 && used + 1 + letters.len() > width && letters.len() <= width {
                out.push('\n');
                used = 0;
            } else if i > 0 {
                out.push(' ');
                used += 1;
            }
            // A word longer than a line fills what is left of it.
            while used + letters.len() > width {
                let rest = letters.split_off(width.saturating_sub(used).min(letters.len()));
                out.extend(letters);
                out.push('\n');
                (letters, used) = (rest, 0);
            }
            used += letters.len();
            out.extend(letters);
        }
        out.push('\n');
    }
    out
}

fn without_colours(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let line = line.rsplit('\r').find(|state| !state.is_empty()).unwrap_or("");
        let mut parts = line.split('\x1b');
        out.push_str(parts.next().unwrap_or(""));
        for part in parts {
            out.push_str(part.split_once('m').map_or("", |(_, rest)| rest));
        }
        out.push('\n');
    }
    out
}

fn newest_first(text: &str) -> String {
    text.lines().rev().flat_map(|line| [line, "\n"]).collect()
}

fn beside_nginx(text: &str) -> String {
    let nginx = "nginx-1 | 10.0.0.9 - - [15/Nov/2026:02:26:49 +0000] \"POST /v1/completions HTTP/1.1\" 200 12 \"-\" \"python\"\n";
    each(text, |line, at| format!("vllm-1  | {line}\n{}", if at % 3 == 0 { nginx } else { "" }))
}

fn fluent_bit(text: &str) -> Vec<String> {
    let record = |(line, at): (&str, u64)| {
        format!("{{\"date\":{:.3},\"log\":{},\"stream\":\"stderr\"}}", at as f64 / 1000.0, json(line))
    };
    dated(text).into_iter().map(record).collect()
}

/// Each line with the time a collector gives it, in milliseconds since the Unix epoch: that of its stamp, or of the line
/// before.
fn dated(text: &str) -> Vec<(&str, u64)> {
    let mut last = 1_794_700_000_000;
    let mut dated = Vec::new();
    for line in text.lines() {
        last = last.max(of_day(line).map_or(last, |of_day| 1_794_700_800_000 + of_day));
        dated.push((line, last));
    }
    dated
}

/// Milliseconds behind midnight, from `02:26:49` or llama.cpp's `0.03.803.226`.
fn of_day(line: &str) -> Option<u64> {
    let number = |text: Option<&str>| text?.parse::<u64>().ok();
    let mut words = line.split(' ').take(8);
    words.find_map(|word| {
        let parts: Vec<u64> = word.split([':', '.']).map_while(|part| number(Some(part))).collect();
        match (&parts[..], word.len()) {
            ([hour, minute, second], 8) => Some(((hour * 60 + minute) * 60 + second) * 1000),
            ([minute, second, millis, _], 12..) => Some((minute * 60 + second) * 1000 + millis),
            _ => None,
        }
    })
}

fn json(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

fn judge(logs: &[(String, String)]) {
    let mut wrong = Vec::new();
    for (name, text) in logs {
        let plain = told(text);
        for (form, make) in FORMS {
            let formed = told(&make(text));
            let cannot = CANNOT.iter().find(|(log, of, _)| log == name && of == form);
            let expected = match cannot {
                // That users wait may still be seen.
                Some(_) if formed.status == Status::Healthy => plain.clone(),
                Some(_) => Told { cause: None, engine: plain.engine.clone(), ..formed.clone() },
                None => plain.clone(),
            };
            if formed != expected {
                let why = cannot.map_or("", |(_, _, why)| why);
                wrong.push(format!("{name}, {form}: {formed:?} instead of {expected:?} {why}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), logs.len() * FORMS.len(), wrong.join("\n"));
}

#[test]
fn a_log_as_it_was_written_is_left_as_it_is() {
    for (name, text) in recorded().into_iter().chain(failed_starts()) {
        let mut case = Case::default();
        case.add_log(LogText { name: "server.log".into(), text });
        let notes = diagnose(&case, &Thresholds::default()).notes;
        let made_plain = ["broken at a fixed width", "begins with its newest line", "several containers"];
        let touched = notes.iter().find(|note| made_plain.iter().any(|words| note.contains(words)));
        assert_eq!(touched, None, "{name}");
    }
}

#[test]
fn recorded_logs_give_the_same_verdict_in_every_form() {
    judge(&recorded());
}

#[test]
fn failed_starts_give_the_same_verdict_in_every_form() {
    judge(&failed_starts());
}
