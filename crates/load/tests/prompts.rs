//! What a run sends, seen from outside.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use intriage_case::{Ratio, Seconds, Tokens};
use intriage_load::arrivals::trace;
use intriage_load::prompts::{
    Class, HitRatio, HitRatioError, Prefix, Replayed, Source, Synthetic, SyntheticError, Think, Turn,
    Vocabulary,
};
use intriage_simulate::{Lengths, Nanos};
use proptest::prelude::*;

fn synthetic(classes: Vec<Class>, seed: u64, salt: u64) -> Synthetic {
    Synthetic::new(classes, Arc::new(Vocabulary::assumed()), seed, salt).unwrap()
}

fn plain(input: u32) -> Class {
    Class::plain("plain", Lengths::Fixed(input), Lengths::Fixed(20))
}

fn words(text: &str) -> u32 {
    text.split_whitespace().count() as u32
}

fn turns(source: &Synthetic, sessions: u64) -> Vec<Turn> {
    (0..sessions).flat_map(|i| source.session(i).turns).collect()
}

#[test]
fn another_salt_is_the_same_load_in_other_words() {
    let class = Class::plain("c", Lengths::around(200, Ratio(0.5)), Lengths::around(50, Ratio(1.0)));
    let [a, b] = [1, 2].map(|salt| turns(&synthetic(vec![class.clone()], 9, salt), 200));
    let shape = |turns: &[Turn]| turns.iter().map(|t| (t.input, t.output)).collect::<Vec<_>>();
    assert_eq!(shape(&a), shape(&b));
    assert!(a.iter().zip(&b).all(|(a, b)| a.user != b.user));
    let mean = a.iter().map(|t| f64::from(t.input.unwrap())).sum::<f64>() / 200.0;
    assert!((mean - 200.0).abs() < 15.0, "{mean}");
}

#[test]
fn a_seed_and_a_salt_mean_the_same_words_in_any_release() {
    let turn = synthetic(vec![plain(14)], 1, 2).session(3).turns.remove(0);
    assert_eq!(turn.user, "the govern measure key free power practice six seed lie ranges uses zone powers");
}

#[test]
fn classes_come_by_their_weights_and_are_given_up_by_their_shares() {
    let mut chat = plain(30);
    chat.weight = 3.0;
    chat.abort_share = Ratio(0.25);
    chat.objectives = vec!["ttft.p99=200ms".to_owned()];
    let mut batch = plain(300);
    batch.abort_share = Ratio(0.0);
    let source = synthetic(vec![chat, batch], 4, 4);
    assert_eq!(source.classes()[0].objectives().unwrap().len(), 1);
    let sessions: Vec<_> = (0..20_000).map(|i| source.session(i)).collect();
    let chats: Vec<_> = sessions.iter().filter(|s| s.class == 0).collect();
    assert!((chats.len() as f64 / 15_000.0 - 1.0).abs() < 0.02, "{}", chats.len());
    assert!(sessions.iter().filter(|s| s.class == 1).all(|s| s.turns[0].abort_after.is_none()));
    let aborts: Vec<_> = chats.iter().filter_map(|s| s.turns[0].abort_after).collect();
    assert!((aborts.len() as f64 / chats.len() as f64 - 0.25).abs() < 0.02);
    assert!(aborts.iter().all(|after| (1..20).contains(after)), "before the last of 20");
}

#[test]
fn a_session_has_turns_pauses_and_text_of_its_own_each_turn() {
    let mut class = plain(100);
    class.later = Some(Lengths::Fixed(12));
    class.turns = (2, 5);
    class.think = Think::Exponential(Seconds(4.0));
    let source = synthetic(vec![class.clone()], 1, 1);
    let sessions: Vec<_> = (0..5000).map(|i| source.session(i)).collect();
    let lengths: HashSet<_> = sessions.iter().map(|s| s.turns.len()).collect();
    assert_eq!(lengths, HashSet::from([2, 3, 4, 5]));
    let later: Vec<_> = sessions.iter().flat_map(|s| &s.turns[1..]).collect();
    assert!(later.iter().all(|t| t.input == Some(12) && words(&t.user) == 12 && t.system.is_none()));
    let mean = later.iter().map(|t| t.think.seconds().0).sum::<f64>() / later.len() as f64;
    assert!((mean - 4.0).abs() < 0.15, "{mean}");
    assert!(sessions.iter().all(|s| s.turns[0].think == Nanos::ZERO));
    assert_eq!(later.iter().map(|t| &t.user).collect::<HashSet<_>>().len(), later.len());
    class.think = Think::Fixed(Seconds(2.0));
    assert_eq!(synthetic(vec![class], 1, 1).session(0).turns[1].think, Nanos(2_000_000_000));
}

