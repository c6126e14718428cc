//! The dialects: how each engine says the signals, its settings and its log lines, as tables.
//!
//! [`read`] turns a [`Case`](intriage_case::Case) into an [`Observed`]: engine and version, every
//! signal as series or histograms, the configuration with its sources, what the log tells. It is a
//! pure function; no engine's name is known outside this crate except as data.

mod behaviour;
mod config;
mod detect;
mod dialect;
mod dynamo;
pub mod exposition;
mod gpu;
pub mod host;
mod launch_line;
mod llamacpp;
mod lmdeploy;
mod log;
mod log_requests;
mod model;
mod observed;
mod ollama;
mod port;
mod scrapes;
mod sglang;
mod tgi;
mod through_log;
mod trtllm;
mod version;
mod vllm;

pub use behaviour::Behaviour;
pub use config::{
    Asked, Config, ConfigAnswer, ConfigRow, ConfigTable, Launch, ManifestError, ManifestTexts, MeantStart,
    MeantStarts, MeantVariable, Passage, Place, RowVerdict, Said, Setting, SettingValue, Start, Stated,
    Variable, Word, Writing, is_whole_command_line, manifest_texts, meant_starts, read_manifest,
};
pub use detect::{Identity, recognise};
pub use dialect::{Availability, Dialect, Engine, Flag, FlagValue, How, LogValue, MetricRow, dialect};
pub use gpu::{
    BusPlace, Complaint, DeviceReport, GpuReadings, GpuText, Gravity, Reported, UnderLoad, recognise_gpu_text,
};
pub use launch_line::{FlagMatch, GivenFlag, KnownFlag, KnownFlags, LaunchLine, Takes, known_flags};
pub use log::{
    FatalLine, Field, Figure, FigureIs, Frame, LeftOut, LogChain, LogClock, LogEnd, LogEvent, LogKind,
    LogMoment, LogOrder, LogReadings, LogSeries, LogSpan, LogStory, LogTime, Meaning, Numbered, Periodic,
    PhaseLine, Reading, RootError, Sieve, Signature, StartLine, StartPart, Thrown, Told, Wording, Xid,
    XidFault, figures, kernel_record, log_order, log_texts, periodic_lines, phase_lines, phase_of,
    signatures, start_lines,
};
pub use model::{MOST_HEAD, Model, NoHead, WeightsHead, gguf_head, read_model, safetensors_head};
pub use observed::{Before, Instance, Observed, Track, TrackData, read};
pub use port::port_in;
pub use version::{Version, VersionRange};
pub use vllm::{ChangedDefault, changed_defaults};
