//! Runs against the server that knows the truth.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

use std::fs::File;
use std::sync::{Arc, Mutex};

use intriage_case::Nanos;
use intriage_load::api::Api;
use intriage_load::prompts::Class;
use intriage_load::{BesideLoad, Clock, Counting, Handle, Load, Prompts, Protocol, Server, Spec};
use intriage_record::{Finished, Header, Summary};
use intriage_simulate::Lengths;
use intriage_truth::{Config, Served, Truth};

/// A server that behaves as `config` says.
pub(crate) fn truth(config: &str) -> Truth {
    Truth::start(Config::default().with(config).unwrap(), "127.0.0.1:0".parse().unwrap()).unwrap()
}

/// Eight answers of eight tokens, four at a time.
pub(crate) fn spec(server: &Truth) -> Spec {
    let address = server.address();
    Spec {
        server: Server {
            host: address.ip().to_string(),
            port: address.port(),
            prefix: String::new(),
            tls: None,
            headers: Vec::new(),
        },
        api: Api::Chat,
        path: None,
        model: Some("truth".to_owned()),
        load: Load::Closed { concurrency: 4 },
        prompts: Prompts::Synthetic(vec![Class::plain("all", Lengths::Fixed(64), Lengths::Fixed(8))]),
        counting: Counting::Server,
        hit_ratio: None,
        sessions: Some(8),
        duration: None,
        warmup_sessions: 0,
        warmup_time: Nanos::ZERO,
        stages: Vec::new(),
        ignore_eos: true,
        continuous_usage: false,
        beside: BesideLoad::Health,
        extra: serde_json::Map::new(),
        objectives: Vec::new(),
        percentiles: Vec::new(),
        seed: 1,
        salt: 2,
        threads: 1,
        keep_alive: true,
        protocol: Protocol::Http1,
        timeout: Nanos(20_000_000_000),
        drain: Nanos(20_000_000_000),
        shard: (0, 1),
        command: Vec::new(),
        shown_url: "http://truth".to_owned(),
    }
}

/// What came of a run.
pub(crate) struct Came {
    pub(crate) header: Header,
    pub(crate) summary: Summary,
    pub(crate) finished: Vec<Finished>,
}

/// Runs to the end.
pub(crate) fn run(spec: &Spec) -> Came {
    run_into(spec, None)
}

/// Runs to the end and keeps the record.
pub(crate) fn run_into(spec: &Spec, file: Option<File>) -> Came {
    let handle = Handle::default();
    let ready = spec.prepare(Clock::start(), &handle).unwrap();
    let all: Arc<Mutex<Vec<Finished>>> = Arc::default();
    let into = Arc::clone(&all);
    let observer = Box::new(move |f: &Finished| into.lock().unwrap().push(f.clone()));
    let (header, ran) = ready.run(file, vec![observer], &handle).unwrap();
    let summary = Summary::of(&header, &ran.tally, Some(&ran.client));
    let finished = std::mem::take(&mut *all.lock().unwrap());
    Came { header, summary, finished }
}

/// The server's log of the request that a client's request became.
pub(crate) fn served<'a>(log: &'a [Served], finished: &Finished) -> &'a Served {
    let end = format!("-{}", finished.request.id);
    log.iter()
        .find(|s| s.x_request_id.as_deref().is_some_and(|id| id.ends_with(&end)))
        .expect("it was served")
}
