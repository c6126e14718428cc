//! The judgement of a configuration as text: findings first, then what could not be judged.

use intriage_case::Source;
use intriage_diagnose::{AdviceFinding, ConfigAdvice, Severity, advice_rules};

use crate::style::{BAD, GOOD, QUIET, UNSURE, styled};
use crate::wrap::hang_within;

/// Columns of the severity at the left.
const MARGIN: usize = 9;

/// The findings, one paragraph each; empty where there are none.
pub(crate) fn findings(advice: &ConfigAdvice, width: usize) -> String {
    advice.findings.iter().map(|finding| one(finding, width)).collect()
}

fn one(finding: &AdviceFinding, width: usize) -> String {
    let style = match finding.severity {
        Severity::Error => BAD,
        Severity::Warning => UNSURE,
        Severity::Note => QUIET,
    };
    let value = finding.value.as_ref().map_or(String::new(), |value| {
        let join = if finding.setting.starts_with('-') { " " } else { "=" };
        format!("{join}{value}")
    });
    let at = match &finding.place {
        Source::Manifest { file, line } => format!("{file} line {line}"),
        _ => "the command line given".to_owned(),
    };
    let head = format!("{}{value} ({at}): {}.", finding.setting, finding.reason);
    let told = hang_within(width, &" ".repeat(MARGIN), &head);
    // The style has no width: it is put over the margin of the first line.
    let name = format!("{:<MARGIN$}", finding.severity.name());
    let mut out = format!("{}{}", styled(style, name), told.get(MARGIN..).unwrap_or_default());
    let change = format!("{:MARGIN$}change: ", "");
    out.push_str(&hang_within(width, &change, &finding.change));
    let rule = format!("{:MARGIN$}{}\n", "", finding.rule);
    out.push_str(&styled(QUIET, rule));
    out
}

/// The answer in one sentence, and what could not be judged.
pub(crate) fn answer(advice: &ConfigAdvice, width: usize) -> String {
    let count = |severity| advice.findings.iter().filter(|f| f.severity == severity).count();
    let named =
        [Severity::Error, Severity::Warning, Severity::Note].map(|severity| (count(severity), severity));
    let parts: Vec<String> = named
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, of)| format!("{count} {}{}", of.name(), if *count == 1 { "" } else { "s" }))
        .collect();
    let (style, says) = match (advice.judged.len(), parts.is_empty()) {
        (0, _) => (UNSURE, "Cannot tell: nothing given starts a server that can be judged.".to_owned()),
        (servers, true) => {
            let of = if servers == 1 { "1 server".to_owned() } else { format!("{servers} servers") };
            (GOOD, format!("No mistake found in {of} by {} rules.", advice_rules().count()))
        }
        _ => (if advice.is_wrong() { BAD } else { GOOD }, format!("{}.", parts.join(", "))),
    };
    let mut out = format!("{}\n", styled(style, hang_within(width, "", &says).trim_end()));
    for why in &advice.unread {
        out.push_str(&hang_within(width, "not judged: ", why));
    }
    for missing in &advice.missing {
        out.push_str(&styled(QUIET, hang_within(width, "not known: ", missing)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(rule: &str, severity: Severity, setting: &str, value: Option<&str>) -> AdviceFinding {
        AdviceFinding {
            rule: rule.into(),
            severity,
            setting: setting.into(),
            value: value.map(str::to_owned),
            place: Source::Manifest { file: "vllm.service".into(), line: 4 },
            server: "vllm.service".into(),
            reason: "32 attention heads cannot be divided by a tensor parallel size of 3".into(),
            change: "a tensor parallel size of 1, 2, 4, 8, 16, 32".into(),
            source: "somewhere".into(),
        }
    }

    #[test]
    fn findings_are_told_at_eighty_columns() {
        let advice = ConfigAdvice {
            findings: vec![
                finding("tensor-parallel-does-not-fit", Severity::Error, "--tensor-parallel-size", Some("3")),
                finding("profiling-left-on", Severity::Warning, "CUDA_LAUNCH_BLOCKING", Some("1")),
                finding("prefix-caching-off", Severity::Note, "--no-enable-prefix-caching", None),
            ],
            judged: vec!["vllm.service".into()],
            unread: vec!["x.yaml: it starts no engine that is known".into()],
            missing: vec!["the GPU is not known: give --gpu, such as --gpu h100".into()],
        };
        let text = findings(&advice, 80) + &answer(&advice, 80);
        let text = anstream::adapter::strip_str(&text).to_string();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn nothing_to_judge_is_not_fine() {
        let told = |advice: &ConfigAdvice| anstream::adapter::strip_str(&answer(advice, 80)).to_string();
        assert!(told(&ConfigAdvice::default()).starts_with("Cannot tell"));
        let judged = ConfigAdvice { judged: vec!["a".into()], ..ConfigAdvice::default() };
        assert!(told(&judged).starts_with("No mistake found in 1 server"));
    }
}
