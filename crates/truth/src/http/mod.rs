//! As much HTTP/1.1 as a server of tokens needs.

mod chunked;
mod query;
mod read;
mod write;

pub(crate) use query::pairs;
pub(crate) use read::{Bad, Reader, Request};
pub(crate) use write::{chunk, response};
