//! A run as it is asked for, and what must be found out before it can begin.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use intriage_case::{Nanos, Objective, Ratio};
use intriage_record::Header;
use intriage_simulate::workload::Traced;
use serde_json::{Map, Value};

use crate::SpecError;
use crate::api::{Api, Common};
use crate::arrivals::{Schedule, Shape};
use crate::clock::{Clock, wall_clock};
use crate::engine::{Settings, Tls};
use crate::host;
use crate::plan::{Basics, Pattern, Plan};
use crate::prompts::{Class, FileOptions, Recorded, Replayed, Source, Synthetic};
use crate::ready::{Handle, Ready};
use crate::server::Server;
use crate::words::{self, Words};

/// How requests come.
#[derive(Debug, Clone)]
pub enum Load {
    /// So many at once.
    Closed {
        /// Sessions at once.
        concurrency: u32,
    },
    /// By the clock.
    Open {
        /// When.
        shape: Shape,
        /// In flight at most.
        max_in_flight: Option<u32>,
    },
}

/// What requests say.
#[derive(Debug, Clone)]
pub enum Prompts {
    /// Made up, in classes.
    Synthetic(Vec<Class>),
    /// Read from a file; `-` is standard input.
    File {
        /// The file.
        path: PathBuf,
        /// Tokens to ask for where it does not tell.
        output: u32,
        /// Begin again at its end.
        repeat: bool,
        /// Turns of a conversation to send at most.
        turns: usize,
    },
    /// Made up to the lengths of a trace.
    Trace(Arc<[Traced]>),
}

/// How prompts get their exact length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Counting {
    /// By a tokenizer on disk.
    Tokenizer(PathBuf),
    /// By the server's `/tokenize`; where it has none, by its counts of two requests of one token made beforehand.
    Server,
    /// By the server's `/tokenize`; where it has none, a word is taken for a token.
    Assume,
}

/// What is asked of the server beside the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BesideLoad {
    /// `/health`, so that the certificate knows how long the server takes to take a request up.
    Health,
    /// Nothing.
    Nothing,
}

/// Which HTTP is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// One request at a time on a connection.
    Http1,
    /// Many at a time: by prior knowledge, or by ALPN over TLS.
    Http2,
}

/// A run as it is asked for.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Where to.
    pub server: Server,
    /// In which API.
    pub api: Api,
    /// Another path than the API's own.
    pub path: Option<String>,
    /// For which model; where it is not said, the one the server has.
    pub model: Option<String>,
    /// How requests come.
    pub load: Load,
    /// What they say.
    pub prompts: Prompts,
    /// How prompts get their exact length.
    pub counting: Counting,
    /// Share of prompt tokens a prefix cache should find, where declared.
    pub hit_ratio: Option<Ratio>,
    /// Sessions to send after the warm-up.
    pub sessions: Option<u64>,
    /// No session begins later.
    pub duration: Option<Nanos>,
    /// Sessions that warm up.
    pub warmup_sessions: u64,
    /// Time to warm up.
    pub warmup_time: Nanos,
    /// Where stages end, and their names.
    pub stages: Vec<(Nanos, String)>,
    /// Answers of exactly the length asked for.
    pub ignore_eos: bool,
    /// Ask for counts with every chunk.
    pub continuous_usage: bool,
    /// What is asked beside the load.
    pub beside: BesideLoad,
    /// Further fields of the body.
    pub extra: Map<String, Value>,
    /// Objectives of a good request.
    pub objectives: Vec<Objective>,
    /// Percentiles asked for beside those of the objectives, each from 0 to 100.
    pub percentiles: Vec<f64>,
    /// Seed of prompts and arrivals.
    pub seed: u64,
    /// Salt of the prompts.
    pub salt: u64,
    /// Event loops.
    pub threads: u32,
    /// Use connections again.
    pub keep_alive: bool,
    /// HTTP/1.1 or HTTP/2.
    pub protocol: Protocol,
    /// A request that has not ended by then has failed.
    pub timeout: Nanos,
    /// How long to wait at the end for requests in flight.
    pub drain: Nanos,
    /// This is shard j of n.
    pub shard: (u32, u32),
    /// The command line, keys masked, for the record.
    pub command: Vec<String>,
    /// The server as it may be printed.
    pub shown_url: String,
}

