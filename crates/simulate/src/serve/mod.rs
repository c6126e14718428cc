//! The simulated fleet behind a real HTTP server, a relay to put before it, and a client to drive it.
//!
//! | file | what it does |
//! |---|---|
//! | `driver`, `events` | owns the fleet and lets its virtual time pass in real time |
//! | `api` | vLLM's routes, parameters, answers and errors |
//! | `listen` | sockets: connections, limits, the end |
//! | `tokenizer`, `answer`, `keys` | text to tokens, tokens to text, tokens to KV blocks |
//! | [`proxy`] | a relay that buffers or delays |
//! | [`drive`] | sends a workload over HTTP and writes down what the client saw |

mod answer;
mod api;
mod clock;
pub mod drive;
mod driver;
mod events;
mod keys;
mod listen;
pub mod proxy;
mod running;
pub mod tokenizer;
mod wire;

pub use api::adapter_name;
pub use driver::Lag;
pub use listen::{run, start};
pub use running::Running;

use crate::engine::{ConfigError, EngineConfig};
use crate::fleet::FleetConfig;
use crate::setup::{Identity, Mishap, Setup};
use crate::workload::Lengths;

/// What is served.
#[derive(Debug, Clone, PartialEq)]
pub struct ServeConfig {
    /// The engines, their router and their front end.
    pub fleet: FleetConfig,
    /// What it says about itself.
    pub identity: Identity,
    /// How long answers are when neither the client nor the window ends them.
    pub answers: Lengths,
    /// Adapters served beside the model, under the names of [`adapter_name`].
    pub adapters: u32,
    /// What befalls it, counted from its start.
    pub mishap: Option<Mishap>,
    /// Decides step times, lengths and words.
    pub seed: u64,
}

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// No engine, or one that cannot run.
    #[error("this engine cannot run: {0}")]
    Config(#[from] ConfigError),
    /// There is nothing to serve with.
    #[error("a fleet needs at least one engine")]
    NoEngine,
    /// The address cannot be had.
    #[error("cannot listen on {address}: {why}")]
    Listen {
        /// The address asked for.
        address: String,
        /// The reason.
        why: std::io::Error,
    },
    /// The system gave no thread or no event loop.
    #[error("cannot start: {0}")]
    Start(#[from] std::io::Error),
}

impl ServeConfig {
    /// The server of a deployment. Answers are as long as those of its first class of requests.
    pub fn of(setup: &Setup, seed: u64) -> Self {
        let classes = &setup.workload.classes;
        Self {
            fleet: setup.fleet.clone(),
            identity: setup.identity.clone(),
            answers: classes.first().map_or(Lengths::Fixed(100), |class| class.answer.clone()),
            adapters: classes.iter().map(|class| class.adapters).max().unwrap_or(0),
            mishap: setup.mishap,
            seed,
        }
    }

    /// Whether it can be served.
    pub fn check(&self) -> Result<(), ServeError> {
        if self.fleet.engines.is_empty() {
            return Err(ServeError::NoEngine);
        }
        Ok(self.fleet.engines.iter().try_for_each(EngineConfig::check)?)
    }

    /// Longest prompt and answer together, in tokens, that every engine can hold.
    pub(crate) fn window(&self) -> u32 {
        self.fleet.engines.iter().map(EngineConfig::window).min().unwrap_or(0)
    }
}
