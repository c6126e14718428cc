//! Bytes as they come off the wire: HTTP/1.1 and server-sent events. No sockets, no clock.

mod head;
mod http1;
mod sse;

pub use head::Head;
pub use http1::{Answer, HttpError, Progress};
pub use sse::{Event, Events, LineTooLong, MOST_LINE};
