//! Reads a run's file, request by request, in memory for what was in flight.

use std::collections::HashMap;
use std::io::{self, Read};

use intriage_case::Nanos;
use thiserror::Error;

use super::columns::{Cells, unzigzag};
use super::write::REQUEST_COLUMNS;
use super::{CHUNKS, FACTS, HEADER, MAGIC, MOST_BLOCK, REQUESTS, check_sum};
use crate::client::ClientFacts;
use crate::event::{Chunk, ChunkKind, Finish, Finished, Outcome, Request};
use crate::header::Header;

/// Why a run's file cannot be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// Reading failed.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// It does not begin as such a file does.
    #[error("is not the record of a run: it does not begin with 'INTRIAGE-RUN 1'")]
    NotARun,
    /// A block says something impossible.
    #[error("is damaged in the block at byte {at}: {what}")]
    Damaged {
        /// Where the block begins.
        at: u64,
        /// What is wrong.
        what: String,
    },
}

/// What a run's file held besides its requests.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFile {
    /// What was planned.
    pub header: Header,
    /// How the client fared; absent where the run was killed.
    pub client: Option<ClientFacts>,
    /// Chunks of requests that had not ended when the run was killed, by request.
    pub in_flight: Vec<(u64, Vec<Chunk>)>,
    /// The file ends inside a block, which is lost.
    pub cut: bool,
}

/// Reads a run's file; `each` gets every ended request with its chunks, in the order they ended.
pub fn read(mut from: impl Read, mut each: impl FnMut(&Header, Finished)) -> Result<RunFile, ReadError> {
    let mut magic = vec![0; MAGIC.len()];
    from.read_exact(&mut magic).map_err(|why| not_a_run(why, &magic))?;
    if magic != MAGIC {
        return Err(ReadError::NotARun);
    }
    let mut at = MAGIC.len() as u64;
    let damaged = |at, what: &str| ReadError::Damaged { at, what: what.to_owned() };
    let (mut header, mut client, mut cut) = (None, None, false);
    let mut open: HashMap<u64, Vec<Chunk>> = HashMap::new();
    loop {
        let (kind, payload) = match next_block(&mut from, at)? {
            Block::Whole(kind, payload) => (kind, payload),
            Block::Cut => {
                cut = true;
                break;
            }
            Block::End => break,
        };
        match (kind, &header) {
            (HEADER, None) => {
                let read: Header = serde_json::from_slice(&payload)
                    .map_err(|why| damaged(at, &format!("the header: {why}")))?;
                header = Some(read);
            }
            (CHUNKS, Some(_)) => {
                read_chunks(&payload, &mut open).ok_or_else(|| damaged(at, "chunks that end too early"))?;
            }
            (REQUESTS, Some(header)) => read_requests(&payload, |request| {
                let chunks = open.remove(&request.id).unwrap_or_default();
                each(header, Finished { request, chunks });
            })
            .ok_or_else(|| damaged(at, "requests that end too early"))?,
            (FACTS, Some(_)) => {
                client = Some(
                    serde_json::from_slice(&payload)
                        .map_err(|why| damaged(at, &format!("the client's facts: {why}")))?,
                );
            }
            (HEADER, Some(_)) => return Err(damaged(at, "a second header")),
            (_, None) => return Err(damaged(at, "no header before it")),
            (other, _) => {
                let kind = char::from(other).escape_default();
                return Err(damaged(at, &format!("its kind '{kind}' is unknown: a newer intriage wrote it")));
            }
        }
        at += 9 + payload.len() as u64;
    }
    let header = header.ok_or_else(|| damaged(at, "the file ends before its header"))?;
    let mut in_flight: Vec<_> = open.into_iter().collect();
    in_flight.sort_by_key(|(id, _)| *id);
    Ok(RunFile { header, client, in_flight, cut })
}

/// Reads the header alone.
pub fn read_header(mut from: impl Read) -> Result<Header, ReadError> {
    let mut magic = vec![0; MAGIC.len()];
    from.read_exact(&mut magic).map_err(|why| not_a_run(why, &magic))?;
    if magic != MAGIC {
        return Err(ReadError::NotARun);
    }
    let at = MAGIC.len() as u64;
    let damaged = |what: String| ReadError::Damaged { at, what };
    match next_block(&mut from, at)? {
        Block::Whole(HEADER, payload) => {
            serde_json::from_slice(&payload).map_err(|why| damaged(format!("the header: {why}")))
        }
        _ => Err(damaged("the file ends before its header".to_owned())),
    }
}

fn not_a_run(why: io::Error, magic: &[u8]) -> ReadError {
    let short = why.kind() == io::ErrorKind::UnexpectedEof;
    if short && !magic.is_empty() { ReadError::NotARun } else { ReadError::Io(why) }
}

enum Block {
    Whole(u8, Vec<u8>),
    Cut,
    End,
}

