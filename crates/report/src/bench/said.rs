//! What another tool would have said of the same requests, and why it differs.

use intriage_case::Seconds;
use intriage_record::definitions::Said;

use super::add;
use crate::style::{HEAD, QUIET, styled};
use crate::wrap::hang_within;

/// A table of that tool's figures beside ours, with the reasons below.
pub(super) fn said_text(said: &Said, width: usize) -> String {
    let mut out = String::new();
    let title = format!("By the definitions of {} {}", said.tool.title(), said.version);
    add(&mut out, &format!("\n{}\n", styled(HEAD, title)));
    let head = format!(
        "  {:<32}{:>10}{:>10}{:>10}   {:>10}{:>10}{:>10}",
        "", "mean", "p50", "p99", "ours mean", "p50", "p99"
    );
    add(&mut out, &format!("{}\n", styled(QUIET, head)));
    let cell = |time: Option<Seconds>| time.map_or_else(|| "–".to_owned(), |t| t.to_string());
    for figure in &said.figures {
        let (theirs, ours) = (&figure.theirs, &figure.ours);
        add(
            &mut out,
            &format!(
                "  {:<32}{:>10}{:>10}{:>10}   {:>10}{:>10}{:>10}\n",
                figure.name,
                cell(theirs.mean),
                cell(theirs.p50),
                cell(theirs.p99),
                cell(ours.mean),
                cell(ours.p50),
                cell(ours.p99)
            ),
        );
    }
    for total in &said.totals {
        let cell =
            |value: Option<intriage_case::Quantity>| value.map_or_else(|| "–".to_owned(), |v| v.to_string());
        add(
            &mut out,
            &format!("  {:<32}{:>30}   ours {}\n", total.name, cell(total.theirs), cell(total.ours)),
        );
    }
    let figures = said.figures.iter().map(|f| (&f.name, &f.definition, &f.differs, f.estimated.as_ref()));
    let totals = said.totals.iter().map(|t| (&t.name, &t.definition, &t.differs, None));
    for (name, definition, differs, estimated) in figures.chain(totals) {
        if let Some(why) = differs {
            out.push_str(&hang_within(width, "    ", &format!("{name} is {definition}; {why}")));
        }
        if let Some(estimated) = estimated {
            out.push_str(&hang_within(width, "    ", &format!("{name}: {estimated}")));
        }
    }
    out
}
