//! Writes down and adds up what the loops report, on a thread that yields to them.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};

use intriage_record::file::Writer;
use intriage_record::{Finished, Header, Tally};

use crate::engine::Piece;
use crate::progress::Progress;

/// Gets every finished request, besides the tally: another tool's definitions, for one.
pub type Observer = Box<dyn FnMut(&Finished) + Send>;

/// Writes down and adds up.
pub(crate) struct Recorder {
    writer: Option<Writer<BufWriter<File>>>,
    tally: Tally,
    observers: Vec<Observer>,
    progress: Arc<Mutex<Progress>>,
}

/// What the recorder has at the end.
pub(crate) struct Recorded {
    pub tally: Tally,
    pub writer: Option<Writer<BufWriter<File>>>,
    pub failed: Option<io::Error>,
}

impl Recorder {
    pub(crate) fn new(
        header: &Header,
        file: Option<File>,
        observers: Vec<Observer>,
        progress: Arc<Mutex<Progress>>,
    ) -> io::Result<Self> {
        let writer = file.map(|f| Writer::new(BufWriter::with_capacity(1 << 20, f), header)).transpose()?;
        Ok(Self { writer, tally: Tally::new(header.declared.clone()), observers, progress })
    }

    /// Runs until the last loop has gone.
    pub(crate) fn run(mut self, from: &Receiver<Vec<Piece>>) -> Recorded {
        yield_to_loops();
        let mut failed = None;
        while let Ok(batch) = from.recv() {
            let progress = Arc::clone(&self.progress);
            let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
            for piece in batch {
                if let Err(why) = self.piece(&piece, &mut progress) {
                    // The run goes on; what was written before is whole.
                    failed.get_or_insert(why);
                    self.writer = None;
                }
            }
            drop(progress);
            if let Some(Err(why)) = self.writer.as_mut().map(Writer::flush) {
                failed.get_or_insert(why);
                self.writer = None;
            }
        }
        Recorded { tally: self.tally, writer: self.writer, failed }
    }

    fn piece(&mut self, piece: &Piece, progress: &mut Progress) -> io::Result<()> {
        match piece {
            Piece::Partial(id, chunks) => self.writer.as_mut().map_or(Ok(()), |w| w.chunks(*id, chunks)),
            Piece::Ended(finished, reported) => {
                self.tally.add(finished);
                progress.count(finished);
                for observer in &mut self.observers {
                    observer(finished);
                }
                let Some(writer) = &mut self.writer else { return Ok(()) };
                writer.chunks(finished.request.id, &finished.chunks[*reported..])?;
                writer.request(&finished.request)
            }
        }
    }
}

impl Recorded {
    /// Ends the file.
    pub(crate) fn finish(&mut self, client: &intriage_record::ClientFacts) {
        if let Some(writer) = self.writer.take() {
            let ended = writer.finish(client).and_then(|mut to| to.flush());
            if let Err(why) = ended {
                self.failed.get_or_insert(why);
            }
        }
    }
}

/// Lowers this thread's priority: on a machine with one core for the client, the loops come first.
fn yield_to_loops() {
    // Linux gives each thread its own niceness; where that is refused, nothing is lost but a little accuracy.
    let _ = rustix::process::setpriority_process(None, 10);
}
