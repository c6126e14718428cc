//! What guessing ahead can gain.

use intriage_case::{Ratio, Tokens};

/// Tokens that one step yields on average when each of `drafted` guesses is accepted with
/// probability `acceptance`, and the first wrong one ends the run: (1 − a^(k+1)) / (1 − a).
pub fn tokens_per_step(acceptance: Ratio, drafted: u32) -> Tokens {
    let a = probability(acceptance);
    let yielded = if a >= 1.0 {
        f64::from(drafted) + 1.0
    } else {
        (1.0 - a.powf(f64::from(drafted) + 1.0)) / (1.0 - a)
    };
    Tokens(yielded)
}

/// How much faster decoding gets: tokens a step over the cost of a step.
///
/// `draft_cost` is one guess and `verify_cost` the extra work of checking, both as a share of a
/// plain step. Checking is nearly free while batch × (k+1) stays below the ridge; see [`verify_is_free`].
pub fn speed_up(acceptance: Ratio, drafted: u32, draft_cost: Ratio, verify_cost: Ratio) -> Ratio {
    let cost = 1.0 + f64::from(drafted) * draft_cost.get().max(0.0) + verify_cost.get().max(0.0);
    Ratio(tokens_per_step(acceptance, drafted).get() / cost)
}

/// Whether checking `drafted` guesses for `batch` sequences stays below the ridge, so that the step
/// still waits for memory and not for arithmetic.
pub fn verify_is_free(batch: u32, drafted: u32, ridge: Tokens) -> bool {
    f64::from(batch) * (f64::from(drafted) + 1.0) < ridge.get()
}

/// What is no probability counts as none or certain.
fn probability(share: Ratio) -> f64 {
    if share.get().is_nan() { 0.0 } else { share.get().clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certain_guesses_all_count_and_hopeless_ones_leave_one_token() {
        assert_eq!(tokens_per_step(Ratio(1.0), 4), Tokens(5.0));
        assert_eq!(tokens_per_step(Ratio(0.0), 4), Tokens(1.0));
        assert!((tokens_per_step(Ratio(0.8), 3).get() - (1.0 + 0.8 + 0.64 + 0.512)).abs() < 1e-12);
    }

    #[test]
    fn a_costly_draft_makes_it_slower() {
        assert!(speed_up(Ratio(0.7), 4, Ratio(0.05), Ratio(0.0)).get() > 2.0);
        assert!(speed_up(Ratio(0.3), 4, Ratio(0.3), Ratio(0.2)).get() < 1.0);
    }

    #[test]
    fn checking_is_free_below_the_ridge_only() {
        assert!(verify_is_free(32, 4, Tokens(295.0)));
        assert!(!verify_is_free(64, 4, Tokens(295.0)));
    }

    #[test]
    fn nonsense_in_gives_a_number_out() {
        assert_eq!(tokens_per_step(Ratio(f64::NAN), 3), Tokens(1.0));
        assert_eq!(tokens_per_step(Ratio(7.0), 3), Tokens(4.0));
    }
}
