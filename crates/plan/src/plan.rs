//! The plan: one call from an ask to an answer.

use intriage_case::{Objective, ObjectiveMetric, PerSecond, Ratio, Requests, Seconds, Tokens};
use schemars::JsonSchema;
use serde::Serialize;

use crate::alternatives::{Alternative, TOKEN_BUDGET, alternatives};
use crate::ask::{Ask, Headroom};
use crate::assumptions::assumptions;
use crate::capacity::{Capacity, Limit, rate_text};
use crate::combinations::{Candidate, Combination, Judged, cheapest, combinations, nearest};
use crate::deployed::Layout;
use crate::fleet::Fleet;
use crate::instance::{Instance, Unfit};
use crate::memory::{MemoryAccount, Pool};
use crate::notes::{beyond_recorded, notes, recorded_limit, split_prefix_cache, spread};
use crate::search::{Found, caution, search};

/// The version of the machine-readable plan.
pub const SCHEMA: &str = "intriage.plan/1";

/// A plan: the answer first, then what it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Plan {
    /// `intriage.plan/1`.
    pub schema: String,
    /// Whether it works, in one sentence.
    pub verdict: Verdict,
    /// The combination that takes the fewest GPUs; absent where none works or no model was given.
    pub cheapest: Option<Combination>,
    /// What was asked, and what the plan chose where nothing was.
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
    /// GPUs that share every layer.
    pub tp: u32,
    /// Pipeline stages.
    pub pp: u32,
    /// Whether the plan chose `tp` and `pp`.
    pub layout_chosen: bool,
    /// The token budget, where it was asked for or chosen.
    pub token_budget: Option<u32>,
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
    let Some(deployed) = &ask.deployed else {
        let instance = Instance::of(ask, None, ask.limits);
        let found = instance.as_ref().ok().map(|instance| search(ask, instance, tick));
        return described(ask, instance, found, tick);
    };
    let mut judged = combinations(ask, deployed, tick);
    let best = cheapest(&judged);
    let main = match deployed.layout {
        Layout::Asked => 0,
        Layout::Chosen => best.unwrap_or_else(|| nearest(&judged)),
    };
    let others = alternatives(ask, &judged, main, tick);
    let cheapest = best.and_then(|best| judged[best].combination(ask, best == main));
    let Judged { candidate, instance, found, .. } = judged.swap_remove(main);
    let own = Ask { deployed: Some(candidate.deployed), limits: candidate.limits, ..ask.clone() };
    let mut plan = described(&own, instance, found, tick);
    plan.cheapest = cheapest;
    plan.compare(others);
    plan
}

/// The plan for one instance, with what the search found for it.
fn described(
    ask: &Ask,
    instance: Result<Instance, Unfit>,
    found: Option<Found>,
    tick: &mut dyn FnMut(),
) -> Plan {
    let mut plan = Plan {
        schema: SCHEMA.to_owned(),
        verdict: Verdict { works: false, answer: String::new(), instead: Vec::new() },
        cheapest: None,
        asked: asked(ask),
        memory: None,
        pool: None,
        capacity: None,
        fleet: None,
        alternatives: Vec::new(),
        assumptions: Vec::new(),
        notes: notes(ask),
    };
    let (instance, found) = match (instance, found) {
        (Ok(instance), Some(found)) => (instance, found),
        (Ok(_), None) => return plan,
        (Err(unfit), _) => {
            plan.memory = unfit.budget().map(MemoryAccount::of);
            plan.verdict.answer = ask.deployed.as_ref().map_or_else(String::new, |own| unfit.says(own));
            plan.assumptions = assumptions(ask, None);
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
        return plan;
    }
    let capacity = Capacity::of(ask, &instance, &found, tick);
    if let Some(best) = capacity.at_objectives {
        plan.fleet = Fleet::of(ask, best.rate, instance.gpus, best.e2e_mean);
        plan.notes.extend(spread(ask, &instance, &capacity));
    }
    plan.notes.extend(plan.fleet.as_ref().and_then(|fleet| split_prefix_cache(ask, fleet)));
    plan.verdict = verdict(ask, &capacity, plan.fleet.as_ref());
    plan.notes.extend(recorded_limit(ask, &capacity));
    plan.notes.extend(beyond_recorded(ask, &capacity));
    plan.capacity = Some(capacity);
    plan
}

/// Alternatives that a plan without an answer names.
const MOST_ADVICE: usize = 8;

impl Plan {
    /// Takes in the alternatives; where the plan does not work, those that do become advice.
    fn compare(&mut self, alternatives: Vec<Alternative>) {
        self.alternatives = alternatives;
        self.advise_budget();
        if self.verdict.works {
            return;
        }
        for alternative in &self.alternatives {
            if let (Some(rate), Some(gpus)) = (alternative.per_instance, alternative.gpus)
                && self.verdict.instead.len() < MOST_ADVICE
            {
                let rate = rate_text(rate);
                let check = if alternative.lower_precision { "; check the quality first" } else { "" };
                self.verdict
                    .instead
                    .push(format!("{}: {rate} an instance, {gpus} GPUs{check}", alternative.change));
            }
        }
        if self.verdict.instead.is_empty() && !self.alternatives.is_empty() {
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
        pp: deployed.map_or(1, |d| d.pp),
        layout_chosen: deployed.is_some_and(|d| d.layout == Layout::Chosen),
        token_budget: ask.limits.token_budget,
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
                deployed.gpus(),
                deployed.gpu.id
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
    let layout = match &ask.deployed {
        Some(own) if own.layout == Layout::Chosen => {
            format!("{}: ", Candidate { deployed: own.clone(), limits: ask.limits }.flags())
        }
        _ => String::new(),
    };
    let answer = format!(
        "{layout}{} ({}) for {} with {room}: one instance holds the objectives up to {}",
        needed.instances_text(),
        needed.gpus_text(),
        rate_text(ask.traffic.rate),
        rate_text(fleet.per_instance),
    );
    Verdict { works: true, answer, instead: Vec::new() }
}
