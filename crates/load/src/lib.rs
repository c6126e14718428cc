//! Load, measured honestly: sends requests by plan and records what arrived when.
//!
//! [`prompts`] says what is sent, [`arrivals`] when; both are pure functions of a seed and an index, so that any thread
//! makes its share of a run without asking the others. [`engine`] sends and records.

pub mod api;
pub mod arrivals;
mod clock;
mod declared;
pub mod engine;
mod feed;
mod front_end;
mod host;
mod plan;
mod progress;
pub mod prompts;
mod ready;
mod recorder;
mod run;
pub mod search;
mod server;
mod spec;
pub mod wire;
mod words;

pub use clock::{Clock, wall_clock};
pub use feed::PlannedFeed;
pub use front_end::Questions;
pub use plan::{Basics, Pattern, Plan};
pub use progress::Progress;
pub use ready::{Handle, Ready};
pub use recorder::Observer;
pub use run::{Ran, Run, RunError};
pub use server::{Server, ServerError};
pub use spec::{BesideLoad, Counting, Load, Prompts, Protocol, Spec};

/// Why a run cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// The server.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The classes of requests.
    #[error(transparent)]
    Synthetic(#[from] prompts::SyntheticError),
    /// The file of prompts.
    #[error(transparent)]
    File(#[from] prompts::FileError),
    /// The shape of the load.
    #[error(transparent)]
    Shape(#[from] arrivals::ShapeError),
    /// The tokenizer.
    #[cfg(feature = "tokenizers")]
    #[error(transparent)]
    Tokenizer(#[from] prompts::TokenizerError),
    /// This build cannot read tokenizers.
    #[error(
        "this build has no tokenizers: build it with the feature `tokenizers`, or leave --tokenizer away"
    )]
    NoTokenizers,
    /// TLS.
    #[error(transparent)]
    Tls(engine::TlsError),
}
