//! Runbook pages, generated from the causes' own files.

use std::fmt::Write as _;

use intriage_case::Quantity;
use intriage_diagnose::{Benign, Cause, Class, Limit, benign_catalogue, catalogue};

use crate::style::{HEAD, QUIET, styled};
use crate::wrap::hang;

/// The list of causes by class.
pub fn catalogue_page() -> String {
    let mut out = String::new();
    let mut class: Option<Class> = None;
    for cause in catalogue() {
        if class != Some(cause.class) {
            class = Some(cause.class);
            let _ = writeln!(out, "\n{}", styled(HEAD, cause.class.name()));
        }
        let _ = write!(out, "{}", hang(&format!("  {:<34}", cause.id), cause.summary));
    }
    let _ = writeln!(out, "\n{}", styled(HEAD, "looks alarming and is not"));
    for benign in benign_catalogue() {
        let _ = write!(out, "{}", hang(&format!("  {:<34}", benign.id), benign.looks_like));
    }
    let _ = writeln!(out, "\n{}", styled(QUIET, "intriage explain CAUSE prints the runbook of one."));
    out.trim_start().to_owned()
}

/// The page of a condition that must not alarm.
pub fn benign_page(benign: &Benign) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", styled(HEAD, benign.id));
    let _ = writeln!(out, "{}\n", styled(QUIET, "looks alarming and is not"));
    let _ = write!(
        out,
        "{}{}",
        hang("Looks like: ", benign.looks_like),
        hang("Explained:  ", benign.explanation)
    );
    if !benign.unless.is_empty() {
        let _ = write!(out, "{}", hang("Unless:     ", &format!("{} holds", benign.unless.join(" or "))));
    }
    if let Some(needs) = benign.needs {
        let _ = write!(out, "{}", hang("Judged:     ", &format!("not yet, it needs {}", lower_first(needs))));
    }
    out
}

/// Every threshold with its default, its reason and its source.
pub fn thresholds_page() -> String {
    let mut out = String::new();
    for limit in Limit::ALL {
        let value = Quantity::new(limit.default_value(), limit.unit());
        let _ = writeln!(
            out,
            "{} = {} {}",
            styled(HEAD, limit.key()),
            limit.default_value(),
            styled(QUIET, format!("({value})"))
        );
        let _ = write!(out, "{}", hang("    ", &format!("{} [{}]", limit.reason(), limit.source())));
    }
    let _ = writeln!(out, "\n{}", styled(QUIET, "Set them under [thresholds] in intriage.toml."));
    out
}

/// The runbook of one cause.
pub fn cause_page(cause: &Cause) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", styled(HEAD, cause.id));
    let _ = writeln!(
        out,
        "{}\n",
        styled(QUIET, format!("class {}, layer {}", cause.class.name(), cause.layer.name()))
    );
    let _ = writeln!(out, "{}", hang("", cause.summary));
    section("What people notice", cause.symptoms.iter().copied(), &mut out);
    section("What confirms it", cause.confirmed_by.iter().copied(), &mut out);
    section("What rules it out", cause.refuted_by.iter().copied(), &mut out);
    let alike: Vec<String> = cause.look_alikes.iter().map(|l| format!("{}: {}", l.cause, l.tell)).collect();
    section("What looks like it", alike.iter().map(String::as_str), &mut out);
    let _ = writeln!(out, "{}", styled(HEAD, format!("The probe that settles it: {}", cause.probe.name)));
    let _ = write!(out, "{}", hang("  ", cause.probe.steps));
    let _ = write!(out, "{}", hang("  if so:  ", cause.probe.if_so));
    let _ = writeln!(out, "{}", hang("  if not: ", cause.probe.if_not));
    let _ = writeln!(out, "{}", styled(HEAD, "What to change"));
    for remedy in cause.remedies {
        let engine = remedy.engine.map_or("any".to_owned(), |e| e.to_string());
        let range = match (remedy.range.since, remedy.range.until) {
            ("", "") => String::new(),
            (since, "") => format!(" {since}+"),
            ("", until) => format!(" up to {until}"),
            (since, until) => format!(" {since} to {until}"),
        };
        let _ = write!(out, "{}", hang("  - ", &format!("{engine}{range}: {}", remedy.change)));
        let _ = write!(out, "{}", styled(QUIET, hang("    cost: ", remedy.cost)));
    }
    let _ = write!(out, "\n{}{}", hang("Expect:  ", cause.effect), hang("Confirm: ", cause.confirm));
    if !cause.explains.is_empty() {
        let _ = write!(out, "{}", hang("Explains: ", &cause.explains.join(", ")));
    }
    out
}

/// Lower case for the middle of a sentence.
fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |c| c.to_lowercase().chain(chars).collect())
}

fn section<'a>(title: &str, lines: impl Iterator<Item = &'a str>, out: &mut String) {
    let _ = writeln!(out, "{}", styled(HEAD, title));
    for line in lines {
        let _ = write!(out, "{}", hang("  - ", line));
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_a_page() {
        for cause in catalogue() {
            let page = cause_page(cause);
            assert!(page.contains(cause.probe.name) && page.contains("What to change"), "{}", cause.id);
            assert!(catalogue_page().contains(cause.id));
        }
    }
}
