//! How a cause weighs its evidence: what must hold, what supports, what refutes.

use intriage_case::Fact;

use crate::diagnosis::{Impact, Outcome};

/// One test of a cause: it holds, it does not, or nobody knows.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// It holds; the fact says so.
    Holds(Fact),
    /// It does not hold; the fact says what was seen instead.
    Fails(Fact),
    /// It cannot be tested; the sentence says why.
    Unknown(String),
}

impl Test {
    /// A test from a condition and the fact that goes with it either way.
    pub fn when(holds: bool, fact: Fact) -> Self {
        if holds { Self::Holds(fact) } else { Self::Fails(fact) }
    }
}

/// A change with this case's numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    /// The change.
    pub change: String,
    /// What it costs or risks.
    pub cost: String,
}

/// A cause's judgement of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// How it was judged.
    pub outcome: Outcome,
    /// How sure, 0 to 1; 0 unless it holds.
    pub confidence: f64,
    /// The cause in one sentence with this case's numbers; empty unless it holds.
    pub says: String,
    /// What it costs.
    pub impact: Option<Impact>,
    /// Facts for it.
    pub facts_for: Vec<Fact>,
    /// Facts against it.
    pub against: Vec<Fact>,
    /// What was missing.
    pub missing: Vec<String>,
    /// Changes with this case's numbers, before the catalogue's general ones.
    pub advice: Vec<Advice>,
    /// Causes that are only effects of this one here.
    pub explains: Vec<&'static str>,
}

/// Collects tests and draws the conclusion by the same rules for every cause:
///
/// - a refutation that holds, or a required test that fails, rules the cause out;
/// - a required test nobody could make leaves it open;
/// - otherwise it holds: *confirmed* if nothing speaks against it, *likely* if something does or if
///   only a probe could confirm it.
#[derive(Debug, Default)]
pub struct Weighing {
    required: Vec<Test>,
    supporting: Vec<Test>,
    refuting: Vec<Test>,
    weakening: Vec<Test>,
    ceiling: Option<f64>,
    needs_probe: bool,
    advice: Vec<Advice>,
    explains: Vec<&'static str>,
}

impl Weighing {
    /// Nothing weighed yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Must hold for the cause to hold.
    #[must_use]
    pub fn requires(mut self, test: Test) -> Self {
        self.required.push(test);
        self
    }

    /// Makes it surer if it holds, less sure if not.
    #[must_use]
    pub fn supports(mut self, test: Test) -> Self {
        self.supporting.push(test);
        self
    }

    /// Rules it out if it holds.
    #[must_use]
    pub fn refuted_by(mut self, test: Test) -> Self {
        self.refuting.push(test);
        self
    }

    /// Speaks against it if it holds, without ruling it out: another limit that binds beside this one.
    #[must_use]
    pub fn weakened_by(mut self, test: Test) -> Self {
        self.weakening.push(test);
        self
    }

    /// Passive evidence can make it likely at most, and no surer than `ceiling`.
    #[must_use]
    pub fn at_most_likely(mut self, ceiling: f64) -> Self {
        self.needs_probe = true;
        self.ceiling = Some(ceiling);
        self
    }

    /// A change with this case's numbers.
    #[must_use]
    pub fn advise(mut self, change: impl Into<String>, cost: impl Into<String>) -> Self {
        self.advice.push(Advice { change: change.into(), cost: cost.into() });
        self
    }

