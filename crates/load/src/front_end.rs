//! How long the server's front end takes for a request that needs no model, asked beside the load.
//!
//! A server that sends the head of its answer with the first token does not show when it took a request up. Small
//! questions on connections of their own do: they wait in the same queues.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use intriage_case::Nanos;
use intriage_record::FrontEnd;

use crate::clock::Clock;
use crate::server::Server;

/// What is asked: cheap everywhere, and any answer will do.
const PATH: &str = "/health";
/// The first pause after a load has begun with many requests at once, when queues are longest; each pause is twice the
/// one before, so that a handful of questions sees the crowd without adding to it.
const AT_FIRST: Duration = Duration::from_millis(1);
/// Requests at once that make a crowd.
const MANY: u32 = 8;
/// The first pause where there is no crowd.
const ALONE: Duration = Duration::from_millis(100);
/// Time between questions later.
const LATER: Duration = Duration::from_secs(1);
/// How often the end of the run is looked for.
const LOOK: Duration = Duration::from_millis(50);

/// What is needed to ask.
#[derive(Debug)]
pub struct Questions {
    /// Who is asked.
    pub server: Server,
    /// Where.
    pub address: SocketAddr,
    /// The run's clock.
    pub clock: Clock,
    /// When the load begins.
    pub start: Nanos,
    /// Requests it begins with.
    pub at_once: u32,
}

/// Questions under way.
pub(crate) struct Asking {
    ended: Arc<AtomicBool>,
    thread: JoinHandle<Option<FrontEnd>>,
}

impl Questions {
    /// Asks in a thread of its own.
    pub(crate) fn begin(self) -> io::Result<Asking> {
        let ended = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&ended);
        let thread = thread::Builder::new().name("front end".to_owned()).spawn(move || self.ask(&until))?;
        Ok(Asking { ended, thread })
    }

    fn ask(&self, ended: &AtomicBool) -> Option<FrontEnd> {
        let is_over = || ended.load(Ordering::Relaxed);
        // A question must not get in the way of the only request.
        let mut pause = if self.at_once >= MANY { AT_FIRST } else { ALONE };
        let first = self.start + Nanos(u64::try_from(pause.as_nanos()).unwrap_or(0));
        while self.clock.now() < first && !is_over() {
            thread::sleep(Duration::from_nanos(first.since(self.clock.now()).0).min(LOOK));
        }
        let (mut questions, mut sum, mut most) = (0u32, Duration::ZERO, Duration::ZERO);
        while !is_over() {
            // One that does not answer is no measure of anything, and knocking again helps nobody.
            let Ok(took) = self.once() else { break };
            (questions, sum, most) = (questions + 1, sum + took, most.max(took));
            let next = Instant::now() + pause;
            pause = (2 * pause).min(LATER);
            while !is_over() && Instant::now() < next {
                thread::sleep(next.saturating_duration_since(Instant::now()).min(LOOK));
            }
        }
        let nanos = |d: Duration| Nanos(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX));
        let mean = sum.checked_div(questions)?;
        Some(FrontEnd { questions: u64::from(questions), mean: nanos(mean), most: nanos(most) })
    }

    /// From the question to the first byte of an answer; making the connection does not count.
    fn once(&self) -> io::Result<Duration> {
        self.server.with_connection(self.address, |stream| {
            let question = self.server.request("GET", PATH, "").map_err(io::Error::other)?;
            let asked = Instant::now();
            stream.write_all(question.as_bytes())?;
            stream.flush()?;
            let mut begin = [0; 5];
            stream.read_exact(&mut begin)?;
            // A server that speaks HTTP/2 alone greets before it has read anything.
            if begin == *b"HTTP/" { Ok(asked.elapsed()) } else { Err(io::ErrorKind::InvalidData.into()) }
        })
    }
}

impl Asking {
    /// The load is over.
    pub(crate) fn end(self) -> Option<FrontEnd> {
        self.ended.store(true, Ordering::Relaxed);
        self.thread.join().ok().flatten()
    }
}
