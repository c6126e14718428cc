//! One instance under a rate, and the highest rate that holds the objectives.

use intriage_case::{Objective, ObjectiveMetric, PerSecond, Ratio, Requests, Seconds, Statistic, Tokens};
use intriage_simulate::workload::SharedPrefix;
use intriage_simulate::{Arrivals, Class, Outcome, Stop, Workload};

use crate::ask::Ask;
use crate::instance::Instance;
use crate::limits::{Cost, ceilings};

/// Requests of one simulation, from and to; between, enough to fill the batch several times.
const REQUESTS: (f64, f64) = (800.0, 6000.0);
/// Work of one simulation, from and to, that bounds those; so a plan takes seconds.
/// Every output token is one piece of work, and so is every piece of a prompt.
const WORK: (f64, f64) = (0.6e6, 2.5e6);
/// Fewer requests than this, or fewer turnovers of the batch, leave the answer rough.
const ROUGH: (f64, f64) = (300.0, 3.0);
/// Requests of one simulation at least, however long they are.
const FEWEST: f64 = 20.0;
/// Times the batch is filled in one simulation.
const TURNOVERS: f64 = 5.0;
/// Share of a simulation that is not counted: the batch fills.
const WARM_UP: f64 = 0.25;
/// Below this share of the asked tokens a queue is growing without end.
const KEPT_UP: f64 = 0.92;
/// Rates tried by halving: the last interval is about 2 % wide, or 15 % where the trials are rough.
const HALVINGS: (u32, u32) = (8, 5);
/// Searches that differ by their random draws alone; the middle one is the answer.
const DRAWS: usize = 7;
/// How far around the first search the others look, as a factor, and how often they halve that.
const AROUND: f64 = 1.35;
const AROUND_HALVINGS: u32 = 5;
/// The lowest rate tried, as a share of the ceiling: one request nearly alone.
const LOWEST: f64 = 0.01;

/// One instance under one rate.
#[derive(Debug)]
pub(crate) struct Trial {
    pub(crate) rate: PerSecond<Requests>,
    pub(crate) outcome: Outcome,
    /// Output tokens over those asked for.
    pub(crate) kept_up: Ratio,
}

/// What the search found.
#[derive(Debug)]
pub(crate) struct Found {
    /// The highest rate that holds, simulated; `None` where not even a lone request does.
    pub(crate) holds: Option<Trial>,
    /// The lowest rate tried that does not hold; `None` where the ceiling itself holds.
    pub(crate) fails: Option<Trial>,
    /// The lowest and the highest rate that held among searches with other draws.
    pub(crate) by_chance: Option<(PerSecond<Requests>, PerSecond<Requests>)>,
}

impl Found {
    /// Requests in the batch on average at the highest rate that holds; `None` where none does.
    pub(crate) fn running(&self) -> Option<f64> {
        self.holds.as_ref().map(|trial| trial.outcome.running.get())
    }
}

/// Requests that one simulation should have and can afford.
fn affordable(ask: &Ask, instance: &Instance) -> (f64, f64) {
    let pieces = ask.traffic.computed().get() / f64::from(instance.engine.token_budget.max(1));
    let each = (ask.traffic.osl.get() + pieces).max(1.0);
    let within = |requests: f64, work: f64| requests.min(work / each).max(FEWEST);
    (within(REQUESTS.0, WORK.0), within(REQUESTS.1, WORK.1))
}

/// Whether requests are too long for as many of them as an exact answer takes.
pub(crate) fn is_rough(ask: &Ask, instance: &Instance) -> bool {
    let (_, most) = affordable(ask, instance);
    most < ROUGH.0 || most < ROUGH.1 * most_running(instance)
}

/// What a reader should know about the size of the simulations.
pub(crate) fn caution(ask: &Ask, instance: &Instance) -> Option<String> {
    let (_, requests) = affordable(ask, instance);
    let batch = most_running(instance);
    is_rough(ask, instance).then(|| {
        format!(
            "requests are so long that a rate is simulated with {requests:.0} of them at most, up to {batch:.0} at once: quantiles are rough and the limit may be optimistic"
        )
    })
}

/// Requests that the pool and the sequence cap let run at once.
fn most_running(instance: &Instance) -> f64 {
    instance.pool.concurrency_live.get().min(f64::from(instance.engine.max_sequences))
}

/// Simulates an instance under this rate.
pub(crate) fn trial(ask: &Ask, instance: &Instance, rate: PerSecond<Requests>, seed: u64) -> Trial {
    let traffic = &ask.traffic;
    let window = instance.engine.context_window;
    let (prompt, answer) = traffic.lengths(window);
    let mut class = Class::plain(prompt, answer, window);
    let shared = (traffic.isl.get() * traffic.prefix_share.get()).round() as u32;
    class.prefix = (shared > 0).then_some(SharedPrefix { groups: 1, tokens: shared });
    let workload =
        Workload { arrivals: Arrivals::Rate { rate, variation: Ratio(1.0) }, classes: vec![class] };

    let most = most_running(instance);
    let batch = Cost::of(instance, traffic).batch(rate).map_or(most, |batch| batch.get().min(most));
    let osl = traffic.osl.get().max(1.0);
    let (fewest, most) = affordable(ask, instance);
    let requests = (TURNOVERS * batch).clamp(fewest, most);
    let span = requests / rate.0.get();
    let warm_up = Seconds(span * WARM_UP);
    let outcome = Outcome::of(&instance.fleet(), &workload, seed, Stop::after(Seconds(span)), warm_up);
    let asked = rate.0.get() * osl;
    let kept_up = Ratio(outcome.token_rate().0.get() / asked);
    Trial { rate, outcome, kept_up }
}

