//! What the clients saw in the window, beside what the server says.

use intriage_case::{ClientRequest, Millis, ObjectiveMetric, Seconds, Signal, Statistic};

use crate::evidence::Evidence;
use crate::thresholds::Limit;

/// The clients' side of the window; times in seconds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Clients {
    /// Answered requests that are counted here.
    pub(crate) answered: usize,
    /// Mean time to the first text.
    pub(crate) ttft: f64,
    /// The server's mean time to first token in the same window.
    pub(crate) server_ttft: f64,
    /// Median time to connect (where a connection was made) and to the head of the answer.
    pub(crate) headers: f64,
    /// Median of the requests' median gaps between two pieces.
    pub(crate) gap: Option<f64>,
    /// The server's mean gap between tokens.
    pub(crate) server_gap: Option<f64>,
    /// Mean time to the last text.
    pub(crate) e2e: f64,
    firsts: Vec<f64>,
    lasts: Vec<f64>,
}

impl Clients {
    /// The clients' side, or what is missing.
    pub(crate) fn of(e: &Evidence<'_>) -> Result<Self, String> {
        let all = &e.observed.client;
        if all.is_empty() {
            return Err("no client's record of the requests was given (--client FILE)".into());
        }
        let (Some(from), Some(to)) = (e.observed.times.first(), e.observed.times.last()) else {
            return Err("there is no window to compare the client's record with".into());
        };
        // Those whose first token came in the window, as in the server's figure.
        let inside = |r: &&ClientRequest| {
            let first =
                r.first.map(|first| Millis(r.sent.0.saturating_add((first.get().max(0.0) * 1000.0) as u64)));
            first.is_some_and(|first| first >= *from && first <= *to)
        };
        let answered: Vec<&ClientRequest> = all.iter().filter(inside).collect();
        let server_ttft =
            e.mean(Signal::LatencyTtft).ok_or_else(|| e.observed.why_missing(Signal::LatencyTtft))?;
        if answered.is_empty() {
            return Err("no client got an answer in the window".into());
        }
        let firsts: Vec<f64> = answered.iter().filter_map(|r| r.first).map(Seconds::get).collect();
        let lasts: Vec<f64> = answered.iter().filter_map(|r| r.last).map(Seconds::get).collect();
        Ok(Self {
            answered: answered.len(),
            ttft: mean(&firsts),
            server_ttft,
            headers: median(answered.iter().filter_map(|r| r.headers).map(Seconds::get).collect())
                .unwrap_or(0.0),
            gap: median(answered.iter().filter_map(|r| r.gap_p50).map(Seconds::get).collect()),
            server_gap: e.account.itl,
            e2e: mean(&lasts),
            firsts: sorted(firsts),
            lasts: sorted(lasts),
        })
    }

    /// What an objective asks for, as the clients saw it; `None` where they cannot tell.
    pub(crate) fn measured(&self, metric: ObjectiveMetric, statistic: Statistic) -> Option<f64> {
        let times = match metric {
            ObjectiveMetric::Ttft => &self.firsts,
            ObjectiveMetric::E2e => &self.lasts,
            _ => return None,
        };
        match statistic {
            Statistic::Mean => Some(mean(times)),
            Statistic::Quantile(q) => {
                let rank = (q * times.len() as f64).ceil() as usize;
                times.get(rank.saturating_sub(1)).copied()
            }
        }
    }

    /// Whether pieces come closer together than tokens are made, for which `limit` is the largest share.
    pub(crate) fn held_back(&self, limit: f64) -> bool {
        self.gap.zip(self.server_gap).is_some_and(|(gap, made)| gap < limit * made)
    }

    /// How much later than the server the clients see the first token.
    pub(crate) fn later(&self) -> f64 {
        (self.ttft - self.server_ttft).max(0.0)
    }

    /// How much later matters, in seconds: half as much where it is the larger half of what they wait.
    pub(crate) fn gap_that_matters(&self, e: &Evidence<'_>) -> f64 {
        let limit = if self.later() >= 0.5 * self.ttft { Limit::ClientGapLarger } else { Limit::ClientGap };
        e.limit(limit)
    }
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

fn median(values: Vec<f64>) -> Option<f64> {
    let values = sorted(values);
    values.get(values.len() / 2).copied()
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}
