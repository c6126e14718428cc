//! The way to a server, phase by phase and part by part: name, connection, TLS, head, stream; straight to it and
//! through each hop in front of it.
//!
//! | file | what it does |
//! |---|---|
//! | `line` | resolves, connects to every address on its own, shakes hands, opens connections |
//! | `question` | what is asked: the model, the API, a short salted prompt |
//! | `stream` | one streamed answer, stamped as it arrives |
//! | `arrivals` | from stamped pieces to figures |
//! | `unpack` | takes gzip off as it arrives |
//! | `tap` | counts the reads of a connection |
//!
//! What fails is evidence: it stands in the probe, and the rest goes on.

mod arrivals;
mod line;
mod question;
mod stream;
mod tap;
mod unpack;

use std::sync::Arc;
use std::time::Duration;

use intriage_case::{PathProbe, Route, StreamSeen};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::http::Access;
use crate::live::asked_to_stop;
use crate::url::Address;
use line::{Line, Way};
use question::Question;

/// Most streams held open at once.
pub const MOST_HELD: u32 = 16;

/// How a way is probed: how often, and how much of an answer is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathPlan {
    /// Streams a way, one a round.
    pub rounds: u32,
    /// Streams held open at once afterwards, at most [`MOST_HELD`]; fewer than two leaves that test out.
    pub held: u32,
    /// Tokens asked for in a round; a held stream has twice as many.
    pub output: u32,
    /// Most time for a name, a connection or a handshake.
    pub connect: Duration,
    /// Most time for a streamed answer.
    pub stream: Duration,
    /// Most time for everything.
    pub total: Duration,
    /// Most bytes of one answer.
    pub bytes: usize,
    /// The model to ask; the first one served where none is named.
    pub model: Option<String>,
}

impl Default for PathPlan {
    fn default() -> Self {
        Self {
            rounds: 5,
            held: 4,
            output: 32,
            connect: Duration::from_secs(5),
            stream: Duration::from_secs(20),
            total: Duration::from_secs(90),
            bytes: 1 << 20,
            model: None,
        }
    }
}

impl PathPlan {
    /// A plan that ends within this time. An answer may take a third of it: two failures in a row show before the end.
    pub fn within(total: Duration) -> Self {
        let usual = Self::default();
        let part = Duration::from_secs((total / 3).as_secs().max(1));
        Self { connect: usual.connect.min(part), stream: usual.stream.min(part), total, ..usual }
    }
}

/// Probes one way to a server.
pub fn probe(address: &Address, access: &Access, plan: &PathPlan) -> PathProbe {
    let mut way = Way::new(address, access, Route::Direct);
    in_runtime(std::slice::from_mut(&mut way), plan);
    way.seen
}

/// Probes the way straight to a server and the ways through hops, in turn, so that all see it in the same state.
///
/// The first probe is the direct one; the others stand in the order of `via`.
pub fn probe_all(direct: &Address, via: &[Address], access: &Access, plan: &PathPlan) -> Vec<PathProbe> {
    let mut ways = vec![Way::new(direct, access, Route::Direct)];
    ways.extend(via.iter().map(|hop| Way::new(hop, access, Route::Via)));
    in_runtime(&mut ways, plan);
    ways.into_iter().map(|way| way.seen).collect()
}

/// The figures of a streamed answer whose parts came in one read each; lets a fuzzer in.
#[doc(hidden)]
pub fn figures_of(encoding: Option<&str>, parts: &[&[u8]]) -> Result<StreamSeen, String> {
    let plan = PathPlan::default();
    let mut unpack = unpack::Unpack::new(encoding, plan.bytes)?;
    let mut arrivals = arrivals::Arrivals::new(intriage_load::api::Api::Completions);
    for (read, part) in parts.iter().enumerate() {
        unpack.read(part, |plain| arrivals.part(Duration::ZERO, read + 1, plain))?;
    }
    Ok(arrivals.figures(&[]))
}

/// Blocks until all is asked, the time is over or the user stops it; what was seen until then stays.
fn in_runtime(ways: &mut [Way], plan: &PathPlan) {
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            runtime.block_on(async {
                tokio::select! {
                    () = run(ways, plan) => {}
                    () = asked_to_stop() => {}
                    () = tokio::time::sleep(plan.total) => {}
                }
            });
            // A resolver that hangs must not hold the program back.
            runtime.shutdown_background();
        }
        Err(why) => ways.iter_mut().for_each(|way| way.seen.error = Some(format!("cannot start: {why}"))),
    }
}

async fn run(ways: &mut [Way], plan: &PathPlan) {
    for way in ways.iter_mut() {
        way.reach(plan).await;
    }
    let Some(question) = find_question(ways, plan).await else { return };
    let question = Arc::new(question);
    for round in 0..plan.rounds {
        for (turn, way) in ways.iter_mut().enumerate() {
            if let Some(line) = way.line.as_deref().filter(|_| !is_hopeless(&way.seen)) {
                let body = question.body(&format!("{round}-{turn}"), plan.output);
                way.seen.streams.push(stream::one(line, &question, body, None, plan).await);
            }
        }
    }
    for (turn, way) in ways.iter_mut().enumerate() {
        if let Some(line) = way.line.clone().filter(|_| !is_hopeless(&way.seen)) {
            way.seen.held = hold(&line, &question, turn, plan).await;
        }
    }
}

/// Two failures in a row at the end: the next would only cost time.
fn is_hopeless(seen: &PathProbe) -> bool {
    let failed = seen.streams.iter().rev().take(2).filter(|s| s.error.is_some()).count();
    failed == 2
}

/// What the first way that streams anything takes; the same is then asked on all.
async fn find_question(ways: &mut [Way], plan: &PathPlan) -> Option<Question> {
    for way in ways {
        let Some(line) = way.line.as_deref() else { continue };
        match Question::find(line, way.model.as_deref(), plan).await {
            Ok(question) => return Some(question),
            Err(why) => way.seen.error = Some(why),
        }
    }
    None
}

/// Asks for several streams at once; their times count from that moment.
async fn hold(line: &Arc<Line>, question: &Arc<Question>, turn: usize, plan: &PathPlan) -> Vec<StreamSeen> {
    let many = plan.held.min(MOST_HELD);
    if many < 2 {
        return Vec::new();
    }
    let began = Instant::now();
    let mut under_way = JoinSet::new();
    for i in 0..many {
        let (line, question, plan) = (Arc::clone(line), Arc::clone(question), plan.clone());
        under_way.spawn(async move {
            let body = question.body(&format!("held-{turn}-{i}"), 2 * plan.output);
            (i, stream::one(&line, &question, body, Some(began), &plan).await)
        });
    }
    let mut seen = Vec::new();
    // A task that died has nothing to tell.
    while let Some(ended) = under_way.join_next().await {
        seen.extend(ended.ok());
    }
    seen.sort_by_key(|(i, _)| *i);
    seen.into_iter().map(|(_, stream)| stream).collect()
}

#[cfg(test)]
mod tests;
