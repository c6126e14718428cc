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
mod tests;
