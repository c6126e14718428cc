//! Every row hides its own example and leaves its look-alike alone.

use std::collections::BTreeSet;

use super::{RULES, Rule};
use crate::Redactor;

/// The line of an example, and what must not be in it afterwards.
fn example(rule: &Rule) -> (String, Vec<String>) {
    let hidden = rule.hides.split('«').skip(1).filter_map(|part| part.split_once('»'));
    (rule.hides.replace(['«', '»'], ""), hidden.map(|(hidden, _)| hidden.to_owned()).collect())
}

#[test]
fn every_row_hides_its_example_and_nothing_around_it() {
    for rule in RULES {
        let (line, hidden) = example(rule);
        assert!(!hidden.is_empty(), "{} has no example", rule.name);
        let redactor = Redactor::new();
        let redacted = redactor.text(&line);
        for part in hidden {
            assert!(!redacted.contains(&part), "{}: {redacted}", rule.name);
        }
        assert!(
            redactor.found().contains_key(rule.name),
            "{} found nothing: {:?}",
            rule.name,
            redactor.found()
        );
        for around in rule.hides.split('«').filter_map(|part| part.split('»').next_back()) {
            assert!(redacted.contains(around), "{}: {around:?} is lost in {redacted}", rule.name);
        }
        assert_eq!(redactor.text(&redacted), redacted, "{}", rule.name);
    }
}

#[test]
fn every_row_leaves_its_look_alike_alone() {
    for rule in RULES {
        assert_eq!(Redactor::new().text(rule.keeps), rule.keeps, "{}", rule.name);
    }
}

#[test]
fn rows_have_names_of_their_own_and_say_where_they_come_from() {
    let names: BTreeSet<&str> = RULES.iter().map(|rule| rule.name).collect();
    assert_eq!(names.len(), RULES.len());
    for rule in RULES {
        assert!(
            !rule.source.is_empty() && !rule.what.is_empty() && !rule.pattern().is_empty(),
            "{}",
            rule.name
        );
    }
}

/// Beside other crates the regular expressions know Unicode's classes, alone they do not: a pattern must compile in both.
#[test]
fn patterns_use_no_class_that_needs_unicode() {
    for rule in RULES {
        let classes = ["\\s", "\\d", "\\w", "\\b", "\\S", "\\D", "\\W", "\\B"];
        let used = classes.into_iter().find(|class| rule.pattern().contains(class));
        assert_eq!(used, None, "{}", rule.name);
    }
}
