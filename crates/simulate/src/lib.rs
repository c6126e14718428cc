//! A continuous-batching inference engine in virtual time.
//!
//! [`Engine`] schedules requests over a paged KV pool the way serving engines do: a sequence cap, a
//! token budget, chunked prefill, a prefix cache, preemption by recomputation, speculation. Its step
//! time is a formula. It answers what-if questions by running millions of requests.
//!
//! Nothing here knows what the diagnosis looks for: this crate may not depend on it.

mod about;
mod client;
pub mod draw;
pub mod engine;
pub mod faults;
mod fleet;
pub mod founding;
pub mod metrics;
mod outcome;
mod random;
mod rehearse;
mod request;
mod run;
pub mod serve;
mod setup;
mod time;
pub mod workload;

pub use draw::Draw;
pub use engine::{Engine, EngineConfig, EngineLoad, Policy, Refusal, Sequence, Sink, Speculation, StepTime};
pub use fleet::{Fleet, FleetConfig, Front, GoingOn, Router};
pub use outcome::{Latency, Outcome};
pub use random::{Random, mix};
pub use rehearse::{Recording, Window, rehearse};
pub use request::{Content, Finish, Request, RequestId};
pub use run::{Stop, Watch, run};
pub use setup::{Identity, Mishap, Path, Setup};
pub use time::Nanos;
pub use workload::{Arrivals, Class, Lengths, Workload};
