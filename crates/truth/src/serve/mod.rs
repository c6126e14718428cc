//! The server: sockets, deadlines, and what is answered.

mod connection;
mod drive;
mod event_loop;
mod inference;
mod pages;
mod timers;
mod tokenize;

use std::sync::Arc;

use crate::config::Config;
use crate::metrics::Metrics;
use crate::prebuilt::Prebuilt;
use crate::served::{Log, Served};

pub(crate) use event_loop::{Command, EventLoop};

/// Everything but the sockets.
pub(crate) struct Core {
    config: Arc<Config>,
    log: Log,
    metrics: Metrics,
    prebuilt: Prebuilt,
    /// Inference requests since the last reset.
    sequence: u64,
    /// Inference requests ever.
    ever: u64,
    /// Decides the ids, so that two runs have different ones.
    nonce: u64,
    /// Resets of the log.
    epoch: u64,
    /// Open connections.
    connections: u64,
    /// Requests that made no sense.
    bad: u64,
}

impl Core {
    fn new(config: Config) -> Self {
        Self {
            config: Arc::new(config),
            log: Log::default(),
            metrics: Metrics::default(),
            prebuilt: Prebuilt::default(),
            sequence: 0,
            ever: 0,
            nonce: crate::clock::unix(),
            epoch: 0,
            connections: 0,
            bad: 0,
        }
    }

    /// Forgets what was; requests in flight will not be logged.
    fn reset(&mut self) {
        self.log = Log::default();
        self.metrics = Metrics { running: self.metrics.running, ..Metrics::default() };
        self.sequence = 0;
        self.bad = 0;
        self.epoch += 1;
    }

    fn served(&self) -> Vec<Served> {
        self.log.all()
    }
}
