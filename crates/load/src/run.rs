//! A run: loops, recorder, and what comes of them.

use std::fs::File;
use std::io;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::thread;

use intriage_case::{Bytes, Ratio, Seconds};
use intriage_record::{ClientFacts, Header, Tally};
use nix::sys::resource::{UsageWho, getrusage};
use thiserror::Error;

use crate::clock::Clock;
use crate::engine::{Feed, Http1, Http2, Loop, Settings, begin_stamping, raise_file_limit};
use crate::front_end::{Asking, Questions};
use crate::progress::Progress;
use crate::recorder::{Observer, Recorder};

/// Batches that may wait for the recorder; a loop that outruns it waits, which its certificate shows.
const WAITING: usize = 8;

/// Everything a run needs.
pub struct Run<F> {
    /// What all loops share.
    pub settings: Arc<Settings>,
    /// What was planned.
    pub header: Header,
    /// One loop for each.
    pub feeds: Vec<F>,
    /// Where the raw record goes.
    pub file: Option<File>,
    /// Get every finished request as well.
    pub observers: Vec<Observer>,
    /// How it goes.
    pub progress: Arc<Mutex<Progress>>,
    /// The run's clock; plans count from its start.
    pub clock: Clock,
    /// Asked beside the load.
    pub questions: Option<Questions>,
}

/// Why a run could not be made.
#[derive(Debug, Error)]
pub enum RunError {
    /// The system refused what a loop needs.
    #[error("an event loop could not run: {0}")]
    Loop(#[from] nix::errno::Errno),
    /// The record could not be begun.
    #[error("the record cannot be written: {0}")]
    Record(#[from] io::Error),
    /// A thread could not be started or broke.
    #[error("a thread of the load generator broke: {0}")]
    Thread(String),
}

/// What came of a run.
#[derive(Debug)]
pub struct Ran {
    /// All requests, added up.
    pub tally: Tally,
    /// How the client fared.
    pub client: ClientFacts,
    /// The record could not be written to its end, for this reason.
    pub record_failed: Option<io::Error>,
}

impl<F: Feed + 'static> Run<F> {
    /// Runs to the end.
    pub fn run(self) -> Result<Ran, RunError> {
        let file_limit = raise_file_limit();
        let _stamping = begin_stamping();
        let before = Machine::now();
        let (to_recorder, from_loops) = sync_channel(WAITING);
        let recorder = Recorder::new(&self.header, self.file, self.observers, self.progress)?;
        let spawn = |name: &str| thread::Builder::new().name(name.to_owned());
        let recorder = spawn("recorder").spawn(move || recorder.run(&from_loops))?;
        let of = u32::try_from(self.feeds.len()).unwrap_or(1);
        let clock = self.clock;
        let mut loops = Vec::new();
        for (index, feed) in (0..of).zip(self.feeds) {
            let (settings, to_recorder) = (Arc::clone(&self.settings), to_recorder.clone());
            let place = (index, of);
            let body = move || {
                if settings.http2 {
                    Loop::<_, Http2>::new(settings, clock, feed, to_recorder, place)?.run()
                } else {
                    Loop::<_, Http1>::new(settings, clock, feed, to_recorder, place)?.run()
                }
            };
            loops.push(spawn("load").spawn(body)?);
        }
        drop(to_recorder);
        // Without a thread for it the certificate says less, and the run goes on.
        let asking = self.questions.and_then(|questions| questions.begin().ok());
        let mut client = ClientFacts { file_limit, kernel_stamps: true, ..ClientFacts::default() };
        for each in loops {
            let facts = each.join().map_err(|_| RunError::Thread("an event loop".to_owned()))??;
            client.threads.push(facts.thread);
            client.kernel_stamps &= facts.stamps;
            client.round_trip = [client.round_trip, facts.round_trip].into_iter().flatten().min();
        }
        client.front_end = asking.and_then(Asking::end);
        let mut record = recorder.join().map_err(|_| RunError::Thread("the recorder".to_owned()))?;
        client.elapsed = clock.now().seconds();
        client.interrupted = self.settings.stop.load(std::sync::atomic::Ordering::Relaxed);
        Machine::now().since(&before, &mut client);
        record.finish(&client);
        Ok(Ran { tally: record.tally, client, record_failed: record.failed })
    }
}

/// What the machine and the process have used so far.
struct Machine {
    cpu: Seconds,
    stolen: Option<(f64, f64)>,
}

impl Machine {
    fn now() -> Self {
        let cpu = getrusage(UsageWho::RUSAGE_SELF).map_or(Seconds(0.0), |u| {
            let seconds = |t: nix::sys::time::TimeVal| t.tv_sec() as f64 + t.tv_usec() as f64 / 1e6;
            Seconds(seconds(u.user_time()) + seconds(u.system_time()))
        });
        Self { cpu, stolen: stolen() }
    }

    fn since(&self, before: &Self, client: &mut ClientFacts) {
        client.cpu = self.cpu - before.cpu;
        client.stolen =
            self.stolen.zip(before.stolen).and_then(|(now, then)| Ratio::of(now.0 - then.0, now.1 - then.1));
        let peak = getrusage(UsageWho::RUSAGE_SELF).map_or(0, |u| u.max_rss());
        client.peak_memory = Bytes(peak as f64 * 1024.0);
    }
}

/// Time the hypervisor took, and all time, of all cores, in ticks.
fn stolen() -> Option<(f64, f64)> {
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<f64> = line.split_whitespace().filter_map(|t| t.parse().ok()).collect();
    // Guest time, after the eighth, is counted in user time already.
    Some((*ticks.get(7)?, ticks.iter().take(8).sum()))
}
