//! Incidents people reported: given what their threads quote, the diagnosis names the cause.
//!
//! `incidents.json` has a row an incident: what was quoted (log lines, flags, figures), what was added to make a case of it (`assumed`),
//! and the cause that must be the answer (`primary`), among the findings (`named`), in a note (`noted`) or in no finding (`not`).
//! The rest are listed with the reason why they are no such row, so that none is forgotten. What decides a row is computed: a line
//! or a flag does where the answer is another one without it. Wordings alone are tested in `intriage-engines`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use intriage_case::{Case, ClientRequest, HostSnapshot, LogText, Millis, Scrape, ScrapeOutcome, Seconds};
use intriage_diagnose::{Thresholds, diagnose, find};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    judged: Vec<Incident>,
    others: Vec<Other>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Incident {
    id: String,
    cause: String,
    place: Place,
    /// What the thread does not say, and the case needs.
    #[serde(default)]
    assumed: String,
    /// Whether what was assumed is enough for the answer, with nothing that was quoted.
    #[serde(default)]
    assumed_decides: bool,
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

#[derive(Clone, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Place {
    Primary,
    Named,
    /// Told in a note that quotes the line or names the cause: it is off, and nothing that it explains hurts.
    Noted,
    Not,
}

/// Clients that all saw the same; times in seconds.
#[derive(Clone, Deserialize)]
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
    /// Whether the answer is the one the thread came to; else what was said instead.
    fn verdict(&self) -> Result<(), String> {
        let diagnosis = diagnose(&self.case(), &Thresholds::default());
        let named: Vec<&str> = diagnosis.findings.iter().map(|finding| finding.cause.as_str()).collect();
        let is_named = named.contains(&self.cause.as_str());
        let right = match self.place {
            Place::Primary => diagnosis.verdict.primary.cause.as_deref() == Some(&self.cause),
            Place::Named => is_named,
            Place::Noted => {
                let quotes = |note: &String| self.log.iter().any(|line| note.contains(line.as_str()));
                let tells = |note: &String| note.starts_with(&format!("{} (", self.cause));
                !is_named && diagnosis.notes.iter().any(|note| quotes(note) || tells(note))
            }
            Place::Not => !is_named,
        };
        let open = diagnosis.cannot_tell.iter().find(|c| c.cause == self.cause);
        let out = diagnosis.ruled_out.iter().find(|c| c.cause == self.cause);
        let said = || format!("{}: {}: said {named:?}; {open:?} {out:?}", self.id, self.cause);
        if right { Ok(()) } else { Err(said()) }
    }

    /// Without what the log says.
    fn without_lines(&self) -> Self {
        Self { log: Vec::new(), ..self.clone() }
    }

    /// The program's name alone, so that its engine stays known.
    fn without_flags(&self) -> Self {
        let program = self.flags.split(" -").next().unwrap_or_default();
        Self { flags: program.to_owned(), ..self.clone() }
    }

    fn without_figures(&self) -> Self {
        let (client, host, fails) = (None, Vec::new(), 0);
        Self { holds: BTreeMap::new(), gained: BTreeMap::new(), client, host, fails, ..self.clone() }
    }

    /// A line or a flag decides: without both the answer is another one.
    fn is_decided_by_line_or_flag(&self) -> bool {
        self.verdict().is_ok() && self.without_lines().without_flags().verdict().is_err()
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

#[test]
fn incidents_get_the_verdict_their_threads_came_to() {
    let wrong: Vec<String> = table().judged.iter().filter_map(|i| i.verdict().err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn of_78_incidents_25_are_decided_by_a_line_or_a_flag() {
    let table = table();
    // A note is no verdict, and neither is what must not be concluded.
    let verdicts = table.judged.iter().filter(|i| matches!(i.place, Place::Primary | Place::Named));
    let decided: Vec<&Incident> = verdicts.filter(|i| i.is_decided_by_line_or_flag()).collect();
    let ids: Vec<&str> = decided.iter().map(|i| i.id.as_str()).collect();
    assert!(ids.len() >= 25, "{} are: {ids:#?}", ids.len());
    let by_line = decided.iter().filter(|i| i.without_lines().verdict().is_err()).count();
    let by_flag = decided.iter().filter(|i| i.without_flags().verdict().is_err()).count();
    assert!(by_line >= 20 && by_flag >= 5, "{by_line} need their line, {by_flag} their flag");
}

/// A verdict that would come without the evidence is no verdict on it.
#[test]
fn what_no_line_and_no_flag_decides_its_figures_decide() {
    for incident in table().judged.iter().filter(|i| i.place != Place::Not) {
        let by_figures = incident.without_figures().verdict().is_err();
        assert!(by_figures || incident.is_decided_by_line_or_flag(), "{}: nothing decides it", incident.id);
        let assumed = incident.assumed_decides;
        assert!(!assumed || !incident.is_decided_by_line_or_flag(), "{}: a quote decides it", incident.id);
        assert!(!assumed || !incident.assumed.is_empty(), "{}: assumed what?", incident.id);
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
    for incident in &table.judged {
        assert!(find(&incident.cause).is_some(), "{}: no such cause: {}", incident.id, incident.cause);
        let made = !incident.slo.is_empty() || !incident.gained.is_empty();
        let told = !incident.assumed.is_empty() || incident.client.is_some();
        assert!(!made || told, "{}: figures whose origin is not told", incident.id);
    }
}
