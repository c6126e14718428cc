//! The columns compared: which row agrees, and which does not and how.

use intriage_case::Source;

use super::beside::{replaced, start, variables, version};
use super::table::{ConfigRow, ConfigTable, RowVerdict, Said};
use super::{Asked, Config, Meant, Setting, SettingValue, Stated, in_use};
use crate::dialect::Dialect;
use crate::observed::Observed;

/// Settings whose value asked for and value in force are not written alike: a path and a name, JSON and a repr.
const NOT_COMPARED: [Setting; 2] = [Setting::Model, Setting::Speculation];

/// Numbers that say "as much as fits" or "as the model says".
const LEFT_TO_ENGINE: [Setting; 5] = [
    Setting::ContextWindow,
    Setting::KvCapacity,
    Setting::TokenBudget,
    Setting::MaxSequences,
    Setting::GraphMaxBatch,
];

/// Compares everything known of the configuration.
pub(crate) fn compare(
    dialect: &Dialect,
    observed: &Observed,
    meant: Option<&Meant>,
    defaults: &[(Setting, Said)],
) -> ConfigTable {
    let config = &observed.config;
    let by = [Asked::Manifest, Asked::Flags, Asked::Process, Asked::Log, Asked::Environment];
    let mut rows = Vec::new();
    if let Some(meant) = meant {
        rows.extend(version(observed, meant));
    }
    let mut done = Vec::new();
    for flag in dialect.flags {
        let Some(name) = flag.names.iter().find(|name| name.starts_with("--")).or(flag.names.first()) else {
            continue;
        };
        if done.contains(&flag.setting) || !name.starts_with('-') {
            continue;
        }
        done.push(flag.setting);
        let default = default(config, defaults, flag.setting);
        rows.extend(row(dialect, observed, meant, flag.setting, name, default));
    }
    rows.extend(variables(dialect, observed, meant));
    rows.extend(replaced(observed));
    ConfigTable {
        asked: by.into_iter().any(|by| config.has_asked(by)),
        manifest: meant.map(|m| m.file.clone()),
        start: meant.and_then(|m| start(observed, m)),
        rows,
    }
}

fn default(config: &Config, defaults: &[(Setting, Said)], setting: Setting) -> Option<Said> {
    let listed = defaults.iter().find(|(of, _)| *of == setting).map(|(_, said)| said.clone());
    listed.or_else(|| config.default_of(setting).map(said))
}

fn said(stated: &Stated) -> Said {
    Said { value: stated.value.clone(), from: stated.source.clone() }
}

fn row(
    dialect: &Dialect,
    observed: &Observed,
    meant: Option<&Meant>,
    setting: Setting,
    name: &str,
    default: Option<Said>,
) -> Option<ConfigRow> {
    let config = &observed.config;
    let asked = |by| config.requested(setting, by).map(said);
    let from_manifest = asked(Asked::Manifest);
    // A process that names a flag its manifest lacks was started by something else.
    let process = asked(Asked::Process).or_else(|| asked(Asked::Log));
    let replaced = config.replaced(setting).first().map(said);
    let variable = asked(Asked::Environment);
    let beats = dialect.variables.iter().any(|v| v.setting == setting && v.beats_flag);
    let requested = from_manifest
        .clone()
        .or_else(|| replaced.clone())
        .or_else(|| asked(Asked::Flags))
        .or_else(|| process.clone())
        .or_else(|| variable.clone().filter(|_| !beats));
    let (resolved, shown) = in_force(config, setting);
    let observed_value = shown.or_else(|| in_use::seen(observed, setting));
    if requested.is_none() && resolved.is_none() && observed_value.is_none() && process.is_none() {
        return None;
    }
    let mut row = ConfigRow {
        name: name.to_owned(),
        setting: Some(setting),
        started_with: process.clone().filter(|_| from_manifest.is_some() || meant.is_some()),
        requested,
        resolved,
        observed: observed_value,
        default,
        beaten_by: None,
        verdict: RowVerdict::Default,
        says: String::new(),
    };
    let more_elsewhere = observed.host.iter().flat_map(|host| &host.processes).any(|p| {
        p.command_line.as_deref().is_some_and(|line| line.contains(" --config"))
            && !config.has_asked(Asked::Log)
    });
    let variable = variable.filter(|_| beats);
    let known = Known { process, replaced, variable, meant, more_elsewhere, config };
    (row.verdict, row.says) = judge(setting, &row, &known);
    if row.verdict == RowVerdict::Overridden {
        row.beaten_by = beaten_by(setting, &row, &known);
    }
    Some(row)
}

