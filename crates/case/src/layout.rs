//! The layout of a recording: which file name holds which evidence.
//!
//! A folder of recordings and a case file share it, so one reader serves both:
//! `metrics/<unix_ms>.txt`, `metrics/<unix_ms>.failed`, `endpoints/<path with / as __>.json`,
//! `host/<unix_ms>/<kernel path>` (see [`host`]), `manifests/<unix_ms>/<name>` (see [`manifest`]), `server.log`, `client.jsonl`,
//! `path.json`, `cmdline.txt`, `start.json`, `gpu.json`, the texts of GPU tools (see [`GpuEvidence::TEXTS`]), `dcgm/<unix_ms>.txt` or
//! `.failed`, `model/<file>` (see [`model`]), `replicas/<name>/…` with the same layout below it, and `case.json` with what
//! is no evidence: see [`file`](crate::file). `truth.json` is for the scoreboard; nothing here reads it.

use crate::unreadable::unreadable;
use crate::{
    Case, GpuEvidence, LogText, ManifestText, Millis, Scrape, ScrapeOutcome, client, host, manifest, model,
    path, replica,
};

/// Puts one file of a recording where it belongs in the case; `false` if the name means nothing here.
pub fn add(case: &mut Case, name: &str, bytes: Vec<u8>) -> bool {
    if let Some(file) = name.strip_prefix("metrics/") {
        return add_scrape(&mut case.scrapes, file, bytes);
    }
    if let Some(file) = name.strip_prefix("dcgm/") {
        return add_scrape(&mut case.gpu.dcgm, file, bytes);
    }
    if let Some(file) = name.strip_prefix("endpoints/") {
        let Some(stem) = file.strip_suffix(".json") else { return false };
        case.endpoints.insert(endpoint_path(stem), text(bytes));
        return true;
    }
    if let Some((at, file)) = name.strip_prefix("host/").and_then(host::place) {
        if let Err(why) = host::add(&mut case.host, at, file, text(bytes)) {
            case.notes.push(format!("{name} was left out: {why}"));
            return false;
        }
        return true;
    }
    if let Some(file) = name.strip_prefix("model/").filter(|file| model::is_name(file)) {
        if let Err(why) = model::add(&mut case.model, file, text(bytes)) {
            case.notes.push(format!("{name} was left out: {why}"));
            return false;
        }
        return true;
    }
    if let Some((changed, file)) = name.strip_prefix("manifests/").and_then(manifest::place) {
        let given = ManifestText { name: file.to_owned(), changed, text: text(bytes) };
        if let Err(why) = case.add_manifest(given) {
            case.notes.push(format!("{name} was left out: {why}"));
            return false;
        }
        return true;
    }
    if let Some((name, file)) = name.strip_prefix("replicas/").and_then(replica::place) {
        // Asked first: a name that means nothing must not make a replica.
        return wants(file) && case.replica_mut(name).is_some_and(|replica| add(replica, file, bytes));
    }
    if let Some((_, place)) = case.gpu.texts_mut().find(|(known, _)| *known == name) {
        *place = Some(text(bytes));
        return true;
    }
    match name {
        "cmdline.txt" => case.command_line = Some(text(bytes).trim().to_owned()).filter(|c| !c.is_empty()),
        "client.jsonl" => case.client = client::read(&text(bytes), &mut case.notes),
        "path.json" => case.paths = path::read(&text(bytes), &mut case.notes),
        "gpu.json" => match serde_json::from_slice(&bytes) {
            Ok(survey) => case.gpu.survey = Some(survey),
            Err(why) => case.notes.push(format!("gpu.json was left out: {}", unreadable(&why))),
        },
        "start.json" => match serde_json::from_slice(&bytes) {
            Ok(start) => case.start = Some(start),
            Err(why) => case.notes.push(format!("start.json was left out: {}", unreadable(&why))),
        },
        _ if is_log(name) => {
            case.logs.retain(|log| log.name != name);
            case.logs.push(LogText { name: name.to_owned(), text: text(bytes) });
        }
        _ => return false,
    }
    true
}

/// Files with a name of their own, beside the texts of GPU tools.
const PLAIN: [&str; 5] = ["client.jsonl", "path.json", "cmdline.txt", "gpu.json", "start.json"];

