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
use intriage_redact::Redactor;
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
    /// What was typed cannot be taken, or it asks for help.
    #[error("{0}")]
    CommandLine(Box<clap::Error>),
    /// The target cannot be watched.
    #[error(transparent)]
    Live(#[from] intriage_observe::LiveError),
    /// The target on disk cannot be opened, or the case not be saved.
    #[error(transparent)]
    Open(#[from] intriage_observe::OpenError),
    /// A server could not be started.
    #[error(transparent)]
    Start(#[from] intriage_observe::StartError),
    /// The user stopped a start.
    #[error("stopped; the server was ended, and nothing was judged")]
    Interrupted,
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
        if let Self::CommandLine(error) = self {
            if !error.use_stderr() {
                // Help and version; a reader that has seen enough is no failure.
                let _ = error.print();
                return ExitCode::SUCCESS;
            }
            anstream::eprint!("{}", safe(&error.render().ansi().to_string()));
            return ExitCode::from(2);
        }
        anstream::eprintln!("intriage: {}", safe(&self.to_string()));
        ExitCode::from(match self {
            Self::Usage(_) => 2,
            // As a shell tells of a program that Ctrl-C ended.
            Self::Interrupted => 130,
            _ => 4,
        })
    }
}

/// A message without passwords, keys and tokens, wherever it quotes them from: messages are pasted into tickets. Paths and
/// hosts stay, since the user has to find them.
fn safe(message: &str) -> String {
    Redactor::new().keep_names().keep_prompts().text(message).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_keeps_paths_hosts_and_flags_and_loses_secrets() {
        for message in [
            "/home/ann/gpu7.acme.com.case: No such file or directory",
            "cannot connect to gpu7.acme.com:8000 (10.0.0.7): refused",
            "--header 'X: y': expected NAME: VALUE",
            "the URL holds a name or password; give --bearer-token-file or --header 'Authorization: …' instead",
            "--bearer-token-file /run/secrets/token: cannot be read",
        ] {
            assert_eq!(safe(message), message);
        }
        for (message, told) in [
            ("http://ann:hunter2@gpu7 does not exist", "http://[redacted]@gpu7 does not exist"),
            (
                "--header 'Authorization: Bearer hunter2': no",
                "--header 'Authorization: Bearer [redacted]': no",
            ),
            ("?api_key=hunter2 is odd", "?api_key=[redacted] is odd"),
        ] {
            assert_eq!(safe(message), told);
        }
    }
}
