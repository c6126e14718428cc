//! Deployments drawn from a seed, healthy or broken, with what their users had to bear: the blind batches.
//!
//! [`Draw::of`] decides everything: card, model, load, faults and their strength, the window, the evidence that is given. Its
//! control ([`Draw::control`]) is the same draw without the faults. [`Draw::figures`] runs a draw and sees every
//! request; how many times worse they are than the control's is the truth about harm, whatever was injected.

mod base;
mod evidence;
mod faults;
mod hardware;
mod harm;
mod load;
mod objectives;
mod scene;
#[cfg(test)]
mod tests;
mod witness;

pub use base::Base;
pub use evidence::Evidence;
pub use faults::{DrawnFault, Needs, Part, all as faults};
pub use hardware::{CARDS, Card, MODELS, Model};
pub use harm::{Figures, Ratios};
pub use load::Shape;
pub use objectives::Stated;

use base::log_between;
use scene::Scene;
use witness::Witness;

use crate::random::Random;
use crate::rehearse::{Recording, rehearse_with_log};
use crate::setup::Setup;

/// A drawn deployment: what it is, what is wrong with it, and who looks at it how.
#[derive(Debug, Clone)]
pub struct Draw {
    /// The seed of the batch.
    pub seed: u64,
    /// Its number in the batch.
    pub number: u64,
    /// What it is without any fault, its load and the observer's window included.
    pub base: Base,
    /// What is wrong with it, and how strongly: none, one or two.
    pub faults: Vec<(&'static DrawnFault, f64)>,
    /// What the diagnosis is given.
    pub evidence: Evidence,
    /// Whether an objective is given.
    pub objective: bool,
    /// Whether the KV pool is nearly full although nobody waits for it.
    pub full_pool: bool,
    /// The deployment with its faults.
    pub setup: Setup,
    healthy: Scene,
}

/// Weakest and strongest fault.
const STRENGTHS: (f64, f64) = (0.25, 2.0);
/// The share of the pool that is held at most in the arm with a full pool.
const NEARLY_FULL: f64 = 0.96;

impl Draw {
    /// The draw of this number under a seed.
    pub fn of(seed: u64, number: u64) -> Self {
        Self::with_strength(seed, number, None)
    }

    /// The same draw with its faults at another strength; the load may be another, too, where a fault makes its own.
    pub fn at_strength(seed: u64, number: u64, strength: f64) -> Self {
        Self::with_strength(seed, number, Some(strength))
    }

    fn with_strength(seed: u64, number: u64, strength: Option<f64>) -> Self {
        let mut random = Random::of(seed, "draw", number);
        let mut base = Base::draw(&mut Random::of(seed, "base", number));
        let mut faults = draw_faults(&mut random);
        for fault in &mut faults {
            fault.1 = strength.unwrap_or(fault.1);
        }
        base.shape = draw_shape(&faults, &mut random);
        base.batch = base.shape == Shape::Job;
        for (fault, strength) in &faults {
            if let Some(stage) = fault.stage {
                stage(&mut base, *strength, &mut Random::of(seed, fault.name, number));
            }
        }
        let needs = |test: fn(&Needs) -> bool| faults.iter().any(|(fault, _)| test(&fault.needs));
        let evidence = Evidence {
            server_info: random.chance(0.7) || needs(|n| n.card),
            client: random.chance(0.4) || needs(|n| n.client),
            log: random.chance(0.4),
            gaps: if random.chance(0.2) { 0.05 + 0.25 * random.unit() } else { 0.0 },
        };
        let objective = !base.batch && (random.chance(0.5) || needs(|n| n.objective));
        // Whatever keeps requests longer would fill a full pool for good: then it would be no distraction.
        let elsewhere = |part| matches!(part, Part::Path | Part::Server);
        let strikes_elsewhere = faults.iter().all(|(f, _)| f.stage.is_none() && elsewhere(f.strikes));
        let full_pool = random.chance(0.25) && strikes_elsewhere;

        let mut scene = Scene::new(base.clone(), &mut Random::of(seed, "load", number));
        if full_pool {
            fill_pool(&mut scene, run_seed(seed, number));
        }
        let setup = struck(scene.clone(), &faults, seed, number);
        Self { seed, number, base, faults, evidence, objective, full_pool, setup, healthy: scene }
    }

