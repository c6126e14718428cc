//! A run that can begin, and what is held on to while it goes.

use std::fs::File;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use intriage_case::Nanos;
use intriage_record::Header;

use crate::clock::Clock;
use crate::engine::Settings;
use crate::front_end::Questions;
use crate::plan::{Pattern, Plan};
use crate::progress::Progress;
use crate::recorder::Observer;
use crate::run::{Ran, Run, RunError};
use crate::server::Server;

/// A run that can begin.
pub struct Ready {
    /// What the record begins with.
    pub header: Header,
    /// What was found out, for the user.
    pub notes: Vec<String>,
    pub(crate) plan: Plan,
    pub(crate) settings: Settings,
    pub(crate) threads: u32,
    pub(crate) clock: Clock,
    /// Who is asked beside the load.
    pub(crate) server: Option<Server>,
}

/// Set from outside, and looked at from outside, while a run goes.
#[derive(Debug, Clone, Default)]
pub struct Handle {
    /// Ends the run early.
    pub stop: Arc<AtomicBool>,
    /// How it goes.
    pub progress: Arc<Mutex<Progress>>,
}

/// From making the plan to its first request: threads start meanwhile.
const LEAD: Nanos = Nanos(5_000_000);

impl Ready {
    /// Runs to the end.
    pub fn run(
        mut self,
        file: Option<File>,
        observers: Vec<Observer>,
        handle: &Handle,
    ) -> Result<(Header, Ran), RunError> {
        self.plan.start = self.clock.now() + LEAD;
        let header = self.header.clone();
        let address = self.settings.addresses.first().copied();
        let questions = self.server.zip(address).map(|(server, address)| Questions {
            server,
            address,
            clock: self.clock,
            start: self.plan.start,
            at_once: match self.plan.pattern {
                Pattern::Closed { concurrency } => concurrency,
                Pattern::Open { .. } => 1,
            },
        });
        let run = Run {
            questions,
            settings: Arc::new(self.settings),
            header: self.header,
            feeds: Arc::new(self.plan).feeds(self.threads),
            file,
            observers,
            progress: Arc::clone(&handle.progress),
            clock: self.clock,
        };
        Ok((header, run.run()?))
    }
}
