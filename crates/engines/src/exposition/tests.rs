//! One test for each thing the two formats allow, forbid or leave open.

mod damage;
mod families;
mod samples;

use super::*;

fn whole(text: &str) -> Exposition<'_> {
    let exposition = parse(text.as_bytes());
    assert_eq!(exposition.problem, None, "{text}");
    exposition
}

fn only(text: &str) -> Sample<'_> {
    let mut samples = whole(text).samples;
    assert_eq!(samples.len(), 1, "{text}");
    samples.remove(0)
}

fn pairs(labels: Labels<'_>) -> Vec<(String, String)> {
    labels.iter().map(|(name, value)| (name.to_owned(), value.into_owned())).collect()
}

fn problem(text: &str) -> (u32, u32, ProblemKind) {
    let problem = parse(text.as_bytes()).problem.expect(text);
    (problem.line, problem.column, problem.what)
}

fn names<'a>(exposition: &Exposition<'a>) -> Vec<&'a str> {
    exposition.samples.iter().map(|sample| sample.name).collect()
}

/// The declared name of the family of every sample.
fn families_of<'a>(exposition: &Exposition<'a>) -> Vec<Option<&'a str>> {
    exposition.samples.iter().map(|sample| exposition.family_of(sample).map(|family| family.name)).collect()
}
