//! What a run amounts to: the JSON that scripts rely on.

use std::collections::BTreeMap;

use intriage_case::{Bytes, Objective, Seconds, Tokens};
use schemars::JsonSchema;
use serde::Serialize;

use crate::certificate::Certificate;
use crate::client::ClientFacts;
use crate::event::Outcome;
use crate::goodput::Goodput;
use crate::header::{Arrival, Declared, Header};
use crate::spread::{Distribution, Spread};
use crate::steady::Steady;
use crate::tally::{GroupKey, GroupTally, Tally};

/// The result of a run. Times are in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    /// Always `intriage.bench/1`.
    pub schema: String,
    /// The server, without credentials.
    pub url: String,
    /// The model asked for.
    pub model: String,
    /// The API spoken.
    pub api: String,
    /// How requests came.
    pub arrival: Arrival,
    /// Seed of prompts and arrivals.
    pub seed: u64,
    /// Salt of the prompts.
    pub salt: u64,
    /// What the run says of itself.
    pub certificate: Certificate,
    /// All requests that count.
    #[serde(flatten)]
    pub all: Group,
    /// Requests sent to warm up, which count nowhere.
    pub warmup_requests: u64,
    /// Each class of the mix, where there are several.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub classes: BTreeMap<String, Group>,
    /// Each stage, where there are several, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<(String, Group)>,
    /// First and later turns of sessions, where there are sessions.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub turns: BTreeMap<String, Group>,
    /// Whether it settled.
    pub steady: Steady,
    /// The user ended it before its time.
    pub interrupted: bool,
    /// What failed and how often, most frequent first.
    pub errors: Vec<ErrorCount>,
    /// CPU seconds of the client per million tokens received.
    pub client_cpu_per_million_tokens: Option<f64>,
    /// Most memory the client held.
    pub client_peak_memory: Option<Bytes>,
    /// What the server's own counters say of the same time, where they were watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
}

/// The server's own figures of the run, beside the client's. Means of times, sums of counts.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct Beside {
    /// Mean time to first token by the server's clock.
    pub server_ttft: Option<Seconds>,
    /// Mean time to first token by the client's clock, of all answers.
    pub client_ttft: Option<Seconds>,
    /// What lies between the two: network, accepting, parsing, delivery.
    pub between: Option<Seconds>,
    /// The mean time to the first byte of the answer, which bounds the part before the server's clock starts.
    pub path: Option<Seconds>,
    /// The mean time of a metrics scrape beside the load: what network and front end take for a request that needs no
    /// model, and so a measure of the way back.
    pub scrape: Option<Seconds>,
    /// What the server's front end can have added to the mean by waiting for a CPU: its waiting as a share of the
    /// run, of the mean life of a request. Only where its machine was looked at.
    pub cpu_wait: Option<Seconds>,
    /// Answer tokens by the server's counter.
    pub server_output_tokens: Option<Tokens>,
    /// Answer tokens by the client's count, warm-up and failures included.
    pub client_output_tokens: Tokens,
    /// Prompt tokens by the server's counter.
    pub server_input_tokens: Option<Tokens>,
    /// Prompt tokens by the client's count.
    pub client_input_tokens: Tokens,
}

impl Beside {
    /// What network and front end account for at most: the way there, the way back, waiting for a CPU, and the client's
    /// own error.
    pub fn share(&self, client_error: Option<Seconds>) -> Option<Seconds> {
        let wait = self.cpu_wait.unwrap_or_default();
        Some(Seconds(self.path?.0 + self.scrape?.0 + client_error?.0 + wait.0))
    }
}

/// One kind of failure.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ErrorCount {
    /// Its kind.
    pub outcome: Outcome,
    /// In the server's or the system's words.
    pub text: String,
    /// How often.
    pub count: u64,
}

