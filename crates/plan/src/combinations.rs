//! Combinations of GPUs per instance and token budget, each simulated, and the cheapest of them.

use intriage_case::{ObjectiveMetric, PerSecond, Requests};
use schemars::JsonSchema;
use serde::Serialize;

use crate::alternatives::TOKEN_BUDGET;
use crate::ask::{Ask, EngineLimits};
use crate::assumptions::engine_defaults;
use crate::deployed::{Deployed, Layout};
use crate::fleet::Fleet;
use crate::instance::{Instance, Unfit};
use crate::search::{Found, search};

/// The combination that takes the fewest GPUs at the precision asked for.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Combination {
    /// The combination as flags.
    pub flags: String,
    /// GPUs that share every layer.
    pub tp: u32,
    /// Pipeline stages.
    pub pp: u32,
    /// Requests a second that one instance serves within the objectives.
    pub per_instance: PerSecond<Requests>,
    /// Instances with the headroom asked for.
    pub instances: u64,
    /// GPUs with the headroom asked for.
    pub gpus: u64,
    /// Price of all of them for an hour, where a price is known.
    pub price_per_hour: Option<f64>,
    /// Whether the rest of the plan describes this combination.
    pub planned: bool,
}

/// A deployment with its limits, to be judged.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) deployed: Deployed,
    pub(crate) limits: EngineLimits,
}

/// What a candidate turned out to be able to do.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) candidate: Candidate,
    pub(crate) instance: Result<Instance, Unfit>,
    /// What the search found; `None` where the instance does not start.
    pub(crate) found: Option<Found>,
    /// The machines; `None` where no rate holds the objectives.
    pub(crate) fleet: Option<Fleet>,
}

/// Sizes of a tensor-parallel group that are tried.
const SIZES: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Pipeline stages that are tried where one node is not enough.
const STAGES: [u32; 7] = [2, 3, 4, 5, 6, 7, 8];
/// Times the first guess of a token budget that are tried as well.
const LARGER_BUDGETS: [f64; 2] = [1.5, 2.0];
/// Token budgets are set in such steps.
const BUDGET_STEP: u32 = 128;

/// Batches for which the experts of a step are counted, where fewer requests run than usual.
const SMALLER_BATCHES: [u32; 3] = [32, 16, 8];
/// Requests that run on average must leave this much room below such a batch: crowds come.
const CROWD: f64 = 4.0 / 3.0;

/// Simulates one candidate.
pub(crate) fn judge(ask: &Ask, candidate: Candidate, tick: &mut dyn FnMut()) -> Judged {
    let mut instance = Instance::of(ask, Some(&candidate.deployed), candidate.limits);
    let mut found = instance.as_ref().ok().map(|instance| search(ask, instance, tick));
    if candidate.deployed.model.experts().is_some() && ask.measured.is_none() {
        // A small batch touches few experts: charging every step with those of a large one is too much.
        for batch in SMALLER_BATCHES {
            let running = found.as_ref().and_then(Found::running);
            if found.is_none() || running.is_some_and(|n| n * CROWD > f64::from(batch)) {
                break;
            }
            let smaller = Instance::with_batch(ask, &candidate.deployed, candidate.limits, batch);
            let Ok(smaller) = smaller else { break };
            let again = search(ask, &smaller, tick);
            match again.running() {
                Some(n) if n * CROWD <= f64::from(batch) => (instance, found) = (Ok(smaller), Some(again)),
                Some(_) => break,
                None => {}
            }
        }
    }
    let fleet = match (&instance, found.as_ref().and_then(|found| found.holds.as_ref())) {
        (Ok(instance), Some(holds)) => Fleet::of(ask, holds.rate, instance.gpus, holds.outcome.e2e.mean()),
        _ => None,
    };
    Judged { candidate, instance, found, fleet }
}

/// Every layout that starts or says why not, each with the engine's token budget and, where it would
/// hold the objective on gaps better, with a smaller one. What was asked for comes first.
pub(crate) fn combinations(ask: &Ask, deployed: &Deployed, tick: &mut dyn FnMut()) -> Vec<Judged> {
    let mut all = Vec::new();
    let mut add = |all: &mut Vec<Judged>, tp: u32, pp: u32| {
        let deployed = Deployed { tp, pp, ..deployed.clone() };
        let plain = judge(ask, Candidate { deployed: deployed.clone(), limits: ask.limits }, tick);
        let budget = plain.instance.as_ref().ok().and_then(|instance| gentle_budget(ask, instance));
        all.push(plain);
        if let Some(budget) = budget {
            let limits = EngineLimits { token_budget: Some(budget), ..ask.limits };
            all.push(judge(ask, Candidate { deployed, limits }, tick));
        }
    };
    if deployed.layout == Layout::Asked {
        add(&mut all, deployed.tp, deployed.pp);
    }
    let within = |tp: &u32| *tp <= deployed.node && deployed.divides(*tp);
    for tp in SIZES.into_iter().filter(within) {
        if deployed.layout == Layout::Chosen || (tp, 1) != (deployed.tp, deployed.pp) {
            add(&mut all, tp, 1);
        }
    }
    if all.iter().any(|judged| judged.instance.is_ok()) {
        refine(ask, &mut all, tick);
        return all;
    }
    // One node is not enough: whole nodes as pipeline stages, as few as hold the model, and one more.
    let tp = SIZES.into_iter().filter(within).max().unwrap_or(1);
    let mut started = 0;
    for pp in STAGES.into_iter().filter(|pp| *pp as usize <= deployed.model.layers.len()) {
        add(&mut all, tp, pp);
        started += u32::from(all.last().is_some_and(|judged| judged.instance.is_ok()));
        if started == 2 {
            break;
        }
    }
    refine(ask, &mut all, tick);
    all
}

