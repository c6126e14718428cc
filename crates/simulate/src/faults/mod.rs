//! What can be wrong with a deployment, by name and strength.

mod decode;
mod path;
mod prefill;
mod queueing;
mod service;

use crate::random::Random;
use crate::setup::Setup;

/// One thing that can be wrong, or that only looks wrong.
#[derive(Debug)]
pub struct Fault {
    /// Its name: `low-sequence-cap`.
    pub name: &'static str,
    /// What was done to the deployment, in one sentence.
    pub what: &'static str,
    /// The cause an engineer should be told, as the catalogue names it; `None` where nothing is wrong.
    pub cause: Option<&'static str>,
    /// Other answers that are just as true.
    pub accept: &'static [&'static str],
    pub(crate) apply: fn(&mut Setup, f64, &mut Random),
}

/// A fault nobody knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no fault is called {name:?}; known are {}", known.join(", "))]
pub struct UnknownFault {
    /// What was asked for.
    pub name: String,
    /// What there is.
    pub known: Vec<&'static str>,
}

/// All faults, the healthy deployments first.
pub fn all() -> impl Iterator<Item = &'static Fault> {
    [service::HEALTHY, queueing::FAULTS, prefill::FAULTS, decode::FAULTS, service::FAULTS, path::FAULTS]
        .into_iter()
        .flatten()
}

/// Names and what was done, one a line.
pub fn table() -> String {
    let width = all().map(|f| f.name.len()).max().unwrap_or(0);
    let lines: Vec<String> = all().map(|f| format!("{:width$}  {}", f.name, f.what)).collect();
    lines.join("\n") + "\n"
}

/// The fault of this name.
pub fn find(name: &str) -> Result<&'static Fault, UnknownFault> {
    all()
        .find(|f| f.name == name)
        .ok_or_else(|| UnknownFault { name: name.to_owned(), known: all().map(|f| f.name).collect() })
}

/// The fault a seed draws, each as likely as any other.
pub fn draw(seed: u64) -> &'static Fault {
    let n = all().count() as u64;
    let at = Random::new(seed, "fault").below(n) as usize;
    // `at` is below the number of faults.
    all().nth(at).unwrap_or(&service::HEALTHY[0])
}

impl Fault {
    /// Whether an answer (a cause of the catalogue, or none) is the true one or as good.
    pub fn is_named_by(&self, cause: Option<&str>) -> bool {
        cause == self.cause || cause.is_some_and(|c| self.accept.contains(&c))
    }

    /// A deployment with this fault. A strength of 1 is a plain case of it, 2 a severe one.
    pub fn setup(&self, seed: u64, strength: f64) -> Setup {
        let mut setup = Setup::healthy(seed);
        (self.apply)(&mut setup, strength, &mut Random::new(seed, self.name));
        setup
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found_again() {
        let mut names: Vec<&str> = all().map(|f| f.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all().count());
        assert!(names.len() > 25, "{} faults", names.len());
        assert!(find("kaput").is_err_and(|e| e.to_string().contains("low-sequence-cap")));
    }

    #[test]
    fn every_seed_and_strength_gives_engines_that_can_run() {
        for fault in all() {
            for seed in 0..20 {
                for strength in [0.5, 1.0, 2.0] {
                    let setup = fault.setup(seed, strength);
                    assert!(!setup.fleet.engines.is_empty());
                    for engine in &setup.fleet.engines {
                        assert_eq!(engine.check(), Ok(()), "{} {seed} {strength}", fault.name);
                    }
                }
            }
        }
    }
}