/// Whether [`add`] would take a file of this name; lets a reader skip the rest unread.
pub fn wants(name: &str) -> bool {
    if let Some(file) = name.strip_prefix("metrics/").or_else(|| name.strip_prefix("dcgm/")) {
        return scrape_time(file).is_some();
    }
    if let Some(file) = name.strip_prefix("endpoints/") {
        return file.strip_suffix(".json").is_some();
    }
    if let Some(file) = name.strip_prefix("host/") {
        return host::place(file).is_some();
    }
    if let Some(file) = name.strip_prefix("model/") {
        return model::is_name(file);
    }
    if let Some(file) = name.strip_prefix("manifests/") {
        return manifest::place(file).is_some();
    }
    if let Some(file) = name.strip_prefix("replicas/") {
        return replica::place(file).is_some_and(|(_, file)| wants(file));
    }
    PLAIN.contains(&name) || GpuEvidence::TEXTS.contains(&name) || is_log(name)
}

/// The files of a case, in a stable order: the inverse of [`add`].
pub fn files(case: &Case) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for (folder, scrapes) in [("metrics", &case.scrapes), ("dcgm", &case.gpu.dcgm)] {
        files.extend(scrapes.iter().map(|scrape| match &scrape.outcome {
            ScrapeOutcome::Body(bytes) => (format!("{folder}/{}.txt", scrape.at.0), bytes.clone()),
            ScrapeOutcome::Failed(why) => {
                (format!("{folder}/{}.failed", scrape.at.0), why.clone().into_bytes())
            }
        }));
    }
    for (path, body) in &case.endpoints {
        files.push((format!("endpoints/{}.json", endpoint_stem(path)), body.clone().into_bytes()));
    }
    for snapshot in &case.host {
        for (name, content) in &snapshot.files {
            files.push((format!("host/{}/{name}", snapshot.at.0), content.clone().into_bytes()));
        }
    }
    for log in &case.logs {
        files.push((log.name.clone(), log.text.clone().into_bytes()));
    }
    for given in &case.manifests {
        files.push((manifest::file_name(given), given.text.clone().into_bytes()));
    }
    if !case.client.is_empty() {
        files.push(("client.jsonl".to_owned(), client::write(&case.client).into_bytes()));
    }
    // A survey is numbers and text: it has a JSON form.
    if let Some(json) = case.gpu.survey.as_ref().and_then(|survey| serde_json::to_vec(survey).ok()) {
        files.push(("gpu.json".to_owned(), json));
    }
    if !case.paths.is_empty() {
        files.push(("path.json".to_owned(), path::write(&case.paths).into_bytes()));
    }
    if let Some(json) = case.start.as_ref().and_then(|start| serde_json::to_vec(start).ok()) {
        files.push(("start.json".to_owned(), json));
    }
    if let Some(line) = &case.command_line {
        files.push(("cmdline.txt".to_owned(), line.clone().into_bytes()));
    }
    for (name, content) in case.gpu.texts() {
        files.push((name.to_owned(), content.as_bytes().to_owned()));
    }
    files.extend(case.model.iter().flat_map(model::files));
    for replica in &case.replicas {
        let inner = self::files(&replica.case).into_iter();
        files.extend(inner.map(|(name, bytes)| (format!("replicas/{}/{name}", replica.name), bytes)));
    }
    files
}

/// A name that comes twice (an archive may do that) is one file, and the last one counts.
fn add_scrape(scrapes: &mut Vec<Scrape>, file: &str, bytes: Vec<u8>) -> bool {
    let Some(scrape) = scrape(file, bytes) else { return false };
    let before = scrapes.partition_point(|s| s.at < scrape.at);
    let after = scrapes.partition_point(|s| s.at <= scrape.at);
    let same = (before..after).find(|&i| scrapes[i].body().is_some() == scrape.body().is_some());
    match same {
        Some(place) => scrapes[place] = scrape,
        None => scrapes.insert(after, scrape),
    }
    true
}

/// A log lies at the top of the recording and ends in `.log`.
fn is_log(name: &str) -> bool {
    name.strip_suffix(".log").is_some_and(|stem| !stem.is_empty()) && !name.contains('/')
}

fn scrape_time(file: &str) -> Option<(Millis, bool)> {
    let (stem, ok) = match file.strip_suffix(".txt") {
        Some(stem) => (stem, true),
        None => (file.strip_suffix(".failed")?, false),
    };
    Some((Millis(stem.parse().ok()?), ok))
}

fn scrape(file: &str, bytes: Vec<u8>) -> Option<Scrape> {
    let (at, ok) = scrape_time(file)?;
    let outcome =
        if ok { ScrapeOutcome::Body(bytes) } else { ScrapeOutcome::Failed(text(bytes).trim().to_owned()) };
    Some(Scrape { at, outcome })
}

