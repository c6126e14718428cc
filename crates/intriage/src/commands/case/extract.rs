//! `intriage case extract`: a case's files in a new folder.

use intriage_observe::extract;

use super::opened;
use crate::cli::ExtractArgs;
use crate::failure::{Failure, Outcome};

pub(super) fn run(args: &ExtractArgs) -> Result<Outcome, Failure> {
    let case = opened(&args.case)?;
    let parent = args.output.parent().filter(|p| !p.as_os_str().is_empty());
    if args.output.is_file() || parent.is_some_and(|p| !p.is_dir()) {
        let why = format!("-o {}: name a new folder in one that exists", args.output.display());
        return Err(Failure::Usage(why));
    }
    let is_full = std::fs::read_dir(&args.output).is_ok_and(|mut inside| inside.next().is_some());
    if is_full {
        let why = format!("-o {}: it is not empty: name a new folder", args.output.display());
        return Err(Failure::Usage(why));
    }
    let files = extract(&case, &args.output)?;
    anstream::eprintln!("wrote {files} files below {}", args.output.display());
    Ok(Outcome::Fine)
}
