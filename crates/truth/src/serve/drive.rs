//! Moves a connection on as far as it goes without waiting.

use std::collections::VecDeque;

use super::Core;
use super::connection::{Connection, Stage};
use super::timers::Timers;
use crate::clock;
use crate::http::{Bad, response};
use crate::script::{End, Pull};

/// Writes of one connection before others have their turn.
const TURN: u32 = 32;
/// How long a refused client may take to read why, in nanoseconds.
const DRAIN: u64 = 1_000_000_000;

/// Where a connection asks to be woken.
pub(super) struct Wakes<'a> {
    pub(super) who: u64,
    pub(super) timers: &'a mut Timers,
    /// Those who have more to write at once.
    pub(super) ready: &'a mut VecDeque<u64>,
}

impl Wakes<'_> {
    fn at(&mut self, connection: &mut Connection, due: u64) {
        if connection.waiting != Some(due) {
            connection.waiting = Some(due);
            self.timers.add(due, self.who);
        }
    }
}

impl Core {
    /// Reads, answers and writes; says how the connection ends if it does.
    pub(super) fn drive(
        &mut self,
        connection: &mut Connection,
        scratch: &mut [u8],
        wakes: &mut Wakes<'_>,
    ) -> Option<End> {
        let mut turn = 0;
        loop {
            connection.receive(scratch, || (clock::monotonic(), clock::unix()));
            if connection.gone {
                self.finish(connection, true);
                return Some(End::Close);
            }
            if connection.stage == Stage::Draining {
                return None;
            }
            let split = connection.work.as_ref().map_or(0, |work| work.config.split);
            if !connection.is_flushed() && !connection.flush(split) {
                if connection.gone {
                    continue;
                }
                return None;
            }
            let Some(mut work) = connection.work.take() else {
                if connection.stage == Stage::Closing {
                    connection.drain();
                    wakes.at(connection, clock::monotonic().saturating_add(DRAIN));
                    return None;
                }
                match connection.reader.next() {
                    Ok(Some(request)) => self.begin(connection, request),
                    Ok(None) if connection.reader.take_continue() => {
                        connection.out().extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
                    }
                    Ok(None) => return None,
                    Err(bad) => self.refuse(connection, bad),
                }
                continue;
            };
            let pulled = work.script.pull(clock::monotonic(), connection.out());
            match pulled {
                Pull::Send { tokens, due } => {
                    let now = clock::monotonic();
                    let blocked = !connection.flush(work.config.split);
                    self.wrote(&mut work, tokens, due, now, blocked);
                    connection.work = Some(work);
                    turn += 1;
                    if turn >= TURN {
                        wakes.ready.push_back(wakes.who);
                        return None;
                    }
                }
                Pull::Wait(due) => {
                    connection.work = Some(work);
                    wakes.at(connection, due);
                    return None;
                }
                Pull::End(end) => {
                    let keep_alive = work.keep_alive;
                    connection.work = Some(work);
                    match end {
                        End::Hold => return None,
                        End::KeepAlive => {
                            self.finish(connection, false);
                            connection.last_unless(keep_alive);
                        }
                        End::Close | End::Reset => {
                            self.finish(connection, false);
                            return Some(end);
                        }
                    }
                }
            }
        }
    }

    /// Answers bytes that are no request, and closes.
    fn refuse(&mut self, connection: &mut Connection, bad: Bad) {
        self.bad += 1;
        let body = format!(r#"{{"error":{{"message":"{}","code":{}}}}}"#, bad.why, bad.status);
        response(bad.status, "application/json", "Connection: close\r\n", body.as_bytes(), connection.out());
        connection.last_unless(false);
    }
}
