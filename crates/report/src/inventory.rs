//! What a case holds: each collector, what it brought, what it skipped and why.

use intriage_case::{Case, Gathered};

use crate::style::{BAD, GOOD, HEAD, UNSURE, styled};
use crate::wrap::{WIDTH, hang_within};

/// The inventory of a case as text with ANSI styles.
pub fn inventory_text(case: &Case) -> String {
    let mut out = styled(HEAD, &case.target.name) + "\n";
    let widest = case.collected.iter().map(|c| c.what.chars().count()).max().unwrap_or(0);
    for part in &case.collected {
        let (style, word, why) = match &part.outcome {
            Gathered::Whole => (GOOD, "whole", ""),
            Gathered::Partly { why } => (UNSURE, "partly", why.as_str()),
            Gathered::Skipped { why } => (BAD, "skipped", why.as_str()),
        };
        let colon = if why.is_empty() { "" } else { ": " };
        let allowed = part.budget.map_or(String::new(), |b| format!(" (of {} and {})", b.size, b.time));
        let says = format!("{} in {}{allowed}{colon}{why}", part.size, part.took);
        let name = format!("  {word:<8} {:<widest$}  ", part.what);
        // Styles have no width: the line is laid out without them.
        out.push_str(&hang_within(WIDTH, &name, &says).replacen(word, &styled(style, word), 1));
    }
    for note in &case.notes {
        out.push_str(&hang_within(WIDTH, "  note: ", note));
    }
    out
}

#[cfg(test)]
mod tests {
    use intriage_case::{Budget, Bytes, Collected, Seconds, Target};

    use super::*;

    #[test]
    fn what_is_missing_is_said_with_its_reason() {
        let part = |what: &str, outcome, size| Collected {
            what: what.into(),
            outcome,
            took: Seconds(10.02),
            size: Bytes(size),
            budget: Some(Budget { time: Seconds(13.0), size: Bytes(67e6) }),
        };
        let case = Case {
            target: Target { name: "http://127.0.0.1:8000".into() },
            collected: vec![
                part("metrics", Gathered::Whole, 540_000.0),
                part("host", Gathered::Partly { why: "3 files may not be read".into() }, 90_000.0),
                part("gpu", Gathered::Skipped { why: "no NVIDIA driver library here".into() }, 0.0),
            ],
            notes: vec!["the user stopped the window early".into()],
            ..Case::default()
        };
        insta::assert_snapshot!(anstream::adapter::strip_str(&inventory_text(&case)).to_string());
    }
}
