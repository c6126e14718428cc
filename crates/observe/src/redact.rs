//! A case made safe before anything of it is judged, printed or written.

mod again;
mod manifest;
mod names;

use std::collections::BTreeMap;

use intriage_case::model::ModelFiles;
use intriage_case::{
    Case, Collected, Gathered, HostSnapshot, LogText, PathProbe, Replica, Scrape, ScrapeOutcome, replica_name,
};
use intriage_redact::Redactor;

use names::Unique;

/// The same case without keys, tokens, passwords, addresses, names of hosts and people, prompts and answers.
///
/// What the user called the target stays: it is their own word, and [`crate::save`] hides it in the file.
#[must_use]
pub fn redacted(case: Case, redactor: &Redactor) -> Case {
    keep_free(&case, redactor);
    let mut safe = looked_over(case, redactor);
    again::look(&mut safe, &redactor.seen());
    safe
}

/// What reads like a pseudonym in some text of a case is given to nobody in the others.
fn keep_free(case: &Case, redactor: &Redactor) {
    let texts = case.logs.iter().map(|log| &log.text).chain(case.manifests.iter().map(|given| &given.text));
    texts.for_each(|text| redactor.keep_free(text));
    case.replicas.iter().for_each(|replica| keep_free(&replica.case, redactor));
}

/// The first look: every text by itself.
fn looked_over(case: Case, redactor: &Redactor) -> Case {
    let text = |text: String| redactor.text(&text).into_owned();
    let mut notes: Vec<String> = case.notes.iter().map(|note| names::sentence(redactor, note)).collect();
    let mut manifests = Vec::new();
    let mut manifest_names = Unique::default();
    for given in case.manifests {
        match manifest::manifest(given, redactor) {
            Ok(mut safe) => {
                safe.name = manifest_names.take(&names::name(redactor, &safe.name));
                manifests.push(safe);
            }
            // One that is kept unsafe would be worse than one that is missing.
            Err(why) if notes.contains(&why) => {}
            Err(why) => notes.push(why),
        }
    }
    Case {
        manifests,
        scrapes: case.scrapes.into_iter().map(|s| scrape(s, redactor)).collect(),
        endpoints: endpoints(case.endpoints, redactor),
        logs: logs(case.logs, redactor),
        command_line: case.command_line.map(|line| redactor.command_line(&line)),
        gpu: gpu(case.gpu, redactor),
        host: case.host.into_iter().map(|snapshot| host(snapshot, redactor)).collect(),
        client: case
            .client
            .into_iter()
            .map(|mut request| {
                request.error = request.error.map(text);
                request
            })
            .collect(),
        paths: paths(&case.paths, redactor),
        collected: case.collected.into_iter().map(|part| inventory(part, redactor)).collect(),
        notes,
        model: case.model.map(|files| model(files, redactor)),
        replicas: replicas(case.replicas, redactor),
        redacted: true,
        ..case
    }
}

fn endpoints(endpoints: BTreeMap<String, String>, redactor: &Redactor) -> BTreeMap<String, String> {
    let mut paths = Unique::default();
    let safe =
        |(path, body): (String, String)| (paths.take(&names::path(redactor, &path)), redactor.json(&body));
    endpoints.into_iter().map(safe).collect()
}

fn logs(logs: Vec<LogText>, redactor: &Redactor) -> Vec<LogText> {
    let mut taken = Unique::default();
    let safe = |log: LogText| LogText {
        name: taken.take(&names::name(redactor, &log.name)),
        text: redactor.text(&readable(log.text)).into_owned(),
    };
    logs.into_iter().map(safe).collect()
}

/// A log of a foreign case may be UTF-16 that was taken for bytes: no rule knows a word with NULs in it.
fn readable(text: String) -> String {
    if crate::logs::is_wide(text.as_bytes()) { text.replace('\0', "") } else { text }
}

fn replicas(replicas: Vec<Replica>, redactor: &Redactor) -> Vec<Replica> {
    let mut taken = Unique::default();
    let safe = |given: Replica| {
        let mut safe = replica(given, redactor);
        safe.name = taken.take(&replica_name(&names::name(redactor, &safe.name)));
        safe
    };
    replicas.into_iter().map(safe).collect()
}

