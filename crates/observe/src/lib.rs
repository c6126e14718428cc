//! Everything that looks at the world: a live server, a folder of recordings, a saved case.
//!
//! All of it ends in a [`Case`](intriage_case::Case). Every read has a limit in bytes and in time;
//! what could not be had is written into the case, not hidden.

mod clock;
mod command;
mod extract;
mod folder;
pub mod gpu;
pub mod host;
mod http;
mod kernel_log;
mod legible;
mod live;
mod logs;
mod machine;
mod manifest;
mod model;
mod path;
mod redact;
mod renaming;
mod save;
mod start;
mod surroundings;
mod tls;
mod truth;
mod url;

pub use clock::now;
pub use extract::extract;
pub use folder::{Found, MAX_FILE, OpenError, look_into, open, open_stdin, read_gpu_file, read_log};
pub use http::{Access, FetchError, Limits};
pub use legible::why_illegible;
pub use live::{LiveError, Progress, Watch, asked_to_stop, watch};
pub use logs::{EncodingError, LogError, LogLimits, LogSource, MAX_LOG, TakenLog};
pub use machine::MachineWatch;
pub use manifest::read_manifest;
pub use model::{ModelFilesError, find_model, read_model_files};
#[doc(hidden)]
pub use path::figures_of;
pub use path::{MOST_HELD, PathPlan, probe, probe_all};
pub use redact::redacted;
pub use renaming::{pseudonyms_of, renamed};
pub use save::{Packed, save};
pub use start::{Copy as OutputCopy, ServerPort, StartError, StartPlan, StartProgress, StartedServer, start};
pub use surroundings::surroundings;
pub use tls::{TlsError, tls_config};
pub use truth::{Truth, TruthError, read_truth};
pub use url::{Address, AddressError};
