//! What would stop a start, judged before it: the command line against the model's files and this machine.
//!
//! [`preflight`] is pure, like the diagnosis. Each check stands in a file of its own and answers in sentences: what is fine, what
//! would fail, what cannot be told. It names a cause only where the start is sure to fail.

mod adapters;
pub(crate) mod arguments;
mod cards;
mod driver;
pub(crate) mod facts;
mod files;
mod hub;
mod known;
mod memory;
pub(crate) mod parallelism;
mod places;
pub(crate) mod precision;
mod processor;
#[cfg(test)]
mod tests;
pub(crate) mod values;
pub(crate) mod window;

use intriage_case::surroundings::Surroundings;
use intriage_engines::{LaunchLine, dialect};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use facts::Facts;

/// The version of the preflight format.
pub const PREFLIGHT_SCHEMA: &str = "intriage.preflight/1";

/// Whether a start would fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PreflightVerdict {
    /// Nothing that was checked would stop it.
    Pass,
    /// It would fail; see `findings`.
    WouldFail,
    /// What matters most could not be checked.
    CannotTell,
}

/// The answer for one command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Preflight {
    /// Always `intriage.preflight/1`.
    pub schema: String,
    /// The version that judged.
    pub intriage: String,
    /// The command that was judged.
    pub command: String,
    /// The engine it starts, as people write it; null where none was recognised.
    pub engine: Option<String>,
    /// Its release, as installed here.
    pub version: Option<String>,
    /// Whether the start would fail.
    pub verdict: PreflightVerdict,
    /// The answer in one sentence.
    pub answer: String,
    /// What would stop the start, in the order in which the engine would meet it.
    pub findings: Vec<PreflightFinding>,
    /// What was checked and is fine.
    pub checked: Vec<PreflightCheck>,
    /// What could not be checked, and why.
    pub unchecked: Vec<PreflightCheck>,
}

/// One thing that would stop the start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PreflightFinding {
    /// A catalogue id; `intriage explain` has its page.
    pub cause: String,
    /// What is wrong, with figures.
    pub says: String,
    /// What to change.
    pub change: String,
}

/// One check and its sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PreflightCheck {
    /// The check, such as `window`.
    pub check: String,
    /// What was seen, or why nothing was.
    pub says: String,
}

/// A sentence of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    /// It is fine.
    Fine(String),
    /// It would fail: cause, sentence, change.
    Wrong(&'static str, String, String),
    /// It cannot be told.
    Unknown(String),
}

/// A check: its name, whether a pass needs its answer, and what it says of the facts; nothing where it does not apply.
struct Check {
    name: &'static str,
    matters: bool,
    judge: fn(&Facts<'_>) -> Vec<Said>,
}

/// Every check, in the order in which an engine would meet what they find.
const CHECKS: &[Check] = &[
    Check { name: "program", matters: true, judge: program },
    Check { name: "flags", matters: false, judge: arguments::judge },
    Check { name: "values", matters: false, judge: values::judge },
    Check { name: "processor", matters: false, judge: processor::judge },
    Check { name: "port", matters: false, judge: places::port },
    Check { name: "hub", matters: true, judge: hub::judge },
    Check { name: "model files", matters: true, judge: files::judge },
    Check { name: "architecture", matters: false, judge: known::judge },
    Check { name: "window", matters: false, judge: window::judge },
    Check { name: "precision", matters: false, judge: precision::judge },
    Check { name: "parallelism", matters: false, judge: parallelism::judge },
    Check { name: "LoRA", matters: false, judge: adapters::judge },
    Check { name: "driver", matters: false, judge: driver::judge },
    Check { name: "GPUs", matters: true, judge: cards::judge },
    Check { name: "memory", matters: false, judge: memory::judge },
    Check { name: "shared memory", matters: false, judge: places::shared_memory },
    Check { name: "disk", matters: false, judge: places::disk },
];

/// What is not installed here may be on the machine that is meant.
fn program(facts: &Facts<'_>) -> Vec<Said> {
    vec![match &facts.around.program {
        Some(path) => Said::Fine(format!("{path} is there")),
        None => Said::Unknown(
            "the program is not found here; run this where the server will run, in its environment".into(),
        ),
    }]
}

/// Judges a command before it is run. The same facts give the same answer on any machine.
pub fn preflight(words: &[String], around: &Surroundings) -> Preflight {
    let mut answer = Preflight {
        schema: PREFLIGHT_SCHEMA.into(),
        intriage: env!("CARGO_PKG_VERSION").into(),
        command: words.join(" "),
        engine: None,
        version: around.package.as_ref().map(|package| package.version.clone()),
        verdict: PreflightVerdict::CannotTell,
        answer: "Cannot tell: the command starts no engine that is known here; give it as you would type it, such as vllm serve MODEL.".into(),
        findings: Vec::new(),
        checked: Vec::new(),
        unchecked: Vec::new(),
    };
    let Some(line) = LaunchLine::read(words) else { return answer };
    let name = dialect(line.engine).name;
    answer.engine = Some(name.into());
    let facts = Facts::new(&line, around);
    let mut open = Vec::new();
    for check in CHECKS {
        let note = |says| PreflightCheck { check: check.name.into(), says };
        for said in (check.judge)(&facts) {
            match said {
                Said::Fine(says) => answer.checked.push(note(says)),
                Said::Unknown(why) => {
                    open.extend(check.matters.then(|| why.clone()));
                    answer.unchecked.push(note(why));
                }
                Said::Wrong(cause, says, change) => {
                    answer.findings.push(PreflightFinding { cause: cause.into(), says, change });
                }
            }
        }
    }
    (answer.verdict, answer.answer) = match (answer.findings.first(), open.first()) {
        (Some(first), _) => {
            let more = match answer.findings.len() - 1 {
                0 => String::new(),
                1 => " One more thing would stop it.".into(),
                more => format!(" {more} more things would stop it."),
            };
            (PreflightVerdict::WouldFail, format!("{name} would not start: {}.{more}", first.says))
        }
        (None, Some(why)) => (PreflightVerdict::CannotTell, format!("Cannot tell: {why}.")),
        (None, None) => {
            let checks = answer.checked.len();
            (
                PreflightVerdict::Pass,
                format!("Nothing that was checked would stop the start of {name}: {checks} checks pass."),
            )
        }
    };
    answer
}
