//! Student's t: how likely two stretches of one series differ by chance.

/// Number, mean and standard deviation of a stretch. The deviation is that of the values themselves (divided by n), as
/// Apache Otava takes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Stretch {
    pub(super) n: usize,
    pub(super) mean: f64,
    pub(super) deviation: f64,
}

impl Stretch {
    /// Of values; all zero for none.
    pub(super) fn of(values: &[f64]) -> Self {
        let n = values.len();
        let mean = values.iter().sum::<f64>() / n.max(1) as f64;
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        Self { n, mean, deviation: (squares / n.max(1) as f64).sqrt() }
    }
}

/// Two-sided probability that two stretches of equal variance differ this much in their means by chance; 1 where it
/// cannot be told.
pub(super) fn t_test(before: Stretch, after: Stretch) -> f64 {
    let total = before.n + after.n;
    if before.n == 0 || after.n == 0 || total < 3 {
        return 1.0;
    }
    let squares = |side: Stretch| (side.n as f64 - 1.0) * side.deviation.powi(2);
    let pooled = (squares(before) + squares(after)) / (total as f64 - 2.0);
    let error = (pooled * (1.0 / before.n as f64 + 1.0 / after.n as f64)).sqrt();
    let t = (before.mean - after.mean).abs() / error;
    // Equal means without noise are 0/0: no difference.
    if t.is_nan() { 1.0 } else { two_sided(t, total - 2) }
}

/// Probability that |T| is at least `t` with this many degrees of freedom.
///
/// The finite sums for whole degrees of freedom: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and
/// 26.7.4. Below 1e-15 the difference from one leaves nothing.
fn two_sided(t: f64, freedom: usize) -> f64 {
    let angle = (t / (freedom as f64).sqrt()).atan();
    let (sine, square) = (angle.sin(), angle.cos().powi(2));
    let is_odd = freedom % 2 == 1;
    // Terms of cos θ (odd) or of 1 (even), each by k/(k+1) and cos² θ from the one before.
    let mut term = if is_odd { angle.cos() } else { 1.0 };
    let (mut sum, mut k) = (0.0, if is_odd { 2.0 } else { 1.0 });
    for _ in 0..(freedom / 2) {
        sum += term;
        term *= square * k / (k + 1.0);
        k += 2.0;
    }
    let within = if is_odd { (angle + sine * sum) * std::f64::consts::FRAC_2_PI } else { sine * sum };
    (1.0 - within).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_critical_values_holds() {
        // Two-sided critical values, NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2.
        for (freedom, t, p) in [
            (1, 12.706, 0.05),
            (1, 318.309, 0.002),
            (2, 4.303, 0.05),
            (2, 22.327, 0.002),
            (3, 3.182, 0.05),
            (5, 2.571, 0.05),
            (8, 4.501, 0.002),
            (10, 2.228, 0.05),
            (10, 4.144, 0.002),
            (29, 2.756, 0.01),
            (30, 2.042, 0.05),
            (100, 3.174, 0.002),
        ] {
            let found = two_sided(t, freedom);
            assert!((found - p).abs() < 1e-3 * p, "{freedom} {t}: {found} instead of {p}");
        }
        assert_eq!((two_sided(0.0, 7), two_sided(f64::INFINITY, 7)), (1.0, 0.0));
    }

    #[test]
    fn equal_stretches_do_not_differ_and_exact_ones_do() {
        let flat = |value| Stretch::of(&[value; 6]);
        assert_eq!(t_test(flat(2.0), flat(2.0)), 1.0);
        assert_eq!(t_test(flat(2.0), flat(3.0)), 0.0);
        assert_eq!(t_test(Stretch::of(&[]), flat(3.0)), 1.0);
        assert_eq!(t_test(Stretch::of(&[1.0]), Stretch::of(&[9.0])), 1.0, "two values tell nothing");
    }
}
