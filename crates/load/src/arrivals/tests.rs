#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn rate(rate: f64) -> Rate {
    PerSecond(Requests(rate))
}

fn seconds(shape: Shape, n: usize) -> Vec<f64> {
    Schedule::new(shape, 7).unwrap().take(n).map(|a| a.at.seconds().0).collect()
}

/// Coefficient of variation of the gaps.
fn variation(times: &[f64]) -> f64 {
    let gaps: Vec<_> = times.windows(2).map(|w| w[1] - w[0]).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let square = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    square.sqrt() / mean
}

#[test]
fn a_constant_rate_does_not_drift_over_days() {
    let mut schedule = Schedule::new(Shape::Constant { rate: rate(3.0) }, 1).unwrap();
    assert_eq!(schedule.next().unwrap().at, Nanos(0));
    assert_eq!(schedule.next().unwrap().at, Nanos(333_333_333));
    // Three days later.
    schedule.index = 3 * 86_400 * 3;
    assert_eq!(schedule.next().unwrap().at, Nanos(3 * 86_400 * 1_000_000_000));
}

#[test]
fn rates_and_variations_are_as_declared() {
    let n = 100_000;
    for (shape, wanted) in [
        (Shape::Poisson { rate: rate(20.0) }, 1.0),
        (Shape::Gamma { rate: rate(20.0), burstiness: 0.25 }, 2.0),
        (Shape::Gamma { rate: rate(20.0), burstiness: 1.0 }, 1.0),
        (Shape::Gamma { rate: rate(20.0), burstiness: 4.0 }, 0.5),
        (Shape::Gamma { rate: rate(20.0), burstiness: 1e8 }, 0.0),
    ] {
        let times = seconds(shape.clone(), n);
        assert!((times[n - 1] / 5000.0 - 1.0).abs() < 0.02, "{shape:?}: {} s", times[n - 1]);
        let got = variation(&times);
        assert!((got - wanted).abs() < 0.03, "{shape:?}: {got}");
    }
}

#[test]
fn an_infinite_rate_sends_all_at_once() {
    for shape in [Shape::Constant { rate: rate(f64::INFINITY) }, Shape::Poisson { rate: rate(f64::INFINITY) }]
    {
        assert_eq!(seconds(shape, 3), [0.0; 3]);
    }
}

#[test]
fn a_crowd_comes_at_once() {
    let times = seconds(Shape::Bursts { rate: rate(10.0), every: Seconds(10.0), size: 50 }, 500);
    assert_eq!(times.iter().filter(|t| **t == 5.0).count(), 50);
    assert_eq!(times.iter().filter(|t| **t == 15.0).count(), 50);
}

fn ramp(from: f64, to: f64, curve: Curve, distribution: Distribution) -> Shape {
    Shape::Ramp { from: rate(from), to: rate(to), over: Seconds(100.0), curve, distribution }
}

#[test]
fn a_ramp_passes_through_its_rates() {
    let between = |times: &[f64], a: f64, b: f64| times.iter().filter(|t| (a..b).contains(*t)).count() as f64;
    for distribution in [Distribution::Constant, Distribution::Poisson, Distribution::Gamma(2.0)] {
        let linear = seconds(ramp(0.0, 200.0, Curve::Linear, distribution), 40_000);
        // The rate in the middle is 100, afterwards 200.
        assert!((between(&linear, 45.0, 55.0) / 1000.0 - 1.0).abs() < 0.1);
        assert!((between(&linear, 0.0, 100.0) / 10_000.0 - 1.0).abs() < 0.05);
        assert!((between(&linear, 120.0, 140.0) / 4000.0 - 1.0).abs() < 0.06);
        let exponential = seconds(ramp(1.0, 400.0, Curve::Exponential, distribution), 40_000);
        // Halfway between 1 and 400 by factors is 20.
        assert!((between(&exponential, 45.0, 55.0) / 200.0 - 1.0).abs() < 0.25);
        assert!((between(&exponential, 110.0, 140.0) / 12_000.0 - 1.0).abs() < 0.06);
    }
    let down = seconds(ramp(20.0, 0.0, Curve::Linear, Distribution::Constant), 5000);
    assert_eq!(down.len(), 1000, "from 20 to 0 over 100 s, then nothing");
}

