//! What would stop a start, for people and for machines.

use std::fmt::Write as _;

use intriage_diagnose::{Preflight, PreflightVerdict};

use crate::style::{BAD, GOOD, HEAD, UNSURE, styled};
use crate::wrap::{WIDTH, hang_within};

/// The answer as text with ANSI styles, in a page of at most `columns` (100 where nothing is known).
pub fn preflight_text(answer: &Preflight, columns: Option<usize>) -> String {
    let width = columns.unwrap_or(WIDTH).clamp(60, WIDTH);
    let style = match answer.verdict {
        PreflightVerdict::Pass => GOOD,
        PreflightVerdict::WouldFail => BAD,
        PreflightVerdict::CannotTell => UNSURE,
    };
    let mut out = styled(style, hang_within(width, "", &answer.answer).trim_end());
    out.push('\n');
    for finding in &answer.findings {
        out.push('\n');
        let _ = writeln!(out, "  {}", styled(HEAD, &finding.cause));
        out.push_str(&hang_within(width, "    ", &finding.says));
        out.push_str(&hang_within(width, "    → ", &finding.change));
    }
    for (title, checks) in [("Checked", &answer.checked), ("Not checked", &answer.unchecked)] {
        if !checks.is_empty() {
            out.push('\n');
            let _ = writeln!(out, "  {}", styled(HEAD, title));
        }
        for check in checks {
            out.push_str(&hang_within(width, &format!("    {:<14}", check.check), &check.says));
        }
    }
    out
}

/// The answer as JSON, one value, a newline at the end.
pub fn preflight_json(answer: &Preflight) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(answer)?;
    text.push('\n');
    Ok(text)
}

/// The JSON Schema of the answer, generated from its types.
pub fn preflight_schema() -> Result<String, serde_json::Error> {
    let mut schema = schemars::schema_for!(Preflight);
    schema.insert("$id".into(), "https://intriage.dev/schemas/preflight-1.schema.json".into());
    let mut text = serde_json::to_string_pretty(&schema)?;
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use intriage_case::surroundings::Surroundings;
    use intriage_diagnose::preflight;

    use super::*;

    #[test]
    fn the_page_has_the_answer_first_then_what_to_change() {
        let words = ["vllm", "serve", "/no/such", "--port", "1"].map(str::to_owned);
        let around =
            Surroundings { port: Some((1, true)), program: Some("/x".into()), ..Surroundings::default() };
        let text =
            anstream::adapter::strip_str(&preflight_text(&preflight(&words, &around), None)).to_string();
        assert!(text.starts_with("vLLM would not start: somebody listens on port 1"), "{text}");
        assert!(
            text.contains("\n  port-in-use\n") && text.contains("→ ") && text.contains("Not checked"),
            "{text}"
        );
    }

    #[test]
    fn the_published_schema_is_the_one_the_types_have() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/preflight-1.schema.json");
        let generated = preflight_schema().unwrap();
        if std::env::var_os("INTRIAGE_BLESS").is_some() {
            std::fs::write(path, &generated).unwrap();
        }
        let published = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            published == generated,
            "schemas/preflight-1.schema.json is stale: run with INTRIAGE_BLESS=1"
        );
    }
}
