//! How long a step takes: first from the scrapes alone, before any replay.

use intriage_case::{Ratio, Seconds, Signal};
use intriage_engines::Setting;
use intriage_simulate::StepTime;

use crate::measured::Measured;
use crate::window::Window;

/// A step's parts against its base, before this case says better. The base is mostly the reading of all
/// weights, so the parts follow from the same card: a prompt token costs 2 flops a weight, which is
/// bandwidth over flop rate of the base (4.8 TB/s over about 700 Tflop/s on an H200, 2 over 200 on an A100);
const PROMPT_TOKEN: f64 = 0.007;
/// a sequence costs the host's work for it, its computation hides behind the weights (four and
/// twenty-three sequences took the same 4.8 ms on an H200);
const SEQUENCE: f64 = 0.002;
/// a context token costs its KV bytes of the weight bytes (128 KiB of 16 GB for 8B in bfloat16),
const CONTEXT_TOKEN: f64 = 8e-6;
/// of the share of the base that is reading.
const READING: f64 = 0.7;
/// How strongly the shape holds against the scrapes: as much as this share of them.
const TRUST_IN_SHAPE: f64 = 0.05;

/// One stretch between two scrapes: its length, and what was computed in it.
type Row = (f64, [f64; 4]);

/// The step time that explains the length of the scrape intervals by what was computed in them.
pub(crate) fn step_time(window: &Window<'_>, measured: &Measured, cached: Ratio, noise: Ratio) -> StepTime {
    let context = context_share(window);
    let shape = [1.0, PROMPT_TOKEN, SEQUENCE, context];
    let rows = rows(window, cached);
    let scale = |rows: &[Row]| {
        let (time, unit) = rows.iter().fold((0.0, 0.0), |(t, u), (time, parts)| {
            (t + time, u + parts.iter().zip(shape).map(|(p, s)| p * s).sum::<f64>())
        });
        (unit > 0.0).then(|| time / unit)
    };
    let fitted = scale(&rows).map(|base| non_negative(&rows, shape.map(|s| s * base)));
    // Without counted steps the gap between tokens is the step.
    let [base, prompt, sequence, context] =
        fitted.unwrap_or_else(|| shape.map(|s| s * measured.itl.get() / (1.0 + 8.0 * SEQUENCE)));
    StepTime {
        base: Seconds(base),
        per_prompt_token: Seconds(prompt),
        per_sequence: Seconds(sequence),
        per_context_token: Seconds(context),
        noise,
        ..StepTime::constant(Seconds(0.0))
    }
}

/// KV bytes of a token over weight bytes, where the log states them.
fn context_share(window: &Window<'_>) -> f64 {
    let config = &window.observed.config;
    let of = |setting| config.number(setting).filter(|v| *v > 0.0);
    let share = || {
        // A pool cut by hand does not fill the bytes the log states.
        let forced = config.number(Setting::KvBlocksOverride).is_some();
        let tokens = if forced {
            of(Setting::KvBlocksPossible)? * of(Setting::KvBlockSize)?
        } else {
            of(Setting::KvCapacity)?
        };
        Some(of(Setting::KvBytes)? / tokens / of(Setting::WeightBytes)?)
    };
    READING * share().unwrap_or(CONTEXT_TOKEN).clamp(0.0, 1e-3)
}

/// Intervals in which the engine was busy from end to end, as steps, prompt tokens, sequences and context.
fn rows(window: &Window<'_>, cached: Ratio) -> Vec<Row> {
    let read = || {
        let steps: Vec<Option<f64>> =
            window.histograms(Signal::TokensPerStep)?.iter().map(|h| Some(h.as_ref()?.count())).collect();
        let (prompts, outputs) =
            (window.series(Signal::TokensPrompt)?, window.series(Signal::TokensGenerated)?);
        let running = window.series(Signal::RequestsRunning)?;
        let usage = window.series(Signal::KvUsage);
        let pool = window.observed.config.number(Setting::KvCapacity).unwrap_or(0.0);
        let times = window.times();
        let interval = |i: usize| {
            let gain = |series: &[Option<f64>]| Some((*series.get(i)?)? - (*series.get(i - 1)?)?);
            let busy = running[i]? > 0.0 && running[i - 1]? > 0.0;
            let n = gain(&steps)?;
            let held =
                usage.as_ref().and_then(|u| Some(f64::midpoint(u[i]?, u[i - 1]?))).unwrap_or(0.0) * pool;
            let parts = [n, gain(&prompts)? * (1.0 - cached.get()), gain(&outputs)?, n * held];
            (busy && n > 0.0 && parts.iter().all(|p| *p >= 0.0)).then(|| (times[i] - times[i - 1], parts))
        };
        Some((1..times.len()).filter_map(interval).collect::<Vec<Row>>())
    };
    read().unwrap_or_default()
}

/// Least squares without negative parts, held near `prior`: coordinate by coordinate until it settles.
fn non_negative(rows: &[Row], prior: [f64; 4]) -> [f64; 4] {
    // In units of the prior all coefficients are near one, so one ridge fits all.
    let scaled: Vec<Row> = rows.iter().map(|(t, p)| (*t, std::array::from_fn(|k| p[k] * prior[k]))).collect();
    let gram = |a: usize, b: usize| scaled.iter().map(|(_, p)| p[a] * p[b]).sum::<f64>();
    let total: f64 = scaled.iter().map(|(t, _)| t * t).sum();
    let ridge = TRUST_IN_SHAPE * total;
    let mut x = [1.0_f64; 4];
    for _ in 0..200 {
        for k in 0..4 {
            let others: f64 = (0..4).filter(|j| *j != k).map(|j| gram(k, j) * x[j]).sum();
            let target: f64 = scaled.iter().map(|(t, p)| t * p[k]).sum();
            let own = gram(k, k) + ridge;
            if own > 0.0 {
                x[k] = ((target - others + ridge) / own).max(0.0);
            }
        }
    }
    std::array::from_fn(|k| x[k] * prior[k])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn intervals_that_differ_tell_the_parts_apart() {
        let truth = [5e-3, 30e-6, 40e-6, 0.0];
        let rows: Vec<Row> = (0..20)
            .map(|i| {
                let parts = [100.0 + f64::from(i) * 20.0, f64::from((i * 7919) % 50_000), 3000.0, 0.0];
                (parts.iter().zip(truth).map(|(p, c)| p * c).sum(), parts)
            })
            .collect();
        let found = non_negative(&rows, [4e-3, 28e-6, 32e-6, 3e-8]);
        assert!((found[0] / truth[0] - 1.0).abs() < 0.15, "{found:?}");
        assert!((found[1] / truth[1] - 1.0).abs() < 0.15, "{found:?}");
    }

    proptest! {
        #[test]
        fn no_part_is_negative_or_not_a_number(
            rows in prop::collection::vec((0.0_f64..10.0, prop::array::uniform4(0.0_f64..1e6)), 0..30)
        ) {
            let found = non_negative(&rows, [5e-3, 35e-6, 40e-6, 4e-8]);
            prop_assert!(found.iter().all(|c| *c >= 0.0 && c.is_finite()), "{found:?}");
        }
    }
}
