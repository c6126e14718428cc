//! Sends a workload over real HTTP and writes down, request by request, what the client saw.

mod prompt;
mod record;
mod send;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use intriage_case::Seconds;
pub use record::ClientRequest;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::run::Stop;
use crate::serve::running::event_loop;
use crate::serve::wire::Connection;
pub use crate::serve::wire::{BadTarget, Target};
use crate::time::Nanos;
use crate::workload::{Planned, Source, Workload};

/// Where a workload is sent, and how long.
#[derive(Debug, Clone, PartialEq)]
pub struct Drive {
    /// The server, or the relay before it.
    pub to: Target,
    /// The model asked for.
    pub model: String,
    /// Decides arrivals, lengths and prompts.
    pub seed: u64,
    /// When it ends; requests still open then are given up. Its `every` and `hang` do not matter here.
    pub stop: Stop,
}

/// What all clients share.
struct Shared {
    drive: Drive,
    /// Connections between two requests.
    idle: RefCell<Vec<Connection>>,
    end: Option<Instant>,
}

/// Drives a workload on this thread until its end; one record a request, in the order they ended.
pub fn run(drive: &Drive, workload: &Workload) -> std::io::Result<Vec<ClientRequest>> {
    let tasks = tokio::task::LocalSet::new();
    Ok(tasks.block_on(&event_loop()?, go(drive.clone(), workload)))
}

async fn go(drive: Drive, workload: &Workload) -> Vec<ClientRequest> {
    let start = Instant::now();
    let at =
        |seconds: Seconds| Duration::try_from_secs_f64(seconds.0).ok().and_then(|d| start.checked_add(d));
    let stop = drive.stop;
    let mut source = Source::new(workload, drive.seed);
    let shared = Rc::new(Shared { drive, idle: RefCell::new(Vec::new()), end: at(stop.end) });
    let (mut records, mut open, mut sent) = (Vec::new(), JoinSet::new(), 0);
    let fits = |planned: &Planned| planned.request.arrival.seconds() <= stop.arrivals;
    let mut next = source.next().filter(fits);
    loop {
        let due = next.as_ref().map(|p| start + Duration::from_nanos(p.request.arrival.0));
        tokio::select! {
            biased;
            () = sleep_until(due.unwrap_or(start)), if due.is_some() && sent < stop.requests => {
                sent += 1;
                if let Some(planned) = next.take() {
                    open.spawn_local(send::request(Rc::clone(&shared), planned, start));
                }
                next = source.next().filter(fits);
            }
            Some(done) = open.join_next() => {
                records.extend(done);
                // A client of a closed loop sends its next request when it has thought.
                let now = Nanos(start.elapsed().as_nanos() as u64);
                if sent < stop.requests
                    && let Some(planned) = source.after_answer(now).filter(fits)
                {
                    sent += 1;
                    open.spawn_local(send::request(Rc::clone(&shared), planned, start));
                }
            }
            else => return records,
        }
    }
}
