//! Drawn deployments: their cards and models are those of the tables, and a batch is judged from the command line.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod support;

use intriage_case::Tokens;
use intriage_physics::{Deployment, KvDtype, Math, gpu, known};
use intriage_simulate::draw::{CARDS, MODELS};
use support::{code, intriage, json, stderr, stdout};

/// The simulator may not use `physics`: its own table must say the same.
#[test]
fn cards_and_models_have_the_bounds_of_the_tables() {
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 0.02;
    for card in &CARDS {
        let known_card = gpu::find(card.name).unwrap().gpu;
        assert!(near(card.bandwidth.0.get(), known_card.bandwidth.0.get()), "{}", card.name);
        assert!(near(card.memory.get(), known_card.memory.get()), "{}", card.name);
        assert!(near(card.flops, known_card.peak(Math::Bf16).unwrap().get()), "{}", card.name);
        for model in &MODELS {
            let shape = known::model(model.checkpoint).unwrap();
            assert_eq!(shape, known::model(model.name).unwrap());
            assert!(near(model.weights().get(), shape.weight_bytes().get()), "{}", model.name);
            assert!(near(model.kv.get(), shape.kv_bytes_per_token(KvDtype::Bf16).get()), "{}", model.name);
            let deployment = Deployment::new(&shape, &known_card);
            let floor = deployment.decode(1, Tokens(1.0)).bound.get();
            assert!(near(card.weights_floor(model).get(), floor), "{} on {}", model.name, card.name);
            // A long prompt, so that its arithmetic decides; attention adds a little to the weights.
            let prompt = deployment.prefill(Tokens(2000.0), Tokens(0.0)).bound.get() / 2000.0;
            let ratio = prompt / card.prompt_floor(model).get();
            assert!((0.8..1.15).contains(&ratio), "{} on {}: {ratio}", model.name, card.name);
        }
    }
}

#[test]
fn a_batch_is_judged_the_same_however_many_judge_it() {
    let batch = |jobs: &str| {
        let args = ["scoreboard", "--draws", "12", "--seed", "4", "--jobs", jobs, "--format", "json"];
        let output = intriage(&args);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        json(&output)
    };
    let (one, three) = (batch("1"), batch("3"));
    assert_eq!(one, three);
    assert_eq!((&one["schema"], &one["all"]["draws"]), (&"intriage.draws/1".into(), &12.into()));
    assert_eq!(one["rows"].as_array().unwrap().len(), 12);
    let text = stdout(&intriage(&["scoreboard", "--draws", "12", "--seed", "4", "--list"]));
    assert!(text.starts_with("12 drawn deployments, seed 4: "), "{text}");
    assert!(text.contains("misses: number, injected"), "{text}");
}

/// One draw, written down, is judged as a recording as it was as a draw.
#[test]
fn one_draw_becomes_a_labelled_recording() {
    let dir = tempfile::tempdir().unwrap();
    for number in ["0", "1", "2", "3"] {
        let folder = dir.path().join(number);
        let path = folder.to_str().unwrap();
        let args = ["scoreboard", "--only", number, "--seed", "4", "--save", path, "--format", "json"];
        let shown = json(&intriage(&args));
        assert_eq!(shown["truth"]["draw"]["number"], number.parse::<u64>().unwrap());
        let checked = json(&intriage(&["check", path, "--format", "json"]));
        assert_eq!(checked["verdict"], shown["diagnosis"]["verdict"], "{number}");
        assert!(folder.join("truth.json").is_file());
    }
    let board = stdout(&intriage(&["scoreboard", dir.path().to_str().unwrap()]));
    assert!(board.contains("cases 4"), "{board}");
}