#[test]
fn a_group_begins_alike_and_only_it() {
    let mut class = plain(100);
    class.prefix = Some(Prefix { tokens: 64, groups: 5, share: Ratio(0.8) });
    let all = turns(&synthetic(vec![class.clone(), class], 3, 3), 2000);
    let mut texts: HashMap<String, HashSet<Option<u32>>> = HashMap::new();
    for turn in &all {
        assert_eq!(turn.group.is_some(), turn.system.is_some());
        if let Some(system) = &turn.system {
            assert_eq!((words(system), turn.shared, words(&turn.user)), (64, 64, 36));
            texts.entry(system.clone()).or_default().insert(turn.group);
        }
    }
    assert_eq!(texts.len(), 10, "five of each class");
    let grouped = all.iter().filter(|t| t.group.is_some()).count() as f64;
    assert!((grouped / 1600.0 - 1.0).abs() < 0.05);
    assert_eq!(all.iter().map(|t| &t.user).collect::<HashSet<_>>().len(), all.len());
}

#[test]
fn the_template_is_taken_off_the_text() {
    let source = synthetic(vec![plain(100)], 1, 1).with_template(13);
    let turn = source.session(0).turns.remove(0);
    assert_eq!((turn.input, words(&turn.user)), (Some(87), 87));
    assert_eq!(synthetic(vec![plain(5)], 1, 1).with_template(13).session(0).turns[0].input, Some(1));
}

#[test]
fn the_hit_ratio_counts_whole_blocks_and_first_requests_as_misses() {
    let mut class = plain(100);
    class.prefix = Some(Prefix { tokens: 70, groups: 1, share: Ratio(1.0) });
    let source = synthetic(vec![class.clone()], 1, 1);
    assert_eq!(source.expected_hit_ratio(16, 1), Ratio(0.0));
    assert_eq!(source.expected_hit_ratio(16, 10), Ratio(9.0 * 64.0 / 1000.0));
    assert_eq!(source.expected_hit_ratio(1, 10), Ratio(9.0 * 70.0 / 1000.0));
    assert_eq!(source.expected_hit_ratio(16, 0), Ratio(0.0));
    class.prefix = None;
    class.turns = (2, 2);
    class.later = Some(Lengths::Fixed(10));
    // The second prompt is 100 + 20 + 10 tokens and finds 112 of the 120 before.
    assert_eq!(synthetic(vec![class], 1, 1).expected_hit_ratio(16, 2), Ratio(112.0 / 230.0));
}

#[test]
fn a_declared_hit_ratio_comes_out() {
    let vocabulary = Vocabulary::assumed();
    let mut reached = 0;
    for input in [Lengths::Fixed(512), Lengths::around(1000, Ratio(0.5)), Lengths::around(200, Ratio(0.9))] {
        for (wanted, groups, requests) in [(0.1, 1, 2000), (0.5, 8, 2000), (0.75, 50, 5000), (0.0, 3, 100)] {
            let wish = HitRatio {
                ratio: Ratio(wanted),
                input: &input,
                groups,
                requests,
                own: vocabulary.salt_words(),
                block: 16,
            };
            let prefix = match Prefix::for_hit_ratio(&wish) {
                Ok(prefix) => prefix,
                Err(HitRatioError::OutOfReach { most, .. }) if most.0 < wanted => continue,
                Err(error) => panic!("{error}"),
            };
            reached += 1;
            assert_eq!(prefix.tokens % 16, 0);
            let mut class = Class::plain("c", input.clone(), Lengths::Fixed(1));
            class.prefix = Some(prefix);
            let got = synthetic(vec![class], 11, 1).expected_hit_ratio(16, requests).0;
            assert!((got - wanted).abs() < 0.02, "{input:?} {wanted}: {got} with {prefix:?}");
        }
    }
    assert!(reached >= 10, "of twelve, {reached}");
    let wish = HitRatio {
        ratio: Ratio(0.9),
        input: &Lengths::Fixed(64),
        groups: 1,
        requests: 100,
        own: 9,
        block: 16,
    };
    let error = Prefix::for_hit_ratio(&wish).unwrap_err().to_string();
    assert!(error.contains("at most 74 %"), "{error}");
}

