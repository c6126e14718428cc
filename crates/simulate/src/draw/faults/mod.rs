//! What can go wrong with a drawn deployment, whatever its card, model and load.
//!
//! [`crate::faults`] holds plain cases of the same troubles at fixed loads, for the demo. Here a fault is measured by the
//! deployment it befalls (a cap below *its* concurrency, a step slower than *its* step), and it comes in two parts: `stage`
//! makes the load that can show it and belongs to the control as well, `apply` is the fault itself.

mod decode;
mod path;
mod prefill;
mod queueing;
mod service;

use crate::draw::base::Base;
use crate::draw::scene::Scene;
use crate::random::Random;

/// A fault that any drawn deployment can have.
#[derive(Debug)]
pub struct DrawnFault {
    /// Its name, that of [`crate::faults`] where it is there too.
    pub name: &'static str,
    /// What is done to the deployment, in one sentence.
    pub what: &'static str,
    /// The true cause, as the catalogue names it.
    pub cause: &'static str,
    /// Other answers that are just as true.
    pub accept: &'static [&'static str],
    /// What it strikes: two faults of one deployment strike two places.
    pub strikes: Part,
    /// Without this nobody could see it.
    pub needs: Needs,
    /// Makes the load that can show it; `None` where any load does.
    pub(crate) stage: Option<fn(&mut Base, f64, &mut Random)>,
    /// The fault itself.
    pub(crate) apply: fn(&mut Scene, f64, &mut Random),
}

/// A part of a deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The whole server: no second fault could be seen beside it.
    Server,
    /// Who is let in, and who waits.
    Admission,
    /// The computing of prompts.
    Prefill,
    /// The engine's step.
    Step,
    /// The API process.
    FrontEnd,
    /// When and how much is asked.
    Traffic,
    /// Between client and server.
    Path,
}

/// Evidence without which a fault cannot be seen by anybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// An objective: the fault is the honest price of what is asked, and hurts only who expects more.
    pub objective: bool,
    /// The clients' records: the server sees nothing of it.
    pub client: bool,
    /// The card, from `/server_info`: slow is slow only against what the card could do.
    pub card: bool,
}

const NOTHING: Needs = Needs { objective: false, client: false, card: false };
const OBJECTIVE: Needs = Needs { objective: true, ..NOTHING };
const CLIENT: Needs = Needs { client: true, ..NOTHING };
const CARD: Needs = Needs { card: true, ..NOTHING };
const OBJECTIVE_AND_CARD: Needs = Needs { objective: true, card: true, ..NOTHING };

/// All of them.
pub fn all() -> impl Iterator<Item = &'static DrawnFault> {
    [queueing::FAULTS, prefill::FAULTS, decode::FAULTS, service::FAULTS, path::FAULTS].into_iter().flatten()
}

impl DrawnFault {
    /// Whether an answer (a cause of the catalogue) is the true one or as good.
    pub fn is_named_by(&self, cause: &str) -> bool {
        cause == self.cause || self.accept.contains(&cause)
    }

    /// Whether any load shows it, one that comes from a fixed number of clients included.
    pub(crate) fn shows_in_any_load(&self) -> bool {
        self.stage.is_none() && self.strikes != Part::Traffic
    }

    /// Whether it can be put on top of another one: the load need not be made for it.
    pub(crate) fn adds_to(&self, other: &Self) -> bool {
        let apart =
            self.strikes != other.strikes && other.strikes != Part::Server && self.strikes != Part::Server;
        apart && self.stage.is_none() && !self.needs.objective && !other.needs.objective
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults;

    #[test]
    fn every_fault_of_the_demo_can_be_drawn_and_has_the_same_cause() {
        for fault in faults::all().filter(|fault| fault.cause.is_some()) {
            let drawn = all().find(|drawn| drawn.name == fault.name);
            assert_eq!(drawn.map(|d| d.cause), fault.cause, "{}", fault.name);
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = all().map(|f| f.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all().count());
    }
}
