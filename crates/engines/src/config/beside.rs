//! What is compared beside flags: the release, the environment, the times of start and change.

use intriage_case::{Millis, Signal, Source};

use super::SettingValue;
use super::meant::Meant;
use super::table::{ConfigRow, RowVerdict, Said, Start};
use crate::Meaning;
use crate::dialect::Dialect;
use crate::observed::Observed;
use crate::version::Version;

/// The release the manifest's image names and the one that runs.
pub(super) fn version(observed: &Observed, meant: &Meant) -> Option<ConfigRow> {
    let (asked, runs) = (meant.version.as_ref()?, observed.identity.version.as_ref()?);
    let line = meant.launch.line;
    let differs = asked.cmp(runs).is_ne();
    let value = |version: &Version| SettingValue::Text(version.to_string());
    let file = meant.file().to_owned();
    Some(ConfigRow {
        requested: Some(Said { value: value(asked), from: Source::Manifest { file: file.clone(), line } }),
        resolved: observed.identity.version_from.clone().map(|from| Said { value: value(runs), from }),
        verdict: if differs { RowVerdict::Stale } else { RowVerdict::Agrees },
        says: if differs { format!("{file} names release {asked} and {runs} runs") } else { String::new() },
        ..ConfigRow::named("version")
    })
}

/// Variables no release of today reads, and those the manifest sets otherwise than the process has them.
pub(super) fn variables(dialect: &Dialect, observed: &Observed, meant: Option<&Meant>) -> Vec<ConfigRow> {
    let process = observed.host.as_ref().map(|host| {
        let all =
            host.processes.iter().filter(|p| p.serving.is_some_and(|s| s.engine == Some(dialect.engine)));
        all.flat_map(|p| &p.environment).map(|(n, v)| (n.as_str(), v.as_str())).collect::<Vec<_>>()
    });
    let release = observed.identity.version.as_ref();
    let of_manifest = meant.map_or(&[][..], |m| m.launch.environment.as_slice());
    let ours = |name: &str| dialect.variable_prefixes.iter().any(|p| name.starts_with(p));
    let mut names: Vec<&str> = of_manifest.iter().map(|v| v.name.as_str()).collect();
    names.extend(process.iter().flatten().map(|(name, _)| *name));
    let unknown = unknown_variable(observed);
    names.extend(unknown);
    names.retain(|name| ours(name));
    names.sort_unstable();
    names.dedup();
    let mut rows = Vec::new();
    for name in names {
        let meant_value = of_manifest.iter().rev().find(|v| v.name == name);
        let has = process.as_ref().and_then(|all| all.iter().find(|(n, _)| *n == name)).map(|(_, v)| *v);
        let text = |value: &str| SettingValue::Text(value.to_owned());
        let from_manifest =
            meant.zip(meant_value).map(|(meant, v)| Said { value: text(&v.value), from: meant.source(v.at) });
        let of_process =
            has.map(|value| Said { value: text(value), from: Source::Environment { name: name.to_owned() } });
        let unknown = unknown == Some(name);
        let gone = dialect.variables_gone.iter().find(|row| {
            row.name == name && release.zip(Version::parse(row.gone_in)).is_some_and(|(r, gone)| *r >= gone)
        });
        let (verdict, says) = if let Some(gone) = gone {
            let instead = if gone.instead.is_empty() {
                String::new()
            } else {
                format!("; {} does its work", gone.instead)
            };
            let says = format!("{} reads {name} no longer, from {} on{instead}", dialect.name, gone.gone_in);
            (RowVerdict::Dropped, says)
        } else if unknown {
            (RowVerdict::Dropped, format!("{} knows no variable {name}: its log says so", dialect.name))
        } else {
            match (meant_value, has, process.is_some()) {
                (Some(asked), Some(has), _) if asked.value != has => {
                    (RowVerdict::Stale, format!("the manifest and the running process have {name} otherwise"))
                }
                (Some(_), None, true) => {
                    (RowVerdict::Stale, format!("the running process was started without {name}"))
                }
                (Some(_), None, false) => (
                    RowVerdict::Unknown,
                    format!("nothing shows the server's environment, so {name} cannot be compared"),
                ),
                (Some(_), Some(_), _) => (RowVerdict::Agrees, String::new()),
                (None, _, _) => (RowVerdict::Default, String::new()),
            }
        };
        rows.push(ConfigRow {
            started_with: of_process,
            requested: from_manifest,
            verdict,
            says,
            ..ConfigRow::named(name)
        });
    }
    rows
}

/// What the log says the engine did with a flag on its own: refused it, or put another value in its place.
pub(super) fn replaced(observed: &Observed) -> Vec<ConfigRow> {
    let told = observed.log.events.iter().filter(|event| event.meaning == Meaning::FlagOverridden);
    told.map(|event| {
        let flag = event.excerpt.split_whitespace().find(|word| word.starts_with("--"));
        ConfigRow {
            resolved: Some(Said { value: SettingValue::Text(event.excerpt.clone()), from: event.source() }),
            verdict: RowVerdict::Overridden,
            says: format!("the log says: {}", event.excerpt),
            ..ConfigRow::named(flag.unwrap_or("start-up log"))
        }
    })
    .collect()
}

/// The first variable the log calls unknown.
fn unknown_variable(observed: &Observed) -> Option<&str> {
    let event = observed.log.first(Meaning::VariableUnknown)?;
    event.excerpt.rsplit(' ').next().filter(|name| !name.is_empty())
}

/// When the server started, by its own clock, and when the manifest was changed.
pub(super) fn start(observed: &Observed, meant: &Meant) -> Option<Start> {
    let seconds = observed.series(Signal::ProcessStart, None, None)?.last().filter(|s| *s > 0.0)?;
    Some(Start { server: Millis((seconds * 1000.0) as u64), manifest: meant.changed? })
}
