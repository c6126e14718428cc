//! `intriage demo`: a verdict on a recording of a real engine that ships inside the program.

use intriage_case::file;
use intriage_diagnose::{Thresholds, diagnose};
use intriage_engines::read;
use intriage_whatif::predict;

use super::print;
use crate::cli::{DemoArgs, Format};
use crate::failure::{Failure, Outcome};

/// vLLM 0.26 on an NVIDIA H200, 8 requests a second against `--max-num-seqs 4`.
const RECORDING: &[u8] = include_bytes!("../../demo/vllm-h200-maxseqs4.case");

pub(crate) fn run(args: &DemoArgs) -> Result<Outcome, Failure> {
    let case = file::read(RECORDING).map_err(|e| Failure::Internal(e.to_string()))?;
    let mut diagnosis = diagnose(&case, &Thresholds::default());
    predict(&read(&case), &diagnosis).tell(&mut diagnosis);
    if args.format == Format::Text {
        anstream::eprintln!(
            "This replays a recording: 30 s of vLLM 0.26 on an NVIDIA H200 under 8 requests a second.\n\
             Nothing is measured now. `intriage check URL` does the same on your server.\n"
        );
    }
    print::diagnosis(&diagnosis, args.format)?;
    // The demo worked; the finding in it is not the user's.
    Ok(Outcome::Fine)
}