/// The figures of a group of requests.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Group {
    /// How many, and how they ended.
    pub requests: Requests,
    /// From the first send to the last end.
    pub duration: Option<Seconds>,
    /// Rates.
    #[serde(flatten)]
    pub throughput: Throughput,
    /// Time to first token: from sending to the first generated token, reasoning included, a role not.
    pub ttft: Distribution,
    /// Time between tokens: the gap between chunks, shared by the tokens of the later one.
    pub itl: Distribution,
    /// Mean time per token after the first, one figure a request.
    pub tpot: Distribution,
    /// From sending to the last token.
    pub e2e: Distribution,
    /// Until the first byte of the answer.
    pub ttfb: Distribution,
    /// Until the first event with a choice, text or not.
    pub first_chunk: Distribution,
    /// Until the first reasoning text.
    pub first_reasoning: Distribution,
    /// Until the first text of the answer itself.
    pub first_content: Distribution,
    /// Between chunks, however many tokens they carry.
    pub chunk_gap: Distribution,
    /// End-to-end time per token.
    pub normalised_tpot: Distribution,
    /// Making a connection, where one was made.
    pub connect: Distribution,
    /// Sent later than planned.
    pub lateness: Distribution,
    /// First token and end counted from the planned instant instead of the send.
    pub planned: Planned,
    /// How many requests held their objectives.
    pub goodput: Option<Goodput>,
}

/// Latency as the user of an open-loop service sees it: from the instant the request was due.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Planned {
    /// Time to first token.
    pub ttft: Distribution,
    /// End to end.
    pub e2e: Distribution,
    /// 99th percentile from plan less the one from sending: what measuring from the send leaves out (coordinated omission).
    pub omission_p99: Option<Seconds>,
}

/// Requests by their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Requests {
    /// All that were planned.
    pub planned: u64,
    /// Answered.
    pub ok: u64,
    /// Failed.
    pub failed: u64,
    /// Given up by plan.
    pub aborted: u64,
    /// Still running at the end.
    pub unfinished: u64,
    /// Never sent.
    pub never_sent: u64,
}

/// Rates of a group.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Throughput {
    /// Answered requests a second.
    pub requests_per_second: Option<f64>,
    /// Sent requests a second, from the first send to the last.
    pub sent_per_second: Option<f64>,
    /// Answer tokens a second, of answered requests.
    pub output_tokens_per_second: Option<f64>,
    /// Prompt tokens a second, of answered requests.
    pub input_tokens_per_second: Option<f64>,
    /// Answer tokens of answered requests.
    pub output_tokens: u64,
    /// Prompt tokens of answered requests, as the server counted.
    pub input_tokens: u64,
    /// Prompt tokens the server said it found in its cache.
    pub cached_tokens: Option<u64>,
    /// Tokens that came for requests that did not end well.
    pub wasted_tokens: u64,
    /// Answers whose tokens were spread evenly over their chunks, because the server did not tell how many each holds.
    pub answers_with_guessed_gaps: u64,
}

impl Summary {
    /// Sums up a run.
    pub fn of(header: &Header, tally: &Tally, client: Option<&ClientFacts>) -> Self {
        let empty = GroupTally::default();
        let all = tally.groups.get(&GroupKey::All).unwrap_or(&empty);
        let group = |key: GroupKey, class: u16| {
            tally.groups.get(&key).map(|g| g.figures(&header.declared, header.declared.objectives_of(class)))
        };
        let classes = &header.declared.classes;
        let numbered = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
        let tokens = all.output_tokens + all.wasted_tokens;
        Self {
            schema: "intriage.bench/1".to_owned(),
            url: header.url.clone(),
            model: header.model.clone(),
            api: header.api.clone(),
            arrival: header.declared.arrival.clone(),
            seed: header.seed,
            salt: header.salt,
            certificate: Certificate::of(tally, client),
            all: all.figures(&header.declared, &header.declared.objectives),
            warmup_requests: tally.warmups,
            classes: classes
                .iter()
                .enumerate()
                .filter_map(|(i, (name, _))| {
                    Some((name.clone(), group(GroupKey::Class(numbered(i)), numbered(i))?))
                })
                .collect(),
            stages: (header.declared.stages.iter().enumerate())
                .filter_map(|(i, name)| Some((name.clone(), group(GroupKey::Stage(numbered(i)), 0)?)))
                .collect(),
            turns: [("first", GroupKey::FirstTurn), ("later", GroupKey::LaterTurn)]
                .into_iter()
                .filter_map(|(name, key)| Some((name.to_owned(), group(key, 0)?)))
                .collect(),
            steady: Steady::of(&tally.seconds),
            interrupted: client.is_some_and(|c| c.interrupted),
            errors: error_counts(tally),
            client_cpu_per_million_tokens: client
                .filter(|_| tokens > 0)
                .map(|c| c.cpu.0 / tokens as f64 * 1e6),
            client_peak_memory: client.map(|c| c.peak_memory),
            beside: None,
        }
    }
}

