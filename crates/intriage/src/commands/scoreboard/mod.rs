//! `intriage scoreboard FOLDER…`: every labelled recording, judged; with `--draws` drawn deployments.

mod draws;

use std::path::{Path, PathBuf};

use intriage_diagnose::{Thresholds, diagnose};
use intriage_observe::{open, read_truth};
use intriage_report::{Row, scoreboard};

use super::print;
use crate::cli::ScoreboardArgs;
use crate::failure::{Failure, Outcome};

pub(crate) fn run(args: &ScoreboardArgs) -> Result<Outcome, Failure> {
    match (args.draws, args.only) {
        (Some(draws), _) => draws::batch(args, draws),
        (None, Some(number)) => draws::one(args, number),
        (None, None) => recordings(&args.folders),
    }
}

fn recordings(folders: &[PathBuf]) -> Result<Outcome, Failure> {
    let mut rows = Vec::new();
    for folder in folders {
        for recording in labelled(folder, DEPTH)? {
            rows.push(judge(&recording)?);
        }
    }
    if rows.is_empty() {
        return Err(Failure::Usage("no labelled recording (a folder with truth.json) was found".into()));
    }
    print::text(&scoreboard(&rows))?;
    Ok(Outcome::Fine)
}

fn judge(recording: &Path) -> Result<Row, Failure> {
    let truth = read_truth(recording)?;
    let diagnosis = diagnose(&open(recording)?, &Thresholds::default());
    let name = recording.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let open_truth = truth.status == "cannot_tell";
    Ok(Row::new(&name, truth.cause, truth.accept, open_truth, &diagnosis))
}

/// Folders below a given one that are searched: `fixtures/recordings/NAME` is found from `fixtures`.
const DEPTH: u32 = 2;

/// The folder itself if it is labelled, else the labelled ones below it.
fn labelled(folder: &Path, depth: u32) -> Result<Vec<PathBuf>, Failure> {
    if folder.join("truth.json").is_file() {
        return Ok(vec![folder.to_owned()]);
    }
    let failed = |e: std::io::Error| Failure::File { path: folder.display().to_string(), why: e.to_string() };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        // Links are not followed: they may lead in circles.
        if depth > 0 && entry.file_type().map_err(failed)?.is_dir() {
            found.extend(labelled(&entry.path(), depth - 1)?);
        }
    }
    found.sort();
    Ok(found)
}