#[test]
fn the_same_block_of_a_trace_is_the_same_text() {
    let text = r#"{"timestamp": 0, "input_length": 1500, "output_length": 10, "hash_ids": [7, 8, 9]}
{"timestamp": 1, "input_length": 1300, "output_length": 20, "hash_ids": [7, 8, 10]}
{"timestamp": 2, "input_length": 1100, "output_length": 5, "hash_ids": [7]}"#;
    let rows = trace::read(text, "m").unwrap();
    let source = Source::Replayed(Replayed::new(rows.into(), Arc::new(Vocabulary::assumed()), 1, 2));
    let prompts: Vec<_> = (0..3).map(|i| source.session(i).unwrap().turns.remove(0)).collect();
    assert_eq!(prompts.iter().map(|t| words(&t.user)).collect::<Vec<_>>(), [1500, 1300, 1100]);
    assert_eq!(prompts.iter().map(|t| t.output).collect::<Vec<_>>(), [10, 20, 5]);
    let alike = |a: usize, b: usize| {
        let pairs = prompts[a].user.split(' ').zip(prompts[b].user.split(' '));
        pairs.take_while(|(a, b)| a == b).count()
    };
    // The word after the last common block opens the next one, and is the same in all.
    assert_eq!((alike(0, 1), alike(0, 2)), (1024 + 1, 512 + 1));
    assert!(source.session(3).is_none());
}

#[test]
fn impossible_classes_are_refused_by_name() {
    let error = |change: fn(&mut Class)| {
        let mut class = plain(9);
        change(&mut class);
        Synthetic::new(vec![class], Arc::new(Vocabulary::assumed()), 1, 1).unwrap_err().to_string()
    };
    assert_eq!(error(|c| c.weight = f64::NAN), "class plain: its weight must be a positive number");
    assert!(error(|c| c.turns = (3, 2)).starts_with("class plain: from 3 to 2 turns"));
    assert!(error(|c| c.turns = (0, 2)).starts_with("class plain: from 0 to 2 turns"));
    assert!(error(|c| c.objectives = vec!["soon".to_owned()]).starts_with("class plain: "));
    let zero = |c: &mut Class| c.prefix = Some(Prefix { tokens: 1, groups: 0, share: Ratio(1.0) });
    assert!(error(zero).starts_with("class plain: 0 prefix groups"));
    let none = Synthetic::new(Vec::new(), Arc::new(Vocabulary::assumed()), 1, 1);
    assert_eq!(none.unwrap_err(), SyntheticError::Classes(0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_session_is_the_same_for_whoever_asks_and_as_long_as_it_says(
        seed in any::<u64>(), salt in any::<u64>(), index in any::<u64>(), input in 1u32..3000, deviation in 0.0f64..500.0,
        tokens in any::<u32>(), groups in 1u32..1 << 24, share in any::<f64>(), abort in any::<f64>(), think in any::<f64>(),
    ) {
        let normal = Lengths::Normal { mean: Tokens(f64::from(input)), deviation: Tokens(deviation) };
        let mut class = Class::plain("c", normal, Lengths::around(input, Ratio(1.0)));
        class.prefix = Some(Prefix { tokens, groups, share: Ratio(share) });
        class.turns = (1, 4);
        class.abort_share = Ratio(abort);
        class.think = Think::Exponential(Seconds(think));
        let make = || synthetic(vec![class.clone(), class.clone()], seed, salt).session(index);
        let session = make();
        prop_assert_eq!(&session, &make());
        for turn in &session.turns {
            let system = turn.system.as_deref().map_or(0, words);
            prop_assert_eq!(system, turn.shared);
            prop_assert_eq!(Some(system + words(&turn.user)), turn.input);
        }
    }

    #[test]
    fn no_wish_brings_the_hit_ratio_down(
        ratio in any::<f64>(), a in any::<u32>(), b in any::<u32>(), groups in any::<u32>(), requests in any::<u64>(), own in any::<u32>(), block in any::<u32>(),
    ) {
        let input = Lengths::Uniform(a, b);
        for ratio in [ratio, 0.3] {
            if let Ok(prefix) = Prefix::for_hit_ratio(&HitRatio { ratio: Ratio(ratio), input: &input, groups, requests, own, block }) {
                prop_assert!((0.0..=1.0).contains(&prefix.share.0) && prefix.groups >= 1);
            }
        }
    }
}
