//! The load of the window, over and over, on the changed server.

use intriage_case::{PerSecond, Quantity, Ratio, Requests, Seconds, Unit};
use intriage_diagnose::{Estimate, Foreseen, Prediction, Times};
use intriage_simulate::workload::Traced;
use intriage_simulate::{Arrivals, FleetConfig, Front, Nanos, Router, Stop, Workload, run};

use crate::calibrate::{Calibration, SEEDS};
use crate::change::{Altered, Change};
use crate::replay::Record;

/// How often the window's load is repeated; the first time warms up and is not counted.
const REPEATS: u32 = 4;
/// Output tokens of the window that one prediction may replay, all seeds and repeats counted.
const MOST_TOKENS: f64 = 4e6;
/// A queue that grows by more than this share of the arrivals grows for ever.
const GROWS: f64 = 0.04;
/// The model's own error beyond what the fit shows: a changed server runs batches the case never showed.
/// Five changes made on an H200 after they were foreseen (tests/pairs.rs): means and medians were off by up
/// to 46 %, the 95th percentiles by up to 44 % and once by 129 %.
const MODEL_ERROR: f64 = 0.45;
/// The same for the slowest in twenty and in a hundred.
const TAIL_ERROR: f64 = 0.65;
/// The time outside the engine is a difference of two times, each known to about this share.
const FRONT_ERROR: f64 = 0.1;

/// What the changes are expected to do under the load of the window, all of them made together.
pub fn what_if(calibration: &Calibration, changes: &[Change]) -> Prediction {
    let altered = Altered::from(&calibration.model, changes);
    let window = calibration.model.traffic.window();
    let tokens = calibration.measured().tokens.get() * altered.arrivals.max(1.0);
    let repeats = ((MOST_TOKENS / SEEDS.len() as f64 / tokens.max(1.0)) as u32).clamp(2, REPEATS);
    let runs: Vec<Record> = SEEDS.iter().map(|seed| load(&altered, window, repeats, *seed)).collect();
    let growth = growth(&runs, window, repeats);
    let arrivals = calibration.rate().0.get() * altered.arrivals;
    let grows = growth > GROWS * arrivals;
    let error = Error::of(calibration);
    Prediction {
        cause: String::new(),
        change: String::new(),
        provided: None,
        before: foreseen(&calibration.replays, calibration.front(), error, false),
        after: foreseen(&runs, calibration.front(), error.beyond_the_window(calibration), grows),
        queue_growth: grows.then(|| Quantity::from(PerSecond(Requests(growth)))),
        helps: true,
        fit: *calibration.fit(),
    }
}

fn load(altered: &Altered, window: Seconds, repeats: u32, seed: u64) -> Record {
    let model = &altered.model;
    let arrivals = model.traffic.repeated(seed, repeats, altered.arrivals);
    let workload = Workload {
        arrivals: Arrivals::Trace(arrivals.into_iter().map(Traced::at).collect()),
        classes: vec![model.class.clone()],
    };
    let fleet = FleetConfig {
        engines: vec![model.engine.clone(); altered.replicas as usize],
        router: Router::RoundRobin,
        front: Front::default(),
        going_on: Vec::new(),
    };
    let end = Seconds(window.get() * f64::from(repeats));
    let mut record = Record::between(Nanos::from_seconds(window), Nanos::from_seconds(end));
    let stop = Stop { every: Some(window), ..Stop::after(end) };
    run(&fleet, &workload, seed, stop, &mut record);
    record
}

/// Requests per second by which the number inside grows from one repeat to the next.
fn growth(runs: &[Record], window: Seconds, repeats: u32) -> f64 {
    let time = window.get() * f64::from(repeats.saturating_sub(1)).max(1.0);
    let grown = runs.iter().filter_map(|r| {
        let (first, last) = (r.inside.first()?, r.inside.last()?);
        Some((f64::from(*last) - f64::from(*first)) / time.max(1e-3))
    });
    grown.sum::<f64>() / runs.len().max(1) as f64
}

/// Errors of a replay, relative but for the front.
#[derive(Debug, Clone, Copy)]
struct Error {
    ttft: f64,
    itl: f64,
    tokens: f64,
    /// Of the time outside the engine, in seconds.
    front: f64,
    /// Of a replay that is not of the window itself.
    model: f64,
    /// Of its slowest requests and gaps.
    tail: f64,
}

impl Error {
    fn of(calibration: &Calibration) -> Self {
        let fit = calibration.fit();
        let off = |replayed: f64, measured: f64| (replayed / measured - 1.0).abs();
        Self {
            ttft: off(fit.ttft_replayed.get(), fit.ttft_measured.get()),
            itl: off(fit.itl_replayed.get(), fit.itl_measured.get()),
            tokens: off(fit.tokens_replayed, fit.tokens_measured),
            front: 0.0,
            model: 0.0,
            tail: 0.0,
        }
    }

    /// The same where something was changed.
    fn beyond_the_window(self, calibration: &Calibration) -> Self {
        let before = calibration
            .measured()
            .before_queue
            .map_or(calibration.front(), |whole| Seconds(FRONT_ERROR * whole.get()));
        Self { front: before.get(), model: MODEL_ERROR, tail: TAIL_ERROR, ..self }
    }
}

fn foreseen(runs: &[Record], front: Seconds, error: Error, past_capacity: bool) -> Foreseen {
    let of = |unit: Unit, off: f64, value: &dyn Fn(&Record) -> f64| {
        let values: Vec<f64> = runs.iter().map(value).collect();
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(0.0, f64::max);
        let wider = 1.0 + off;
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        Estimate { value: Quantity::new(mean, unit), low: low / wider, high: high * wider }
    };
    let seconds = |off, value: &dyn Fn(&Record) -> f64| of(Unit::Seconds, off + error.model, value);
    let slowest = |off, value: &dyn Fn(&Record) -> f64| of(Unit::Seconds, off + error.tail, value);
    let first_token = |inner: Estimate| Estimate {
        low: (inner.low - error.front).max(0.0),
        high: inner.high + error.front,
        ..inner
    };
    let quantile = |q: f64| move |r: &Record| (r.ttft_quantile(Ratio(q)) + front).get();
    let gap = |q: f64| move |r: &Record| r.itl.quantile(Ratio(q)).get();
    let rate = |unit, value: &dyn Fn(&Record) -> f64| {
        let per_second = |r: &Record| value(r) / r.time().get().max(1e-3);
        // Where everybody is served the load sets the rate, whatever the model gets wrong.
        of(unit, error.tokens + if past_capacity { error.model } else { 0.0 }, &per_second)
    };
    Foreseen {
        ttft: Times {
            mean: first_token(seconds(error.ttft, &|r| (r.ttft() + front).get())),
            p50: first_token(seconds(error.ttft, &quantile(0.5))),
            p95: first_token(slowest(error.ttft, &quantile(0.95))),
            p99: first_token(slowest(error.ttft, &quantile(0.99))),
        },
        itl: Times {
            mean: seconds(error.itl, &|r| r.itl.mean().get()),
            p50: seconds(error.itl, &gap(0.5)),
            p95: slowest(error.itl, &gap(0.95)),
            p99: slowest(error.itl, &gap(0.99)),
        },
        queue: seconds(error.ttft, &|r| r.queue.get().get()),
        requests: rate(Unit::RequestsPerSecond, &|r| r.finished.get()),
        tokens: rate(Unit::TokensPerSecond, &|r| r.tokens.get()),
    }
}
