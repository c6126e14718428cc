//! What to change so that what was asked for is in force.

use intriage_case::Source;
use intriage_engines::{ConfigRow, ConfigTable, RowVerdict};

/// The exact change, by how the row is off.
pub(super) fn change(table: &ConfigTable, row: &ConfigRow) -> String {
    let name = &row.name;
    let value = row.believed().map_or(String::new(), |s| format!(" {}", s.value));
    match row.verdict {
        RowVerdict::Stale => {
            let file = table.manifest.as_deref().unwrap_or("its manifest");
            let how = match file.rsplit('.').next() {
                Some("service" | "conf") => {
                    let unit = file.trim_end_matches(".service");
                    format!("`systemctl daemon-reload && systemctl restart {unit}`")
                }
                _ if file.contains("compose") => "`docker compose up -d --force-recreate`".to_owned(),
                _ => format!("`kubectl apply -f {file}` and `kubectl rollout restart`"),
            };
            if row.requested.as_ref().is_some_and(|r| matches!(r.from, Source::Manifest { .. })) {
                format!("restart the server from {file} ({how}): it then runs with {name}{value}")
            } else {
                format!("restart the server from {file} ({how}), or write {name} into it if it is wanted")
            }
        }
        RowVerdict::Overridden if row.beaten_by.is_some() => {
            let beats = row.beaten_by.as_deref().unwrap_or_default();
            let from =
                if beats.contains(' ') { "off the command line" } else { "out of the server's environment" };
            format!("take {beats} {from}, so that {name}{value} counts")
        }
        RowVerdict::AutoDisabled => {
            format!(
                "look in the start-up log for what switched {name} off and remove it, or take {name} off the command line"
            )
        }
        _ => format!("see in the start-up log why {name}{value} does not count, and change what forbids it"),
    }
}
