//! The judgement of a configuration as SARIF 2.1.0, for code scanning of a repository of manifests.

use std::fmt::Write as _;

use intriage_case::Source;
use intriage_diagnose::{AdviceFinding, ConfigAdvice, advice_rules};
use serde_json::{Value, json};

/// The findings as one SARIF run. `paths` has the path a manifest was given by for each name; another name stands for itself.
pub fn config_sarif(advice: &ConfigAdvice, paths: &[(String, String)]) -> Result<String, serde_json::Error> {
    let rules: Vec<Value> = advice_rules()
        .map(|rule| {
            json!({
                "id": rule.id,
                "shortDescription": { "text": rule.summary },
                "help": { "text": format!("Source: {}", rule.source) },
                "defaultConfiguration": { "level": rule.severity.name() },
            })
        })
        .collect();
    let results: Vec<Value> = advice.findings.iter().map(|finding| result(finding, paths)).collect();
    let notifications: Vec<Value> = advice
        .unread
        .iter()
        .map(|why| json!({ "level": "warning", "message": { "text": format!("not judged: {why}") } }))
        .collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "intriage",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "invocations": [{ "executionSuccessful": true, "toolExecutionNotifications": notifications }],
            "results": results,
        }],
    });
    serde_json::to_string_pretty(&log).map(|text| text + "\n")
}

fn result(finding: &AdviceFinding, paths: &[(String, String)]) -> Value {
    let value = finding.value.as_ref().map_or(String::new(), |value| format!(" {value}"));
    let text = format!("{}{value}: {}. Change: {}.", finding.setting, finding.reason, finding.change);
    let location = match &finding.place {
        Source::Manifest { file, line } => {
            let path = paths.iter().find(|(name, _)| name == file).map_or(file, |(_, path)| path);
            json!({ "physicalLocation": {
                "artifactLocation": { "uri": uri(path) },
                "region": { "startLine": (*line).max(1) },
            } })
        }
        _ => json!({ "logicalLocations": [{ "name": finding.server }] }),
    };
    let index = advice_rules().position(|rule| rule.id == finding.rule);
    json!({
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": finding.severity.name(),
        "message": { "text": text },
        "locations": [location],
    })
}

/// A path as a URI reference: relative ones stay relative to the folder the command ran in.
fn uri(path: &str) -> String {
    let relative = path.strip_prefix("./").unwrap_or(path);
    let mut out = if relative.starts_with('/') { "file://".to_owned() } else { String::new() };
    for byte in relative.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a text cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use intriage_diagnose::Severity;

    use super::*;

    #[test]
    fn a_finding_has_its_rule_its_level_its_file_and_its_line() {
        let finding = |place| AdviceFinding {
            rule: "eager-mode-on".into(),
            severity: Severity::Warning,
            setting: "--enforce-eager".into(),
            value: None,
            place,
            server: "vllm".into(),
            reason: "slow".into(),
            change: "remove it".into(),
            source: "x".into(),
        };
        let in_file = finding(Source::Manifest { file: "a b.yaml".into(), line: 7 });
        let advice = ConfigAdvice {
            findings: vec![in_file, finding(Source::CommandLine)],
            unread: vec!["x.yaml: empty".into()],
            ..ConfigAdvice::default()
        };
        let paths = [("a b.yaml".to_owned(), "./deploy/a b.yaml".to_owned())];
        let log: Value = serde_json::from_str(&config_sarif(&advice, &paths).unwrap()).unwrap();
        assert_eq!(log["version"], "2.1.0");
        let run = &log["runs"][0];
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        assert_eq!(rules.len(), advice_rules().count());
        for result in run["results"].as_array().unwrap() {
            let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(rules[index]["id"], result["ruleId"]);
            assert_eq!(result["level"], "warning");
            assert!(!result["message"]["text"].as_str().unwrap().is_empty());
        }
        let at = &run["results"][0]["locations"][0]["physicalLocation"];
        assert_eq!(at["artifactLocation"]["uri"], "deploy/a%20b.yaml");
        assert_eq!(at["region"]["startLine"], 7);
        assert_eq!(run["results"][1]["locations"][0]["logicalLocations"][0]["name"], "vllm");
        assert_eq!(run["invocations"][0]["toolExecutionNotifications"].as_array().unwrap().len(), 1);
    }
}