    /// Other causes are only effects of this one here.
    #[must_use]
    pub fn explains(mut self, causes: &[&'static str]) -> Self {
        self.explains.extend(causes);
        self
    }

    /// Draws the conclusion; `says` and `impact` are only used if the cause holds.
    pub fn conclude(self, says: impl Into<String>, impact: Impact) -> Judgement {
        let mut j = Judgement {
            outcome: Outcome::CannotTell,
            confidence: 0.0,
            says: String::new(),
            impact: None,
            facts_for: Vec::new(),
            against: Vec::new(),
            missing: Vec::new(),
            advice: Vec::new(),
            explains: Vec::new(),
        };
        let (mut out, mut open) = (false, false);
        for test in self.required {
            match test {
                Test::Holds(fact) => j.facts_for.push(fact),
                Test::Fails(fact) => {
                    out = true;
                    j.against.push(fact);
                }
                Test::Unknown(why) => {
                    open = true;
                    j.missing.push(why);
                }
            }
        }
        let mut cleared = Vec::new();
        for test in self.refuting {
            match test {
                Test::Holds(fact) => {
                    out = true;
                    j.against.push(fact);
                }
                Test::Fails(fact) => cleared.push(fact),
                Test::Unknown(_) => {}
            }
        }
        if out {
            j.outcome = Outcome::RuledOut;
            return j;
        }
        if open {
            return j;
        }
        let (mut supported, mut unsupported, mut unknown) = (0, 0, 0);
        for test in self.supporting {
            match test {
                Test::Holds(fact) => {
                    supported += 1;
                    j.facts_for.push(fact);
                }
                Test::Fails(fact) => {
                    unsupported += 1;
                    j.against.push(fact);
                }
                Test::Unknown(why) => {
                    unknown += 1;
                    j.missing.push(why);
                }
            }
        }
        for test in self.weakening {
            match test {
                Test::Holds(fact) => {
                    unsupported += 1;
                    j.against.push(fact);
                }
                Test::Fails(fact) => cleared.push(fact),
                Test::Unknown(_) => {}
            }
        }
        // That a refutation failed is worth a line, unless the same signal already spoke.
        for fact in cleared {
            let said = j
                .facts_for
                .iter()
                .any(|f| f.says == fact.says || (f.signal.is_some() && f.signal == fact.signal));
            if !said {
                j.facts_for.push(fact);
            }
        }
        j.outcome = if self.needs_probe || unsupported > 0 { Outcome::Likely } else { Outcome::Confirmed };
        j.confidence =
            confidence(j.outcome, supported, unsupported, unknown).min(self.ceiling.unwrap_or(1.0));
        j.says = says.into();
        j.impact = Some(impact);
        j.advice = self.advice;
        j.explains = self.explains;
        j
    }
}

/// The scale before calibration.rs turns it into the rate at which such verdicts were right.
const CONFIRMED: f64 = 0.85;
const LIKELY: f64 = 0.65;
const SUPPORTED: f64 = 0.03;
const UNSUPPORTED: f64 = 0.08;
const UNKNOWN: f64 = 0.03;
const LEAST: f64 = 0.3;
const MOST: f64 = 0.95;

/// Where an outcome starts, moved a little by each further fact, never to certainty.
fn confidence(outcome: Outcome, supported: i32, unsupported: i32, unknown: i32) -> f64 {
    let base = if outcome == Outcome::Confirmed { CONFIRMED } else { LIKELY };
    let moved = base + SUPPORTED * f64::from(supported)
        - UNSUPPORTED * f64::from(unsupported)
        - UNKNOWN * f64::from(unknown);
    (moved.clamp(LEAST, MOST) * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use intriage_case::{Ratio, Source};

    use super::*;
    use crate::diagnosis::ImpactOn;

    fn fact(says: &str) -> Fact {
        Fact { says: says.into(), value: None, limit: None, signal: None, source: Source::Scrape }
    }

    fn impact() -> Impact {
        Impact { on: ImpactOn::Ttft, share: Ratio(0.5), time: None, says: String::new() }
    }

    #[test]
    fn a_required_test_that_fails_rules_the_cause_out_even_if_another_is_unknown() {
        let j = Weighing::new()
            .requires(Test::Unknown("no gauge".into()))
            .requires(Test::Fails(fact("nobody waits")))
            .conclude("x", impact());
        assert_eq!(j.outcome, Outcome::RuledOut);
        assert_eq!(j.against.len(), 1);
        assert!(j.impact.is_none());
    }

    #[test]
    fn missing_evidence_is_never_clean() {
        let j = Weighing::new().requires(Test::Unknown("no gauge".into())).conclude("x", impact());
        assert_eq!((j.outcome, j.confidence), (Outcome::CannotTell, 0.0));
        assert_eq!(j.missing, ["no gauge"]);
    }

    #[test]
    fn counter_evidence_tempers_and_a_refutation_decides() {
        let holds = || Weighing::new().requires(Test::Holds(fact("waits")));
        let sure = holds().supports(Test::Holds(fact("more"))).conclude("x", impact());
        let tempered = holds().supports(Test::Fails(fact("less"))).conclude("x", impact());
        let probe = holds().at_most_likely(0.6).conclude("x", impact());
        assert_eq!(sure.outcome, Outcome::Confirmed);
        assert_eq!(tempered.outcome, Outcome::Likely);
        assert!(sure.confidence > tempered.confidence);
        assert_eq!((probe.outcome, probe.confidence), (Outcome::Likely, 0.6));
        let refuted = holds().refuted_by(Test::Holds(fact("no"))).conclude("x", impact());
        assert_eq!(refuted.outcome, Outcome::RuledOut);
    }
}
