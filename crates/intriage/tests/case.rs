//! `intriage case`: what is in a case, what differs, and nothing lost or leaked on the way.
#![allow(clippy::unwrap_used)]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use intriage_case::{Case, LogText, Target, file};
use support::{code, intriage, json, recording, stderr, stdout};

fn read(path: &Path) -> Case {
    file::read(&fs::read(path).unwrap()).unwrap()
}

fn write(path: &Path, case: &Case) {
    let mut out = std::io::Cursor::new(Vec::new());
    file::write(case, &mut out).unwrap();
    fs::write(path, out.into_inner()).unwrap();
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_recording_shows_its_engine_its_time_and_its_logs() {
    let healthy = recording("vllm-h200-healthy");
    let shown = intriage(&["case", "show", text(&healthy)]);
    assert_eq!(code(&shown), 0, "{}", stderr(&shown));
    assert!(stdout(&shown).contains("vLLM") && stdout(&shown).contains("H200"), "{}", stdout(&shown));
    let told = json(&intriage(&["case", "show", text(&healthy), "--format", "json"]));
    assert_eq!(told["schema"], "intriage.contents/1");
    assert!(told["scrapes"].as_u64().unwrap() > 2 && told["redacted"] == false);
}

#[test]
fn a_foreign_case_is_shown_without_its_secrets_and_made_safe() {
    const KEY: &str = "sk-proj-Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA";
    let dir = tempfile::tempdir().unwrap();
    let foreign = dir.path().join("foreign.case");
    let safe = dir.path().join("safe.case");
    let log = format!("host-1 asked with api_key={KEY} from 10.20.30.40\n");
    let case = Case {
        target: Target { name: "http://gpu7.example.com:8000".into() },
        logs: vec![LogText { name: "server.log".into(), text: log }],
        ..Case::default()
    };
    write(&foreign, &case);
    let shown = intriage(&["case", "show", text(&foreign)]);
    assert!(stdout(&shown).contains("case redact") && !stdout(&shown).contains("gpu7"), "{}", stdout(&shown));

    let done = intriage(&["case", "redact", text(&foreign), "-o", text(&safe)]);
    assert_eq!(code(&done), 0, "{}", stderr(&done));
    let redacted = read(&safe);
    assert!(redacted.redacted && !redacted.logs[0].text.contains(KEY), "{}", redacted.logs[0].text);
    // Who was host-1 before is still alone in being it.
    assert!(redacted.logs[0].text.starts_with("host-1 "), "{}", redacted.logs[0].text);
    assert_eq!(redacted.target.name, "http://host-2:8000");
    let names = fs::read_to_string(dir.path().join("safe.case.names.json")).unwrap();
    assert!(names.contains("gpu7.example.com") && !names.contains("\"host-1\""), "{names}");
    let told = json(&intriage(&["case", "show", text(&safe), "--format", "json"]));
    assert_eq!((&told["redacted"], &told["would_hide"]), (&true.into(), &serde_json::json!({})));

    let nowhere = intriage(&["case", "redact", text(&foreign), "-o", "/no/such/folder/x.case"]);
    assert_eq!(code(&nowhere), 2);
    assert!(stderr(&nowhere).contains("-o /no/such/folder/x.case: "), "{}", stderr(&nowhere));
    let own = intriage(&["case", "redact", text(&foreign), "-o", text(&foreign)]);
    assert_eq!(code(&own), 2);
    assert!(stderr(&own).contains("itself") && read(&foreign) == case);
}

#[test]
fn two_recordings_differ_where_they_were_made_to() {
    let (healthy, limited) = (recording("vllm-h200-healthy"), recording("vllm-h200-maxseqs4"));
    let same = intriage(&["case", "diff", text(&healthy), text(&healthy)]);
    assert_eq!((code(&same), stdout(&same).contains("Nothing differs")), (0, true), "{}", stdout(&same));
    let differs = intriage(&["case", "diff", text(&healthy), text(&limited), "--format", "json"]);
    assert_eq!(code(&differs), 1, "{}", stderr(&differs));
    let told = json(&differs);
    let row = told["differs"].as_array().unwrap().iter().find(|row| row["what"] == "--max-num-seqs");
    assert_eq!(row.unwrap()["b"], "4", "{told:#}");
    let missing = intriage(&["case", "diff", text(&healthy), "/no/such.case"]);
    assert_eq!(code(&missing), 4);
    assert!(stderr(&missing).contains("/no/such.case"));
}

#[test]
fn merged_replicas_are_kept_apart_and_each_can_be_judged() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("fleet.case");
    let (healthy, limited) = (recording("vllm-h200-healthy"), recording("vllm-h200-maxseqs4"));
    let done = intriage(&["case", "merge", text(&healthy), text(&limited), "-o", text(&out)]);
    assert_eq!(code(&done), 0, "{}", stderr(&done));
    assert!(stderr(&done).contains("kept apart"), "{}", stderr(&done));
    let merged = read(&out);
    assert_eq!(merged.replicas.len(), 1);
    let name = merged.replicas[0].name.clone();
    let alone = |path: &Path| json(&intriage(&["check", text(path), "--format", "json", "--no-predict"]));
    let verdicts = [alone(&healthy)["verdict"].clone(), alone(&limited)["verdict"].clone()];
    let replica = intriage(&["check", text(&out), "--replica", &name, "--format", "json", "--no-predict"]);
    let first = alone(&out);
    assert!(verdicts.contains(&first["verdict"]) && verdicts.contains(&json(&replica)["verdict"]));
    assert_ne!(first["verdict"], json(&replica)["verdict"]);
    let wrong = intriage(&["check", text(&out), "--replica", "nobody"]);
    assert_eq!(code(&wrong), 2);
    assert!(stderr(&wrong).contains(&name), "{}", stderr(&wrong));
}

