//! The simulator set to behave as the server of a case did.

use intriage_case::{PerSecond, Ratio, Requests, Seconds};
use intriage_diagnose::Fit;
use intriage_engines::{Observed, Setting};
use intriage_simulate::{Class, EngineConfig, StepTime};

use crate::measured::Measured;
use crate::replay::{Model, Record, replay};
use crate::setup;
use crate::step_fit::step_time;
use crate::traffic::Traffic;
use crate::why_not::WhyNot;
use crate::window::Window;

/// Runs that differ only by chance: where arrivals lie within an interval, who gets which length.
pub(crate) const SEEDS: [u64; 6] = [11, 23, 37, 53, 71, 97];
/// Of these, those the fit looks at.
const FITTED: usize = 2;
/// A replay that misses mean first-token time or token gap by more is refused.
const TOLERANCE: f64 = 0.25;
/// Most corrections of the step time.
const ROUNDS: usize = 7;
/// A correction of one round at most, as a logarithm.
const LARGEST: f64 = 0.5;
/// What a correction counts beside a miss of the same size: a part the window hardly shows stays as the
/// scrapes had it.
const INERTIA: f64 = 0.1;
/// Change of a part that shows its leverage, as a logarithm: large against the noise of a replay.
const PROBE: f64 = 0.04;

type Misses = [f64; 7];

/// A model of the server that replays the case, and how well it does.
#[derive(Debug)]
pub struct Calibration {
    pub(crate) model: Model,
    pub(crate) replays: Vec<Record>,
    measured: Measured,
    fit: Fit,
}

impl Calibration {
    /// What was measured.
    pub const fn measured(&self) -> &Measured {
        &self.measured
    }

    /// How well the replay shows it.
    pub const fn fit(&self) -> &Fit {
        &self.fit
    }

    /// The engine with its fitted step time.
    pub const fn engine(&self) -> &EngineConfig {
        &self.model.engine
    }

    /// What is asked of it.
    pub const fn traffic(&self) -> &Traffic {
        &self.model.traffic
    }

    /// What its requests are like: lengths, and the beginning that the cache serves.
    pub const fn class(&self) -> &Class {
        &self.model.class
    }

    /// Arrivals per second.
    pub fn rate(&self) -> PerSecond<Requests> {
        self.model.traffic.rate()
    }

    /// Time of a request outside the engine before its first token.
    pub const fn front(&self) -> Seconds {
        self.model.front
    }
}

/// Sets the simulator to behave as the server of a case did.
pub fn calibrate(observed: &Observed) -> Result<Calibration, WhyNot> {
    let window = Window::new(observed);
    window.is_whole()?;
    let measured = Measured::read(&window)?;
    let mut engine = setup::engine(&window)?;
    let class = setup::class(&window, &engine)?;
    let cached = class.prefix.map_or(0.0, |p| f64::from(p.tokens) / class.prompt.mean().get().max(1.0));
    engine.step = step_time(&window, &measured, Ratio(cached.min(1.0)), engine.step.noise);
    let traffic = Traffic::read(&window, &measured)?;
    let model = Model { engine, class, traffic, front: Seconds(0.0) };
    // Whether steps are planned ahead shows in how long a prompt takes beside its neighbours' tokens.
    let ways = match observed.config.switch(Setting::AsyncScheduling) {
        Some(ahead) => vec![ahead],
        None => vec![true, false],
    };
    let fitted = ways.into_iter().map(|plans_ahead| {
        let mut model = model.clone();
        model.engine.plans_ahead = plans_ahead;
        refine(&model, &measured)
    });
    let best = fitted.reduce(|a, b| if b.1 < a.1 { b } else { a });
    let Some((mut model, _)) = best else { return Err(WhyNot::Settings("no way to schedule".into())) };
    let replays: Vec<Record> = SEEDS.iter().map(|seed| replay(&model, *seed)).collect();
    model.front = front(&replays, &measured);
    let fit = fit(&replays, model.front, &measured);
    let off = |replayed: Seconds, measured: Seconds| (replayed.get() / measured.get() - 1.0).abs();
    let misses = [(fit.ttft_replayed, fit.ttft_measured), (fit.itl_replayed, fit.itl_measured)];
    // Not "greater": what is not a number misses too.
    if !misses.iter().all(|(r, m)| off(*r, *m) <= TOLERANCE) {
        return Err(WhyNot::Misfit {
            ttft_replayed: fit.ttft_replayed,
            ttft_measured: fit.ttft_measured,
            itl_replayed: fit.itl_replayed,
            itl_measured: fit.itl_measured,
            tolerance: Ratio(TOLERANCE),
        });
    }
    Ok(Calibration { model, replays, measured, fit })
}