/// Tries larger token budgets on the cheapest layout: the first guess leaves room for a full batch.
fn refine(ask: &Ask, all: &mut Vec<Judged>, tick: &mut dyn FnMut()) {
    let Some(best) = cheapest(all) else { return };
    let deployed = all[best].candidate.deployed.clone();
    let same = |judged: &Judged| (judged.candidate.deployed.tp, judged.candidate.deployed.pp);
    let layout = (deployed.tp, deployed.pp);
    let mut alike = all.iter().filter(|judged| same(judged) == layout);
    let guess = alike.find_map(|judged| judged.candidate.limits.token_budget);
    let Some(guess) = guess.filter(|_| ask.limits.token_budget.is_none()) else { return };
    for factor in LARGER_BUDGETS {
        let budget = (f64::from(guess) * factor / f64::from(BUDGET_STEP)).round() as u32 * BUDGET_STEP;
        if budget < engine_defaults(&deployed.gpu).0 {
            let limits = EngineLimits { token_budget: Some(budget), ..ask.limits };
            all.push(judge(ask, Candidate { deployed: deployed.clone(), limits }, tick));
        }
    }
}

/// The one that takes the fewest GPUs. Of equals the one that holds the peak with one instance lost, then
/// the one with the smaller instance, then the one with the engine's own token budget.
pub(crate) fn cheapest(all: &[Judged]) -> Option<usize> {
    let rank = |judged: &Judged| {
        let fleet = judged.fleet.as_ref()?;
        let tuned = judged.candidate.limits.token_budget.is_some();
        Some((fleet.needed.gpus, !fleet.one_lost.holds_peak, judged.candidate.deployed.gpus(), tuned))
    };
    let ranked = all.iter().enumerate().filter_map(|(i, judged)| Some((rank(judged)?, i)));
    ranked.min().map(|(_, i)| i)
}

/// Where none holds the objectives: the one with the most GPUs that starts, else the last tried.
pub(crate) fn nearest(all: &[Judged]) -> usize {
    let starts = |judged: &Judged| (judged.instance.is_ok(), judged.candidate.deployed.gpus());
    (0..all.len()).max_by_key(|i| starts(&all[*i])).unwrap_or(0)
}

/// The token budget whose fullest step still holds the objective on gaps between tokens.
fn gentle_budget(ask: &Ask, instance: &Instance) -> Option<u32> {
    if ask.limits.token_budget.is_some() {
        return None;
    }
    let gaps = ask.objectives.iter().filter(|o| o.metric == ObjectiveMetric::Itl);
    let limit = gaps.map(|o| o.limit).reduce(f64::min)?;
    let step = &instance.engine.step;
    let room = (limit * 0.9 - step.base.get() * 1.3) / step.per_prompt_token.get().max(1e-9);
    let budget = (room / f64::from(BUDGET_STEP)).floor() * f64::from(BUDGET_STEP);
    let smaller =
        budget >= f64::from(BUDGET_STEP) && budget <= f64::from(instance.engine.token_budget) * 0.75;
    smaller.then_some(budget as u32)
}

impl Judged {
    /// The combination in the words of a plan; `None` where it does not work.
    pub(crate) fn combination(&self, ask: &Ask, planned: bool) -> Option<Combination> {
        let fleet = self.fleet.as_ref()?;
        Some(Combination {
            flags: self.candidate.flags(),
            tp: self.candidate.deployed.tp,
            pp: self.candidate.deployed.pp,
            per_instance: fleet.per_instance,
            instances: fleet.needed.instances,
            gpus: fleet.needed.gpus,
            price_per_hour: ask.price.map(|price| price * fleet.needed.gpus as f64),
            planned,
        })
    }
}

impl Candidate {
    /// Layout and, where it is not the engine's own, the token budget, as flags.
    pub(crate) fn flags(&self) -> String {
        let mut flags = vec![self.layout()];
        flags.extend(self.limits.token_budget.map(|budget| format!("{TOKEN_BUDGET} {budget}")));
        flags.join(" ")
    }

    /// What differs from another candidate, as flags; the token budget only where `starts`.
    pub(crate) fn flags_beside(&self, main: &Self, starts: bool) -> String {
        let (own, other) = (&self.deployed, &main.deployed);
        let mut flags = Vec::new();
        if own.weights != other.weights {
            flags.push(format!("--quantization {}", own.weights));
        }
        if own.kv != other.kv {
            flags.push(format!("--kv-cache-dtype {}", format!("{:?}", own.kv).to_lowercase()));
        }
        if (own.tp, own.pp) != (other.tp, other.pp) {
            flags.push(self.layout());
        }
        if starts && self.token_budget() != main.token_budget() {
            flags.push(format!("{TOKEN_BUDGET} {}", self.token_budget()));
        }
        flags.join(" ")
    }

    fn layout(&self) -> String {
        match (self.deployed.tp, self.deployed.pp) {
            (tp, 1) => format!("--tp {tp}"),
            (tp, pp) => format!("--tp {tp} --pp {pp}"),
        }
    }

    fn token_budget(&self) -> u32 {
        self.limits.token_budget.unwrap_or_else(|| engine_defaults(&self.deployed.gpu).0)
    }
}
