//! The plan: one call from an ask to an answer.

use intriage_case::{Objective, ObjectiveMetric, PerSecond, Ratio, Requests, Seconds, Tokens};
use schemars::JsonSchema;
use serde::Serialize;

use crate::alternatives::{Alternative, TOKEN_BUDGET, changes, judge};
use crate::ask::{Ask, Deployed, Headroom};
use crate::assumptions::{
    GRAPHS, HOST_PER_SEQUENCE, HOST_PER_STEP, TYPICAL_BATCH, UTILISATION, engine_defaults, middle,
};
use crate::capacity::{Capacity, Limit, rate_text};
use crate::fleet::Fleet;
use crate::instance::Instance;
use crate::limits::CeilingOf;
use crate::measured::Measured;
use crate::memory::{MemoryAccount, Pool};
use crate::search::caution;

/// The version of the machine-readable plan.
pub const SCHEMA: &str = "intriage.plan/1";

/// A plan: the answer first, then what it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Plan {
    /// `intriage.plan/1`.
    pub schema: String,
    /// Whether it works, in one sentence.
    pub verdict: Verdict,
    /// What was asked.
    pub asked: Asked,
    /// The memory of each GPU; absent where no model was given.
    pub memory: Option<MemoryAccount>,
    /// The KV pool of one instance; absent where it does not start.
    pub pool: Option<Pool>,
    /// What one instance can do; absent where it does not start.
    pub capacity: Option<Capacity>,
    /// The machines; absent where it does not work.
    pub fleet: Option<Fleet>,
    /// Other ways to serve the load.
    pub alternatives: Vec<Alternative>,
    /// Everything taken for granted, in sentences.
    pub assumptions: Vec<String>,
    /// What a reader should know, in sentences.
    pub notes: Vec<String>,
}

/// Whether a plan works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Verdict {
    /// Whether it does.
    pub works: bool,
    /// The answer in one sentence.
    pub answer: String,
    /// Where it does not work: what would.
    pub instead: Vec<String>,
}

/// What was asked, as understood.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Asked {
    /// The model.
    pub model: Option<String>,
    /// The GPU.
    pub gpu: Option<String>,
    /// GPUs of one instance.
    pub tp: u32,
    /// How weights are stored.
    pub weights: Option<String>,
    /// How keys and values are stored.
    pub kv_dtype: Option<String>,
    /// Requests a second at peak.
    pub rate: PerSecond<Requests>,
    /// Mean prompt length.
    pub isl: Tokens,
    /// Mean answer length.
    pub osl: Tokens,
    /// Share of prompt tokens found in the prefix cache.
    pub prefix_share: Ratio,
    /// The objectives.
    pub objectives: Vec<Objective>,
    /// What every random draw follows from.
    pub seed: u64,
}

/// Makes a plan. Call [`Ask::check`] first; `tick` is called before every simulation.
pub fn plan(ask: &Ask, tick: &mut dyn FnMut()) -> Plan {
    let mut plan = Plan {
        schema: SCHEMA.to_owned(),
        verdict: Verdict { works: false, answer: String::new(), instead: Vec::new() },
        asked: asked(ask),
        memory: None,
        pool: None,
        capacity: None,
        fleet: None,
        alternatives: Vec::new(),
        assumptions: Vec::new(),
        notes: notes(ask),
    };
    let instance = match Instance::of(ask, ask.deployed.as_ref(), ask.limits) {
        Ok(instance) => instance,
        Err(unfit) => {
            plan.memory = unfit.budget().map(MemoryAccount::of);
            plan.verdict.answer = ask.deployed.as_ref().map_or_else(String::new, |own| unfit.says(own));
            plan.assumptions = assumptions(ask, None);
            plan.compare(ask, None, tick);
            return plan;
        }
    };
    plan.memory = instance.budget.as_ref().map(MemoryAccount::of);
    plan.pool = Some(instance.pool);
    plan.assumptions = assumptions(ask, Some(&instance));
    plan.note_window(ask, &instance);
    plan.notes.extend(caution(ask, &instance));
    if let (Some(measured), Some(_)) = (&ask.measured, &ask.deployed) {
        plan.notes.push(format!(
            "the engine itself reported a pool of {}; the plan's own estimate is {}",
            measured.pool, instance.pool.tokens
        ));
    }
    if let Some(why) = below_physics(ask, &instance) {
        plan.verdict.answer = why;
        plan.compare(ask, Some(&instance), tick);
        return plan;
    }
    let capacity = Capacity::of(ask, &instance, tick);
    if let Some(best) = capacity.at_objectives {
        plan.fleet = Fleet::of(ask, best.rate, instance.gpus, best.e2e_mean);
        plan.notes.extend(spread(ask, &instance, &capacity));
    }
    plan.verdict = verdict(ask, &capacity, plan.fleet.as_ref());
    plan.notes.extend(recorded_limit(ask, &capacity));
    plan.notes.extend(beyond_recorded(ask, &capacity));
    plan.capacity = Some(capacity);
    plan.compare(ask, Some(&instance), tick);
    plan
}

