//! Two cases are the same where nothing was changed, and what was changed is named with both values.

use intriage_case::model::{ChatTemplate, ModelFiles};
use intriage_case::{Bytes, Case, HostSnapshot, Millis, Scrape, ScrapeOutcome};

use super::*;

fn served(flags: &str) -> Case {
    let page = b"vllm:num_requests_running{model_name=\"m\"} 1\n".to_vec();
    Case {
        scrapes: vec![Scrape { at: Millis(1000), outcome: ScrapeOutcome::Body(page) }],
        command_line: Some(format!("vllm serve m {flags}")),
        ..Case::default()
    }
}

fn differences(a: &Case, b: &Case) -> Vec<(Area, String, Option<String>, Option<String>)> {
    let found = difference(a, b, &Thresholds::default());
    found.differs.into_iter().map(|row| (row.area, row.what, row.a, row.b)).collect()
}

fn with_template(mut case: Case, sha256: &str, temperature: &str, dtype: &str) -> Case {
    let mut files = ModelFiles::default();
    files.texts.insert("config.json".into(), format!(r#"{{"dtype":"{dtype}"}}"#));
    files.texts.insert("generation_config.json".into(), format!(r#"{{"temperature":{temperature}}}"#));
    let from = "tokenizer_config.json".to_owned();
    files.summary.templates =
        vec![ChatTemplate { name: None, from, sha256: sha256.into(), size: Bytes(1.0) }];
    case.model = Some(files);
    case
}

#[test]
fn a_case_is_the_same_as_itself() {
    let case = with_template(served("--max-num-seqs 4"), "aa", "0.6", "bfloat16");
    let found = difference(&case, &case, &Thresholds::default());
    assert!(found.differs.is_empty() && found.unseen.is_empty() && found.same > 4, "{found:#?}");
}

#[test]
fn a_changed_flag_is_named_with_both_values() {
    let found = differences(&served("--max-num-seqs 4"), &served("--max-num-seqs 64"));
    let expected = (Area::Settings, "--max-num-seqs".into(), Some("4".into()), Some("64".into()));
    assert!(found.contains(&expected), "{found:#?}");
}

#[test]
fn template_sampling_and_dtype_of_the_model_are_compared() {
    let found = differences(
        &with_template(served(""), "aa", "0.6", "bfloat16"),
        &with_template(served(""), "bb", "1.0", "float16"),
    );
    let named: Vec<&str> = found.iter().map(|(_, what, ..)| what.as_str()).collect();
    assert_eq!(named, ["chat template default sha256", "dtype", "generation_config temperature"]);
}

#[test]
fn what_only_one_case_looked_at_is_no_difference() {
    let mut looked = served("");
    looked.host.push(HostSnapshot {
        at: Millis(1),
        files: [("proc/meminfo".into(), "MemTotal: 64 kB\n".into())].into(),
    });
    let found = difference(&looked, &served(""), &Thresholds::default());
    assert!(found.differs.is_empty(), "{:#?}", found.differs);
    assert_eq!(found.unseen, ["host: only the first case has it"]);
}

#[test]
fn the_weightiest_comes_first() {
    let found = difference(
        &served("--max-num-seqs 4 --stream-interval 1"),
        &served("--max-num-seqs 64 --stream-interval 2"),
        &Thresholds::default(),
    );
    let weights: Vec<Weight> = found.differs.iter().map(|row| row.weight).collect();
    assert!(weights.len() >= 2 && weights.is_sorted_by(|a, b| a >= b), "{:#?}", found.differs);
}
