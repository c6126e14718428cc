//! What the user wants of the server: a workload profile and objectives.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Ratio, Seconds};

/// What kind of work the server does; decides which conditions matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// People wait for tokens: latency is the objective.
    #[default]
    Interactive,
    /// A job wants throughput: a standing queue and long answers are its plan.
    Batch,
    /// People wait, and arrivals come in bursts: a queue that drains is expected.
    Bursty,
}

/// The user's intent, stored with the case so that a colleague judges by the same measure.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Intent {
    /// The workload profile.
    #[serde(default)]
    pub profile: Profile,
    /// Objectives, in the order given.
    #[serde(default)]
    pub objectives: Vec<Objective>,
    /// Judge this served model only, where a server offers several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// What an objective bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ObjectiveMetric {
    /// Time to first token, measured from arrival at the server.
    Ttft,
    /// Gap between tokens.
    Itl,
    /// Per-request mean time per output token.
    Tpot,
    /// Arrival to last token.
    E2e,
    /// Time in the engine's queue.
    Queue,
    /// Share of requests that fail.
    Errors,
}

/// The statistic an objective bounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// The mean.
    Mean,
    /// A quantile, 0 to 1.
    Quantile(f64),
}

/// One objective, such as `ttft.p95=500ms`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Objective {
    /// What is bounded.
    pub metric: ObjectiveMetric,
    /// Which statistic of it.
    pub statistic: Statistic,
    /// The bound: seconds, or a share for `errors`.
    pub limit: f64,
}

impl Objective {
    /// The bound as a time; `None` for a share.
    pub fn limit_time(&self) -> Option<Seconds> {
        (self.metric != ObjectiveMetric::Errors).then_some(Seconds(self.limit))
    }

    /// The bound as a share; `None` for a time.
    pub fn limit_share(&self) -> Option<Ratio> {
        (self.metric == ObjectiveMetric::Errors).then_some(Ratio(self.limit))
    }
}

/// Why a text is not an objective.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ObjectiveParseError {
    /// No `=`.
    #[error("'{0}' is not an objective: write METRIC.STATISTIC=LIMIT, such as ttft.p95=500ms")]
    Shape(String),
    /// Unknown metric.
    #[error("'{0}' is not something to bound: use ttft, itl, tpot, e2e, queue or errors")]
    Metric(String),
    /// Unknown statistic.
    #[error("'{0}' is not a statistic: use mean, or p50, p90, p95, p99 and the like")]
    Statistic(String),
    /// The limit is not a positive time (or share).
    #[error("'{0}' is not a limit: write 500ms, 1.5s or 2m (for errors: 0.5% or 0.005)")]
    Limit(String),
}

impl FromStr for Objective {
    type Err = ObjectiveParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let shape = || ObjectiveParseError::Shape(text.to_owned());
        let (name, limit) = text.split_once('=').ok_or_else(shape)?;
        let (metric, statistic) = name.trim().split_once('.').unwrap_or((name.trim(), "mean"));
        let metric = match metric {
            "ttft" => ObjectiveMetric::Ttft,
            "itl" => ObjectiveMetric::Itl,
            "tpot" => ObjectiveMetric::Tpot,
            "e2e" | "e2el" => ObjectiveMetric::E2e,
            "queue" => ObjectiveMetric::Queue,
            "errors" => ObjectiveMetric::Errors,
            other => return Err(ObjectiveParseError::Metric(other.to_owned())),
        };
        let statistic = parse_statistic(statistic)?;
        let limit = if metric == ObjectiveMetric::Errors {
            parse_share(limit.trim())
        } else {
            parse_time(limit.trim())
        }
        .ok_or_else(|| ObjectiveParseError::Limit(limit.to_owned()))?;
        Ok(Self { metric, statistic, limit })
    }
}

fn parse_statistic(text: &str) -> Result<Statistic, ObjectiveParseError> {
    let bad = || ObjectiveParseError::Statistic(text.to_owned());
    match text {
        "mean" | "avg" => Ok(Statistic::Mean),
        "median" => Ok(Statistic::Quantile(0.5)),
        _ => {
            let percent: f64 = text.strip_prefix('p').ok_or_else(bad)?.parse().map_err(|_| bad())?;
            (percent > 0.0 && percent < 100.0).then_some(Statistic::Quantile(percent / 100.0)).ok_or_else(bad)
        }
    }
}

fn parse_time(text: &str) -> Option<f64> {
    const UNITS: [(&str, f64); 5] = [("ms", 1e-3), ("us", 1e-6), ("µs", 1e-6), ("s", 1.0), ("m", 60.0)];
    let (number, scale) = UNITS.iter().find_map(|(u, scale)| text.strip_suffix(u).map(|n| (n, *scale)))?;
    let value = number.trim().parse::<f64>().ok()? * scale;
    (value.is_finite() && value > 0.0).then_some(value)
}

fn parse_share(text: &str) -> Option<f64> {
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok()? / 100.0,
        None => text.parse().ok()?,
    };
    (0.0..1.0).contains(&value).then_some(value)
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let metric = match self.metric {
            ObjectiveMetric::Ttft => "ttft",
            ObjectiveMetric::Itl => "itl",
            ObjectiveMetric::Tpot => "tpot",
            ObjectiveMetric::E2e => "e2e",
            ObjectiveMetric::Queue => "queue",
            ObjectiveMetric::Errors => "errors",
        };
        match self.statistic {
            Statistic::Mean => write!(f, "{metric}.mean")?,
            Statistic::Quantile(q) => write!(f, "{metric}.p{}", q * 100.0)?,
        }
        match self.limit_share() {
            Some(share) => write!(f, " ≤ {share}"),
            None => write!(f, " ≤ {}", Seconds(self.limit)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objectives_are_written_the_way_people_type_them() {
        let o: Objective = "ttft.p95=500ms".parse().unwrap();
        assert_eq!(o.metric, ObjectiveMetric::Ttft);
        assert_eq!(o.statistic, Statistic::Quantile(0.95));
        assert!((o.limit - 0.5).abs() < 1e-12);
        assert_eq!(o.to_string(), "ttft.p95 ≤ 500 ms");
        assert_eq!("e2e=2m".parse::<Objective>().unwrap().limit_time(), Some(Seconds(120.0)));
        assert_eq!("errors=0.5%".parse::<Objective>().unwrap().limit_share(), Some(Ratio(0.005)));
    }

    #[test]
    fn nonsense_objectives_say_what_to_write_instead() {
        for (text, hint) in [
            ("fast", "METRIC.STATISTIC=LIMIT"),
            ("speed.p95=1s", "ttft"),
            ("ttft.q95=1s", "p95"),
            ("ttft.p950=1s", "p95"),
            ("ttft.p95=500", "500ms"),
            ("ttft.p95=-1s", "500ms"),
            ("errors=40", "0.5%"),
        ] {
            let error = text.parse::<Objective>().unwrap_err().to_string();
            assert!(error.contains(hint), "{text}: {error}");
        }
    }
}
