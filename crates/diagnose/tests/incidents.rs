//! Incidents people reported: given what their threads quote, the diagnosis names the cause.
//!
//! `incidents.json` has a row an incident: what was quoted (log lines, flags, figures), what was added to make a case of it (`assumed`),
//! and the cause that must be the answer (`primary`), among the findings (`named`) or in no finding (`not`). The rest are listed
//! with the reason why they are no such row, so that none is forgotten. Wordings alone are tested in `intriage-engines`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use intriage_case::{Case, ClientRequest, HostSnapshot, LogText, Millis, Scrape, ScrapeOutcome, Seconds};
use intriage_diagnose::{Diagnosis, Thresholds, diagnose, find};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    judged: Vec<Incident>,
    others: Vec<Other>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Incident {
    id: String,
    cause: String,
    place: Place,
    /// What the thread does not say, and the case needs.
    #[serde(default)]
    assumed: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    flags: String,
    #[serde(default)]
    log: Vec<String>,
    /// Gauges by metric and labels.
    #[serde(default)]
    holds: BTreeMap<String, f64>,
    /// Counters by metric and labels: what they gain over the window.
    #[serde(default)]
    gained: BTreeMap<String, f64>,
    /// So many scrapes at the end fail.
    #[serde(default)]
    fails: u64,
    client: Option<Client>,
    #[serde(default)]
    host: Vec<BTreeMap<String, String>>,
    /// Between the snapshots of the host.
    #[serde(default)]
    seconds: u64,
    #[serde(default)]
    slo: Vec<String>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Place {
    Primary,
    Named,
    Not,
}

/// Clients that all saw the same; times in seconds.
#[derive(Deserialize)]
struct Client {
    n: u64,
    first: f64,
    headers: f64,
    gap: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Other {
    id: String,
    why: String,
}

/// When the window begins, how many scrapes it has and how far apart they are.
const START: u64 = 1_790_000_000_000;
const SCRAPES: u64 = 13;
const STEP_MS: u64 = 20_000;

fn table() -> Table {
    serde_json::from_str(include_str!("incidents.json")).unwrap()
}

impl Incident {
    fn case(&self) -> Case {
        let mut case = Case {
            command_line: Some(self.flags.clone()).filter(|f| !f.is_empty()),
            scrapes: self.scrapes(),
            client: self.client.as_ref().map_or_else(Vec::new, Client::requests),
            ..Case::default()
        };
        case.intent.objectives = self.slo.iter().map(|text| text.parse().unwrap()).collect();
        if !self.log.is_empty() {
            case.logs = vec![LogText { name: "server.log".into(), text: self.log.join("\n") + "\n" }];
        }
        if !self.version.is_empty() {
            let body = format!("{{\"version\":\"{}\"}}", self.version);
            case.endpoints.insert("/version".into(), body);
        }
        let snapshots = (0..).zip(&self.host);
        case.host = snapshots
            .map(|(i, files)| HostSnapshot {
                at: Millis(START + i * self.seconds * 1000),
                files: files.clone(),
            })
            .collect();
        case
    }

    fn scrapes(&self) -> Vec<Scrape> {
        if self.holds.is_empty() && self.gained.is_empty() {
            return Vec::new();
        }
        let body = |i: u64| {
            let mut text = String::new();
            for (metric, value) in &self.holds {
                writeln!(text, "{metric} {value}").unwrap();
            }
            for (metric, total) in &self.gained {
                writeln!(text, "{metric} {}", total * i as f64 / (SCRAPES - 1) as f64).unwrap();
            }
            ScrapeOutcome::Body(text.into_bytes())
        };
        let outcome = |i| {
            if i + self.fails >= SCRAPES {
                ScrapeOutcome::Failed("connection refused".into())
            } else {
                body(i)
            }
        };
        (0..SCRAPES).map(|i| Scrape { at: Millis(START + i * STEP_MS), outcome: outcome(i) }).collect()
    }
}

impl Incident {
    fn holds_in(&self, diagnosis: &Diagnosis) -> bool {
        let named = named(diagnosis);
        match self.place {
            Place::Primary => diagnosis.verdict.primary.cause.as_deref() == Some(&self.cause),
            Place::Named => named.contains(&self.cause.as_str()),
            Place::Not => !named.contains(&self.cause.as_str()),
        }
    }
}

impl Client {
    fn requests(&self) -> Vec<ClientRequest> {
        let request = |i: u64| ClientRequest {
            sent: Millis(START + i * 500),
            headers: Some(Seconds(self.headers)),
            first: Some(Seconds(self.first)),
            last: Some(Seconds(self.first + 100.0 * self.gap)),
            chunks: 100,
            gap_p50: Some(Seconds(self.gap)),
            status: Some(200),
            ..ClientRequest::default()
        };
        (0..self.n).map(request).collect()
    }
}

fn named(diagnosis: &Diagnosis) -> Vec<&str> {
    diagnosis.findings.iter().map(|finding| finding.cause.as_str()).collect()
}

#[test]
fn incidents_get_the_verdict_their_threads_came_to() {
    let mut wrong = Vec::new();
    for incident in table().judged {
        let diagnosis = diagnose(&incident.case(), &Thresholds::default());
        let named = named(&diagnosis);
        let right = match incident.place {
            Place::Primary => diagnosis.verdict.primary.cause.as_deref() == Some(&incident.cause),
            Place::Named => named.contains(&incident.cause.as_str()),
            Place::Not => !named.contains(&incident.cause.as_str()),
        };
        if !right {
            let open = diagnosis.cannot_tell.iter().find(|c| c.cause == incident.cause);
            let out = diagnosis.ruled_out.iter().find(|c| c.cause == incident.cause);
            wrong.push(format!("{}: {}: said {named:?}; {open:?} {out:?}", incident.id, incident.cause));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn probe_strict() {
    let mut n = 0;
    for mut incident in table().judged {
        let right = incident.holds_in(&diagnose(&incident.case(), &Thresholds::default()));
        incident.log.clear();
        incident.flags = incident.flags.split(" -").next().unwrap_or_default().to_owned();
        let without = incident.holds_in(&diagnose(&incident.case(), &Thresholds::default()));
        println!("{} {right} {without}", incident.id);
        n += usize::from(right && !without);
    }
    println!("{n}");
}

/// A verdict that would come without the evidence is no verdict on it.
#[test]
fn without_what_was_quoted_the_cause_is_not_named() {
    for mut incident in table().judged.into_iter().filter(|i| i.place != Place::Not) {
        incident.log.clear();
        incident.client = None;
        incident.host.clear();
        let by_figures = incident.gained.keys().any(|k| k.contains("preempt") || k.contains("length"));
        if by_figures || incident.flags.contains("--quantization awq") {
            continue;
        }
        let diagnosis = diagnose(&incident.case(), &Thresholds::default());
        assert!(!named(&diagnosis).contains(&incident.cause.as_str()), "{}", incident.id);
    }
}

#[test]
fn every_incident_known_is_judged_or_has_its_reason() {
    let table = table();
    let judged: BTreeSet<&str> = table.judged.iter().map(|i| i.id.as_str()).collect();
    let others: BTreeSet<&str> = table.others.iter().map(|o| o.id.as_str()).collect();
    assert_eq!((judged.len(), others.len()), (table.judged.len(), table.others.len()), "each stands once");
    assert_eq!(judged.intersection(&others).count(), 0);
    assert_eq!(judged.len() + others.len(), 78, "78 incidents were collected");
    assert!(table.others.iter().all(|o| o.why.len() > 10));
    let lines_or_flags = table.judged.iter().filter(|i| !i.log.is_empty() || i.flags.contains(" --"));
    assert!(lines_or_flags.count() >= 25);
    for incident in &table.judged {
        assert!(find(&incident.cause).is_some(), "{}: no such cause: {}", incident.id, incident.cause);
        let made = !incident.slo.is_empty() || !incident.gained.is_empty();
        let told = !incident.assumed.is_empty() || incident.client.is_some();
        assert!(!made || told, "{}: figures whose origin is not told", incident.id);
    }
}
