//! What a protocol does with its connections, as the loop sees it.

use std::io;

use intriage_case::Nanos;
use intriage_record::Outcome;

use super::Settings;
use super::arrival::Arrival;
use super::exchange::{Ended, Exchange};
use super::line::{Line, State};

/// One connection and the requests that ride on it. Exchanges that end are put into `ended`; what is to be sent is left
/// on the line, and the loop hands it to the kernel.
pub(crate) trait Carrier: Sized {
    /// What the connections of a loop know together.
    type Shared: Default;

    fn new(line: Line, settings: &Settings, shared: &Self::Shared) -> Self;

    fn line(&self) -> &Line;

    fn line_mut(&mut self) -> &mut Line;

    /// Whether it can be used at all.
    fn is_open(&self) -> bool;

    /// Whether it can take another request now.
    fn has_room(&self) -> bool;

    /// Whether requests on it still wait for it to stand.
    fn is_connecting(&self) -> bool {
        self.line().state != State::Standing
    }

    /// A request rides on it from now on; it leaves as soon as the line stands.
    fn begin(&mut self, exchange: Exchange, bytes: Vec<u8>, now: Nanos, ended: &mut Vec<Ended>);

    /// The line stands.
    fn stands(&mut self, now: Nanos, ended: &mut Vec<Ended>);

    /// Plain bytes of one read.
    fn arrived(&mut self, bytes: &[u8], arrival: Arrival, ended: &mut Vec<Ended>);

    /// Nothing more will arrive: the server closed the connection, or the system says why not.
    fn closed(&mut self, why: Option<&io::Error>, at: Nanos, ended: &mut Vec<Ended>);

    /// All that was on the line was handed to the kernel between `before` and `after`, or (not `whole`) a part of it.
    fn wrote(&mut self, before: Nanos, after: Nanos, whole: bool);

    /// The connection is of no more use: all its requests end like this.
    fn lost(&mut self, outcome: Outcome, error: &str, at: Nanos, ended: &mut Vec<Ended>);

    /// Ends the requests whose time is over.
    fn overdue(&mut self, error: &str, now: Nanos, ended: &mut Vec<Ended>);

    /// Requests that have not left and find no room here after all.
    fn overflow(&mut self) -> Vec<(Exchange, Vec<u8>)> {
        Vec::new()
    }

    /// The requests on it.
    fn exchanges(&mut self) -> impl Iterator<Item = &mut Exchange>;
}

/// A request gets the times of the connection it waits for: from when it began to wait.
pub(super) fn stamp(exchange: &mut Exchange, line: &Line) {
    let request = &mut exchange.request;
    let Some(waiting) = request.dialled else { return };
    let since = waiting.max(line.dialled);
    request.dialled = Some(since);
    // It may have begun to wait when the line stood already and the protocol did not.
    request.connected = line.connected.map(|at| at.max(since));
    request.secured = line.secured.map(|at| at.max(since));
}

/// How an exchange ended whose connection closed.
pub(super) fn closed_words(why: Option<&io::Error>, status: u16) -> (Outcome, String) {
    match why {
        Some(why) => (Outcome::Reset, why.to_string()),
        None if status == 0 => {
            (Outcome::CutOff, "the server closed the connection without an answer".to_owned())
        }
        None => {
            (Outcome::CutOff, "the server closed the connection before the answer was complete".to_owned())
        }
    }
}
