//! What the verdict makes of the symptoms.

use intriage_case::Signal::*;

use super::{well, well_somewhere};
use crate::causes::catalogue;
use crate::diagnosis::Status;
use crate::symptoms::{Aspect, Harm, Symptoms};
use crate::testing::Given;

#[test]
fn healthy_is_proven_and_names_what_is_nearest_to_its_limit() {
    let d = well().verdict();
    assert_eq!((d.verdict.status, d.verdict.proven), (Status::Healthy, true), "{}", d.verdict.answer);
    let (margin, nearest) = d
        .symptoms
        .iter()
        .filter_map(|s| Some((s.margin()?, s)))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .expect("something was measured");
    assert!(margin < 1.0, "{nearest:#?}");
    let told = format!("nearest to its limit is {} at", nearest.aspect);
    assert!(d.verdict.answer.contains(&told), "{} {margin}", d.verdict.answer);
    // The same server with slower tokens names them.
    let d = well().observed(LatencyItl, &[(0.012, 100_000.0)]).verdict();
    assert_eq!(d.verdict.status, Status::Healthy, "{}", d.verdict.answer);
    assert!(d.verdict.answer.contains("nearest to its limit is"), "{}", d.verdict.answer);
}

#[test]
fn what_nobody_saw_is_not_proven() {
    let d = well_somewhere().verdict();
    assert_eq!((d.verdict.status, d.verdict.proven), (Status::Healthy, false), "{}", d.verdict.answer);
    assert!(d.verdict.answer.starts_with("No harm seen"), "{}", d.verdict.answer);
    assert!(d.verdict.answer.contains("not seen: prefill, decode step"), "{}", d.verdict.answer);
    let d = well().without(HttpResponses).verdict();
    assert!(!d.verdict.proven && d.verdict.answer.contains("not seen: errors"), "{}", d.verdict.answer);
}

#[test]
fn a_handful_of_requests_proves_nothing() {
    let few = [(0.05, 9.0)];
    let d = well().observed(LatencyTtft, &few).finished("stop", 9.0).answered("2xx", 9.0).verdict();
    assert!(!d.verdict.proven && d.verdict.answer.contains("too few requests"), "{}", d.verdict.answer);
}

#[test]
fn clients_that_hang_up_are_a_finding() {
    let d = well().observed(LatencyTtft, &[(0.05, 91.0)]).finished("stop", 43.0).verdict();
    assert_eq!(d.verdict.status, Status::Finding, "{}", d.verdict.answer);
    assert_eq!(d.verdict.primary.segment, Some(Aspect::Aborts));
    assert!(d.verdict.answer.starts_with("40 requests of 91 requests were given up"), "{}", d.verdict.answer);
}

#[test]
fn what_hurts_without_a_known_cause_names_the_nearest_and_what_they_lack() {
    let d = well().gpu_busy(70).observed(LatencyItl, &[(0.0135, 100_000.0)]).verdict();
    assert_eq!((d.verdict.status, d.verdict.primary.cause), (Status::Finding, None), "{}", d.verdict.answer);
    assert_eq!(d.verdict.primary.segment, Some(Aspect::DecodeStep));
    assert!(d.verdict.answer.contains("no known cause fits completely"), "{}", d.verdict.answer);
    assert!(!d.verdict.candidates.is_empty());
    for candidate in &d.verdict.candidates {
        let cause = crate::causes::find(&candidate.cause).expect("a cause of the catalogue");
        assert!(cause.hurts.contains(&Aspect::DecodeStep) && !candidate.lacks.is_empty(), "{candidate:?}");
    }
}

#[test]
fn failures_come_before_slowness_and_no_service_before_both() {
    let slow = well().observed(LatencyItl, &[(0.05, 100_000.0)]);
    let failing = slow.clone().answered("5xx", 50.0);
    let worst = |given: &Given| given.with_evidence(|e| Symptoms::of(e).worst().map(|s| s.aspect));
    assert_eq!(worst(&slow), Some(Aspect::DecodeStep));
    assert_eq!(worst(&failing), Some(Aspect::Errors));
    let gone = failing.last_scrapes_fail(4, "connection refused").verdict();
    assert_eq!(gone.verdict.primary.segment, Some(Aspect::Availability), "{}", gone.verdict.answer);
}

#[test]
fn every_cause_explains_something_and_every_aspect_has_a_cause() {
    for cause in catalogue() {
        assert!(!cause.hurts.is_empty(), "{}", cause.id);
    }
    for aspect in Aspect::ALL {
        assert!(catalogue().any(|c| c.hurts.contains(aspect)), "nothing explains {aspect}");
    }
}

#[test]
fn every_symptom_is_told_once_and_in_order() {
    let d = well().verdict();
    let order: Vec<usize> =
        d.symptoms.iter().filter_map(|s| Aspect::ALL.iter().position(|a| *a == s.aspect)).collect();
    assert!(order.windows(2).all(|w| w[0] < w[1]), "{order:?}");
    assert!(d.symptoms.iter().all(|s| s.harm == Harm::Unseen || s.yardstick.is_some()));
}
