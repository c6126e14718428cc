//! Reading on a thread of its own, so that a source that never ends or never answers holds up nobody.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};

use intriage_case::Bytes;
use intriage_engines::LeftOut;

use super::LogLimits;
use super::ends::Ends;

/// How reading ended.
pub(super) struct Ended {
    /// What came.
    pub(super) bytes: Vec<u8>,
    /// What is missing in its middle.
    pub(super) left_out: LeftOut,
    /// Why its end is missing, where it was packed.
    pub(super) missing: Option<String>,
    /// Whether the time ran out.
    pub(super) late: bool,
    /// Why it could not be read.
    pub(super) error: Option<String>,
}

impl Ended {
    /// What is missing, in words.
    pub(super) fn cut(&self, limits: &LogLimits) -> Option<String> {
        let time = self.late.then(|| {
            let limit = limits.time.unwrap_or_default().as_secs_f64();
            format!("it had not ended after {limit} s, and what had come is kept")
        });
        let left_out = (Bytes(self.left_out.bytes as f64), Bytes(limits.bytes as f64));
        let size = match (left_out, self.left_out.lines) {
            _ if self.left_out.bytes == 0 => None,
            ((bytes, most), 0) => Some(format!(
                "{bytes} of its middle were not read, to keep {most} of whole lines: lines behind the gap have other numbers in the file"
            )),
            ((bytes, most), lines) => Some(format!(
                "{bytes} of its middle are left out, {lines} whole lines, to keep {most}: all were looked through, their answers are counted, lines that tell are kept, thinned where they are too many, and line numbers are the file's"
            )),
        };
        let parts: Vec<String> = time.into_iter().chain(size).chain(self.missing.clone()).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// Lets `read` fill the ends until it is done or the time is over. A reader that hangs is left behind: it dies with
/// the program.
pub(super) fn within(
    limits: &LogLimits,
    read: impl FnOnce(&Ends) -> io::Result<()> + Send + 'static,
) -> Ended {
    let ends = Ends::new(limits.bytes);
    let (done, ready) = mpsc::channel();
    let theirs = ends.clone();
    let started = std::thread::Builder::new().name("log".into()).spawn(move || {
        // Nobody may be left to hear it.
        let _ = done.send(read(&theirs));
    });
    let ended = match (started, limits.time) {
        (Err(error), _) => Ok(Err(error)),
        (Ok(_), Some(time)) => ready.recv_timeout(time),
        (Ok(_), None) => ready.recv().map_err(|_| RecvTimeoutError::Disconnected),
    };
    let (bytes, left_out) = ends.finish();
    let error = match &ended {
        Ok(Err(error)) => Some(error.to_string()),
        Err(RecvTimeoutError::Disconnected) => Some("the thread that reads died".into()),
        Ok(Ok(())) | Err(RecvTimeoutError::Timeout) => None,
    };
    Ended {
        bytes,
        left_out,
        missing: ends.missing(),
        late: matches!(ended, Err(RecvTimeoutError::Timeout)),
        error,
    }
}