fn next_block(from: &mut impl Read, at: u64) -> Result<Block, ReadError> {
    let mut head = [0u8; 9];
    match fill(from, &mut head)? {
        0 => return Ok(Block::End),
        9 => {}
        _ => return Ok(Block::Cut),
    }
    let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let length = word(1) as usize;
    if length > MOST_BLOCK {
        let what = format!("{length} bytes are more than a block has");
        return Err(ReadError::Damaged { at, what });
    }
    // Grows as bytes come: a false length costs no memory.
    let mut payload = Vec::new();
    from.take(length as u64).read_to_end(&mut payload)?;
    if payload.len() < length {
        return Ok(Block::Cut);
    }
    if check_sum(head[0], &payload) != word(5) {
        return Err(ReadError::Damaged { at, what: "its check sum is wrong".to_owned() });
    }
    Ok(Block::Whole(head[0], payload))
}

fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match from.read(&mut buffer[filled..])? {
            0 => break,
            n => filled += n,
        }
    }
    Ok(filled)
}

fn read_chunks(payload: &[u8], open: &mut HashMap<u64, Vec<Chunk>>) -> Option<()> {
    let mut cells = Cells(payload);
    let rows = cells.number()?;
    let (mut owners, mut at, mut lag) = (cells.column()?, cells.column()?, cells.column()?);
    let (mut bytes, mut kind) = (cells.column()?, cells.column()?);
    let mut last = 0;
    for _ in 0..rows {
        let chunks = open.entry(owners.number()?).or_default();
        for _ in 0..owners.number()? {
            last = at.difference(last)?;
            let (lag, bytes, code) = (lag.number()?, bytes.number()?, kind.number()?);
            chunks.push(Chunk {
                at: Nanos(last),
                lag: u32::try_from(lag).ok()?,
                bytes: u32::try_from(bytes).ok()?,
                kind: *ChunkKind::ALL.get((code & 15) as usize)?,
                tokens: u16::try_from(code >> 4).ok()?,
            });
        }
    }
    Some(())
}

fn read_requests(payload: &[u8], mut each: impl FnMut(Request)) -> Option<()> {
    let mut cells = Cells(payload);
    let rows = cells.number()?;
    let mut columns = Vec::with_capacity(REQUEST_COLUMNS);
    for _ in 0..REQUEST_COLUMNS {
        columns.push(cells.column()?);
    }
    let mut last = [0u64; 3];
    for _ in 0..rows {
        let request = read_request(&mut columns, last)?;
        last = [request.id, request.session, request.planned.0];
        each(request);
    }
    Some(())
}

fn read_request(columns: &mut [Cells<'_>], last: [u64; 3]) -> Option<Request> {
    let mut next = columns.iter_mut();
    let mut number = || next.next()?.number();
    let maybe = |z: u64| z.checked_sub(1);
    let id = last[0].wrapping_add(unzigzag(number()?));
    let class = u16::try_from(number()?).ok()?;
    let stage = u16::try_from(number()?).ok()?;
    let session = last[1].wrapping_add(unzigzag(number()?));
    let turn = u32::try_from(number()?).ok()?;
    let warmup = number()? != 0;
    let connection = u32::try_from(number()?).ok()?;
    let nth = u32::try_from(number()?).ok()?;
    let planned = last[2].wrapping_add(unzigzag(number()?));
    let near = |z: u64, from: u64| maybe(z).map(|d| Nanos(from.wrapping_add(unzigzag(d))));
    let dialled = near(number()?, planned);
    let connected = near(number()?, planned);
    let secured = near(number()?, planned);
    let sent = planned.wrapping_add(unzigzag(number()?));
    let written = sent.wrapping_add(unzigzag(number()?));
    let head = near(number()?, sent);
    let ended = sent.wrapping_add(unzigzag(number()?));
    let status = u16::try_from(number()?).ok()?;
    let outcome = *Outcome::ALL.get(usize::try_from(number()?).ok()?)?;
    let finish = *Finish::ALL.get(usize::try_from(number()?).ok()?)?;
    let small = |z: Option<u64>| z.map(|v| u32::try_from(v).unwrap_or(u32::MAX));
    let input = small(maybe(number()?));
    let output = u32::try_from(number()?).ok()?;
    let shared = u32::try_from(number()?).ok()?;
    let prompt_tokens = small(maybe(number()?));
    let completion_tokens = small(maybe(number()?));
    let cached_tokens = small(maybe(number()?));
    let bytes_sent = number()?;
    let bytes_received = number()?;
    let answer_id = next.next()?.text()?.to_owned();
    let error = next.next()?.text()?.to_owned();
    Some(Request {
        id,
        class,
        stage,
        session,
        turn,
        warmup,
        connection,
        nth,
        planned: Nanos(planned),
        dialled,
        connected,
        secured,
        sent: Nanos(sent),
        written: Nanos(written),
        head,
        ended: Nanos(ended),
        status,
        outcome,
        finish,
        input,
        output,
        shared,
        prompt_tokens,
        completion_tokens,
        cached_tokens,
        bytes_sent,
        bytes_received,
        answer_id,
        error,
    })
}
