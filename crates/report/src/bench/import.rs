//! What another tool's result file says itself.

use intriage_record::definitions::Tool;
use intriage_record::import::ImportedRun;

use super::add;
use crate::style::{HEAD, styled};

/// The figures as that tool printed them.
pub fn import_text(tool: Tool, run: &ImportedRun) -> String {
    let mut out = format!("{}\n", styled(HEAD, format!("As {} printed it", tool.title())));
    for printed in &run.said {
        add(
            &mut out,
            &format!(
                "  {:<40}{:<10}{:>16.4} {}\n",
                printed.figure, printed.statistic, printed.value, printed.unit
            ),
        );
    }
    out.push('\n');
    out
}
