#![allow(clippy::unwrap_used)]
use intriage_case::{Objective, Seconds};
use proptest::prelude::*;

use super::*;
use crate::client::ThreadFacts;
use crate::event::ChunkKind::Content;
use crate::figures::tests::answer;
use crate::header::{Declared, Header};
use crate::summary::Summary;

/// A run of so many answers, 40 a second, two tokens each, by a client that fared well.
fn run(answers: u64, declared: Declared) -> Summary {
    let mut tally = Tally::new(declared.clone());
    for id in 0..answers {
        let mut one = answer(id, id * 25, &[(id * 25 + 50, Content), (id * 25 + 60, Content)]);
        one.request.planned = one.request.sent;
        tally.add(&one);
    }
    let thread = ThreadFacts { busy_window: Seconds(10.0), cpu: Seconds(0.1), ..ThreadFacts::default() };
    let client = ClientFacts { threads: vec![thread], kernel_stamps: true, ..ClientFacts::default() };
    Summary::of(&Header { declared, ..Header::default() }, &tally, Some(&client))
}

fn objective(text: &str) -> Declared {
    Declared { objectives: vec![text.parse().unwrap()], ..Declared::default() }
}

fn samples_of(summary: &Summary) -> &Check {
    summary.certificate.checks.iter().find(|c| c.name == CheckName::Samples).unwrap()
}

#[test]
fn a_percentile_needs_ten_answers_beyond_it() {
    let needed = [0.5, 0.9, 0.95, 0.99, 0.999, 0.1].map(answers_needed);
    assert_eq!(needed, [20, 100, 200, 1_000, 10_000, 100]);
}

#[test]
fn nobody_asked_so_a_hundred_answers_are_valid() {
    let summary = run(100, Declared::default());
    assert_eq!((summary.certificate.status, samples_of(&summary).passed), (Status::Valid, None));
    assert!(summary.all.ttft.certified.p90 && !summary.all.ttft.certified.p99);
}

#[test]
fn an_objective_asks_and_the_sentence_says_how_long_to_run() {
    let summary = run(412, objective("ttft.p99=1s"));
    assert_eq!(summary.certificate.status, Status::Invalid);
    // 40 answers a second; 1,000 and two deviations to spare take 26.6 s.
    let sentence = "p99 of TTFT needs 1,000 answers, there were 412: --duration 30s";
    assert_eq!(summary.certificate.reasons, [sentence]);
    assert_eq!(run(1_000, objective("ttft.p99=1s")).certificate.status, Status::Valid);
    assert_eq!(run(200, objective("ttft.p95=1s")).certificate.status, Status::Valid);
    assert_eq!(run(100, objective("ttft.mean=1s")).certificate.status, Status::Valid);
    assert_eq!(run(100, objective("errors=1%")).certificate.status, Status::Valid);
}

#[test]
fn a_run_that_ends_by_its_prompts_needs_more_of_them() {
    let summary = run(100, Declared { num_prompts: Some(100), ..objective("e2e.p99=1s") });
    let sentence = "p99 of E2E needs 1,000 answers, there were 100: --num-prompts 1000";
    assert_eq!(summary.certificate.reasons, [sentence]);
}

#[test]
fn a_list_asks_for_every_time_and_token_gaps_count_by_answers() {
    let list = Declared { percentiles: vec![50.0, 99.0], num_prompts: Some(500), ..Declared::default() };
    let summary = run(500, list);
    let sentence = "p99 of TTFT, ITL, TPOT and E2E needs 1,000 answers, there were 500: --num-prompts 1000";
    assert_eq!(summary.certificate.reasons, [sentence]);
    let certified = summary.certificate.asked.iter().filter(|one| one.certified).count();
    assert_eq!((summary.certificate.asked.len(), certified), (8, 4));
}

#[test]
fn a_class_asks_for_its_own_requests() {
    let own = |text: &str| -> Vec<Objective> { vec![text.parse().unwrap()] };
    let classes = vec![("chat".to_owned(), own("ttft.p90=1s")), ("batch".to_owned(), Vec::new())];
    // All answers are of the first class.
    assert_eq!(
        run(100, Declared { classes: classes.clone(), ..Declared::default() }).certificate.status,
        Status::Valid
    );
    let short = run(99, Declared { classes, ..Declared::default() });
    assert!(
        short.certificate.reasons[0]
            .starts_with("p90 of TTFT of class chat needs 100 answers, there were 99: --duration ")
    );
}

#[test]
fn a_header_of_an_older_release_asks_for_nothing() {
    let mut old = serde_json::to_value(Header::default()).unwrap();
    let declared = old["declared"].as_object_mut().unwrap();
    assert!(declared.remove("percentiles").is_some() && declared.remove("num_prompts").is_some());
    let read: Header = serde_json::from_value(old).unwrap();
    assert_eq!(read, Header::default());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_run_is_never_invalid_for_a_percentile_nobody_asked_for(answers in 1u64..1500, asked in prop::option::of(1u32..100)) {
        let percentiles = asked.map(f64::from).into_iter().collect();
        let summary = run(answers, Declared { percentiles, ..Declared::default() });
        let enough = asked.is_none_or(|p| answers >= answers_needed(f64::from(p) / 100.0));
        prop_assert_eq!(samples_of(&summary).passed == Some(false), !enough);
        prop_assert_eq!(summary.certificate.status == Status::Invalid, !enough, "{:?}", summary.certificate.reasons);
    }

    #[test]
    fn p99_is_certified_from_a_thousand_answers_on(answers in 980u64..1020) {
        let summary = run(answers, objective("ttft.p99=1s"));
        prop_assert_eq!(summary.all.ttft.certified.p99, answers >= 1_000);
        prop_assert_eq!(summary.certificate.asked[0].certified, answers >= 1_000);
        prop_assert_eq!(summary.all.itl.certified.p99, answers >= 1_000);
    }
}
