//! The verdict on a row: which columns tell the same, and which do not and how.

use intriage_case::Source;

use super::meant::Meant;
use super::table::{ConfigRow, RowVerdict, Said};
use super::{Asked, Setting, SettingValue, in_use};
use crate::observed::Observed;

/// Numbers that say "as much as fits" or "as the model says".
const LEFT_TO_ENGINE: [Setting; 5] = [
    Setting::ContextWindow,
    Setting::KvCapacity,
    Setting::TokenBudget,
    Setting::MaxSequences,
    Setting::GraphMaxBatch,
];

/// What is known of a row beside its columns.
pub(super) struct Known<'a> {
    /// The flag that a manifest or the user asks for.
    pub(super) flag: Option<Said>,
    /// The flag that the process itself was started with.
    pub(super) process: Option<Said>,
    /// The variable that a manifest asks for, and that of the process.
    pub(super) variables: (Option<Said>, Option<Said>),
    /// Whether the variable beats the flag.
    pub(super) beats: bool,
    pub(super) meant: Option<&'a Meant>,
    /// Whether the process shows its own command line, be it without flags.
    pub(super) shown: bool,
    /// Whether the process reads flags from a file, too.
    pub(super) more_elsewhere: bool,
    pub(super) observed: &'a Observed,
}

impl Known<'_> {
    fn has(&self, by: Asked) -> bool {
        self.observed.config.has_asked(by)
    }

    /// The process's variable, where it beats the flag.
    fn beating(&self) -> Option<&Said> {
        self.variables.1.as_ref().filter(|_| self.beats)
    }

    /// The value that counts of a flag given more than once.
    fn last(&self, setting: Setting, row: &ConfigRow) -> Option<SettingValue> {
        let config = &self.observed.config;
        let given = |by| config.requested(setting, by).map(|s| s.value.clone());
        let started = row.started_with.as_ref().map(|s| s.value.clone());
        started.or_else(|| given(Asked::Manifest)).or_else(|| given(Asked::Flags))
    }
}

/// A row agrees where two columns of different kind tell the same; one column alone tells nothing.
pub(super) fn judge(setting: Setting, row: &ConfigRow, known: &Known<'_>) -> (RowVerdict, String) {
    let told = known.shown || known.has(Asked::Process) || known.has(Asked::Log);
    if told && let Some(stale) = stale(setting, row, known) {
        return (RowVerdict::Stale, stale);
    }
    if let Some(stale) = stale_variable(setting, row, known) {
        return (RowVerdict::Stale, stale);
    }
    let asked = row.requested.as_ref().or(row.started_with.as_ref());
    let Some(asked) = asked.filter(|said| !left_to_engine(setting, &said.value)) else {
        return (RowVerdict::Default, String::new());
    };
    let name = &row.name;
    if let Some(replaced) = &row.replaced
        && let Some(last) = known.last(setting, row)
        && !same(setting, &replaced.value, &last)
    {
        let says = format!(
            "{name} {} is given first and {name} {} behind it: the last one counts",
            setting.shown(&replaced.value),
            setting.shown(&last)
        );
        return (RowVerdict::Overridden, says);
    }
    let agrees = (RowVerdict::Agrees, String::new());
    let unseen =
        || (RowVerdict::Unknown, format!("nothing of the running server tells whether {name} is in force"));
    match (&row.resolved, &row.observed) {
        (Some(force), _) if same(setting, &asked.value, &force.value) => return agrees,
        // A path and a name may be the same model, and only the server knows.
        (Some(_), _) if setting == Setting::Model => return unseen(),
        (Some(force), _) => return off(setting, row, asked, force, known.beating()),
        (None, Some(seen)) if same(setting, &asked.value, &seen.value) => return agrees,
        (None, Some(seen)) if contradicts(setting, row, asked, seen, known) => {
            return off(setting, row, asked, seen, known.beating());
        }
        (None, _) => {}
    }
    let both = row.requested.as_ref().zip(row.started_with.as_ref());
    if both.is_some_and(|(asked, started)| same(setting, &asked.value, &started.value)) {
        return agrees;
    }
    unseen()
}