#[test]
fn cases_made_safe_apart_do_not_share_a_host_they_do_not_share() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b, out) = (dir.path().join("a.case"), dir.path().join("b.case"), dir.path().join("both.case"));
    for (path, says) in [(&a, "host-1 is fast\n"), (&b, "host-1 is slow\n")] {
        let log = LogText {
            name: format!("{}.log", path.file_stem().unwrap().to_str().unwrap()),
            text: says.into(),
        };
        write(path, &Case { logs: vec![log], redacted: true, ..Case::default() });
    }
    fs::write(dir.path().join("a.case.names.json"), r#"{"host-1":"gpu1.example"}"#).unwrap();
    let done = intriage(&["case", "merge", text(&a), text(&b), "-o", text(&out)]);
    assert_eq!(code(&done), 0, "{}", stderr(&done));
    // Nothing shows that they are one server's.
    let both = read(&out);
    let logs = [both.logs[0].text.as_str(), both.replicas[0].case.logs[0].text.as_str()];
    assert_eq!(logs, ["host-1 is fast\n", "host-2 is slow\n"]);
    let names = fs::read_to_string(dir.path().join("both.case.names.json")).unwrap();
    assert!(names.contains("gpu1.example") && !names.contains("host-2"), "{names}");
    fs::write(dir.path().join("a.case.names.json"), r#"{"host-1": secret"#).unwrap();
    let again = intriage(&["case", "merge", text(&a), text(&b), "-o", text(&out)]);
    assert!(code(&again) == 2 && stderr(&again).contains("not overwritten"), "{}", stderr(&again));
    fs::remove_file(&out).unwrap();
    fs::remove_file(dir.path().join("both.case.names.json")).unwrap();
    let broken = intriage(&["case", "merge", text(&a), text(&b), "-o", text(&out)]);
    assert_eq!(code(&broken), 4);
    assert!(stderr(&broken).contains("a.case.names.json") && !stderr(&broken).contains("secret"));
}

#[test]
fn a_dead_replica_beside_a_healthy_one_is_judged_by_its_log() {
    let dir = tempfile::tempdir().unwrap();
    let (dead, out) = (dir.path().join("dead.case"), dir.path().join("fleet.case"));
    let healthy = recording("vllm-h200-healthy");
    let log = "INFO 11-15 02:30:20 [api_server.py:1] vLLM API server version 0.26.0\n\
               ERROR 11-15 02:30:21 [core.py:700] EngineCore encountered a fatal error.\n\
               torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of \
               79.10 GiB of which 1.20 GiB is free.\n";
    write(
        &dead,
        &Case {
            target: Target { name: "http://10.0.0.9:8000".into() },
            logs: vec![LogText { name: "server.log".into(), text: log.into() }],
            ..Case::default()
        },
    );
    let done = intriage(&["case", "merge", text(&healthy), text(&dead), "-o", text(&out)]);
    assert_eq!(code(&done), 0, "{}", stderr(&done));
    assert!(stderr(&done).contains("replica-2 is kept apart: "), "{}", stderr(&done));
    assert!(stderr(&done).contains("dead.case, is replica-2;"), "{}", stderr(&done));
    assert!(!stderr(&done).contains("replica-1"), "{}", stderr(&done));
    assert_eq!(code(&intriage(&["check", text(&out), "--no-predict"])), 0);
    let judged =
        intriage(&["check", text(&out), "--replica", "replica-2", "--format", "json", "--no-predict"]);
    assert_eq!(code(&judged), 1, "{}", stdout(&judged));
    let alone = json(&intriage(&["check", text(&dead), "--format", "json", "--no-predict"]));
    assert_eq!(json(&judged)["verdict"], alone["verdict"]);
}

#[test]
fn the_list_of_an_earlier_case_is_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("server.log"), "from 10.20.30.40 to gpu7.example.com\n").unwrap();
    let collect = |save: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_intriage"))
            .args(["collect", "--log", "server.log"])
            .args(save)
            .current_dir(dir.path())
            .output()
            .unwrap()
    };
    assert_eq!(code(&collect(&[])), 0);
    let list = dir.path().join("intriage.case.names.json");
    let first = fs::read(&list).unwrap();
    // Sent away, and its list kept: the name is taken as long as the list is there.
    fs::rename(dir.path().join("intriage.case"), dir.path().join("sent.case")).unwrap();
    let again = collect(&[]);
    assert!(stderr(&again).contains("intriage-2.case"), "{}", stderr(&again));
    let named = collect(&["--save", "intriage.case"]);
    assert!(code(&named) == 2 && stderr(&named).contains("intriage.case.names.json"), "{}", stderr(&named));
    assert!(fs::read(&list).unwrap() == first && !dir.path().join("intriage.case").exists());
}

#[test]
fn an_extracted_case_gives_the_same_verdict() {
    let dir = tempfile::tempdir().unwrap();
    let (saved, folder) = (dir.path().join("x.case"), dir.path().join("files"));
    let limited = recording("vllm-h200-maxseqs4");
    let check = |path: &Path| {
        json(&intriage(&["check", text(path), "--format", "json", "--no-predict"]))["verdict"].clone()
    };
    intriage(&["check", text(&limited), "--save", text(&saved), "--no-predict"]);
    let done = intriage(&["case", "extract", text(&saved), "-o", text(&folder)]);
    assert_eq!(code(&done), 0, "{}", stderr(&done));
    assert!(folder.join("case.json").is_file());
    assert_eq!(check(&folder), check(&saved));
    let again = intriage(&["case", "extract", text(&saved), "-o", text(&folder)]);
    assert_eq!(code(&again), 2);
    assert!(stderr(&again).contains("not empty"), "{}", stderr(&again));
}
