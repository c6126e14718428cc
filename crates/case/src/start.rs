//! A start that intriage ran itself: how it ended, and how long each part of it took.
//!
//! In a recording it is `start.json`. What the process wrote is `server.log`, its command `cmdline.txt`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Millis, Seconds};

/// A part of a server's start, in the order engines go through them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StartPhase {
    /// The process begins: imports, arguments, the model's configuration.
    Launch,
    /// The model's files come from a hub.
    Download,
    /// Weights are read and put into place.
    LoadWeights,
    /// A trial run measures how much memory is left for keys and values.
    ProfileMemory,
    /// Kernels and graphs are compiled.
    Compile,
    /// CUDA graphs are captured.
    CaptureGraphs,
    /// Kernels are tried out before the first request.
    WarmUp,
    /// It serves.
    Serving,
}

impl StartPhase {
    /// In words, as they stand in a sentence.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Launch => "launch",
            Self::Download => "download",
            Self::LoadWeights => "load weights",
            Self::ProfileMemory => "profile memory",
            Self::Compile => "compile",
            Self::CaptureGraphs => "capture graphs",
            Self::WarmUp => "warm up",
            Self::Serving => "serving",
        }
    }
}

/// How long a part of a start took.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseTime {
    /// Which part.
    pub phase: StartPhase,
    /// When it began, after the process was started.
    pub began: Seconds,
    /// How long it took, or has taken when the start ended.
    pub took: Seconds,
}

/// How a start ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum StartEnd {
    /// The server serves: its log says so.
    Ready,
    /// The server serves: it answers on its port.
    Answers,
    /// The process ended by itself.
    Exited {
        /// Its exit status.
        code: i32,
    },
    /// A signal ended the process.
    Killed {
        /// The signal's number.
        signal: i32,
    },
    /// The time limit ran out.
    TimedOut,
    /// It wrote nothing and computed nothing for a long time.
    StoodStill {
        /// For how many seconds.
        seconds: u64,
    },
    /// The user stopped it.
    Interrupted,
}

impl StartEnd {
    /// Whether the server came up.
    pub const fn came_up(self) -> bool {
        matches!(self, Self::Ready | Self::Answers)
    }

    /// In one sentence, without the server's own words.
    pub fn says(self, after: Seconds) -> String {
        match self {
            Self::Ready | Self::Answers => format!("the server came up after {after}"),
            Self::Exited { code } => {
                format!("the process ended after {after} with exit status {code} before it served")
            }
            Self::Killed { signal } => {
                format!(
                    "signal {signal}{} ended the process after {after} before it served",
                    signal_name(signal)
                )
            }
            Self::TimedOut => format!("the server did not come up within {after}"),
            Self::StoodStill { seconds } => {
                format!(
                    "the server stood still: for {seconds} s it wrote nothing and used no processor, after {after}"
                )
            }
            Self::Interrupted => format!("the start was stopped by hand after {after}"),
        }
    }
}

/// A start that was run and watched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StartRun {
    /// When the process was started, in milliseconds since the Unix epoch.
    pub at: Millis,
    /// How it ended.
    pub end: StartEnd,
    /// How long it took until then.
    pub took: Seconds,
    /// Its parts in order.
    pub phases: Vec<PhaseTime>,
}

impl StartRun {
    /// The part that took longest; serving is none.
    pub fn longest(&self) -> Option<&PhaseTime> {
        let parts = self.phases.iter().filter(|part| part.phase != StartPhase::Serving);
        parts.max_by(|a, b| a.took.get().total_cmp(&b.took.get()))
    }
}

/// ` (SIGKILL)` for a signal people know by name.
fn signal_name(signal: i32) -> &'static str {
    match signal {
        1 => " (SIGHUP)",
        2 => " (SIGINT)",
        4 => " (SIGILL)",
        6 => " (SIGABRT)",
        7 => " (SIGBUS)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL)",
        11 => " (SIGSEGV)",
        15 => " (SIGTERM)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_told_in_words() {
        assert!(StartEnd::Killed { signal: 9 }.says(Seconds(12.0)).starts_with("signal 9 (SIGKILL) ended"));
        assert!(StartEnd::Exited { code: 1 }.says(Seconds(12.0)).contains("exit status 1"));
        assert!(StartEnd::Ready.came_up() && !StartEnd::TimedOut.came_up());
    }

    #[test]
    fn the_longest_part_is_never_serving() {
        let part = |phase, took| PhaseTime { phase, began: Seconds(0.0), took: Seconds(took) };
        let phases = vec![
            part(StartPhase::Launch, 8.0),
            part(StartPhase::Compile, 26.0),
            part(StartPhase::Serving, 90.0),
        ];
        let run = StartRun { at: Millis(1), end: StartEnd::Ready, took: Seconds(34.0), phases };
        assert_eq!(run.longest().unwrap().phase, StartPhase::Compile);
    }
}
