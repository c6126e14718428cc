//! Whether the installed engine knows the model's architecture, or needs the model's own code for it.

use serde_json::Value;

use super::Said;
use super::facts::Facts;

pub(super) fn judge(facts: &Facts<'_>) -> Vec<Said> {
    let (Some(package), Some(config)) = (facts.package(), &facts.config) else { return Vec::new() };
    // Another form of the configuration is read by other code.
    if facts.line.value(&["--config-format"]).is_some() || facts.line.value(&["--hf-overrides"]).is_some() {
        return vec![Said::Unknown("the configuration is read in another way than usual".into())];
    }
    let engine = format!("{} {}", facts.engine(), package.version);
    let beside = package.transformers.as_ref().map_or(String::new(), |v| format!(" with Transformers {v}"));
    let kind = config.get("model_type").and_then(Value::as_str);
    let architecture = config.get("architectures").and_then(|list| list.get(0)).and_then(Value::as_str);
    let own_code = config.get("auto_map").is_some_and(Value::is_object);
    let trusted = facts.line.flag(&["--trust-remote-code"]).is_some();
    let unknown =
        |word: Option<&str>| word.filter(|word| package.knows.get(*word) == Some(&false)).map(str::to_owned);
    let strange = unknown(kind).map(|kind| format!("model type {kind}"));
    let strange = strange.or_else(|| unknown(architecture).map(|name| format!("architecture {name}")));
    let Some(strange) = strange else {
        let asked = kind.into_iter().chain(architecture).filter(|word| package.knows.contains_key(*word));
        let asked: Vec<&str> = asked.collect();
        return if asked.is_empty() {
            vec![Said::Unknown("the lists of the installed package could not be read".into())]
        } else {
            vec![Said::Fine(format!("{engine}{beside} knows {}", asked.join(" and ")))]
        };
    };
    if own_code && !trusted {
        return vec![Said::Wrong(
            "bad-launch-argument",
            format!("{strange} is not one of {engine}{beside}, and the model's own code for it may not run"),
            "--trust-remote-code, after reading the code of the model".into(),
        )];
    }
    if own_code || package.plugins {
        let by = if own_code { "the model's own code" } else { "a plug-in" };
        return vec![Said::Unknown(format!("{strange} is not one of {engine}{beside}; {by} may bring it"))];
    }
    vec![Said::Wrong(
        "model-architecture-unknown",
        format!("{strange} is not one that {engine}{beside} knows"),
        format!("a newer {}, or newer Transformers, that knows it; or another model", facts.engine()),
    )]
}
