//! What a log tells: signatures found, answers by status, resolved settings, signals over time.
//!
//! The tables stand one a file by who writes the lines. All are looked for in every log, in one pass: an engine's log
//! holds lines of NCCL and PyTorch, a journal those of the kernel.

mod calendar;
mod catalogue;
mod dumps;
mod figures;
mod found;
mod kernel;
mod kmsg;
mod line;
mod llamacpp;
mod meaning;
mod nccl;
mod order;
mod periodic;
mod processes;
mod prompts;
mod read;
mod readings;
mod scan;
mod series;
mod sglang;
mod signature;
mod stamp;
mod starts;
mod tgi;
mod torch;
mod trtllm;
mod vllm;
mod vllm_host;
mod wrapping;
mod xids;

pub use calendar::{LogClock, LogTime};
pub use catalogue::{log_texts, periodic_lines, signatures};
pub use figures::{Figure, FigureIs, Told, figures};
pub use kmsg::kernel_record;
pub use meaning::Meaning;
pub use order::{LogChain, LogOrder, log_order};
pub use periodic::{Field, Periodic, Reading};
pub use readings::{LogEvent, LogReadings};
pub use series::LogSeries;
pub use signature::{LogKind, Numbered, Signature, Wording};
pub use starts::{StartLine, StartPart, start_lines};
pub use xids::{Xid, XidFault};

pub(crate) use calendar::Known;
pub(crate) use order::{told, written_last};
pub(crate) use read::read_logs;