/// A replica is nobody's own word: its target is hidden like the rest.
fn replica(replica: Replica, redactor: &Redactor) -> Replica {
    let mut case = looked_over(replica.case, redactor);
    case.target.name = redactor.text(&case.target.name).into_owned();
    Replica { name: replica.name, case }
}

/// Paths have people in them. Hashes and revisions are what the summary is for, and are nobody's secret.
fn model(mut files: ModelFiles, redactor: &Redactor) -> ModelFiles {
    for text in files.texts.values_mut() {
        *text = redactor.json(text);
    }
    let summary = &mut files.summary;
    let words = summary.asked.iter_mut().chain(&mut summary.folder).chain(&mut summary.left_out);
    let names = summary.weights.iter_mut().map(|file| &mut file.name);
    for word in words.chain(names) {
        *word = redactor.text(word).into_owned();
    }
    files
}

/// Names of files have people in them, and reasons have addresses.
fn inventory(part: Collected, redactor: &Redactor) -> Collected {
    let text = |text: &str| names::sentence(redactor, text);
    let outcome = match part.outcome {
        Gathered::Whole => Gathered::Whole,
        Gathered::Partly { why } => Gathered::Partly { why: text(&why) },
        Gathered::Skipped { why } => Gathered::Skipped { why: text(&why) },
    };
    // A log is named here as in the case.
    let what = match part.what.split_once(' ') {
        Some(("log", place)) => ["log ", &names::path(redactor, place)].concat(),
        _ => text(&part.what),
    };
    Collected { what, outcome, ..part }
}

fn scrape(scrape: Scrape, redactor: &Redactor) -> Scrape {
    let outcome = match scrape.outcome {
        ScrapeOutcome::Body(page) => ScrapeOutcome::Body(redactor.exposition(&page)),
        ScrapeOutcome::Failed(why) => ScrapeOutcome::Failed(redactor.text(&why).into_owned()),
    };
    Scrape { at: scrape.at, outcome }
}

fn gpu(mut gpu: intriage_case::GpuEvidence, redactor: &Redactor) -> intriage_case::GpuEvidence {
    let text = |text: String| redactor.text(&text).into_owned();
    for (name, place) in gpu.texts_mut() {
        *place = place.take().map(|t| if name.contains(".json") { redactor.json(&t) } else { text(t) });
    }
    gpu.dcgm = gpu.dcgm.into_iter().map(|s| scrape(s, redactor)).collect();
    let cards = gpu.survey.iter_mut().flat_map(|survey| survey.cards.iter_mut().chain(&mut survey.before));
    for process in cards.flat_map(|card| card.processes.iter_mut().flatten()) {
        process.name = redactor.command_line(&process.name);
    }
    gpu
}

/// Ways name hosts and addresses throughout: the whole of them as JSON.
fn paths(paths: &[PathProbe], redactor: &Redactor) -> Vec<PathProbe> {
    let safe = serde_json::to_string(paths).map(|json| redactor.json(&json));
    // A body that no longer fits its type is dropped rather than kept unsafe.
    safe.and_then(|json| serde_json::from_str(&json)).unwrap_or_default()
}

/// A process's command line and environment by their own rules, everything else as text.
fn host(snapshot: HostSnapshot, redactor: &Redactor) -> HostSnapshot {
    let mut taken = Unique::default();
    let files = snapshot.files.into_iter().map(|(name, content)| {
        let of_process = name.strip_prefix("proc/").is_some_and(|rest| rest.contains('/'));
        let content = match name.rsplit('/').next() {
            Some("cmdline") if of_process => redactor.command_line(&content),
            Some("environ") if of_process => redactor.environment(&content),
            _ => redactor.text(&content).into_owned(),
        };
        // The kernel names these, and a machine may be called like one of its files; groups are named by people.
        let by_kernel = name.starts_with("proc/") || name.starts_with("sys/");
        if by_kernel && !name.starts_with("sys/fs/cgroup/") {
            return (taken.take(&name), content);
        }
        // With a slash before it, so that `home/ann` is seen for what it is.
        let safe = names::path(redactor, &["/", &name].concat());
        (taken.take(safe.trim_start_matches('/')), content)
    });
    HostSnapshot { at: snapshot.at, files: files.collect() }
}

#[cfg(test)]
mod tests {
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
            endpoints: BTreeMap::from([
                ("/version".into(), "{}".into()),
                (format!("/via/{HOST}"), "{}".into()),
            ]),
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
}