impl Plan {
    /// Judges the alternatives; where the plan does not work, those that do become advice.
    fn compare(&mut self, ask: &Ask, instance: Option<&Instance>, tick: &mut dyn FnMut()) {
        let Some(deployed) = &ask.deployed else { return };
        let changes = changes(ask, deployed, instance);
        self.alternatives = changes.iter().map(|change| judge(ask, change, tick)).collect();
        self.alternatives.sort_by_key(|alternative| alternative.gpus.unwrap_or(u64::MAX));
        self.advise_budget();
        if self.verdict.works {
            return;
        }
        for alternative in &self.alternatives {
            if let (Some(rate), Some(gpus)) = (alternative.per_instance, alternative.gpus) {
                let rate = rate_text(rate);
                self.verdict.instead.push(format!("{}: {rate} an instance, {gpus} GPUs", alternative.change));
            }
        }
        if self.verdict.instead.is_empty() {
            self.verdict.instead.push("none of the alternatives below works either: take a larger GPU, shorter lengths or wider objectives".to_owned());
        }
    }

    /// Where prompts of others are what stops an instance: the token budget that was found to help.
    fn advise_budget(&mut self) {
        let Some(capacity) = &mut self.capacity else { return };
        let own = capacity.at_objectives.map_or(0.0, |best| best.rate.0.get());
        let budget = self.alternatives.iter().find(|a| a.change.starts_with(TOKEN_BUDGET));
        if capacity.binding.limit == Limit::Pace
            && let Some(budget) = budget
            && let Some(rate) = budget.per_instance
            && rate.0.get() > own * 1.05
        {
            let advice = format!("; {} holds up to {}", budget.change, rate_text(rate));
            capacity.binding.says.push_str(&advice);
        }
    }

    /// Engines refuse a window that their pool cannot hold; say so where it was cut.
    fn note_window(&mut self, ask: &Ask, instance: &Instance) {
        let own = ask.deployed.as_ref().and_then(|deployed| deployed.model.max_positions);
        let window = u64::from(instance.engine.context_window);
        if ask.limits.window.is_none()
            && let Some(own) = own
            && window < own
            && ask.measured.is_none()
        {
            self.notes.push(format!(
                "the model's own window is {own} tokens, more than the pool holds: vLLM needs --max-model-len {window} or less to start"
            ));
        }
    }
}

fn asked(ask: &Ask) -> Asked {
    let deployed = ask.deployed.as_ref();
    let seen = ask.measured.as_ref();
    Asked {
        model: deployed.map(|d| d.name.clone()),
        gpu: deployed.map(|d| d.gpu.id.clone()).or_else(|| seen.and_then(|m| m.gpu.clone())),
        tp: deployed.map_or_else(|| seen.map_or(1, |m| m.gpus), |d| d.tp),
        weights: deployed.map(|d| d.weights.clone()),
        kv_dtype: deployed.map(|d| format!("{:?}", d.kv).to_lowercase()),
        rate: ask.traffic.rate,
        isl: ask.traffic.isl,
        osl: ask.traffic.osl,
        prefix_share: ask.traffic.prefix_share,
        objectives: ask.objectives.clone(),
        seed: ask.seed,
    }
}

fn notes(ask: &Ask) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(deployed) = &ask.deployed {
        notes.extend(deployed.model.notes.iter().cloned());
    }
    if let Some(measured) = &ask.measured {
        notes.extend(recorded(ask, measured));
    }
    notes
}

