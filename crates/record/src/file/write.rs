//! Writes a run's file, block by block.

use std::io::{self, Write};

use super::columns::{Column, zigzag};
use super::{CHUNKS, FACTS, HEADER, MAGIC, REQUESTS, check_sum};
use crate::client::ClientFacts;
use crate::event::{Chunk, ChunkKind, Finish, Outcome, Request};
use crate::header::Header;

/// Writes a run's file. Rows gather in memory until [`Writer::flush`] or until a block is full.
#[derive(Debug)]
pub struct Writer<W: Write> {
    to: W,
    chunks: ChunkColumns,
    requests: RequestColumns,
}

/// A block is written when a column holds so many bytes.
const FULL: usize = 256 << 10;

#[derive(Debug, Default)]
struct ChunkColumns {
    owners: Column,
    at: Column,
    lag: Column,
    bytes: Column,
    kind: Column,
    rows: u64,
    last_at: u64,
}

#[derive(Debug, Default)]
struct RequestColumns {
    columns: Vec<Column>,
    rows: u64,
    last: [u64; 3],
}

/// Columns of a request's row, in order; see [`RequestColumns::add`].
pub(super) const REQUEST_COLUMNS: usize = 29;

impl<W: Write> Writer<W> {
    /// Begins a file: the header is on disk before the first request.
    pub fn new(mut to: W, header: &Header) -> io::Result<Self> {
        to.write_all(MAGIC)?;
        block(&mut to, HEADER, &serde_json::to_vec(header)?)?;
        to.flush()?;
        let requests =
            RequestColumns { columns: vec![Column::default(); REQUEST_COLUMNS], ..RequestColumns::default() };
        Ok(Self { to, chunks: ChunkColumns::default(), requests })
    }

    /// Chunks of a request, in order of arrival; it may have had some before and may get more.
    pub fn chunks(&mut self, request: u64, chunks: &[Chunk]) -> io::Result<()> {
        if chunks.is_empty() {
            return Ok(());
        }
        let c = &mut self.chunks;
        c.owners.number(request);
        c.owners.number(chunks.len() as u64);
        c.rows += 1;
        for chunk in chunks {
            c.at.difference(c.last_at, chunk.at.0);
            c.last_at = chunk.at.0;
            c.lag.number(u64::from(chunk.lag));
            c.bytes.number(u64::from(chunk.bytes));
            let kind = ChunkKind::ALL.iter().position(|k| *k == chunk.kind).unwrap_or(0) as u64;
            c.kind.number(kind | u64::from(chunk.tokens) << 4);
        }
        if c.at.0.len().max(c.lag.0.len()) > FULL { self.write_chunks() } else { Ok(()) }
    }

    /// A request that has ended.
    pub fn request(&mut self, request: &Request) -> io::Result<()> {
        self.requests.add(request);
        if self.requests.columns.iter().any(|c| c.0.len() > FULL) { self.flush() } else { Ok(()) }
    }

    /// Puts on disk what has gathered.
    pub fn flush(&mut self) -> io::Result<()> {
        self.write_chunks()?;
        if self.requests.rows > 0 {
            let rows = std::mem::take(&mut self.requests.rows);
            let payload = join(rows, self.requests.columns.iter_mut());
            self.requests.last = [0; 3];
            block(&mut self.to, REQUESTS, &payload)?;
        }
        self.to.flush()
    }

    /// Ends the file with the client's facts and gives back what it was written to.
    pub fn finish(mut self, client: &ClientFacts) -> io::Result<W> {
        self.flush()?;
        block(&mut self.to, FACTS, &serde_json::to_vec(client)?)?;
        self.to.flush()?;
        Ok(self.to)
    }

    fn write_chunks(&mut self) -> io::Result<()> {
        if self.chunks.rows == 0 {
            return Ok(());
        }
        let c = &mut self.chunks;
        let rows = std::mem::take(&mut c.rows);
        let payload =
            join(rows, [&mut c.owners, &mut c.at, &mut c.lag, &mut c.bytes, &mut c.kind].into_iter());
        c.last_at = 0;
        block(&mut self.to, CHUNKS, &payload)
    }
}

/// The number of rows, then each column behind its length; the columns are empty afterwards.
fn join<'a>(rows: u64, columns: impl Iterator<Item = &'a mut Column>) -> Vec<u8> {
    let mut payload = Column::default();
    payload.number(rows);
    for column in columns {
        payload.number(column.0.len() as u64);
        payload.0.append(&mut column.0);
    }
    payload.0
}

fn block(to: &mut impl Write, kind: u8, payload: &[u8]) -> io::Result<()> {
    let length = u32::try_from(payload.len()).map_err(|_| io::Error::other("a block of more than 4 GiB"))?;
    let mut head = [0u8; 9];
    head[0] = kind;
    head[1..5].copy_from_slice(&length.to_le_bytes());
    head[5..9].copy_from_slice(&check_sum(kind, payload).to_le_bytes());
    to.write_all(&head)?;
    to.write_all(payload)
}

impl RequestColumns {
    fn add(&mut self, r: &Request) {
        let outcome = Outcome::ALL.iter().position(|o| *o == r.outcome).unwrap_or(0) as u64;
        let finish = Finish::ALL.iter().position(|f| *f == r.finish).unwrap_or(0) as u64;
        let mut columns = self.columns.iter_mut();
        let mut put = |with: &dyn Fn(&mut Column)| {
            if let Some(column) = columns.next() {
                with(column);
            }
        };
        let [id, session, planned] = self.last;
        put(&|c| c.difference(id, r.id));
        put(&|c| c.number(u64::from(r.class)));
        put(&|c| c.number(u64::from(r.stage)));
        put(&|c| c.difference(session, r.session));
        put(&|c| c.number(u64::from(r.turn)));
        put(&|c| c.number(u64::from(r.warmup)));
        put(&|c| c.number(u64::from(r.connection)));
        put(&|c| c.number(u64::from(r.nth)));
        put(&|c| c.difference(planned, r.planned.0));
        // Instants of a request are near its plan.
        let near = |at: Option<intriage_case::Nanos>| at.map(|t| zigzag(t.0.wrapping_sub(r.planned.0)));
        put(&|c| c.maybe(near(r.dialled)));
        put(&|c| c.maybe(near(r.connected)));
        put(&|c| c.maybe(near(r.secured)));
        put(&|c| c.difference(r.planned.0, r.sent.0));
        put(&|c| c.difference(r.sent.0, r.written.0));
        put(&|c| c.maybe(r.head.map(|t| zigzag(t.0.wrapping_sub(r.sent.0)))));
        put(&|c| c.difference(r.sent.0, r.ended.0));
        put(&|c| c.number(u64::from(r.status)));
        put(&|c| c.number(outcome));
        put(&|c| c.number(finish));
        put(&|c| c.maybe(r.input.map(u64::from)));
        put(&|c| c.number(u64::from(r.output)));
        put(&|c| c.number(u64::from(r.shared)));
        put(&|c| c.maybe(r.prompt_tokens.map(u64::from)));
        put(&|c| c.maybe(r.completion_tokens.map(u64::from)));
        put(&|c| c.maybe(r.cached_tokens.map(u64::from)));
        put(&|c| c.number(r.bytes_sent));
        put(&|c| c.number(r.bytes_received));
        put(&|c| c.text(&r.answer_id));
        put(&|c| c.text(&r.error));
        self.last = [r.id, r.session, r.planned.0];
        self.rows += 1;
    }
}
