//! What users had to bear, and how many times more than without the fault.

use intriage_case::{Ratio, Seconds};

use crate::draw::witness::{End, Life, Witness};
use crate::setup::Setup;

/// What the users of a deployment got in the window, from every request, not from the evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// Requests that were open at some time of the window.
    pub requests: usize,
    /// Sending to first token, median; one that still waits counts with its wait so far. `None` without requests.
    pub ttft_p50: Option<Seconds>,
    /// The same, 95 %.
    pub ttft_p95: Option<Seconds>,
    /// A request's mean time per token, median; silence at the window's end counts.
    pub tpot_p50: Option<Seconds>,
    /// The same, 95 %.
    pub tpot_p95: Option<Seconds>,
    /// Gaps between tokens, 95 %, as the server saw them.
    pub itl_p95: Option<Seconds>,
    /// Sending to last token, 95 %, of the answered.
    pub e2e_p95: Option<Seconds>,
    /// Tokens a second.
    pub throughput: f64,
    /// Share of requests that were refused, cut off or lost.
    pub errors: Ratio,
    /// Longest time in which nobody got a token although somebody wanted one.
    pub standstill: Seconds,
}

/// How many times worse one deployment's figures are than another's; 1 is equal, `None` where nothing can be compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratios {
    /// Of the median time to first token.
    pub ttft_p50: Option<f64>,
    /// Of its 95 %.
    pub ttft_p95: Option<f64>,
    /// Of the median time per token.
    pub tpot_p50: Option<f64>,
    /// Of its 95 %.
    pub tpot_p95: Option<f64>,
    /// Of the whole answer's 95 %.
    pub e2e_p95: Option<f64>,
    /// The control's tokens a second by the deployment's.
    pub throughput: Option<f64>,
    /// Of the share of failed requests, one in two hundred counting as none.
    pub errors: f64,
    /// Of the longest standstill, two seconds counting as none: in a long window a quantile forgets it.
    pub standstill: f64,
}

/// A share of failures that nobody counts: the canary gate's default.
const NO_ERRORS: f64 = 0.005;
/// A standstill that a long prompt may cause by itself, in seconds.
const NO_STANDSTILL: f64 = 2.0;
/// A ratio that is not worth telling from any larger one: throughput of zero, say.
const BEYOND: f64 = 1000.0;

impl Figures {
    pub(crate) fn of(witness: &Witness, setup: &Setup) -> Self {
        let (from, until) = (witness.from, witness.until);
        let way = 2.0 * setup.path.delay.0;
        let present = |life: &&Life| life.arrival < until && life.end.is_none_or(|(at, _)| at >= from);
        let lives: Vec<&Life> = witness.lives.iter().filter(present).collect();
        let time = |life: &Life, to: crate::time::Nanos| to.since(life.arrival).seconds().0;
        let ttft = lives.iter().filter_map(|life| match (life.first, life.end) {
            (Some(first), _) if first <= until => (first >= from).then(|| time(life, first) + way),
            // It waits to the end, or waited until it was given up.
            (_, Some((at, End::Failed))) if at <= until => None,
            _ => Some(time(life, until) + way),
        });
        let tpot = lives.iter().filter_map(|life| {
            let (first, last) = life.first.zip(life.last)?;
            let steps = f64::from(life.tokens.checked_sub(1)?);
            let made = (steps > 0.0).then(|| last.since(first).seconds().0 / steps);
            let silent = (life.end.is_none_or(|(at, _)| at > until))
                .then(|| until.since(first).seconds().0 / f64::from(life.tokens));
            made.into_iter().chain(silent).reduce(f64::max)
        });
        let e2e = lives.iter().filter_map(|life| match life.end {
            Some((at, End::Answered)) if at <= until => Some(time(life, at) + way),
            _ => None,
        });
        let failed = lives.iter().filter(|l| matches!(l.end, Some((at, End::Failed)) if at <= until)).count();
        let gaps = witness.gaps.iter().map(|gap| f64::from(*gap));
        let (ttft, tpot, e2e, itl) = (sorted(ttft), sorted(tpot), sorted(e2e), sorted(gaps));
        Self {
            requests: lives.len(),
            ttft_p50: quantile(&ttft, 0.5),
            ttft_p95: quantile(&ttft, 0.95),
            tpot_p50: quantile(&tpot, 0.5),
            tpot_p95: quantile(&tpot, 0.95),
            itl_p95: quantile(&itl, 0.95),
            e2e_p95: quantile(&e2e, 0.95),
            throughput: witness.tokens as f64 / until.since(from).seconds().0,
            errors: Ratio(failed as f64 / (lives.len() as f64).max(1.0)),
            standstill: witness.standstill.seconds(),
        }
    }

    /// A figure by the name that [`Ratios::named`] has for it: seconds, tokens a second, or a share.
    pub fn named(&self, name: &str) -> Option<f64> {
        match name {
            "ttft_p50" => self.ttft_p50.map(Seconds::get),
            "ttft_p95" => self.ttft_p95.map(Seconds::get),
            "tpot_p50" => self.tpot_p50.map(Seconds::get),
            "tpot_p95" => self.tpot_p95.map(Seconds::get),
            "e2e_p95" => self.e2e_p95.map(Seconds::get),
            "throughput" => Some(self.throughput),
            "errors" => Some(self.errors.get()),
            "standstill" => Some(self.standstill.get()),
            _ => None,
        }
    }

    /// How many times worse these are than those of a control.
    pub fn against(&self, control: &Self) -> Ratios {
        let times = |mine: Option<Seconds>, other: Option<Seconds>| {
            let (mine, other) = (mine?.0, other?.0);
            (other > 0.0).then(|| (mine / other).min(BEYOND))
        };
        Ratios {
            ttft_p50: times(self.ttft_p50, control.ttft_p50),
            ttft_p95: times(self.ttft_p95, control.ttft_p95),
            tpot_p50: times(self.tpot_p50, control.tpot_p50),
            tpot_p95: times(self.tpot_p95, control.tpot_p95),
            e2e_p95: times(self.e2e_p95, control.e2e_p95),
            throughput: (control.throughput > 0.0)
                .then(|| (control.throughput / self.throughput.max(f64::MIN_POSITIVE)).min(BEYOND)),
            errors: self.errors.0 / control.errors.0.max(NO_ERRORS),
            standstill: self.standstill.0 / control.standstill.0.max(NO_STANDSTILL),
        }
    }
}

impl Ratios {
    /// Each with its name.
    pub fn named(&self) -> [(&'static str, Option<f64>); 8] {
        [
            ("ttft_p50", self.ttft_p50),
            ("ttft_p95", self.ttft_p95),
            ("tpot_p50", self.tpot_p50),
            ("tpot_p95", self.tpot_p95),
            ("e2e_p95", self.e2e_p95),
            ("throughput", self.throughput),
            ("errors", Some(self.errors)),
            ("standstill", Some(self.standstill)),
        ]
    }

    /// The worst of them and its name; 1 where nothing got worse.
    pub fn worst(&self) -> (&'static str, f64) {
        let given = self.named().into_iter().filter_map(|(name, ratio)| Some((name, ratio?)));
        given.fold(("none", 1.0), |worst, next| if next.1 > worst.1 { next } else { worst })
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The smallest value that so large a share of all does not exceed.
fn quantile(sorted: &[f64], share: f64) -> Option<Seconds> {
    let rank = (share * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied().map(Seconds)
}
