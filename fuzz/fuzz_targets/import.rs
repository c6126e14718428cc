//! A result file from a stranger is a run or an error, and what reads as a run can be summed up by anybody's rules.
#![no_main]

use intriage_record::definitions::{AsTool, Tool};
use intriage_record::import::import;
use intriage_record::{ClientFacts, Summary, Tally};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(file) = import("fuzzed", bytes) else { return };
    for run in file.runs.iter().take(4) {
        let mut tally = Tally::new(run.header.declared.clone());
        let tool = Tool::ALL[bytes.len() % Tool::ALL.len()];
        let mut theirs = AsTool::new(tool, &run.header.api, &[]);
        for finished in &run.requests {
            tally.add(finished);
            theirs.add(finished);
        }
        let ours = Summary::of(&run.header, &tally, Some(&ClientFacts::default()));
        for figure in theirs.finish(&ours.all).figures {
            assert!(figure.theirs.mean.is_none_or(|m| m.get().is_finite()));
        }
    }
});
