//! A server that writes tokens on schedule and logs when each write left: what a load generator's figures are
//! compared with.
//!
//! One thread around epoll, deadlines by an absolute timer of the kernel, no runtime and no HTTP library in between:
//! the clock is read right before the write(2) that holds a token, so no client can have seen it earlier. It shares no
//! code with the clients it judges. Linux only; elsewhere the crate is empty.
#![cfg(target_os = "linux")]

mod answer;
mod api;
mod ask;
mod clock;
mod config;
mod fault;
mod handle;
mod http;
mod interrupt;
mod metrics;
mod plan;
mod prebuilt;
mod prompt;
mod random;
mod schedule;
mod script;
mod serve;
mod served;
mod words;

pub use api::Api;
pub use clock::monotonic;
pub use config::{Config, ConfigError, Headers, KEYS, Mode, Role, Text};
pub use fault::Fault;
pub use handle::{Truth, TruthError};
pub use interrupt::Interrupt;
pub use prompt::Prompt;
pub use served::Served;
pub use words::answer_text;
