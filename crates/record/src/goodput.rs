//! Objectives on a group of requests: which hold, how surely, and how many requests held all of them.

use intriage_case::{Objective, ObjectiveMetric, Ratio, Seconds, Statistic};
use schemars::JsonSchema;
use serde::Serialize;

use crate::spread::{Spread, Z};
use crate::summary::Requests;
use crate::tally::GroupTally;

/// Requests that held every objective, and what they are a share of.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Goodput {
    /// Requests that held all.
    pub good: u64,
    /// Of so many: all planned ones, failures and unfinished ones included, those given up by plan not.
    pub of: u64,
    /// The share.
    pub share: Option<Ratio>,
    /// Good requests a second.
    pub requests_per_second: Option<f64>,
    /// Each objective on the whole group.
    pub objectives: Vec<Held>,
}

/// One objective, judged on the group.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Held {
    /// The objective.
    pub objective: Objective,
    /// What the group shows, in the unit of the limit; a failed request counts as slower than any answer, so it is absent
    /// where too many failed.
    pub measured: Option<f64>,
    /// Between which values that lies with 95 % confidence, by the number of requests; absent on a side where they are too
    /// few to say.
    pub interval: (Option<f64>, Option<f64>),
    /// Whether it holds.
    pub met: bool,
    /// Requests that broke it on their own.
    pub broken_by: u64,
}

impl Held {
    /// Whether the interval leaves no doubt, one way or the other.
    pub fn is_sure(&self) -> bool {
        let limit = self.objective.limit;
        self.interval.1.is_some_and(|high| high <= limit) || self.interval.0.is_some_and(|low| low > limit)
    }
}

impl GroupTally {
    pub(crate) fn goodput(
        &self,
        requests: &Requests,
        duration: Option<Seconds>,
        objectives: &[Objective],
    ) -> Goodput {
        let of = requests.planned - requests.aborted;
        let held = |(place, objective): (usize, &Objective)| {
            let (measured, interval) = self.measured(objective, requests);
            Held {
                objective: *objective,
                measured,
                interval,
                met: measured.is_some_and(|m| m <= objective.limit),
                broken_by: self.broken.get(place).copied().unwrap_or(0),
            }
        };
        Goodput {
            good: self.good,
            of,
            share: Ratio::of(self.good as f64, of as f64),
            requests_per_second: duration.map(|d| self.good as f64 / d.0),
            objectives: objectives.iter().enumerate().map(held).collect(),
        }
    }

    /// The figure an objective bounds and its interval, in its unit; counted from the planned instant.
    fn measured(&self, objective: &Objective, requests: &Requests) -> Measured {
        let spread = match objective.metric {
            ObjectiveMetric::Ttft => &self.planned_ttft,
            ObjectiveMetric::Itl => &self.itl,
            ObjectiveMetric::Tpot => &self.tpot,
            ObjectiveMetric::E2e => &self.planned_e2e,
            ObjectiveMetric::Errors => return errors(requests),
            ObjectiveMetric::Queue => return (None, (None, None)),
        };
        // Gaps of one answer go together: there are no more independent samples than answers.
        let independent = spread.len().min(self.planned_ttft.len());
        let (value, (low, high)) = match objective.statistic {
            Statistic::Mean => (spread.mean(), mean_interval(spread, independent)),
            Statistic::Quantile(q) => {
                // A failed request took longer than any answer.
                let asked = (requests.ok + requests.failed) as f64;
                let q = q * asked / (requests.ok as f64).max(1.0);
                if q > 1.0 {
                    return (None, (Some(f64::INFINITY), None));
                }
                (spread.quantile(q), spread.interval_among(q, independent))
            }
        };
        (value.map(Seconds::get), (low.map(Seconds::get), high.map(Seconds::get)))
    }
}

type Measured = (Option<f64>, (Option<f64>, Option<f64>));