/// Time outside the engine: what finished requests spent in no phase, less what the replay spends there;
/// where that is not recorded, whatever the first token lacks.
fn front(replays: &[Record], measured: &Measured) -> Seconds {
    let (known, replayed): (Seconds, fn(&Record) -> Seconds) = match measured.before_queue {
        Some(known) => (known, |r| r.before_queue.get()),
        None => (measured.ttft, Record::ttft),
    };
    Seconds((known.get() - mean(replays, replayed)).clamp(0.0, measured.ttft.get()))
}

fn mean(replays: &[Record], of: impl Fn(&Record) -> Seconds) -> f64 {
    replays.iter().map(|r| of(r).get()).sum::<f64>() / replays.len().max(1) as f64
}

fn fit(replays: &[Record], front: Seconds, measured: &Measured) -> Fit {
    Fit {
        ttft_measured: measured.ttft,
        ttft_replayed: Seconds(mean(replays, Record::ttft)) + front,
        itl_measured: measured.itl,
        itl_replayed: Seconds(mean(replays, |r| r.itl.mean())),
        tokens_measured: measured.tokens.get(),
        tokens_replayed: mean(replays, |r| Seconds(r.tokens.get())),
    }
}

/// How far a replay is from what was measured, as logarithms: token gap, first token, tokens, prefill,
/// steps; and how far the corrections have gone.
fn misses(model: &Model, measured: &Measured, x: [f64; 2]) -> Misses {
    let replays: Vec<Record> = SEEDS[..FITTED].iter().map(|seed| replay(model, *seed)).collect();
    let fit = fit(&replays, front(&replays, measured), measured);
    let miss = |replayed: f64, measured: f64| {
        if replayed > 0.0 && measured > 0.0 { (replayed / measured).ln().clamp(-3.0, 3.0) } else { 0.0 }
    };
    let prefill = mean(&replays, |r| r.prefill.get());
    let steps = mean(&replays, |r| Seconds(r.steps));
    [
        2.0 * miss(fit.itl_replayed.get(), fit.itl_measured.get()),
        miss(fit.ttft_replayed.get(), fit.ttft_measured.get()),
        miss(fit.tokens_replayed, fit.tokens_measured),
        0.5 * measured.prefill.map_or(0.0, |m| miss(prefill, m.get())),
        0.5 * measured.steps.map_or(0.0, |m| miss(steps, m)),
        INERTIA * x[0],
        INERTIA * x[1],
    ]
}

/// Corrects decode and prompt parts of the step time until the replay shows what was measured
/// (Gauss, Newton and Levenberg on two unknowns); returns the best model seen and its distance.
fn refine(model: &Model, measured: &Measured) -> (Model, f64) {
    let start = model.engine.step;
    let with = |x: [f64; 2]| {
        let mut model = model.clone();
        model.engine.step = corrected(start, x);
        model
    };
    let mut x = [0.0_f64; 2];
    let mut here = misses(&with(x), measured, x);
    let mut damping = 0.02;
    for _ in 0..ROUNDS {
        let slope: [Misses; 2] = std::array::from_fn(|k| {
            let mut moved = x;
            moved[k] += PROBE;
            let there = misses(&with(moved), measured, moved);
            std::array::from_fn(|i| (there[i] - here[i]) / PROBE)
        });
        let step = newton_step(&slope, &here, damping);
        let next: [f64; 2] = std::array::from_fn(|k| x[k] + step[k].clamp(-LARGEST, LARGEST));
        let there = misses(&with(next), measured, next);
        if square(&there) < square(&here) {
            let gained = square(&here) - square(&there);
            (x, here) = (next, there);
            damping /= 3.0;
            if gained < 1e-5 {
                break;
            }
        } else {
            damping *= 8.0;
        }
    }
    (with(x), square(&here))
}

fn corrected(step: StepTime, x: [f64; 2]) -> StepTime {
    let times = |part: Seconds, by: f64| Seconds(part.get() * by.exp());
    StepTime {
        base: times(step.base, x[0]),
        per_sequence: times(step.per_sequence, x[0]),
        per_context_token: times(step.per_context_token, x[0]),
        per_prompt_token: times(step.per_prompt_token, x[1]),
        ..step
    }
}

fn square(misses: &Misses) -> f64 {
    misses.iter().map(|m| m * m).sum()
}

/// The step that takes the misses to zero if they are as straight as their slopes say.
fn newton_step(slope: &[Misses; 2], here: &Misses, damping: f64) -> [f64; 2] {
    let dot = |a: &Misses, b: &Misses| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (aa, bb, ab) =
        (dot(&slope[0], &slope[0]) + damping, dot(&slope[1], &slope[1]) + damping, dot(&slope[0], &slope[1]));
    let (a, b) = (-dot(&slope[0], here), -dot(&slope[1], here));
    let determinant = aa * bb - ab * ab;
    if determinant.abs() < 1e-12 {
        return [0.0; 2];
    }
    [(a * bb - b * ab) / determinant, (b * aa - a * ab) / determinant]
}
