//! The same load on other weights, another KV dtype, other numbers of GPUs.

use intriage_case::{ObjectiveMetric, PerSecond, Requests, Tokens};
use intriage_physics::KvDtype;
use schemars::JsonSchema;
use serde::Serialize;

use crate::ask::{Ask, Deployed, EngineLimits};
use crate::fleet::Fleet;
use crate::instance::{Instance, Unfit};
use crate::search::search;

/// One other way to serve the load.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Alternative {
    /// What is different, as flags.
    pub change: String,
    /// GPUs of one instance.
    pub gpus_per_instance: u32,
    /// Tokens the KV pool of one instance holds; absent where it does not start.
    pub pool: Option<Tokens>,
    /// The highest rate that one instance serves within the objectives; absent where none does.
    pub per_instance: Option<PerSecond<Requests>>,
    /// Instances with the headroom asked for.
    pub instances: Option<u64>,
    /// GPUs with the headroom asked for.
    pub gpus: Option<u64>,
    /// Price of a million output tokens.
    pub price_per_million_output: Option<f64>,
    /// Why it does not work.
    pub why_not: Option<String>,
}

/// One change to what was asked.
pub(crate) struct Change {
    pub(crate) says: String,
    pub(crate) deployed: Deployed,
    pub(crate) limits: EngineLimits,
}

const WEIGHTS: [&str; 3] = ["bf16", "fp8", "int4"];
const SIZES: [u32; 4] = [1, 2, 4, 8];
/// The flag of the token budget.
pub(crate) const TOKEN_BUDGET: &str = "--max-num-batched-tokens";
/// Token budgets are set in such steps.
const BUDGET_STEP: u32 = 128;

/// Every change worth a look, by flag.
pub(crate) fn changes(ask: &Ask, deployed: &Deployed, asked: Option<&Instance>) -> Vec<Change> {
    let mut all = Vec::new();
    let mut add = |says: String, deployed: Deployed, limits| all.push(Change { says, deployed, limits });
    for weights in WEIGHTS {
        if weights != deployed.weights
            && let Ok(model) = deployed.model.with_weights(weights)
        {
            let other = Deployed { model, weights: weights.to_owned(), ..deployed.clone() };
            add(format!("--quantization {weights}"), other, ask.limits);
        }
    }
    if matches!(deployed.kv, KvDtype::Bf16 | KvDtype::Fp32) {
        add("--kv-dtype fp8".into(), Deployed { kv: KvDtype::Fp8, ..deployed.clone() }, ask.limits);
    }
    for tp in SIZES.into_iter().filter(|tp| *tp != deployed.tp && deployed.divides(*tp)) {
        add(format!("--tp {tp}"), Deployed { tp, ..deployed.clone() }, ask.limits);
    }
    if let Some(budget) = asked.and_then(|instance| gentle_budget(ask, instance)) {
        let limits = EngineLimits { token_budget: Some(budget), ..ask.limits };
        add(format!("{TOKEN_BUDGET} {budget}"), deployed.clone(), limits);
    }
    all
}

/// The token budget whose fullest step still holds the objective on gaps between tokens.
fn gentle_budget(ask: &Ask, instance: &Instance) -> Option<u32> {
    let gaps = ask.objectives.iter().filter(|o| o.metric == ObjectiveMetric::Itl);
    let limit = gaps.map(|o| o.limit).reduce(f64::min)?;
    let step = &instance.engine.step;
    let room = (limit * 0.9 - step.base.get() * 1.3) / step.per_prompt_token.get().max(1e-9);
    let budget = (room / f64::from(BUDGET_STEP)).floor() * f64::from(BUDGET_STEP);
    let smaller =
        budget >= f64::from(BUDGET_STEP) && budget <= f64::from(instance.engine.token_budget) * 0.75;
    smaller.then_some(budget as u32)
}

/// What a change would bring.
pub(crate) fn judge(ask: &Ask, change: &Change, tick: &mut dyn FnMut()) -> Alternative {
    let mut alternative = Alternative {
        change: change.says.clone(),
        gpus_per_instance: change.deployed.tp,
        pool: None,
        per_instance: None,
        instances: None,
        gpus: None,
        price_per_million_output: None,
        why_not: None,
    };
    let instance = match Instance::of(ask, Some(&change.deployed), change.limits) {
        Ok(instance) => instance,
        Err(unfit) => {
            alternative.why_not = Some(short(&unfit));
            return alternative;
        }
    };
    alternative.pool = Some(instance.pool.tokens);
    let Some(holds) = search(ask, &instance, tick).holds else {
        alternative.why_not = Some("misses the objectives at any rate".into());
        return alternative;
    };
    alternative.per_instance = Some(holds.rate);
    if let Some(fleet) = Fleet::of(ask, holds.rate, instance.gpus, holds.outcome.e2e.mean()) {
        alternative.instances = Some(fleet.needed.instances);
        alternative.gpus = Some(fleet.needed.gpus);
        alternative.price_per_million_output = fleet.price_per_million_output;
    }
    alternative
}

fn short(unfit: &Unfit) -> String {
    match unfit {
        Unfit::Memory { budget } => format!("does not fit: {} short on each GPU", budget.short_by),
        Unfit::Request { pool, .. } => format!("the pool of {pool} does not hold one request"),
        Unfit::Window { pool, window, .. } => {
            format!("the pool of {pool} is less than --max-model-len {window}")
        }
        Unfit::Nothing => "nothing says what would serve".to_owned(),
    }
}