fn mean_interval(spread: &Spread, independent: u64) -> (Option<Seconds>, Option<Seconds>) {
    let all = spread.distribution();
    let Some((mean, deviation)) = all.mean.zip(all.stddev).filter(|_| independent > 1) else {
        return (None, None);
    };
    let half = Z * deviation.0 / (independent as f64).sqrt();
    (Some(Seconds((mean.0 - half).max(0.0))), Some(Seconds(mean.0 + half)))
}

/// Wilson's interval of a share, which holds for few failures too.
fn errors(requests: &Requests) -> Measured {
    let n = (requests.ok + requests.failed) as f64;
    if n == 0.0 {
        return (None, (None, None));
    }
    let p = requests.failed as f64 / n;
    let middle = (p + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z / (1.0 + Z * Z / n) * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    (Some(p), (Some((middle - half).max(0.0)), Some(middle + half)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::event::ChunkKind::Content;
    use crate::figures::tests::answer;
    use crate::header::{Declared, Header};
    use crate::summary::Summary;
    use crate::tally::Tally;

    /// What the objective shows of answers with these first tokens, in ms.
    fn judged(objective: &str, firsts: impl Iterator<Item = u64>) -> Held {
        let objective: Objective = objective.parse().unwrap();
        let declared = Declared { objectives: vec![objective], ..Declared::default() };
        let mut tally = Tally::new(declared.clone());
        for (id, first) in firsts.enumerate() {
            tally.add(&answer(id as u64, 0, &[(first, Content), (first + 10, Content)]));
        }
        let header = Header { declared, ..Header::default() };
        Summary::of(&header, &tally, None).all.goodput.unwrap().objectives.remove(0)
    }

    #[test]
    fn few_requests_leave_a_high_percentile_open_above() {
        let held = judged("ttft.p99=1s", (0..100).map(|i| 100 + i));
        assert_eq!((held.met, held.interval.1), (true, None));
        let held = judged("ttft.p99=1s", (0..4000).map(|i| 100 + i / 10));
        let (low, high) = (held.interval.0.unwrap(), held.interval.1.unwrap());
        // 12 ranks to either side of the 3960th, ten ranks a millisecond.
        assert!((0.4935..0.4955).contains(&low) && (0.4965..0.4985).contains(&high), "{low} {high}");
    }

    #[test]
    fn a_failed_request_is_slower_than_any_answer() {
        let objective: Objective = "ttft.p95=1s".parse().unwrap();
        let declared = Declared { objectives: vec![objective], ..Declared::default() };
        let header = Header { declared: declared.clone(), ..Header::default() };
        let of = |failed: u64| {
            let mut tally = Tally::new(declared.clone());
            for id in 0..100u64 {
                let mut one = answer(id, 0, &[(100 + id, Content)]);
                if id < failed {
                    one.request.outcome = crate::event::Outcome::Reset;
                }
                tally.add(&one);
            }
            let held = Summary::of(&header, &tally, None).all.goodput.unwrap().objectives.remove(0);
            (held.met, held.measured.map(|s| (s * 1e3).round() as u64))
        };
        // The 95th of 100: with 3 failed it is the 95th answer of 97, with 6 failed no answer at all.
        assert_eq!((of(0), of(3), of(6)), ((true, Some(194)), (true, Some(197)), (false, None)));
    }

    #[test]
    fn no_failure_in_a_hundred_does_not_prove_a_share_below_one_percent() {
        let held = judged("errors=1%", (0..100).map(|_| 50));
        assert_eq!(held.measured, Some(0.0));
        // Wilson: z² / (n + z²).
        assert!((held.interval.1.unwrap() - 3.8416 / 103.8416).abs() < 1e-9, "{:?}", held.interval);
    }

    #[test]
    fn a_mean_is_known_within_its_standard_error() {
        let held = judged("ttft.mean=1s", (0..400).map(|i| if i % 2 == 0 { 100 } else { 300 }));
        let (low, high) = (held.interval.0.unwrap(), held.interval.1.unwrap());
        assert!((low - (0.2 - 0.0098)).abs() < 1e-4 && (high - (0.2 + 0.0098)).abs() < 1e-4, "{low} {high}");
    }
}