impl Trial {
    /// The statistic that an objective bounds; shares for errors, seconds for the rest.
    pub(crate) fn measured(&self, metric: ObjectiveMetric, statistic: Statistic) -> f64 {
        let of = |latency: &intriage_simulate::Latency| match statistic {
            Statistic::Mean => latency.mean().get(),
            Statistic::Quantile(q) => latency.quantile(Ratio(q)).get(),
        };
        match metric {
            ObjectiveMetric::Ttft => of(&self.outcome.ttft),
            ObjectiveMetric::Itl => of(&self.outcome.itl),
            // A request's own mean is far narrower than its gaps: the mean stands for it.
            ObjectiveMetric::Tpot => self.outcome.itl.mean().get(),
            ObjectiveMetric::E2e => of(&self.outcome.e2e),
            ObjectiveMetric::Queue => of(&self.outcome.queue),
            ObjectiveMetric::Errors => {
                let refused = self.outcome.refused.get();
                refused / (refused + self.outcome.answered.get()).max(1.0)
            }
        }
    }

    /// The first objective that is missed.
    pub(crate) fn missed<'a>(&self, objectives: &'a [Objective]) -> Option<&'a Objective> {
        objectives.iter().find(|o| self.measured(o.metric, o.statistic) > o.limit)
    }

    pub(crate) fn is_stable(&self) -> bool {
        // Few requests at a low rate miss the mean by chance; only a batch can fall behind.
        self.kept_up.get() >= KEPT_UP || self.outcome.waiting.get() < 1.0
    }

    pub(crate) fn holds(&self, objectives: &[Objective]) -> bool {
        self.missed(objectives).is_none() && self.is_stable()
    }

    /// Output tokens a second.
    pub(crate) fn tokens(&self) -> PerSecond<Tokens> {
        self.outcome.token_rate()
    }
}

/// The highest rate that one instance serves within the objectives.
///
/// A quantile of gaps can lie on a cliff (the one step in twenty that carries a prompt), where a single
/// simulation is right to about a tenth; the middle of several is steadier.
pub(crate) fn search(ask: &Ask, instance: &Instance, tick: &mut dyn FnMut()) -> Found {
    let ceiling = ceilings(instance, &ask.traffic).first().map_or(0.0, |lowest| lowest.rate.0.get());
    let mut at = |rate: f64, seed: u64| {
        tick();
        trial(ask, instance, PerSecond(Requests(rate.max(1e-6))), seed)
    };
    let lowest = at(ceiling * LOWEST, ask.seed);
    if !lowest.holds(&ask.objectives) {
        return Found { holds: None, fails: Some(lowest), by_chance: None };
    }
    let rough = is_rough(ask, instance);
    let halvings = if rough { HALVINGS.1 } else { HALVINGS.0 };
    let whole = Bracket { low: ceiling * LOWEST, high: ceiling * 1.15, holds: Some(lowest), fails: None };
    let first = whole.halved(halvings, &ask.objectives, |rate| at(rate, ask.seed));
    let middle = first.low;
    let mut all = vec![first];
    // Long requests take their time: one search is all they get, and the plan says that it is rough.
    let others = if rough { 0 } else { DRAWS - 1 };
    for k in 0..others as u64 {
        // Spread widely, so that plans with neighbouring seeds share no draws.
        let seed = ask.seed.wrapping_add((k + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let (low, high) = (middle / AROUND, (middle * AROUND).min(ceiling * 1.15));
        let bracket = Bracket { low, high, holds: None, fails: None };
        all.push(bracket.halved(AROUND_HALVINGS, &ask.objectives, |rate| at(rate, seed)));
    }
    all.sort_by(|a, b| a.low.total_cmp(&b.low));
    let rate = |bracket: &Bracket| PerSecond(Requests(bracket.low));
    let by_chance = all.first().zip(all.last()).map(|(low, high)| (rate(low), rate(high)));
    let middle = all.swap_remove(all.len() / 2);
    let holds = middle.holds.or_else(|| Some(at(middle.low, ask.seed)));
    Found { holds, fails: middle.fails, by_chance }
}

/// Two rates, requests a second, between which the objectives stop to hold.
struct Bracket {
    low: f64,
    high: f64,
    holds: Option<Trial>,
    fails: Option<Trial>,
}

impl Bracket {
    fn halved(mut self, times: u32, objectives: &[Objective], mut at: impl FnMut(f64) -> Trial) -> Self {
        for _ in 0..times {
            // Halving the ratio resolves low rates as well as high ones.
            let middle = (self.low * self.high).sqrt();
            let tried = at(middle);
            if tried.holds(objectives) {
                (self.low, self.holds) = (middle, Some(tried));
            } else {
                (self.high, self.fails) = (middle, Some(tried));
            }
        }
        self
    }
}