/// What beats the value asked for: the same flag behind it, or a variable.
pub(super) fn beaten_by(setting: Setting, row: &ConfigRow, known: &Known<'_>) -> Option<String> {
    if row.replaced.is_some() {
        return Some(format!("the second {}", row.name));
    }
    let variable = known.beating()?;
    let in_force = row.resolved.as_ref().is_some_and(|force| same(setting, &force.value, &variable.value));
    match &variable.from {
        Source::Environment { name } if in_force => Some(name.clone()),
        _ => None,
    }
}

/// Whether what is seen contradicts what was asked for. A batch that never grew to its cap does not, one that grew past it
/// does; one that stood still below it while others waited does where the pool had room and the process itself does not
/// tell of its cap.
fn contradicts(setting: Setting, row: &ConfigRow, asked: &Said, seen: &Said, known: &Known<'_>) -> bool {
    match (setting, asked.value.number(), seen.value.number()) {
        (Setting::MaxSequences, Some(asked), Some(seen)) => {
            seen > asked || (row.started_with.is_none() && in_use::pool_had_room(known.observed))
        }
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
    let seen = match &force.from {
        Source::Derived { from } => from.clone(),
        _ => format!("{now} is in force"),
    };
    (RowVerdict::Overridden, format!("{name} asks for {asked}, and {seen}"))
}

/// The variable of the process has another value than the manifest's, and nothing beats it.
fn stale_variable(setting: Setting, row: &ConfigRow, known: &Known<'_>) -> Option<String> {
    let (Some(asked), Some(has)) = &known.variables else { return None };
    if row.requested.as_ref() != Some(asked) || same(setting, &asked.value, &has.value) {
        return None;
    }
    let (Source::Manifest { file, .. }, Source::Environment { name }) = (&asked.from, &has.from) else {
        return None;
    };
    Some(format!(
        "{file} has {name} for {} and the running process was started with {}",
        setting.shown(&asked.value),
        setting.shown(&has.value)
    ))
}

/// What was meant and what the process was started with differ.
fn stale(setting: Setting, row: &ConfigRow, known: &Known<'_>) -> Option<String> {
    let name = &row.name;
    let meant = known.flag.as_ref().and_then(|asked| match &asked.from {
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
        // The model may be named without a flag.
        (None, Some(process)) if setting != Setting::Model => {
            let meant = known.meant.filter(|m| m.is_whole())?;
            let (file, value) = (meant.command_file(), value(process));
            Some(format!("the running process was started with {name} {value}, which {file} does not have"))
        }
        _ => None,
    }
}

/// Whether a flag that the process does not name is missing: the same value may be in force anyway, and a log names
/// only what is not the default.
fn is_missing(setting: Setting, row: &ConfigRow, asked: &Said, known: &Known<'_>) -> bool {
    // A model may be named without a flag, and a name served is the model's own where none is given.
    let shown = row.resolved.as_ref().or(row.observed.as_ref());
    if setting == Setting::Model || shown.is_some_and(|r| same(setting, &r.value, &asked.value)) {
        return false;
    }
    let by_log_alone = !known.shown && !known.has(Asked::Process);
    !by_log_alone || row.default.as_ref().is_some_and(|d| !same(setting, &d.value, &asked.value))
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
        (SettingValue::Text(a), SettingValue::Text(b)) => match setting {
            Setting::Model => last_part(a) == last_part(b),
            Setting::ServedModel => share_names(a, b),
            Setting::Dtype => dtype(a) == dtype(b),
            // Two ways of writing the same drafts down: JSON and Python.
            Setting::Speculation => true,
            _ => {
                let (a, b) = (a.to_ascii_lowercase(), b.to_ascii_lowercase());
                a.starts_with(&b) || b.starts_with(&a)
            }
        },
        // Drafts are counted where anything drafts.
        (SettingValue::Text(_), SettingValue::Switch(on)) if setting == Setting::Speculation => *on,
        (a, b) => a == b,
    }
}

fn last_part(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

/// A dump shows the first name alone, a list may hold adapters, too.
fn share_names(a: &str, b: &str) -> bool {
    let names = |text: &str| -> Vec<String> {
        let parts = text.split(|c: char| c.is_whitespace() || "[]'\",".contains(c));
        parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let (a, b) = (names(a), names(b));
    a.iter().all(|name| b.contains(name)) || b.iter().all(|name| a.contains(name))
}

/// `half` and `float16` are the same type.
fn dtype(name: &str) -> &str {
    match name {
        "half" => "float16",
        "float" => "float32",
        other => other,
    }
}
