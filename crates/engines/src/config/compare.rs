//! The columns compared: one row a setting.

use intriage_case::Source;

use super::asked::Heard;
use super::beside::{replaced, start, variables, version};
use super::meant::Meant;
use super::plain::{plain, tidy};
use super::table::{ConfigRow, ConfigTable, RowVerdict, Said};
use super::verdict::{Known, beaten_by, judge};
use super::{Asked, Config, Setting, Stated, in_use};
use crate::dialect::{Dialect, Flag, FlagValue};
use crate::observed::Observed;

/// Compares everything known of the configuration.
pub(crate) fn compare(
    dialect: &Dialect,
    observed: &Observed,
    heard: &Heard,
    defaults: &[(Setting, Said)],
) -> ConfigTable {
    let (config, meant) = (&observed.config, heard.meant.as_ref());
    let by = [Asked::Manifest, Asked::Flags, Asked::Process, Asked::Log, Asked::Environment];
    let mut rows = Vec::new();
    if let Some(meant) = meant {
        rows.extend(version(observed, meant));
    }
    let mut done = Vec::new();
    for flag in dialect.flags {
        if done.contains(&flag.setting) {
            continue;
        }
        // A setting that one flag switches on and another off is told by the one that switches it on.
        let on = |f: &&Flag| f.setting == flag.setting && f.value == FlagValue::Switch(true);
        let flag = dialect.flags.iter().find(on).unwrap_or(flag);
        let Some(name) = flag.names.iter().find(|name| name.starts_with("--")).or(flag.names.first()) else {
            continue;
        };
        if !name.starts_with('-') {
            continue;
        }
        done.push(flag.setting);
        let default = default(config, defaults, flag.setting);
        rows.extend(row(dialect, observed, heard, (flag, name), default));
    }
    let (others, mut not_compared) =
        meant.map(|meant| plain(dialect, meant, heard.process.as_ref())).unwrap_or_default();
    rows.extend(others);
    not_compared.extend_from_slice(&heard.not_compared);
    // A variable that is stale is told once: with what it sets, where that is known.
    let told: Vec<&str> = dialect
        .variables
        .iter()
        .filter(|v| {
            rows.iter().any(|row: &ConfigRow| row.setting == Some(v.setting) && is_stale_by(row, v.name))
        })
        .map(|v| v.name)
        .collect();
    let mut variables = variables(dialect, observed, meant);
    variables.retain(|row| !told.contains(&row.name.as_str()));
    rows.extend(variables);
    rows.extend(replaced(observed));
    ConfigTable {
        asked: by.into_iter().any(|by| config.has_asked(by)) || meant.is_some(),
        manifest: meant.map(|m| m.file().to_owned()),
        overrides: meant.map(Meant::overrides).unwrap_or_default(),
        left_out: heard.left_out.clone(),
        not_compared: tidy(not_compared),
        start: meant.and_then(|m| start(observed, m)),
        rows,
    }
}

fn is_stale_by(row: &ConfigRow, variable: &str) -> bool {
    let by = row.started_with.as_ref().map(|said| &said.from);
    row.verdict == RowVerdict::Stale && matches!(by, Some(Source::Environment { name }) if name == variable)
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
    heard: &Heard,
    (flag, name): (&Flag, &str),
    default: Option<Said>,
) -> Option<ConfigRow> {
    let (config, setting) = (&observed.config, flag.setting);
    // The row is the flag's: one that switches its setting off is on where the setting is off.
    let opposite = flag.value == FlagValue::Switch(false);
    let turned = |said: Said| if opposite { said.turned() } else { said };
    let said = |stated: &Stated| turned(said(stated));
    let asked = |by| config.requested(setting, by).map(said);
    let flag = asked(Asked::Manifest).or_else(|| asked(Asked::Flags));
    let process = asked(Asked::Process).or_else(|| asked(Asked::Log));
    let variable = asked(Asked::Environment);
    let beats = dialect.variables.iter().any(|v| v.setting == setting && v.beats_flag);
    // Of what was given twice on the command line that counts, the first is what somebody believes.
    let replaced = config.replaced(setting).iter().find(|s| match s.asked {
        Some(Asked::Manifest) => config.requested(setting, Asked::Manifest).is_some(),
        Some(Asked::Flags) => config.requested(setting, Asked::Manifest).is_none(),
        _ => true,
    });
    let by_hand = replaced.filter(|s| s.asked == Some(Asked::Flags)).map(said);
    let (resolved, in_api) = in_force(config, setting);
    let mut row = ConfigRow {
        setting: Some(setting),
        requested: by_hand.or_else(|| flag.clone()).or_else(|| asked(Asked::ManifestVariable)),
        started_with: process.clone().or_else(|| variable.clone()),
        opposite,
        resolved: resolved.map(turned),
        observed: in_api.or_else(|| in_use::seen(observed, setting)).map(turned),
        default: default.map(turned),
        replaced: replaced.map(said),
        ..ConfigRow::named(name)
    };
    let columns = [&row.requested, &row.started_with, &row.resolved, &row.observed];
    if columns.into_iter().all(Option::is_none) {
        return None;
    }
    let more_elsewhere = observed.host.iter().flat_map(|host| &host.processes).any(|p| {
        p.command_line.as_deref().is_some_and(|line| line.contains(" --config"))
            && !config.has_asked(Asked::Log)
    });
    let meant = heard.meant.as_ref();
    let variables = (asked(Asked::ManifestVariable), variable);
    let shown = heard.process.as_ref().is_some_and(|process| process.is_engine(dialect.engine));
    let known = Known { flag, process, variables, beats, meant, shown, more_elsewhere, observed };
    (row.verdict, row.says) = judge(setting, &row, &known);
    if row.verdict == RowVerdict::Overridden {
        row.beaten_by = beaten_by(setting, &row, &known);
    }
    Some(row)
}

/// What the engine says it made of it, and what its API tells clients.
fn in_force(config: &Config, setting: Setting) -> (Option<Said>, Option<Said>) {
    let is_api = |s: &&Stated| matches!(&s.source, Source::Endpoint { path } if path == "/v1/models");
    let resolved = config.resolved(setting).find(|s| !is_api(s)).map(said);
    (resolved, config.resolved(setting).find(is_api).map(said))
}