/// What the kernel has for setting up a connection.
const CONNECT_TIMEOUT: Nanos = Nanos(10_000_000_000);
impl Spec {
    /// Finds out what is not said (address, model, words) and makes the plan.
    pub fn prepare(&self, clock: Clock, handle: &Handle) -> Result<Ready, SpecError> {
        let headers = self.server.header_lines()?;
        let address = self.server.reachable()?;
        let mut notes = Vec::new();
        let model = match &self.model {
            Some(model) => model.clone(),
            None if matches!(self.api, Api::LlamaCpp | Api::Tgi) => String::new(),
            None => self.server.only_model(address)?,
        };
        let words = self.words(address, &model, &mut notes)?;
        let (source, several_turns) = self.source(&words, &mut notes)?;
        let common = Common {
            api: self.api,
            model: model.clone(),
            ignore_eos: self.ignore_eos,
            continuous_usage: self.continuous_usage,
            extra: self.extra.clone(),
        };
        let declared = self.declared(&source, &words, several_turns);
        let basics = Basics { source, common, host: self.server.authority(), pattern: self.pattern()? };
        let mut plan = Plan::new(basics);
        plan.headers = headers;
        plan.path = format!("{}{}", self.server.prefix, self.path.as_deref().unwrap_or(self.api.path()));
        plan.id_prefix = format!("intriage-{:08x}", self.salt as u32);
        plan.keep_alive = self.keep_alive;
        // Over HTTP/2 one connection carries many, and how many is the server's to say.
        plan.opens_ahead = self.keep_alive && self.protocol == Protocol::Http1;
        plan.sessions = self.sessions;
        plan.warmup_sessions = self.warmup_sessions;
        plan.warmup_time = self.warmup_time;
        plan.duration = self.duration;
        plan.stage_ends = self.stages.iter().map(|(end, _)| *end).collect();
        plan.several_turns = several_turns;
        plan.shard = self.shard;
        let tls = match &self.server.tls {
            Some(config) => Some(Tls::new(Arc::clone(config), &self.server.host).map_err(SpecError::Tls)?),
            None => None,
        };
        let settings = Settings {
            addresses: vec![address],
            api: self.api,
            tls,
            keep_alive: self.keep_alive,
            http2: self.protocol == Protocol::Http2,
            timeout: self.timeout,
            connect_timeout: CONNECT_TIMEOUT,
            drain: self.drain,
            stop: Arc::clone(&handle.stop),
            sent: AtomicU64::new(0),
        };
        let header = Header {
            intriage: env!("CARGO_PKG_VERSION").to_owned(),
            started: wall_clock(),
            url: self.shown_url.clone(),
            model,
            api: self.api.to_string(),
            protocol: self.protocol().to_owned(),
            command: self.command.clone(),
            seed: self.seed,
            salt: self.salt,
            declared,
            host: host::facts(),
        };
        let server = (self.beside == BesideLoad::Health).then(|| self.server.clone());
        Ok(Ready { header, notes, plan, settings, threads: self.threads, clock, server })
    }

    const fn protocol(&self) -> &'static str {
        match (self.protocol, self.server.tls.is_some()) {
            (Protocol::Http1, false) => "HTTP/1.1",
            (Protocol::Http1, true) => "HTTP/1.1 over TLS",
            (Protocol::Http2, false) => "HTTP/2",
            (Protocol::Http2, true) => "HTTP/2 over TLS",
        }
    }

    fn words(&self, address: SocketAddr, model: &str, notes: &mut Vec<String>) -> Result<Words, SpecError> {
        let counting = match (&self.counting, &self.prompts) {
            // The prompts of a file are as long as they are.
            (Counting::Server, Prompts::File { .. }) => &Counting::Assume,
            (counting, _) => counting,
        };
        let with_system = match &self.prompts {
            // What prompts share is their system message.
            Prompts::Synthetic(classes) => classes.iter().any(|c| c.prefix.is_some()),
            _ => false,
        };
        words::find(&self.server, address, self.api, model, counting, with_system, notes)
    }

    fn source(&self, words: &Words, notes: &mut Vec<String>) -> Result<(Source, bool), SpecError> {
        let vocabulary = Arc::clone(&words.vocabulary);
        Ok(match &self.prompts {
            Prompts::Synthetic(classes) => {
                let several = classes.iter().any(|c| c.turns.1 > 1);
                let synthetic = Synthetic::new(classes.clone(), vocabulary, self.seed, self.salt)?;
                let template = words.around.unwrap_or(0);
                let shortest = classes.iter().map(|c| c.input.mean().0).fold(f64::INFINITY, f64::min);
                // A prompt needs room for its own words beside the template.
                let fits = f64::from(template) + 16.0 <= shortest;
                if template > 0 && !fits {
                    notes.push(format!("the chat template adds {template} tokens to every prompt"));
                }
                (Source::Synthetic(if fits { synthetic.with_template(template) } else { synthetic }), several)
            }
            Prompts::File { path, output, repeat, turns } => {
                let count = |text: &str| words.count(text);
                let options = FileOptions {
                    shuffle: Some(self.seed),
                    repeat: *repeat,
                    turns: Some(*turns),
                    salt: Some((self.salt, &vocabulary)),
                    count: words.can_count().then_some(&count as _),
                    ..FileOptions::plain(*output)
                };
                let recorded = Recorded::open(path, &options)?;
                let several = recorded.most_turns() > 1;
                (Source::Recorded(recorded), several)
            }
            Prompts::Trace(rows) => {
                (Source::Replayed(Replayed::new(Arc::clone(rows), vocabulary, self.seed, self.salt)), false)
            }
        })
    }

    fn pattern(&self) -> Result<Pattern, SpecError> {
        Ok(match &self.load {
            Load::Closed { concurrency } => Pattern::Closed { concurrency: *concurrency },
            Load::Open { shape, max_in_flight } => Pattern::Open {
                schedule: Schedule::new(shape.clone(), self.seed)?,
                max_in_flight: *max_in_flight,
            },
        })
    }
}
