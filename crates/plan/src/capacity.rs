//! What one instance can do: its pace alone, its sweep, its knee, and where the objectives stop it.

use intriage_case::{Objective, ObjectiveMetric, PerSecond, Quantity, Ratio, Requests, Seconds, Tokens};
use intriage_physics::bounds::StepLoad;
use intriage_physics::queueing::{SweepPoint, knee};
use schemars::JsonSchema;
use serde::Serialize;

use crate::ask::Ask;
use crate::deployed::Deployed;
use crate::instance::Instance;
use crate::limits::{Ceiling, CeilingOf, ceilings};
use crate::search::{Found, Trial, is_rough, trial};

/// What one instance can do.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Capacity {
    /// Bounds and expected times of single steps; empty where no model was given.
    pub paces: Vec<Pace>,
    /// Rates that cannot be passed, the lowest first, speed last.
    pub ceilings: Vec<Ceiling>,
    /// The instance under a row of rates.
    pub sweep: Vec<RatePoint>,
    /// The rate with the most throughput for its latency.
    pub knee: Option<PerSecond<Requests>>,
    /// The highest rate that holds the objectives; absent where none does.
    pub at_objectives: Option<RatePoint>,
    /// The lowest and the highest such rate among simulations that differ by chance alone.
    pub by_chance: Option<(PerSecond<Requests>, PerSecond<Requests>)>,
    /// What stops it there.
    pub binding: Binding,
}

/// The time of one kind of step.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Pace {
    /// What is in the step.
    pub step: String,
    /// The least time physics allows.
    pub bound: Seconds,
    /// Whether arithmetic rather than bandwidth sets the bound.
    pub compute_bound: bool,
    /// The time expected of good software, host work included.
    pub expected: Seconds,
}

/// The instance under one rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RatePoint {
    /// Requests a second that come.
    pub rate: PerSecond<Requests>,
    /// Output tokens a second.
    pub output: PerSecond<Tokens>,
    /// Time to first token, 95th percentile.
    pub ttft_p95: Seconds,
    /// Time between tokens, mean.
    pub itl_mean: Seconds,
    /// Time between tokens, 95th percentile.
    pub itl_p95: Seconds,
    /// Arrival to last token, mean.
    pub e2e_mean: Seconds,
    /// Requests in the batch, mean.
    pub running: Requests,
    /// Share of the KV pool in use, mean.
    pub kv_usage: Ratio,
    /// Whether the objectives hold.
    pub holds: bool,
}

/// What stops an instance from serving more within its objectives.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Binding {
    /// The limit.
    pub limit: Limit,
    /// Why, in one sentence.
    pub says: String,
}

/// The limits an instance can run into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Requests wait for room in the KV pool.
    KvPool,
    /// Requests wait for a place in the batch.
    SequenceCap,
    /// Steps are filled with prompt tokens: arithmetic, or the token budget.
    PromptWork,
    /// Gaps between tokens grow too long.
    Pace,
    /// Nothing did, up to the highest rate tried.
    Nothing,
}

/// Shares of the lowest ceiling at which the sweep stops.
const SWEEP: [f64; 12] = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.92, 1.0, 1.08];
/// A pool or a batch that is fuller than this on average is full when a crowd comes.
const CROWDED: f64 = 0.5;

impl Capacity {
    pub(crate) fn of(ask: &Ask, instance: &Instance, found: &Found, tick: &mut dyn FnMut()) -> Self {
        let ceilings = ceilings(instance, &ask.traffic);
        let lowest = ceilings.first().map_or(0.0, |ceiling| ceiling.rate.0.get());
        let stride = if is_rough(ask, instance) { 2 } else { 1 };
        let mut sweep: Vec<RatePoint> = SWEEP
            .iter()
            .rev()
            .step_by(stride)
            .map(|share| {
                tick();
                let rate = PerSecond(Requests(lowest * share));
                RatePoint::of(&trial(ask, instance, rate, ask.seed), &ask.objectives)
            })
            .collect();
        let at_objectives = found.holds.as_ref().map(|trial| RatePoint::of(trial, &ask.objectives));
        sweep.extend(at_objectives);
        sweep.sort_by(|a, b| a.rate.0.get().total_cmp(&b.rate.0.get()));
        let points: Vec<SweepPoint> = sweep.iter().map(|point| point.sweep_point(ask.traffic.osl)).collect();
        let binding = binding(ask, instance, found);
        Self {
            paces: ask.deployed.as_ref().map_or_else(Vec::new, |deployed| paces(ask, deployed, instance)),
            knee: knee(&points).map(|point| PerSecond(Requests(point.load))),
            ceilings,
            sweep,
            at_objectives,
            by_chance: found.by_chance,
            binding,
        }
    }
}

