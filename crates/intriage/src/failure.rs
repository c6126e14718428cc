//! What goes wrong outside our program, with its exit code.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | nothing is wrong |
//! | 1 | something is wrong with the server |
//! | 2 | the command line or the settings are wrong |
//! | 3 | cannot tell |
//! | 4 | could not run |

use std::process::ExitCode;

use intriage_diagnose::Status;
use thiserror::Error;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Nothing is wrong, or there was nothing to judge.
    Fine,
    /// Something is wrong.
    Wrong,
    /// Cannot tell.
    Open,
}

impl From<Status> for Outcome {
    fn from(status: Status) -> Self {
        match status {
            Status::Healthy => Self::Fine,
            Status::Finding => Self::Wrong,
            Status::CannotTell => Self::Open,
        }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(match outcome {
            Outcome::Fine => 0,
            Outcome::Wrong => 1,
            Outcome::Open => 3,
        })
    }
}

/// Why a command could not do its work.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// The command line or the settings are wrong.
    #[error("{0}")]
    Usage(String),
    /// The target cannot be watched.
    #[error(transparent)]
    Live(#[from] intriage_observe::LiveError),
    /// The target on disk cannot be opened, or the case not be saved.
    #[error(transparent)]
    Open(#[from] intriage_observe::OpenError),
    /// The truth file of a recording.
    #[error(transparent)]
    Truth(#[from] intriage_observe::TruthError),
    /// The simulated server cannot be served.
    #[error(transparent)]
    Serve(#[from] intriage_simulate::serve::ServeError),
    /// The ground-truth server.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    GroundTruth(#[from] intriage_truth::TruthError),
    /// A load could not be sent.
    #[error("{0}")]
    Load(String),
    /// A log that cannot be had.
    #[error("--log {0}")]
    Log(String),
    /// Every request failed.
    #[error("no request was answered: {0}")]
    NothingAnswered(String),
    /// Not one collector brought anything.
    #[error("nothing could be collected; nothing was saved")]
    NothingCollected,
    /// A file the user named.
    #[error("{path}: {why}")]
    File {
        /// The file.
        path: String,
        /// The reason.
        why: String,
    },
    /// Something of ours: a bug.
    #[error("internal error: {0}; please report it")]
    Internal(String),
    /// Standard output is gone.
    #[error("cannot write the result: {0}")]
    Output(std::io::Error),
}

impl Failure {
    /// Tells the user and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        anstream::eprintln!("intriage: {self}");
        ExitCode::from(if matches!(self, Self::Usage(_)) { 2 } else { 4 })
    }
}