/// `/v1/models` is stored as `v1__models`.
fn endpoint_stem(path: &str) -> String {
    path.trim_start_matches('/').replace('/', "__")
}

fn endpoint_path(stem: &str) -> String {
    format!("/{}", stem.replace("__", "/"))
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_becomes_a_case_and_comes_back() {
        let mut case = Case::default();
        for (name, content) in [
            ("metrics/2000.txt", "b 2\n"),
            ("metrics/1000.txt", "a 1\n"),
            ("metrics/3000.failed", "connection refused"),
            ("endpoints/v1__models.json", "{}"),
            ("server.log", "INFO ready\n"),
            ("cmdline.txt", "vllm serve m"),
            ("smi_q_before.txt", "GPU 00000000:19:00.0\n"),
            ("amd_metric.json", "[]"),
            ("dcgm/2000.txt", "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 1\n"),
            ("dcgm/1000.failed", "connection refused"),
            ("gpu.json", r#"{"source":"NVML 13","cards":[{"index":0,"name":"NVIDIA H200"}]}"#),
            (
                "start.json",
                r#"{"at":5,"end":{"kind":"exited","code":1},"took":2.5,"phases":[{"phase":"launch","began":0.0,"took":2.5}]}"#,
            ),
            ("manifests/1500/vllm.service", "[Service]\n"),
            ("manifests/0/compose.yaml", "services: {}\n"),
            ("host/2000/proc/stat", "cpu 2\n"),
            ("host/1000/proc/stat", "cpu 1\n"),
            ("host/1000/denied", ""),
            ("model/config.json", "{}"),
            ("replicas/b/metrics/1000.txt", "a 7\n"),
            ("path.json", r#"[{"url":"http://x","route":"via","resolved":{"a":1,"aaaa":0,"took":0.25}}]"#),
        ] {
            assert!(add(&mut case, name, content.into()), "{name}");
            assert!(wants(name), "{name}");
        }
        assert_eq!(case.scrapes.iter().map(|s| s.at.0).collect::<Vec<_>>(), [1000, 2000, 3000]);
        assert_eq!(case.scrapes[2].outcome, ScrapeOutcome::Failed("connection refused".into()));
        assert_eq!(case.endpoints["/v1/models"], "{}");
        assert_eq!(case.gpu.survey.as_ref().unwrap().cards[0].name.as_deref(), Some("NVIDIA H200"));
        assert_eq!(case.host.iter().map(|s| s.at.0).collect::<Vec<_>>(), [1000, 2000]);
        assert_eq!(case.host[0].text("proc/stat"), Some("cpu 1\n"));
        assert_eq!(case.model.as_ref().unwrap().text("config.json"), Some("{}"));
        assert_eq!(case.replicas[0].case.scrapes[0].body(), Some(b"a 7\n".as_slice()));
        assert_eq!(case.manifests[0].changed, Some(Millis(1500)));
        assert_eq!(case.manifests[1].changed, None);
        assert_eq!(case.paths[0].resolved.took, crate::Seconds(0.25));

        let mut again = Case::default();
        for (name, bytes) in files(&case) {
            assert!(add(&mut again, &name, bytes));
        }
        assert_eq!(again, case);
    }

    #[test]
    fn a_name_that_comes_twice_is_one_file() {
        let mut case = Case::default();
        for content in ["old", "new"] {
            add(&mut case, "metrics/1000.txt", content.into());
            add(&mut case, "server.log", content.into());
        }
        assert_eq!((case.scrapes.len(), case.logs.len()), (1, 1));
        assert_eq!(case.scrapes[0].body(), Some(b"new".as_slice()));
        case.add_log(LogText { name: "server.log".into(), text: "another".into() });
        assert_eq!(case.logs[1].name, "server-2.log");
    }

    #[test]
    fn the_truth_and_strangers_are_not_evidence() {
        for name in [
            "truth.json",
            "metrics/notes.txt",
            "bench.txt",
            "host/1.txt",
            "host/1/../x",
            "host/1//proc/stat",
            "manifests/vllm.service",
            "manifests/1/a/b",
            ".log",
            "a/b.log",
            "model/tokenizer.json",
            "replicas/x/truth.json",
            "replicas/../server.log",
            "replicas/a/replicas/b/server.log",
        ] {
            assert!(!wants(name), "{name}");
            assert!(!add(&mut Case::default(), name, b"x".to_vec()), "{name}");
        }
    }
}
