//! What a server says beside its metrics.

use std::time::Duration;

use intriage_engines::{Engine, dialect};
use tokio::time::Instant;

use super::Watch;
use crate::http::{Answer, Client, Limits};

/// What the other endpoints said.
#[derive(Default)]
pub(super) struct Asked {
    /// Bodies by path.
    pub(super) answered: Vec<(String, String)>,
    /// Those that gave no answer at all, with the reason.
    pub(super) silent: Vec<String>,
    /// How long all of them took, once they are done.
    pub(super) took: Option<Duration>,
    /// Whether all were asked.
    pub(super) done: bool,
}

impl Asked {
    /// Asks endpoints in turn; one that the server does not have is left out.
    pub(super) async fn ask(&mut self, watch: &Watch, client: &Client, paths: &[&str]) {
        let began = Instant::now();
        let limits = Limits { bytes: 8 << 20, time: watch.limits.time.min(Duration::from_secs(5)) };
        for path in paths {
            let stored = path.split('?').next().unwrap_or(path).to_owned();
            match client.get(&watch.address.sibling(path), limits).await {
                Ok(Answer { status: 200, body, .. }) => {
                    if let Ok(text) = String::from_utf8(body) {
                        self.answered.push((stored, text));
                    }
                }
                Ok(_) => {}
                Err(why) => self.silent.push(format!("{stored}: {why}")),
            }
        }
        self.took = Some(began.elapsed());
        self.done = true;
    }
}

/// Every endpoint that any engine has, each once: for a server that does not tell which one it is.
pub(super) fn of_any_engine() -> Vec<&'static str> {
    let mut paths = Vec::new();
    for path in Engine::ALL.iter().flat_map(|engine| dialect(*engine).endpoints) {
        if !paths.contains(path) {
            paths.push(*path);
        }
    }
    paths
}
