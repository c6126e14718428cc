//! The energy distance between two stretches of a series, by which E-divisive looks for its divisions.

/// Sums of |a − b| over all pairs of a series, ready to be taken over any two stretches of it.
pub(super) struct Distances {
    n: usize,
    /// `(n + 1)²` sums over the first rows and columns.
    sums: Vec<f64>,
}

impl Distances {
    /// Sums for a series.
    pub(super) fn of(values: &[f64]) -> Self {
        let n = values.len();
        let mut all = Self { n, sums: vec![0.0; (n + 1) * (n + 1)] };
        for i in 0..n {
            let mut row = 0.0;
            for j in 0..n {
                row += (values[i] - values[j]).abs();
                all.sums[(i + 1) * (n + 1) + j + 1] = all.sums[i * (n + 1) + j + 1] + row;
            }
        }
        all
    }

    /// Sum over pairs of one of `rows` and one of `columns`.
    fn between(&self, rows: (usize, usize), columns: (usize, usize)) -> f64 {
        let sum = |row: usize, column: usize| self.sums[row * (self.n + 1) + column];
        sum(rows.1, columns.1) - sum(rows.0, columns.1) - sum(rows.1, columns.0) + sum(rows.0, columns.0)
    }

    /// The division of a stretch with the greatest distance between what lies before it and what follows, up to any
    /// end; with that distance. `None` for a stretch of one.
    pub(super) fn best_division(&self, from: usize, to: usize) -> Option<(f64, usize)> {
        let mut best: Option<(f64, usize)> = None;
        for tau in from + 1..to {
            for end in tau + 1..=to {
                let distance = self.energy(from, tau, end);
                if best.is_none_or(|(most, _)| distance > most) {
                    best = Some((distance, tau));
                }
            }
        }
        best
    }

    /// Energy distance of `from..tau` and `tau..end`, weighted by their lengths: twice the mean distance between them
    /// less the mean distances within each.
    fn energy(&self, from: usize, tau: usize, end: usize) -> f64 {
        let (m, n) = ((tau - from) as f64, (end - tau) as f64);
        let within = |a: usize, b: usize| {
            let pairs = (b - a) as f64;
            // Each pair is in the sum twice.
            if b - a < 2 { 0.0 } else { self.between((a, b), (a, b)) / (pairs * (pairs - 1.0)) }
        };
        let across = self.between((from, tau), (tau, end)) / (m * n);
        m * n / (m + n) * (2.0 * across - within(from, tau) - within(tau, end))
    }
}
