//! What a load generator saw, kept raw, and what it means.
//!
//! One [`Request`] and one [`Chunk`] per event of its answer, with the instant each arrived: nothing is
//! averaged before it is written down. Every figure (ours and those of other tools), the certificate of a run
//! and the union of several runs are computed from that record, so they can be computed again by anybody.
//!
//! No sockets, no clock, no threads here: `intriage-load` fills the record, `intriage-report` prints what comes of it.

mod certificate;
mod client;
pub mod definitions;
mod event;
mod figures;
pub mod file;
mod goodput;
mod header;
pub mod import;
mod merge;
mod seen;
mod spread;
mod steady;
mod summary;
mod tally;

pub use certificate::{
    AskedPercentile, Certificate, Check, CheckName, ErrorParts, SAMPLES_BEYOND, Status, answers_needed,
};
pub use client::{ClientFacts, FrontEnd, ThreadFacts};
pub use event::{Chunk, ChunkKind, Finish, Finished, Outcome, Request};
pub use figures::{Figures, TokenCount};
pub use goodput::{Goodput, Held};
pub use header::{Arrival, Declared, Header};
pub use merge::{MergeError, Merger};
pub use seen::client_request;
pub use spread::{Certified, Distribution, Spread};
pub use steady::{Second, Steady};
pub use summary::{Beside, ErrorCount, Group, Planned, Requests, Summary, Throughput};
pub use tally::{GroupKey, Tally};
