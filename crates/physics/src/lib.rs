//! What a model on a piece of hardware could do at best, and how much memory goes where.
//!
//! ```
//! use intriage_physics::{Deployment, KvDtype, gpu, known};
//!
//! let model = known::model("llama-3.1-8b")?;
//! let h100 = gpu::find("h100")?.gpu;
//! let floor = Deployment::new(&model, &h100).decode(1, intriage_case::Tokens(1000.0));
//! assert!(floor.bound.get() > 0.004 && floor.bound.get() < 0.005);
//! assert_eq!(model.kv_bytes_per_token(KvDtype::Bf16).get(), 131_072.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Everything here is arithmetic on stated inputs: no clock, no files, no sockets. A bound is what
//! physics allows; the range that good software reaches is given beside it, never mixed into it.
//! What an engine *did* is the business of the crates that read its metrics.

pub mod bounds;
mod bytes;
pub mod gpu;
pub mod memory;
pub mod model;
pub mod queueing;
pub mod speculation;
mod suggest;

pub use bounds::{Counting, Deployment, Link, StepLoad, StepModel, StepTime};
pub use bytes::{KvDtype, UnknownKvDtype};
pub use gpu::{FlopPerSecond, Gpu, Math};
pub use memory::{Budget, Policy, Spending};
pub use model::{Format, ModelError, ModelShape, UnknownModel, known};
