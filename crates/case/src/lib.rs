//! The words of intriage as types, and the case file.
//!
//! A [`Case`] holds everything known about one incident: raw evidence as it was collected and the
//! user's intent. Everything to its left only adds to it, everything to its right only reads it.
//! Evidence is kept as the engine said it, so that a newer intriage can read an old case better.
//!
//! Who should use this crate: collectors (to build a case) and readers (to interpret one). What a
//! metric *means* is the business of `intriage-engines`; what it *proves* that of
//! `intriage-diagnose`. No sockets, no clock, no threads here.

mod case;
mod client;
mod collected;
mod fact;
pub mod file;
pub mod gpu;
mod histogram;
pub mod host;
mod intent;
pub mod layout;
pub mod manifest;
pub mod merge;
pub mod model;
mod path;
mod replica;
mod series;
mod signal;
mod start;
pub mod surroundings;
mod time;
mod units;
mod unreadable;

pub use case::{Case, GpuEvidence, LogText, Scrape, ScrapeOutcome, Target};
pub use client::ClientRequest;
pub use collected::{Budget, Collected, Gathered};
pub use fact::{Fact, Source};
pub use histogram::{Histogram, HistogramError, QuantileBounds};
pub use host::HostSnapshot;
pub use intent::{Intent, Objective, ObjectiveMetric, ObjectiveParseError, Profile, Statistic};
pub use manifest::ManifestText;
pub use path::{AddressSeen, Family, PathProbe, Resolved, Route, StreamSeen};
pub use replica::{MAX_REPLICAS, Replica, is_replica_name, replica_name};
pub use series::{CounterWindow, Series};
pub use signal::{Aggregate, Kind, Signal};
pub use start::{PhaseTime, StartEnd, StartPhase, StartRun};
pub use time::{Millis, Nanos};
pub use units::{
    Bytes, Celsius, Events, Hertz, PerSecond, Quantity, Ratio, Requests, Seconds, Tokens, Unit, Watts,
    numbers_apart, quantities_apart,
};
