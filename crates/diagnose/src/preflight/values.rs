//! Settings that exclude each other, and files that flags name.

use intriage_engines::{Setting, known_flags};

use super::Said;
use super::facts::Facts;

pub(super) fn judge(facts: &Facts<'_>) -> Vec<Said> {
    let mut said: Vec<Said> = [budget(facts), quantization(facts)].into_iter().flatten().collect();
    for (flag, path, there) in &facts.around.files {
        said.push(if *there {
            Said::Fine(format!("{flag} {path} is there"))
        } else {
            wrong(
                format!("{flag} names {path}, and there is no such file"),
                format!("give {flag} the path of a file that is there, seen from the server's folder"),
            )
        });
    }
    said
}

/// A step needs room for one token of every sequence.
pub(crate) fn budget(facts: &Facts<'_>) -> Option<Said> {
    let (budget, sequences) = (facts.number(Setting::TokenBudget)?, facts.number(Setting::MaxSequences)?);
    // Only where the engine is known to refuse it.
    known_flags(facts.line.engine)?;
    (budget < sequences).then(|| {
        wrong(
            format!("a step has room for {budget} tokens and is to hold {sequences} sequences, of one token each at least"),
            format!("a token budget of {sequences} or more, or at most {budget} sequences"),
        )
    })
}

/// Methods whose checkpoints no other of these can read. Others convert, or take several forms, and are not judged.
const APART: &[&str] = &["awq", "gptq", "fp8", "compressed-tensors", "bitsandbytes"];

pub(crate) fn quantization(facts: &Facts<'_>) -> Option<Said> {
    let asked = facts.line.value(&["--quantization"])?;
    let stored = facts.quantized()?;
    let family = |name: &str| {
        let bare = name.trim_start_matches("auto_").trim_end_matches("_marlin").to_owned();
        APART.contains(&bare.as_str()).then_some(bare)
    };
    let (a, b) = (family(asked)?, family(stored)?);
    (a != b).then(|| {
        wrong(
            format!("--quantization {asked} is asked for, and config.json says {stored}"),
            format!("remove --quantization: the model's own {stored} is found without it"),
        )
    })
}

fn wrong(says: String, change: String) -> Said {
    Said::Wrong("bad-launch-argument", says, change)
}
