use intriage_diagnose::Status;

use super::*;

/// A row whose faults are `(name, cause, harm alone)`, with what was said of it.
fn row(
    faults: &[(&'static str, &'static str, f64)],
    harm: f64,
    said: (Status, Option<&str>, f64),
) -> DrawRow {
    let fault = |(name, cause, harm_alone): &(&'static str, &'static str, f64)| FaultOf {
        name,
        strength: 1.2,
        cause,
        accept: &["accepted-cause"],
        harm_alone: *harm_alone,
    };
    DrawRow {
        number: 7,
        faults: faults.iter().map(fault).collect(),
        class: faults.first().map(|_| "queueing"),
        deployment: "llama-3.1-8b on NVIDIA H100 80GB HBM3".into(),
        load: "steady",
        evidence: "metrics alone".into(),
        gaps: false,
        full_pool: false,
        objectives: Vec::new(),
        harm,
        harmed: "ttft_p95",
        moved: Some((1.0, 0.1)),
        ratios: Vec::new(),
        truth: Truth::of(harm),
        status: said.0,
        cause: said.1.map(str::to_owned),
        confidence: said.2,
        findings: said.1.map(str::to_owned).into_iter().collect(),
    }
}

const CAP: (&str, &str, f64) = ("low-sequence-cap", "max-num-seqs-limited-queue", 5.0);
const HEALTHY: (Status, Option<&str>, f64) = (Status::Healthy, None, 0.5);

#[test]
fn harm_decides_what_counts() {
    assert_eq!(Truth::of(2.0), Truth::Hurt);
    assert_eq!(Truth::of(1.99), Truth::Between);
    assert_eq!(Truth::of(1.15), Truth::Between);
    assert_eq!(Truth::of(1.149), Truth::Calm);
}

#[test]
fn a_batch_is_counted_by_what_hurt_and_what_was_said() {
    let right = (Status::Finding, Some("max-num-seqs-limited-queue"), 0.9);
    let wrong = (Status::Finding, Some("cuda-graph-miss"), 0.6);
    let mut third = row(&[CAP], 3.0, wrong);
    third.findings.push("accepted-cause".into());
    let rows = vec![
        row(&[CAP], 5.0, right),
        row(&[CAP], 5.0, HEALTHY),
        row(&[CAP], 4.0, (Status::CannotTell, None, 0.0)),
        third,
        row(&[CAP], 1.5, wrong),
        row(&[CAP], 1.1, right),
        row(&[], 1.0, HEALTHY),
    ];
    let report = draw_report(3, rows);
    let expected = Score {
        draws: 7,
        hurt: 4,
        healthy: 1,
        cannot_tell: 1,
        finding: 2,
        top1: 1,
        top3: 2,
        calm: 2,
        without_fault: 1,
        alarms: 1,
        calm_cannot_tell: 0,
    };
    assert_eq!(report.all, expected);
    // Right, wrong, wrong (between) and an alarm that names a fault nobody felt.
    assert_eq!((report.calibration.stated, report.calibration.bins.len()), (4, 2));
    assert_eq!(report.calibration.bins[1].right, 0.5);
    let text = draws_text(&report, true);
    assert!(text.contains("4 misses") && text.contains("low-sequence-cap 1.20"), "{text}");
    assert!(text.contains("(true cause among three)"), "{text}");
    assert!(draws_json(&report).unwrap().contains("\"schema\": \"intriage.draws/1\""));
}

#[test]
fn of_two_faults_only_what_somebody_would_notice_is_true() {
    let pair = |alone: f64| [CAP, ("far-away", "network-path-latency", alone)];
    let said = (Status::Finding, Some("network-path-latency"), 0.8);
    assert!(row(&pair(3.0), 5.0, said).is_named());
    assert!(!row(&pair(1.0), 5.0, said).is_named());
    let neither = [("low-sequence-cap", "max-num-seqs-limited-queue", 1.0), pair(1.0)[1]];
    assert!(row(&neither, 5.0, said).is_named(), "together they hurt");
}