    /// The same draw without its faults.
    #[must_use]
    pub fn control(&self) -> Self {
        self.with_faults(Vec::new())
    }

    /// The same draw with one of its faults alone.
    pub fn alone(&self) -> impl Iterator<Item = Self> {
        self.faults.iter().map(|fault| self.with_faults(vec![*fault]))
    }

    fn with_faults(&self, faults: Vec<(&'static DrawnFault, f64)>) -> Self {
        let setup = struck(self.healthy.clone(), &faults, self.seed, self.number);
        Self { faults, setup, ..self.clone() }
    }

    /// What its users had to bear.
    pub fn figures(&self) -> Figures {
        let witness = Witness::of(&self.setup, run_seed(self.seed, self.number), self.base.window);
        Figures::of(&witness, &self.setup)
    }

    /// The recording that its observer hands over.
    pub fn record(&self) -> Recording {
        let log = self.evidence.log.then(|| evidence::first_lines(&self.base, &self.setup));
        let seed = run_seed(self.seed, self.number);
        let all = rehearse_with_log(&self.setup, seed, self.base.window, log);
        self.evidence.keep(all, &mut Random::of(self.seed, "gaps", self.number))
    }

    /// Whether a cause of the catalogue is what is wrong with it.
    pub fn is_named_by(&self, cause: &str) -> bool {
        self.faults.iter().any(|(fault, _)| fault.is_named_by(cause))
    }

    /// Whether its faults are the honest price of what is asked: nobody could call it wrong without an objective that it
    /// misses.
    pub fn is_honest_price(&self) -> bool {
        self.faults.iter().any(|(fault, _)| fault.needs.objective)
    }
}

/// A deployment that these faults have struck.
fn struck(mut scene: Scene, faults: &[(&'static DrawnFault, f64)], seed: u64, number: u64) -> Setup {
    for (fault, strength) in faults {
        (fault.apply)(&mut scene, *strength, &mut Random::of(seed, fault.name, number));
    }
    scene.into_setup()
}

fn run_seed(seed: u64, number: u64) -> u64 {
    Random::of(seed, "run", number).bits()
}

/// Nobody sees an engine stand still that has nothing to do, nor a job's queue behind a fault.
fn draw_shape(faults: &[(&'static DrawnFault, f64)], random: &mut Random) -> Shape {
    if faults.is_empty() {
        return Shape::draw(random);
    }
    let shape = Shape::draw(random);
    let any = faults.iter().all(|(fault, _)| fault.shows_in_any_load()) && shape != Shape::Job;
    let always = faults.iter().all(|(fault, _)| fault.strikes != Part::Server);
    match shape {
        Shape::Closed { .. } if any => shape,
        Shape::IdleGaps { .. } | Shape::Starts { .. } | Shape::Stops { .. } if any && always => shape,
        _ => Shape::draw_open(random),
    }
}

fn draw_faults(random: &mut Random) -> Vec<(&'static DrawnFault, f64)> {
    let wanted = match random.below(100) {
        0..25 => 0,
        25..80 => 1,
        _ => 2,
    };
    let mut drawn: Vec<(&'static DrawnFault, f64)> = Vec::new();
    for _ in 0..wanted {
        let left: Vec<_> = faults().filter(|new| drawn.iter().all(|(old, _)| new.adds_to(old))).collect();
        if let Some(fault) = left.get(random.below(left.len() as u64) as usize) {
            drawn.push((fault, log_between(random, STRENGTHS.0, STRENGTHS.1)));
        }
    }
    drawn
}

/// A pool so small that the healthy deployment nearly fills it and never waits for it.
fn fill_pool(scene: &mut Scene, seed: u64) {
    let window = scene.base.window;
    let held = Witness::of(&scene.clone().into_setup(), seed, window).most_blocks;
    let blocks = (f64::from(held) / NEARLY_FULL).ceil() as u32 + 2;
    scene.base.engine.pool_blocks = scene.base.engine.pool_blocks.min(blocks);
    scene.each_engine(|e| e.pool_blocks = e.pool_blocks.min(blocks));
}
