//! Puts two cases of one server together.

use crate::{Case, LogText, Millis, Scrape};

/// Adds a later case to an earlier one of the same server. Both are called by the words that sentences have for them; whose
/// target counts is the caller's business.
pub(super) fn add(known: &str, case: &mut Case, name: &str, mut from: Case, unmerged: &mut Vec<String>) {
    let mut tell = |what: String| unmerged.push(format!("{what} of {known} and {name} differ"));
    add_scrapes(&mut case.scrapes, from.scrapes, |at| {
        tell(format!("the metrics at {}: the first is kept; those", at.0));
    });
    add_scrapes(&mut case.gpu.dcgm, std::mem::take(&mut from.gpu.dcgm), |at| {
        tell(format!("dcgm/{}: the first is kept; the pages", at.0));
    });
    for (path, body) in from.endpoints {
        if let Some(before) = case.endpoints.insert(path.clone(), body)
            && before != case.endpoints[&path]
        {
            tell(format!("{path}: the later is kept; the answers"));
        }
    }
    for log in from.logs {
        add_log(case, log);
    }
    later(&mut case.command_line, from.command_line, || tell("the later is kept; the command lines".into()));
    for ((text, known), (_, new)) in case.gpu.texts_mut().zip(from.gpu.texts_mut()) {
        later(known, new.take(), || tell(format!("{text}: the later is kept; those")));
    }
    for manifest in from.manifests {
        let file = manifest.name.clone();
        if case.manifests.iter().any(|m| m.name == file && m.text != manifest.text) {
            tell(format!("{file}: the later is kept; the manifests"));
            case.manifests.retain(|m| m.name != file);
        }
        if let Err(why) = case.add_manifest(manifest) {
            tell(format!("{file} was left out ({why}); the manifests"));
        }
    }
    later(&mut case.model, from.model, || tell("model: the later is kept; the files".into()));
    later(&mut case.start, from.start, || tell("start: the later is kept; the start".into()));
    match (&case.gpu.survey, from.gpu.survey) {
        (None, survey) => case.gpu.survey = survey,
        (Some(ours), Some(theirs)) if *ours != theirs => {
            tell("gpu.json: the one with more samples is kept; the surveys".into());
            if theirs.samples.len() > ours.samples.len() {
                case.gpu.survey = Some(theirs);
            }
        }
        _ => {}
    }
    for snapshot in from.host {
        let place = case.host.partition_point(|s| s.at < snapshot.at);
        match case.host.get(place) {
            Some(same) if *same == snapshot => {}
            Some(same) if same.at == snapshot.at => {
                tell(format!("host/{}: the first is kept; the snapshots", snapshot.at.0));
            }
            _ => case.host.insert(place, snapshot),
        }
    }
    for request in from.client {
        if !case.client.contains(&request) {
            let place = case.client.partition_point(|r| r.sent <= request.sent);
            case.client.insert(place, request);
        }
    }
    if case.intent.objectives.is_empty() && !from.intent.objectives.is_empty() {
        case.intent = from.intent;
    } else if !from.intent.objectives.is_empty() && case.intent != from.intent {
        tell("the first are kept; the objectives".into());
    }
    extend_new(&mut case.paths, from.paths);
    extend_new(&mut case.collected, from.collected);
    extend_new(&mut case.notes, from.notes);
    case.redacted &= from.redacted;
}

/// All pages in order of time; tells of two that differ at one time.
fn add_scrapes(known: &mut Vec<Scrape>, new: Vec<Scrape>, mut tell: impl FnMut(Millis)) {
    for scrape in new {
        match known.iter().find(|s| s.at == scrape.at) {
            Some(same) if *same == scrape => {}
            Some(_) => tell(scrape.at),
            None => {
                let place = known.partition_point(|s| s.at <= scrape.at);
                known.insert(place, scrape);
            }
        }
    }
}

/// The later value, where there is one; tells where it replaces another.
fn later<T: PartialEq>(known: &mut Option<T>, new: Option<T>, tell: impl FnOnce()) {
    let Some(new) = new else { return };
    if known.as_ref().is_some_and(|known| *known != new) {
        tell();
    }
    *known = Some(new);
}

/// A log taken again later begins as the earlier one did: then the longer is both.
fn add_log(case: &mut Case, log: LogText) {
    let continued = case.logs.iter_mut().find(|known| known.name == log.name);
    match continued {
        Some(known) if known.text.starts_with(&log.text) => {}
        Some(known) if log.text.starts_with(&known.text) => known.text = log.text,
        _ => case.add_log(log),
    }
}

fn extend_new<T: PartialEq>(known: &mut Vec<T>, new: Vec<T>) {
    for item in new {
        if !known.contains(&item) {
            known.push(item);
        }
    }
}
