//! Flags the engine does not have, and values they do not take.

use intriage_engines::{FlagMatch, KnownFlags, Takes, known_flags};

use super::Said;
use super::facts::Facts;

pub(crate) fn judge(facts: &Facts<'_>) -> Vec<Said> {
    let engine = facts.engine();
    let Some(table) = known_flags(facts.line.engine) else {
        return vec![Said::Unknown(format!("there is no table of the flags of {engine}"))];
    };
    let installed = facts.package().map(|package| package.version.as_str());
    if installed.is_none_or(|version| !same_release(version, table.version)) {
        let other = installed
            .map_or("which release is installed cannot be told".into(), |v| format!("{v} is installed"));
        let strange: Vec<&str> = unknown(facts).map(|(written, _)| written).collect();
        let noted = if strange.is_empty() {
            String::new()
        } else {
            format!("; {} is not a flag of {}", strange.join(", "), table.version)
        };
        return vec![Said::Unknown(format!(
            "the table of flags is that of {engine} {}, and {other}{noted}",
            table.version
        ))];
    }
    let mut said: Vec<Said> =
        unknown(facts).map(|(written, name)| is_unknown(table, engine, written, name)).collect();
    for flag in &facts.line.flags {
        match &flag.known {
            FlagMatch::Ambiguous(several) => said.push(wrong(
                format!("{} could be {}", flag.written, several.join(" or ")),
                format!("write the flag out: {}", several.join(" or ")),
            )),
            FlagMatch::Known(known) if known.takes != Takes::Nothing && !flag.name.contains('.') => {
                if flag.values.is_empty() && !known.many && !flag.name.starts_with("-O") {
                    said.push(wrong(
                        format!("{} has no value", flag.written),
                        format!("give {} a value", flag.written),
                    ));
                }
                let refused = flag.values.iter().filter(|value| known.accepts(value) == Some(false));
                said.extend(
                    refused.map(|value| is_refused(&flag.written, value, known.takes, &known.choices)),
                );
            }
            _ => {}
        }
    }
    if said.is_empty() {
        said.push(Said::Fine(format!(
            "{} flags, all of them of {engine} {}",
            facts.line.flags.len(),
            table.version
        )));
    }
    said
}

/// Flags the table does not have: as written, and with dashes.
pub(crate) fn unknown<'a>(facts: &'a Facts<'_>) -> impl Iterator<Item = (&'a str, &'a str)> {
    let unknown = facts.line.flags.iter().filter(|flag| flag.known == FlagMatch::Unknown);
    unknown.map(|flag| (flag.written.as_str(), flag.name.as_str()))
}

fn is_unknown(table: &KnownFlags, engine: &str, written: &str, name: &str) -> Said {
    let change = match table.nearest(name) {
        Some(near) => format!("write {near}, if that is meant, or remove {written}"),
        None => format!("remove {written}"),
    };
    wrong(format!("{written} is not a flag of {engine} {}", table.version), change)
}

fn is_refused(flag: &str, value: &str, takes: Takes, choices: &[&str]) -> Said {
    let wanted = match takes {
        Takes::Whole => "a whole number".to_owned(),
        Takes::Number => "a number".to_owned(),
        Takes::Size => "a number, or one such as 16k".to_owned(),
        _ => format!("one of {}", choices.join(", ")),
    };
    wrong(format!("{flag} takes {wanted}, not {value:?}"), format!("give {flag} {wanted}"))
}

fn wrong(says: String, change: String) -> Said {
    Said::Wrong("bad-launch-argument", says, change)
}

/// Flags come and go with minor releases.
pub(crate) fn same_release(a: &str, b: &str) -> bool {
    let minor = |version: &str| version.split('.').take(2).map(str::to_owned).collect::<Vec<_>>();
    minor(a) == minor(b)
}