/// The range of machines, where chance moves the answer by more than one instance either way.
fn spread(ask: &Ask, instance: &Instance, capacity: &Capacity) -> Option<String> {
    let best = capacity.at_objectives?;
    let (slowest, fastest) = capacity.by_chance?;
    let count = |rate| Some(Fleet::of(ask, rate, instance.gpus, best.e2e_mean)?.needed);
    let (needed, most, fewest) = (count(best.rate)?, count(slowest)?, count(fastest)?);
    let far = most.instances > needed.instances + 1 || fewest.instances + 1 < needed.instances;
    far.then(|| {
        format!(
            "chance moves this: simulations that differ by their random draws alone give {} to {}, {} to {} an instance; the plan takes the middle one",
            fewest.gpus,
            most.gpus_text(),
            rate_text(slowest),
            rate_text(fastest)
        )
    })
}

/// What the recorded server's own state means for the plan.
fn recorded(ask: &Ask, measured: &Measured) -> Vec<String> {
    let mut notes = Vec::new();
    if measured.is_overloaded() {
        let demand = if ask.traffic.rate == measured.arrived { "; the demand is what came" } else { "" };
        notes.push(format!(
            "the recorded server was overloaded: {} came and {} were served{demand}",
            rate_text(measured.arrived),
            rate_text(measured.served)
        ));
    }
    if !measured.prefix_cache && ask.traffic.prefix_share.get() > 0.0 {
        notes.push(
            "the recorded server has no prefix cache; --prefix-share plans as if it were switched on".into(),
        );
    }
    notes
}

/// A batch this many times the recorded one is a guess.
const FAR: f64 = 3.0;

/// Where the plan runs far larger batches than were ever measured.
fn beyond_recorded(ask: &Ask, capacity: &Capacity) -> Option<String> {
    let measured = ask.measured.as_ref()?;
    let planned = capacity.at_objectives?.running.get();
    (planned > FAR * measured.batch.get()).then(|| {
        format!(
            "at its limit an instance would run {planned:.0} requests at once, the recorded server ran {:.0}: the limit is an extrapolation, so hold it against a load test",
            measured.batch.get()
        )
    })
}

/// Where a setting of the recorded server is what stops an instance, so that more of the same is bought.
fn recorded_limit(ask: &Ask, capacity: &Capacity) -> Option<String> {
    let measured = ask.measured.as_ref()?;
    let lowest = capacity.ceilings.first()?;
    let stops = |limit: Limit, ceiling: CeilingOf| {
        let binds = capacity.binding.limit == limit;
        binds || (lowest.of == ceiling && capacity.binding.limit == Limit::Nothing)
    };
    if stops(Limit::SequenceCap, CeilingOf::SequenceCap) && ask.limits.max_sequences.is_none() {
        let cap = measured.limits.max_sequences?;
        return Some(format!(
            "the recorded --max-num-seqs {cap} stops an instance, not the GPU: raise it before adding machines (--max-num-seqs plans with another)"
        ));
    }
    if stops(Limit::KvPool, CeilingOf::KvPool) && ask.deployed.is_none() {
        let pool = measured.pool;
        return Some(measured.pool_possible.map_or_else(
            || format!("the recorded KV pool of {pool} stops an instance: a larger one (more memory, fp8 keys and values) comes before more machines"),
            |possible| format!("the recorded KV pool of {pool} stops an instance: --num-gpu-blocks-override cut it from {possible}, so take that off before adding machines"),
        ));
    }
    None
}

/// An objective that no software could meet on this hardware, with the number.
fn below_physics(ask: &Ask, instance: &Instance) -> Option<String> {
    let deployed = ask.deployed.as_ref()?;
    let on = deployed.physics();
    let computed = ask.traffic.computed();
    let cached = Tokens(ask.traffic.isl.get() - computed.get());
    let prefill = on.prefill(computed, cached).bound;
    let decode = on.decode(1, instance.pool.live_context).bound;
    let e2e = Seconds(prefill.get() + (ask.traffic.osl.get() - 1.0).max(0.0) * decode.get());
    for objective in &ask.objectives {
        let (least, what) = match objective.metric {
            ObjectiveMetric::Ttft => (prefill, "the prompt alone takes"),
            ObjectiveMetric::Itl | ObjectiveMetric::Tpot => (decode, "reading the weights once takes"),
            ObjectiveMetric::E2e => (e2e, "one request alone takes"),
            ObjectiveMetric::Queue | ObjectiveMetric::Errors => continue,
        };
        if least.get() > objective.limit {
            return Some(format!(
                "{objective} is below what physics allows at any rate: {what} at least {least} on {} × {}",
                deployed.tp, deployed.gpu.id
            ));
        }
    }
    None
}