#[test]
fn steps_have_their_rates_and_end() {
    let steps = vec![(rate(10.0), Seconds(3.0)), (rate(0.0), Seconds(5.0)), (rate(2.0), Seconds(2.0))];
    let times = seconds(Shape::Steps { steps, distribution: Distribution::Constant }, 100);
    assert_eq!(times.len(), 34);
    assert_eq!(times[29], 2.9);
    assert_eq!(times[30..], [8.0, 8.5, 9.0, 9.5]);
}

#[test]
fn a_trace_runs_faster_and_keeps_lengths_and_blocks() {
    let row = Traced { at: Nanos(4_000_000_000), lengths: Some((600, 5)), blocks: vec![1, 2] };
    let rows: Arc<[Traced]> = vec![Traced::at(Nanos(0)), row].into();
    let all: Vec<_> = Schedule::new(Shape::Trace { rows, speed: 2.0 }, 1).unwrap().collect();
    assert_eq!(all.len(), 2);
    assert_eq!(
        all[1],
        Arrival { index: 1, at: Nanos(2_000_000_000), lengths: Some((600, 5)), blocks: vec![1, 2] }
    );
}

#[test]
fn shards_together_are_the_whole() {
    let whole = |n: u64, j: u64| {
        let schedule = Schedule::new(Shape::Poisson { rate: rate(9.0) }, 3).unwrap().take(1000);
        schedule.filter(move |a| a.index % n == j).collect::<Vec<_>>()
    };
    let mut all: Vec<_> = (0..4).flat_map(|j| whole(4, j)).collect();
    all.sort_by_key(|a| a.index);
    assert_eq!(all, whole(1, 0));
}

#[test]
fn impossible_shapes_are_refused_by_name() {
    let error = |shape| Schedule::new(shape, 1).unwrap_err().to_string();
    assert_eq!(error(Shape::Constant { rate: rate(0.0) }), "the rate must be more than zero, not 0");
    assert_eq!(error(Shape::Poisson { rate: rate(f64::NAN) }), "the rate must be more than zero, not NaN");
    assert!(error(Shape::Gamma { rate: rate(1.0), burstiness: -1.0 }).starts_with("burstiness must be"));
    assert!(error(Shape::Trace { rows: Arc::new([]), speed: 0.0 }).starts_with("the speed of a trace"));
    let none = Shape::Steps { steps: Vec::new(), distribution: Distribution::Poisson };
    assert_eq!(error(none), "a list of steps without a rate has no request");
    assert!(error(ramp(0.0, 5.0, Curve::Exponential, Distribution::Poisson)).contains("exponential"));
}

proptest! {
    #[test]
    fn no_numbers_bring_it_down_and_time_never_goes_back(
        seed in any::<u64>(), a in any::<f64>(), b in any::<f64>(), c in any::<f64>(), small in 1e-3f64..1e3, n in any::<u32>(),
    ) {
        let distributions = [Distribution::Constant, Distribution::Poisson, Distribution::Gamma(c), Distribution::Gamma(small)];
        let mut shapes = vec![
            Shape::Constant { rate: rate(a) },
            Shape::Poisson { rate: rate(small) },
            Shape::Gamma { rate: rate(a), burstiness: b },
            Shape::Bursts { rate: rate(a), every: Seconds(small), size: n },
            Shape::Trace { rows: vec![Traced::at(Nanos(5)), Traced::at(Nanos(u64::MAX))].into(), speed: b },
        ];
        for distribution in distributions {
            for curve in [Curve::Linear, Curve::Exponential] {
                for (from, to, over) in [(a, b, c), (small, a, small), (a, small, small), (small, small, small)] {
                    shapes.push(Shape::Ramp { from: rate(from), to: rate(to), over: Seconds(over), curve, distribution });
                }
            }
            let steps = vec![(rate(small), Seconds(small)), (rate(a), Seconds(b))];
            shapes.push(Shape::Steps { steps, distribution });
        }
        for shape in shapes {
            let Ok(schedule) = Schedule::new(shape.clone(), seed) else { continue };
            let times: Vec<_> = schedule.take(50).map(|arrival| arrival.at).collect();
            prop_assert!(times.windows(2).all(|w| w[0] <= w[1]), "{shape:?}: {times:?}");
        }
    }
}