fn error_counts(tally: &Tally) -> Vec<ErrorCount> {
    let mut errors: Vec<ErrorCount> = tally
        .errors
        .iter()
        .map(|((outcome, text), count)| ErrorCount { outcome: *outcome, text: text.clone(), count: *count })
        .collect();
    errors.sort_by_key(|e| std::cmp::Reverse(e.count));
    errors
}

impl GroupTally {
    fn figures(&self, declared: &Declared, objectives: &[Objective]) -> Group {
        let count = |outcome: Outcome| self.outcomes.get(&outcome).copied().unwrap_or(0);
        let requests = Requests {
            planned: self.outcomes.values().sum(),
            ok: count(Outcome::Ok),
            failed: self.outcomes.iter().filter(|(o, _)| o.is_failure()).map(|(_, n)| n).sum(),
            aborted: count(Outcome::Aborted),
            unfinished: count(Outcome::Unfinished),
            never_sent: count(Outcome::NeverSent),
        };
        let span = |to: Option<intriage_case::Nanos>| {
            let (from, to) = self.first_sent.zip(to).filter(|_| !declared.without_starts)?;
            Some(to.since(from).seconds()).filter(|s| s.0 > 0.0)
        };
        let duration = span(self.last_ended);
        let rate = |n: u64| duration.map(|d| n as f64 / d.0);
        let sent = requests.planned - requests.never_sent;
        let sending = span(self.last_sent);
        let p99 = |s: &Spread| s.quantile(0.99);
        Group {
            requests,
            duration,
            throughput: Throughput {
                requests_per_second: rate(requests.ok),
                // The gaps between the sends are one fewer than the sends.
                sent_per_second: sending.filter(|_| sent > 1).map(|s| (sent - 1) as f64 / s.0),
                output_tokens_per_second: rate(self.output_tokens),
                input_tokens_per_second: rate(self.input_tokens),
                output_tokens: self.output_tokens,
                input_tokens: self.input_tokens,
                cached_tokens: (self.cached_known > 0).then_some(self.cached_tokens),
                wasted_tokens: self.wasted_tokens,
                answers_with_guessed_gaps: self.guessed_tokens,
            },
            ttft: self.ttft.distribution(),
            // Gaps of one answer depend on each other.
            itl: self.itl.distribution_among(self.ttft.len()),
            tpot: self.tpot.distribution(),
            e2e: self.e2e.distribution(),
            ttfb: self.ttfb.distribution(),
            first_chunk: self.first_chunk.distribution(),
            first_reasoning: self.first_reasoning.distribution(),
            first_content: self.first_content.distribution(),
            chunk_gap: self.gap.distribution_among(self.ttft.len()),
            normalised_tpot: self.normalised_tpot.distribution(),
            connect: self.connect.distribution(),
            lateness: self.late.distribution(),
            planned: Planned {
                ttft: self.planned_ttft.distribution(),
                e2e: self.planned_e2e.distribution(),
                omission_p99: p99(&self.planned_ttft)
                    .zip(p99(&self.ttft))
                    .map(|(a, b)| Seconds((a.0 - b.0).max(0.0))),
            },
            goodput: (!objectives.is_empty()).then(|| self.goodput(&requests, duration, objectives)),
        }
    }
}