/// What is known of a row beside its columns.
struct Known<'a> {
    /// What the process itself was started with.
    process: Option<Said>,
    /// What a later word of the same command line replaced.
    replaced: Option<Said>,
    /// A variable that beats the flag.
    variable: Option<Said>,
    meant: Option<&'a Meant>,
    /// Whether the process reads flags from a file, too.
    more_elsewhere: bool,
    config: &'a Config,
}

fn judge(setting: Setting, row: &ConfigRow, known: &Known<'_>) -> (RowVerdict, String) {
    let told = known.config.has_asked(Asked::Process) || known.config.has_asked(Asked::Log);
    let name = &row.name;
    if NOT_COMPARED.contains(&setting) {
        let verdict = if row.requested.is_some() { RowVerdict::Agrees } else { RowVerdict::Default };
        return (verdict, String::new());
    }
    if told && let Some(stale) = stale(setting, row, known) {
        return (RowVerdict::Stale, stale);
    }
    let Some(asked) = row.requested.as_ref().filter(|r| !left_to_engine(setting, &r.value)) else {
        return (RowVerdict::Default, String::new());
    };
    if let Some(replaced) = &known.replaced
        && let Some(last) =
            known.process.as_ref().or(row.started_with.as_ref()).map(|s| &s.value).or_else(|| {
                known
                    .config
                    .requested(setting, Asked::Flags)
                    .or(known.config.requested(setting, Asked::Manifest))
                    .map(|s| &s.value)
            })
        && !same(setting, &replaced.value, last)
    {
        let says = format!(
            "{name} {} is given first and {name} {} behind it: the last one counts",
            setting.shown(&replaced.value),
            setting.shown(last)
        );
        return (RowVerdict::Overridden, says);
    }
    let force = row.resolved.as_ref().or(row.observed.as_ref().filter(|o| contradicts(setting, asked, o)));
    match force {
        Some(force) if same(setting, &asked.value, &force.value) => (RowVerdict::Agrees, String::new()),
        Some(force) => off(setting, row, asked, force, known.variable.as_ref()),
        None if row.observed.is_some() || known.process.is_some() => (RowVerdict::Agrees, String::new()),
        // Nothing of the running process tells.
        None => {
            (RowVerdict::Unknown, format!("nothing of the running server tells whether {name} is in force"))
        }
    }
}

/// What beats the value asked for: the same flag behind it, or a variable.
fn beaten_by(setting: Setting, row: &ConfigRow, known: &Known<'_>) -> Option<String> {
    if known.replaced.is_some() {
        return Some(format!("the second {}", row.name));
    }
    let variable = known.variable.as_ref()?;
    let in_force = row.resolved.as_ref().is_some_and(|force| same(setting, &force.value, &variable.value));
    match &variable.from {
        Source::Environment { name } if in_force => Some(name.clone()),
        _ => None,
    }
}

/// A batch that never grew to its cap does not contradict it, one that stood still below it or grew past it does.
fn contradicts(setting: Setting, asked: &Said, seen: &Said) -> bool {
    match (setting, asked.value.number(), seen.value.number()) {
        // What stands still below the cap may be held by memory: that is for the causes to tell.
        (Setting::MaxSequences, Some(asked), Some(seen)) => seen > asked,
        _ => true,
    }
}

