use intriage_case::file::contents;
use intriage_case::model::ModelSummary;
use intriage_case::{Bytes, Millis, Seconds, Target};

use super::*;

/// One planted secret in every place a case has for text.
#[test]
fn no_place_of_a_case_keeps_a_secret() {
    const KEY: &str = "sk-proj-Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA";
    let mut case = Case {
        scrapes: vec![
            Scrape {
                at: Millis(1),
                outcome: ScrapeOutcome::Body(format!("a{{key=\"{KEY}\"}} 1\n").into_bytes()),
            },
            Scrape { at: Millis(2), outcome: ScrapeOutcome::Failed(format!("401 for Bearer {KEY}")) },
        ],
        endpoints: BTreeMap::from([("/server_info".into(), format!(r#"{{"api_key":"{KEY}"}}"#))]),
        logs: vec![LogText { name: "server.log".into(), text: format!("api_key={KEY}\n") }],
        command_line: Some(format!("vllm serve m --api-key {KEY}")),
        collected: vec![Collected {
            what: format!("log /home/ann/{KEY}.log"),
            outcome: Gathered::Skipped { why: format!("401 for Bearer {KEY}") },
            took: Seconds(0.1),
            size: Bytes(0.0),
            budget: None,
        }],
        notes: vec![format!("asked with Authorization: Bearer {KEY}")],
        host: vec![HostSnapshot {
            at: Millis(1),
            files: BTreeMap::from([
                ("proc/7/cmdline".into(), format!("vllm\0serve\0--api-key\0{KEY}\0")),
                ("proc/7/environ".into(), format!("OPENAI_API_KEY={KEY}\0PATH=/bin\0")),
            ]),
        }],
        model: Some(ModelFiles {
            texts: BTreeMap::from([("config.json".into(), format!(r#"{{"api_key":"{KEY}"}}"#))]),
            summary: ModelSummary {
                folder: Some(format!("/home/ann/{KEY}")),
                asked: Some(format!("s3://x?token={KEY}")),
                ..ModelSummary::default()
            },
        }),
        replicas: vec![Replica {
            name: "b".into(),
            case: Case {
                target: Target { name: format!("http://x/?api_key={KEY}") },
                logs: vec![LogText { name: "b.log".into(), text: format!("api_key={KEY}\n") }],
                ..Case::default()
            },
        }],
        ..Case::default()
    };
    for (_, text) in case.gpu.texts_mut() {
        *text = Some(format!("Name : python --token {KEY}\n"));
    }
    case.gpu.dcgm = case.scrapes.clone();
    let safe = redacted(case, &Redactor::new());
    for (name, bytes) in contents(&safe).unwrap() {
        assert!(!String::from_utf8_lossy(&bytes).contains(KEY), "{name}");
    }
    assert!(!safe.notes.concat().contains(KEY));
    let inventory = format!("{:?}", safe.collected);
    assert!(!inventory.contains(KEY) && !inventory.contains("ann"), "{inventory}");
    assert_eq!(safe.command_line.as_deref(), Some("vllm serve m --api-key [redacted]"));
}

#[test]
fn a_host_that_one_log_gives_away_is_hidden_in_the_others_and_in_names_of_files() {
    let log = |name: &str, text: &str| LogText { name: name.into(), text: text.into() };
    let case = Case {
        logs: vec![
            log("gpunode9.log", "lost connection to gpunode9, host-1 is up\n"),
            log("syslog.log", "Nov 16 07:40:20 gpunode9 kernel: NVRM: Xid\n"),
        ],
        replicas: vec![Replica {
            name: "b".into(),
            case: Case { logs: vec![log("c.log", "after gpunode9\n")], ..Case::default() },
        }],
        host: vec![HostSnapshot {
            at: Millis(1),
            files: BTreeMap::from([("proc/sys/vm/swappiness".into(), "60\n".into())]),
        }],
        ..Case::default()
    };
    let safe = redacted(case, &Redactor::new().known_hosts(["vm".into()]));
    // host-1 is somebody's real name here.
    assert_eq!(safe.logs[0], log("host-2.log", "lost connection to host-2, host-1 is up\n"));
    assert_eq!(safe.replicas[0].case.logs[0].text, "after host-2\n");
    assert!(safe.host[0].files.contains_key("proc/sys/vm/swappiness"));
    assert_eq!(redacted(safe.clone(), &Redactor::new()), safe);
}

#[test]
fn no_name_of_a_file_tells_what_its_text_does_not() {
    const HOST: &str = "gpu7.corp.acme-internal.com";
    let log = |name: String| LogText { name, text: "ready\n".into() };
    let case = Case {
        endpoints: BTreeMap::from([("/version".into(), "{}".into()), (format!("/via/{HOST}"), "{}".into())]),
        logs: vec![log(format!("{HOST}.log")), log("hf_CANARYabcdefghijklmnop.log".into())],
        manifests: vec![intriage_case::ManifestText {
            name: format!("{HOST}.service"),
            changed: None,
            text: "[Service]\nExecStart=vllm serve m\n".into(),
        }],
        host: vec![HostSnapshot {
            at: Millis(1),
            files: BTreeMap::from([
                ("home/alice/x".into(), "1\n".into()),
                ("proc/stat".into(), "cpu 1\n".into()),
            ]),
        }],
        collected: vec![Collected {
            what: format!("log /srv/{HOST}.log"),
            outcome: Gathered::Partly { why: format!("/srv/{HOST}.log is long") },
            took: Seconds(0.1),
            size: Bytes(0.0),
            budget: None,
        }],
        replicas: vec![Replica { name: HOST.into(), case: Case::default() }],
        ..Case::default()
    };
    let safe = redacted(case, &Redactor::new());
    for (name, bytes) in contents(&safe).unwrap() {
        let all = [name.as_str(), &String::from_utf8_lossy(&bytes)].concat();
        assert!(!all.contains("acme") && !all.contains("CANARY") && !all.contains("alice"), "{all}");
    }
    assert_eq!(safe.logs[0].name, "host-1.log");
    assert!(safe.collected[0].what.ends_with("/host-1.log"), "{:?}", safe.collected);
    assert!(safe.endpoints.contains_key("/version") && safe.host[0].files.contains_key("proc/stat"));
    assert_eq!(redacted(safe.clone(), &Redactor::new()), safe);
}

#[test]
fn the_line_that_stands_for_lines_left_out_stays_as_it_is() {
    let line = "[intriage left out 1200 lines, 104000 bytes: 1190 answered-200, 3 RequestAborted, 7 Xid/79, 4567 tokens.generated, -2 requests.running]\n";
    let before =
        Case { logs: vec![LogText { name: "server.log".into(), text: line.into() }], ..Case::default() };
    assert_eq!(redacted(before, &Redactor::new()).logs[0].text, line);
}
