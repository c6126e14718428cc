//! Virtual time: whole nanoseconds since the start of a run.

pub use intriage_case::Nanos;