impl RatePoint {
    pub(crate) fn of(trial: &Trial, objectives: &[Objective]) -> Self {
        let outcome = &trial.outcome;
        Self {
            rate: trial.rate,
            output: trial.tokens(),
            ttft_p95: outcome.ttft.quantile(Ratio(0.95)),
            itl_mean: outcome.itl.mean(),
            itl_p95: outcome.itl.quantile(Ratio(0.95)),
            e2e_mean: outcome.e2e.mean(),
            running: outcome.running,
            kv_usage: outcome.kv_usage,
            holds: trial.holds(objectives),
        }
    }

    /// Throughput as it came out, so that an overload earns nothing.
    fn sweep_point(&self, osl: Tokens) -> SweepPoint {
        let throughput = PerSecond(Requests(self.output.0.get() / osl.get().max(1.0)));
        SweepPoint { load: self.rate.0.get(), throughput, latency: self.e2e_mean }
    }
}

fn paces(ask: &Ask, deployed: &Deployed, instance: &Instance) -> Vec<Pace> {
    let context = instance.pool.live_context;
    let computed = ask.traffic.computed();
    let cached = Tokens(ask.traffic.isl.get() - computed.get());
    let most = instance.pool.concurrency_live.get().min(f64::from(instance.engine.max_sequences)) as u32;
    let prompt = StepLoad::prefill(computed, cached);
    let mut all = vec![
        Pace::of(deployed, format!("prompt of {computed} alone"), &prompt, 1),
        deployed.decode_pace(1, context),
    ];
    if most > 1 {
        all.push(deployed.decode_pace(most, context));
    }
    all
}

/// Reads from the first rate that failed what it failed on.
fn binding(ask: &Ask, instance: &Instance, found: &Found) -> Binding {
    let Some(trial) = &found.fails else {
        return Binding {
            limit: Limit::Nothing,
            says: "the objectives hold up to the highest rate the instance can take".into(),
        };
    };
    let outcome = &trial.outcome;
    let missed = trial.missed(&ask.objectives);
    let what = missed.map_or_else(
        || "the instance cannot keep up".to_owned(),
        |o| {
            let measured = trial.measured(o.metric, o.statistic);
            let shown = if o.metric == ObjectiveMetric::Errors {
                Ratio(measured).to_string()
            } else {
                Seconds(measured).to_string()
            };
            format!("{o} would be {shown}")
        },
    );
    // A request alone has no rate worth a figure.
    let at = found.holds.as_ref().map_or_else(String::new, |_| format!("at {} ", rate_text(trial.rate)));
    if missed.is_some_and(|o| matches!(o.metric, ObjectiveMetric::Itl | ObjectiveMetric::Tpot)) {
        let why = if outcome.itl.quantile(Ratio(0.5)).get() * 1.5 < outcome.itl.quantile(Ratio(0.95)).get() {
            "prompts of others lengthen the steps"
        } else {
            "the batch itself takes that long to decode"
        };
        return Binding { limit: Limit::Pace, says: format!("{at}{what}: {why}") };
    }
    let cap = f64::from(instance.engine.max_sequences);
    let (pool, batch) = (outcome.kv_usage.get(), outcome.running.get() / cap);
    let (limit, why) = if outcome.preemptions > 0 || (pool >= CROWDED && pool >= batch) {
        let thrown = match outcome.preemptions {
            0 => String::new(),
            n => format!(" and ran out at times ({n} requests were thrown back)"),
        };
        (Limit::KvPool, format!("the KV pool is {} full on average{thrown}", outcome.kv_usage))
    } else if batch >= CROWDED {
        (
            Limit::SequenceCap,
            format!("{:.1} of {cap} places in the batch are taken on average", outcome.running.get()),
        )
    } else if found.holds.is_none() {
        (Limit::PromptWork, "one request alone takes that long".to_owned())
    } else {
        (Limit::PromptWork, "the steps are filled with prompts".to_owned())
    };
    Binding { limit, says: format!("{at}{what}: {why}") }
}

/// `4.2 req/s`, or `one request in 300 s` where so few come that the rate would read as zero.
pub fn rate_text(rate: PerSecond<Requests>) -> String {
    let each = rate.0.get();
    if each > 0.0 && each < 0.01 {
        return format!("one request in {}", Seconds(1.0 / each));
    }
    Quantity::from(rate).to_string()
}

impl Limit {
    /// In words for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::KvPool => "KV pool",
            Self::SequenceCap => "sequence cap",
            Self::PromptWork => "prompt work",
            Self::Pace => "pace",
            Self::Nothing => "nothing",
        }
    }
}

impl CeilingOf {
    /// In words for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::KvPool => "KV pool",
            Self::SequenceCap => "sequence cap",
            Self::TokenBudget => "token budget",
            Self::Speed => "speed, whatever the batch",
        }
    }
}
