//! The same load on other numbers of GPUs, with another token budget or at a lower precision.

use intriage_case::{PerSecond, Requests, Tokens};
use intriage_physics::{KvDtype, Math};
use schemars::JsonSchema;
use serde::Serialize;

use crate::ask::Ask;
use crate::combinations::{Candidate, Judged, cheapest, judge};
use crate::deployed::Deployed;
use crate::instance::Unfit;

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
    /// Whether weights or keys and values lose precision, so that quality must be checked first.
    pub lower_precision: bool,
}

/// The flag of the token budget.
pub(crate) const TOKEN_BUDGET: &str = "--max-num-batched-tokens";

/// All alternatives to the planned one, the fewest GPUs first: the layouts that were judged already, and
/// lower precisions.
pub(crate) fn alternatives(
    ask: &Ask,
    judged: &[Judged],
    main: usize,
    tick: &mut dyn FnMut(),
) -> Vec<Alternative> {
    let Some(planned) = judged.get(main).map(|judged| &judged.candidate) else { return Vec::new() };
    let mut all: Vec<Alternative> = judged
        .iter()
        .enumerate()
        .filter(|(i, _)| *i != main && is_best_budget(*i, judged, main))
        .map(|(_, one)| Alternative::of(one, planned, false))
        .collect();
    for candidate in lower_precisions(&planned.deployed) {
        let lower = lower_precision(ask, planned, &candidate, tick);
        all.extend(lower.map(|lower| Alternative::of(&lower, planned, true)));
    }
    all.sort_by_key(|alternative| alternative.gpus.unwrap_or(u64::MAX));
    all
}

/// Whether a combination is worth a line: of several token budgets on one layout, only the best is, and
/// beside a chosen budget only the engine's own.
fn is_best_budget(at: usize, all: &[Judged], main: usize) -> bool {
    let layout = |i: usize| (all[i].candidate.deployed.tp, all[i].candidate.deployed.pp);
    let plain = |i: usize| all[i].candidate.limits.token_budget == all[0].candidate.limits.token_budget;
    let rate = |i: usize| all[i].fleet.as_ref().map_or(0.0, |fleet| fleet.per_instance.0.get());
    if layout(at) == layout(main) && !plain(main) {
        return plain(at);
    }
    let beside = (0..all.len()).filter(|i| *i != main && *i != at && layout(*i) == layout(at));
    beside.into_iter().all(|i| rate(i) < rate(at) || (rate(i) == rate(at) && at < i))
}

/// The deployment with weights, or keys and values, stored in fewer bits that the card can compute with.
fn lower_precisions(deployed: &Deployed) -> Vec<Deployed> {
    let bits = |name: &str| intriage_physics::Format::named(name).map_or(16.0, |format| format.bits);
    let stored = deployed.model.tensors.iter().max_by_key(|tensor| tensor.elements());
    let stored = stored.map_or(16.0, |tensor| tensor.format.bits);
    let has = |math| deployed.gpu.peak(math).is_some();
    let weights = [("fp8", has(Math::Fp8)), ("int8", has(Math::Int8) && !has(Math::Fp8)), ("int4", true)];
    let mut all: Vec<Deployed> = weights
        .into_iter()
        .filter(|(name, possible)| *possible && bits(name) < stored)
        .filter_map(|(name, _)| {
            let model = deployed.model.with_weights(name).ok()?;
            Some(Deployed { model, weights: name.to_owned(), ..deployed.clone() })
        })
        .collect();
    // Volta and Turing have no kernels for 8-bit keys and values.
    let kv_kernels = !matches!(deployed.gpu.arch.as_str(), "volta" | "turing");
    if matches!(deployed.kv, KvDtype::Bf16 | KvDtype::Fp32) && kv_kernels {
        all.push(Deployed { kv: KvDtype::Fp8, ..deployed.clone() });
    }
    all
}

/// A lower precision on the planned layout or on one GPU, whichever takes fewer.
fn lower_precision(
    ask: &Ask,
    planned: &Candidate,
    lower: &Deployed,
    tick: &mut dyn FnMut(),
) -> Option<Judged> {
    let mut layouts = vec![(lower.tp, lower.pp), (1, 1)];
    layouts.dedup();
    let mut judged: Vec<Judged> = layouts
        .into_iter()
        .map(|(tp, pp)| {
            let deployed = Deployed { tp, pp, ..lower.clone() };
            judge(ask, Candidate { deployed, limits: planned.limits }, tick)
        })
        .collect();
    let best = cheapest(&judged).unwrap_or(0);
    (best < judged.len()).then(|| judged.swap_remove(best))
}

impl Alternative {
    fn of(judged: &Judged, planned: &Candidate, lower_precision: bool) -> Self {
        let fleet = judged.fleet.as_ref();
        let why_not = match &judged.instance {
            Err(unfit) => Some(short(unfit)),
            Ok(_) if fleet.is_none() => Some("misses the objectives at any rate".into()),
            Ok(_) => None,
        };
        Self {
            change: judged.candidate.flags_beside(planned, judged.instance.is_ok()),
            gpus_per_instance: judged.candidate.deployed.gpus(),
            pool: judged.instance.as_ref().ok().map(|instance| instance.pool.tokens),
            per_instance: fleet.map(|fleet| fleet.per_instance),
            instances: fleet.map(|fleet| fleet.needed.instances),
            gpus: fleet.map(|fleet| fleet.needed.gpus),
            price_per_million_output: fleet.and_then(|fleet| fleet.price_per_million_output),
            why_not,
            lower_precision,
        }
    }
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
