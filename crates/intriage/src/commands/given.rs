//! What the user gives beside a target: logs, manifests, flags. `check` and `config` take them alike.

use std::path::{Path, PathBuf};
use std::time::Duration;

use intriage_case::Case;
use intriage_observe::{LogLimits, LogSource, MAX_LOG, why_illegible};

use super::budgets;
use super::collecting::sources;
use super::keeping::add_manifests;
use crate::failure::Failure;

/// Things named on the command line, looked at and not yet read to their end.
pub(super) struct Given {
    logs: Vec<LogSource>,
    manifests: Case,
    flags: Option<String>,
}

impl Given {
    /// Before anything is watched, so that a typo and what is no manifest show at once.
    pub(super) fn open(
        logs: &[PathBuf],
        manifests: &[PathBuf],
        flags: Option<&String>,
    ) -> Result<Self, Failure> {
        let logs = sources(logs)?;
        for log in &logs {
            if let LogSource::File(path) = log {
                can_open(path)?;
            }
        }
        let mut given = Case::default();
        add_manifests(&mut given, manifests)?;
        Ok(Self { logs, manifests: given, flags: flags.cloned() })
    }

    /// After the window, so that what happened in it is in the logs.
    pub(super) fn add(self, case: &mut Case, window: Duration) -> Result<(), Failure> {
        // What is given now counts, not what the recording has under the same name.
        let given = &self.manifests.manifests;
        case.manifests.retain(|kept| !given.iter().any(|manifest| manifest.name == kept.name));
        for manifest in self.manifests.manifests {
            // The limits were those of the case; only one of the recording's own may have to go.
            if let Err(why) = case.add_manifest(manifest) {
                case.notes.push(format!("a manifest was left out: {why}"));
            }
        }
        if let Some(flags) = self.flags {
            case.command_line = Some(flags);
        }
        // A file is read to its end, and so is a pipe; of a long one the lines that tell are kept.
        let limits = LogLimits { bytes: MAX_LOG, time: None, since: window.max(budgets::JOURNAL) };
        for log in self.logs {
            let taken = log.take(&limits).map_err(|e| Failure::Log(e.to_string()))?;
            case.notes.extend(taken.cut.map(|cut| format!("{log}: {cut}")));
            // Nothing that happened can be seen in it, and nobody may take that for nothing having happened.
            match why_illegible(&taken.log.text) {
                Some(why) => case.notes.push(format!("{log} was left out: {why}")),
                None => case.add_log(taken.log),
            }
        }
        Ok(())
    }
}

/// A file that is not there shows before the watch, not after it.
pub(super) fn can_open(path: &Path) -> Result<(), Failure> {
    let opened = std::fs::metadata(path).and_then(|kind| {
        // Opening a pipe waits for who writes into it; that can be later.
        if kind.is_file() { std::fs::File::open(path).map(drop) } else { Ok(()) }
    });
    opened.map_err(|e| Failure::File { path: path.display().to_string(), why: e.to_string() })
}