fn verdict(ask: &Ask, capacity: &Capacity, fleet: Option<&Fleet>) -> Verdict {
    let Some(fleet) = fleet else {
        let answer = format!(
            "no rate holds the objectives, not even one request nearly alone: {}",
            capacity.binding.says
        );
        return Verdict { works: false, answer, instead: Vec::new() };
    };
    let room = match ask.headroom {
        Headroom::Spare(share) => format!("{share} spare"),
        Headroom::Growth(share) => format!("{share} growth"),
    };
    let needed = fleet.needed;
    let answer = format!(
        "{} ({}) for {} with {room}: one instance holds the objectives up to {}",
        needed.instances_text(),
        needed.gpus_text(),
        rate_text(ask.traffic.rate),
        rate_text(fleet.per_instance),
    );
    Verdict { works: true, answer, instead: Vec::new() }
}

/// Every assumption behind the numbers, those that move them most first.
fn assumptions(ask: &Ask, instance: Option<&Instance>) -> Vec<String> {
    let mut all = Vec::new();
    if let Some(deployed) = &ask.deployed {
        speed(ask, deployed, &mut all);
        let Deployed { utilisation, gpu, .. } = deployed;
        let share = utilisation.unwrap_or(UTILISATION);
        let given = if utilisation.is_some() { "" } else { " (vLLM's default)" };
        all.push(format!(
            "the engine may take {share} of the memory{given}; CUDA graphs {GRAPHS}, activations estimated"
        ));
        let (budget, sequences) = engine_defaults(gpu);
        let seen = ask.measured.as_ref().map(|measured| measured.limits).unwrap_or_default();
        if ask.limits.token_budget.or(seen.token_budget).is_none() {
            all.push(format!("token budget {budget} (vLLM's default here; --max-num-batched-tokens)"));
        }
        if ask.limits.max_sequences.or(seen.max_sequences).is_none() {
            all.push(format!("sequence cap {sequences} (vLLM's default here; --max-num-seqs)"));
        }
    }
    if let Some(measured) = &ask.measured {
        let step = &measured.step;
        all.push(format!(
            "speed as fitted until a replay of the case shows its latencies: a step takes {}, {} more for a prompt token, {} for a running request, and {} for a thousand tokens of context",
            step.base,
            step.per_prompt_token,
            step.per_sequence,
            Seconds(step.per_context_token.get() * 1000.0),
        ));
        all.push(format!(
            "{} between tokens at {:.0} running requests was measured; a larger batch is extrapolated",
            measured.itl,
            measured.batch.get()
        ));
    }
    let traffic = &ask.traffic;
    let spread = if traffic.prompts.is_some() || traffic.answers.is_some() {
        "lengths as in the case's histograms".to_owned()
    } else if traffic.variation.get() == 0.0 {
        "all requests of the same length".to_owned()
    } else {
        format!("lengths log-normal, coefficient of variation {:.2} (--cv)", traffic.variation.get())
    };
    all.push(format!("random (Poisson) arrivals, {spread}, seed {}", ask.seed));
    if traffic.prefix_share.get() > 0.0 {
        all.push(format!(
            "{} of an average prompt is one shared beginning that stays in the prefix cache and is held once",
            traffic.prefix_share
        ));
    } else {
        all.push("no prompt tokens come from the prefix cache (--prefix-share)".into());
    }
    all.push("network, tokenizing and the front end are not included; instances are loaded evenly".into());
    if instance.is_some() && ask.objectives.iter().any(|o| o.metric == ObjectiveMetric::Tpot) {
        all.push("tpot is judged by the mean time between tokens".into());
    }
    all
}

fn speed(ask: &Ask, deployed: &Deployed, all: &mut Vec<String>) {
    let gpu = &deployed.gpu;
    let (mfu, mbu) = (middle(gpu.mfu), middle(gpu.mbu));
    let scaled = if ask.measured.is_some() { ", scaled to what was measured" } else { "" };
    all.push(format!(
        "{mbu} of peak bandwidth and {mfu} of peak FLOP/s are reached (middle of the usual {} to {} and {} to {}); the host adds {HOST_PER_STEP} a step and {HOST_PER_SEQUENCE} a sequence{scaled}",
        gpu.mbu.0, gpu.mbu.1, gpu.mfu.0, gpu.mfu.1
    ));
    if deployed.model.experts().is_some() {
        all.push(format!(
            "every step reads the experts that {TYPICAL_BATCH} tokens touch: too many at low rates"
        ));
    }
}