fn off(
    setting: Setting,
    row: &ConfigRow,
    asked: &Said,
    force: &Said,
    variable: Option<&Said>,
) -> (RowVerdict, String) {
    let name = &row.name;
    let (asked, now) = (setting.shown(&asked.value), setting.shown(&force.value));
    if let Some(Said { from: Source::Environment { name: variable }, value }) = variable
        && same(setting, value, &force.value)
    {
        let says = format!("{name} asks for {asked} and {variable} beats it: {now} is in force");
        return (RowVerdict::Overridden, says);
    }
    if force.value.switch() == Some(false) {
        return (RowVerdict::AutoDisabled, format!("{name} was asked for and is off"));
    }
    if row.default.as_ref().is_some_and(|d| same(setting, &d.value, &force.value)) {
        let says = format!("{name} asks for {asked} and had no effect: the default {now} is in force");
        return (RowVerdict::Dropped, says);
    }
    (RowVerdict::Overridden, format!("{name} asks for {asked}, and {now} is in force"))
}

/// What was meant and what the process was started with differ.
fn stale(setting: Setting, row: &ConfigRow, known: &Known<'_>) -> Option<String> {
    let name = &row.name;
    let meant = row.requested.as_ref().and_then(|asked| match &asked.from {
        Source::Manifest { file, .. } => Some((asked, file.as_str())),
        Source::CommandLine => Some((asked, "the command line given")),
        _ => None,
    });
    let value = |said: &Said| setting.shown(&said.value);
    match (meant, known.process.as_ref()) {
        (Some((asked, file)), Some(process)) if !same(setting, &asked.value, &process.value) => {
            Some(format!(
                "{file} has {name} {} and the running process was started with {}",
                value(asked),
                value(process)
            ))
        }
        (Some((asked, file)), None) if !known.more_elsewhere && is_missing(setting, row, asked, known) => {
            let value = value(asked);
            Some(format!("{file} has {name} {value} and the running process was started without it"))
        }
        (None, Some(process)) => {
            let meant = known.meant.filter(|m| m.is_whole() && known.config.has_asked(Asked::Manifest))?;
            let (file, value) = (&meant.file, value(process));
            Some(format!("the running process was started with {name} {value}, which {file} does not have"))
        }
        _ => None,
    }
}

/// Whether a flag that the process does not name is missing: the same value may be in force anyway, and a log names
/// only what is not the default.
fn is_missing(setting: Setting, row: &ConfigRow, asked: &Said, known: &Known<'_>) -> bool {
    if row.resolved.as_ref().is_some_and(|r| same(setting, &r.value, &asked.value)) {
        return false;
    }
    let by_log_alone = !known.config.has_asked(Asked::Process);
    !by_log_alone || row.default.as_ref().is_some_and(|d| !same(setting, &d.value, &asked.value))
}

/// What the engine says it made of it, and what its API tells clients.
fn in_force(config: &Config, setting: Setting) -> (Option<Said>, Option<Said>) {
    let is_api = |s: &&Stated| matches!(&s.source, Source::Endpoint { path } if path == "/v1/models");
    let resolved = config.resolved(setting).find(|s| !is_api(s)).map(said);
    (resolved, config.resolved(setting).find(is_api).map(said))
}

fn left_to_engine(setting: Setting, value: &SettingValue) -> bool {
    match value {
        SettingValue::Number(number) => *number <= 0.0 && LEFT_TO_ENGINE.contains(&setting),
        SettingValue::Text(text) => text == "auto",
        SettingValue::Switch(_) => false,
    }
}

/// Whether two values mean the same: engines round bytes in their logs and complete names (`fp8` is `fp8_e4m3`).
fn same(setting: Setting, a: &SettingValue, b: &SettingValue) -> bool {
    match (a, b) {
        (SettingValue::Number(a), SettingValue::Number(b)) => {
            let share = if setting == Setting::KvBytes { 0.01 } else { 1e-6 };
            (a - b).abs() <= share * a.abs().max(b.abs())
        }
        (SettingValue::Text(a), SettingValue::Text(b)) => {
            let (a, b) = (a.to_ascii_lowercase(), b.to_ascii_lowercase());
            a.starts_with(&b) || b.starts_with(&a)
        }
        (a, b) => a == b,
    }
}
