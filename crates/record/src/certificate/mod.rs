//! A run's verdict on itself: whether its figures can be trusted, and how far.

mod advice;
mod checks;
mod limits;
mod percentiles;
#[cfg(test)]
mod tests;

use intriage_case::{Nanos, Seconds};
use schemars::JsonSchema;
use serde::Serialize;

use self::checks::{
    answers, check, client_cpu, hit_ratio, lengths, precision, receives, sends, shortage, steady,
};
use self::limits::{REACH, STAMP};
pub use self::percentiles::{AskedPercentile, SAMPLES_BEYOND, answers_needed};
use self::percentiles::{asked, samples};
use crate::client::ClientFacts;
use crate::event::Outcome;
use crate::tally::{GroupKey, GroupTally, Tally};

/// Whether the figures stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub enum Status {
    /// They do, within the errors given.
    #[serde(rename = "VALID")]
    Valid,
    /// They do not, for the reasons given.
    #[serde(rename = "INVALID")]
    Invalid,
    /// Nobody can say: the client left no account of itself.
    #[serde(rename = "UNKNOWN")]
    Unknown,
}

/// What is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckName {
    /// The client had the CPU time it needed.
    ClientCpu,
    /// Requests left when they were due.
    Sends,
    /// What arrived was read at once.
    Receives,
    /// The client's own part in the times is small.
    Precision,
    /// No request failed for want of a port.
    Ports,
    /// No request failed for want of a file descriptor.
    Files,
    /// There are answers enough for the percentiles that were asked for.
    Samples,
    /// The load held one level.
    SteadyState,
    /// The server's prefix cache found what was declared.
    HitRatio,
    /// Prompts and answers were as long as declared.
    Lengths,
    /// Something was answered.
    Answers,
}

impl CheckName {
    /// It fails where the load was not the declared one.
    pub const fn is_of_load(self) -> bool {
        matches!(self, Self::HitRatio | Self::Lengths)
    }

    /// It fails for the client's sake, whatever the server does.
    pub const fn is_of_client(self) -> bool {
        matches!(
            self,
            Self::ClientCpu | Self::Sends | Self::Receives | Self::Precision | Self::Ports | Self::Files
        )
    }
}

/// One check and what it found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Check {
    /// What was checked.
    pub name: CheckName,
    /// `Some(true)` passed, `Some(false)` failed, `None` could not be judged.
    pub passed: Option<bool>,
    /// What was seen, in words.
    pub seen: String,
}

/// A run's verdict on itself.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Certificate {
    /// The verdict.
    pub status: Status,
    /// A time to first token differs from what the server itself could measure, from taking the request up to handing
    /// over the first token, by at most so much in 999 of 1000 requests: the sum of the parts below.
    pub ttft_error: Option<Seconds>,
    /// Times between tokens are right within so much.
    pub itl_error: Option<Seconds>,
    /// Why the figures do not stand; empty for VALID.
    pub reasons: Vec<String>,
    /// Every check.
    pub checks: Vec<Check>,
    /// Percentiles that were asked for, by objectives or by a list; only these can make a run INVALID.
    pub asked: Vec<AskedPercentile>,
    /// Where the error of the first-token time comes from.
    pub error_parts: ErrorParts,
}

/// The parts of the error of a time to first token.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ErrorParts {
    /// Handing the request to the kernel, with chunks that arrived in one read.
    pub sending: Option<Seconds>,
    /// From sending to the first byte of the answer: the server had taken the request up by then. Only where its head
    /// comes ahead of the first token.
    pub path: Option<Seconds>,
    /// The longest a small question to the server's front end took beside the load; stands in for `path` where that is
    /// not known.
    pub front_end: Option<Seconds>,
    /// The network there and back: the shortest time a connection took to stand. The first token takes it once more.
    pub round_trip: Option<Seconds>,
    /// From arrival to being read, 99th percentile; part of the error only without kernel stamps.
    pub reading: Option<Seconds>,
    /// Arrivals carry the kernel's stamp.
    pub kernel_stamps: bool,
}

impl Certificate {
    /// What was wrong with the client, in words; nothing where only the server or the plan is to blame.
    pub fn client_fault(&self) -> Option<&str> {
        let failed = self.checks.iter().find(|c| c.passed == Some(false) && c.name.is_of_client());
        failed.map(|c| c.seen.as_str())
    }

    /// Judges a run.
    pub fn of(tally: &Tally, client: Option<&ClientFacts>) -> Self {
        let missing = ClientFacts::default();
        let known = client.is_some();
        let client = client.unwrap_or(&missing);
        let empty = GroupTally::default();
        let all = tally.groups.get(&GroupKey::All).unwrap_or(&empty);
        let asked = asked(tally);
        let checks = vec![
            answers(all),
            if known {
                client_cpu(client)
            } else {
                check(CheckName::ClientCpu, None, "the client left no account of itself".to_owned())
            },
            sends(tally, all),
            receives(tally),
            precision(tally, all, client),
            shortage(all, Outcome::NoPort, CheckName::Ports, "no port was left for a new connection"),
            shortage(
                all,
                Outcome::NoFile,
                CheckName::Files,
                "no file descriptor was left for a new connection",
            ),
            samples(tally, &asked),
            steady(tally),
            hit_ratio(tally, all, client),
            lengths(tally),
        ];
        let mut reasons: Vec<String> =
            checks.iter().filter(|c| c.passed == Some(false)).map(|c| c.seen.clone()).collect();
        let path = tally.path.quantile(REACH).filter(|_| tally.path.len() * 2 > tally.own.len());
        let parts = ErrorParts {
            sending: tally.own.quantile(REACH),
            path,
            front_end: client.front_end.filter(|_| path.is_none()).map(|f| f.most.seconds()),
            round_trip: client.round_trip.map(Nanos::seconds),
            reading: tally.lag.quantile(0.99),
            kernel_stamps: client.kernel_stamps,
        };
        let reading = if client.kernel_stamps { Some(Seconds(STAMP)) } else { parts.reading };
        let sum = |parts: &[Option<Seconds>]| Seconds(parts.iter().flatten().map(|s| s.0).sum());
        let status = match (reasons.is_empty(), known) {
            (false, _) => Status::Invalid,
            (true, true) => Status::Valid,
            (true, false) => Status::Unknown,
        };
        if status == Status::Unknown {
            reasons.push(
                "the client left no account of itself: the run was killed, or another tool made it"
                    .to_owned(),
            );
        }
        Self {
            status,
            ttft_error: parts
                .sending
                .map(|own| sum(&[Some(own), parts.path, parts.front_end, parts.round_trip, reading])),
            // Both ends of a gap are stamped alike; what differs is one passage through the kernel.
            itl_error: (!all.itl.is_empty())
                .then(|| sum(&[tally.writing.quantile(0.5), reading, Some(Seconds(STAMP))])),
            reasons,
            checks,
            asked,
            error_parts: parts,
        }
    }
}
