//! What holds of every recording: a verdict and its symptoms never contradict each other.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

use std::path::{Path, PathBuf};

use intriage_case::{Case, Profile, Target, layout};
use intriage_diagnose::{
    Aspect, Diagnosis, Harm, Outcome, Status, Symptom, Thresholds, Yardstick, diagnose_observed, find,
};
use serde::Deserialize;

/// What the truth of a recording says of how it is to be judged.
#[derive(Deserialize, Default)]
struct Intent {
    #[serde(default)]
    slo: Slo,
    #[serde(default)]
    profile: Option<String>,
}

/// One objective, several, or an empty text for none.
#[derive(Deserialize)]
#[serde(untagged)]
enum Slo {
    One(String),
    All(Vec<String>),
}

impl Default for Slo {
    fn default() -> Self {
        Self::All(Vec::new())
    }
}

const KINDS: [&str; 4] = ["h200", "lab", "made", "recordings"];

/// Every folder of recordings, judged as its truth asks, without an objective, as a batch job, and with objectives that
/// nobody could meet.
fn judged() -> Vec<(String, Diagnosis)> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut all = Vec::new();
    for folder in KINDS.iter().flat_map(|kind| entries(&fixtures.join(kind))).filter(|path| path.is_dir()) {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let truth = std::fs::read(folder.join("truth.json")).unwrap();
        let intent: Intent = serde_json::from_slice(&truth).unwrap();
        let recording = folder.join("recording");
        let root = if recording.is_dir() { recording } else { folder };
        let mut case = Case { target: Target { name: name.clone() }, ..Case::default() };
        read(&root, &root, &mut case);
        let slo = match intent.slo {
            Slo::One(text) if text.is_empty() => Vec::new(),
            Slo::One(text) => vec![text],
            Slo::All(texts) => texts,
        };
        case.intent.objectives = slo.iter().map(|text| text.parse().unwrap()).collect();
        case.intent.profile = match intent.profile.as_deref() {
            Some("batch") => Profile::Batch,
            Some("bursty") => Profile::Bursty,
            _ => Profile::Interactive,
        };
        let observed = intriage_engines::read(&case);
        let mut ask = |how: &str, case: &Case| {
            all.push((format!("{name}, {how}"), diagnose_observed(&observed, case, &Thresholds::default())));
        };
        ask("as its truth asks", &case);
        case.intent.objectives.clear();
        case.intent.profile = Profile::Interactive;
        ask("without an objective", &case);
        case.intent.profile = Profile::Batch;
        ask("as a batch job", &case);
        // What nobody could meet, beside what everybody does.
        case.intent.objectives = vec!["ttft.mean=1us".parse().unwrap(), "itl.mean=60s".parse().unwrap()];
        ask("as a batch job with an objective out of reach", &case);
        case.intent.profile = Profile::Interactive;
        case.intent.objectives[0] = "e2e.mean=1us".parse().unwrap();
        ask("with an objective out of reach", &case);
    }
    assert!(all.len() > 200, "{} verdicts", all.len());
    all
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    all.sort();
    all
}

fn read(root: &Path, folder: &Path, case: &mut Case) {
    for path in entries(folder) {
        let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            read(root, &path, case);
        } else if !name.contains("truth") {
            layout::add(case, &name, std::fs::read(&path).unwrap());
        }
    }
}

fn hurting(diagnosis: &Diagnosis) -> impl Iterator<Item = &Symptom> {
    diagnosis.symptoms.iter().filter(|s| s.harm == Harm::Hurts)
}

#[test]
fn verdicts_and_symptoms_of_all_recordings_agree() {
    for (name, d) in judged() {
        let hurts: Vec<&Symptom> = hurting(&d).collect();
        let said = &d.verdict.answer;
        match d.verdict.status {
            Status::Healthy => assert!(hurts.is_empty(), "{name}: healthy beside {hurts:#?}"),
            Status::Finding => {
                assert!(!hurts.is_empty(), "{name}: nothing hurts: {said}");
                segment_hurts(&name, &d);
            }
            Status::CannotTell => assert!(!d.verdict.proven, "{name}: {said}"),
        }
        every_aspect_is_judged_once(&name, &d);
        every_finding_explains_what_hurts(&name, &d);
        missed_objectives_are_findings(&name, &d);
        if d.verdict.proven && d.verdict.status == Status::Finding {
            assert_eq!(d.findings[0].outcome, Outcome::Confirmed, "{name}: {said}");
        }
    }
}

/// The segment that a finding names is there, hurts, and is one that its cause explains.
fn segment_hurts(name: &str, d: &Diagnosis) {
    let primary = &d.verdict.primary;
    let segment = primary.segment.unwrap_or_else(|| panic!("{name}: no segment: {}", d.verdict.answer));
    assert!(hurting(d).any(|s| s.aspect == segment), "{name}: {segment} does not hurt");
    match primary.cause.as_deref().map(|id| find(id).unwrap()) {
        Some(cause) => {
            assert!(cause.hurts.contains(&segment), "{name}: {} does not explain {segment}", cause.id);
            assert_eq!(primary.class.as_deref(), Some(cause.class.name()), "{name}");
            assert_eq!(primary.layer.as_deref(), Some(cause.layer.name()), "{name}");
            assert!(primary.confidence > 0.0, "{name}");
        }
        None => assert!(d.findings.is_empty() && d.remedies.is_empty(), "{name}: {:?}", d.findings),
    }
}

fn every_aspect_is_judged_once(name: &str, d: &Diagnosis) {
    for aspect in Aspect::ALL {
        let times = d.symptoms.iter().filter(|s| s.aspect == *aspect).count();
        // Whether figures can be trusted is told by words alone.
        let least = usize::from(*aspect != Aspect::Measurement);
        assert!((least..=1).contains(&times), "{name}: {aspect} is judged {times} times");
    }
    for symptom in &d.symptoms {
        assert_eq!(symptom.harm == Harm::Unseen, symptom.yardstick.is_none(), "{name}: {symptom:#?}");
        assert!(!symptom.says.is_empty(), "{name}: {symptom:#?}");
        assert!((0.0..=1.0).contains(&symptom.share.get()), "{name}: {symptom:#?}");
    }
}

fn every_finding_explains_what_hurts(name: &str, d: &Diagnosis) {
    for finding in &d.findings {
        let cause = find(&finding.cause).unwrap();
        assert!(hurting(d).any(|s| cause.hurts.contains(&s.aspect)), "{name}: {} explains nothing", cause.id);
    }
    // What words tell is told by a cause: it is never left without one.
    for told in hurting(d).filter(|s| s.yardstick == Some(Yardstick::Told)) {
        let explained = |cause: &str| find(cause).unwrap().hurts.contains(&told.aspect);
        assert!(d.findings.iter().any(|f| explained(&f.cause)), "{name}: nothing explains {told:#?}");
    }
}

fn missed_objectives_are_findings(name: &str, d: &Diagnosis) {
    if d.objectives.iter().any(|o| o.met == Some(false)) {
        assert_ne!(d.verdict.status, Status::Healthy, "{name}: {:?}", d.objectives);
    }
    if d.objectives.iter().any(|o| o.met.is_none()) {
        assert_ne!(d.verdict.status, Status::Healthy, "{name}: {:?}", d.objectives);
    }
}
