//! What a client sees of an answer after the path between has had its way with it.

use intriage_case::{Bytes, ClientRequest, Millis, Tokens};

use crate::request::Request;
use crate::setup::Path;
use crate::time::Nanos;

/// Bytes of one event of a streamed answer: vLLM sends about this much around every token.
const EVENT_BYTES: f64 = 210.0;

/// One request as its client saw it; times from when it was sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ClientView {
    sent: Nanos,
    headers: Nanos,
    first: Option<Nanos>,
    last: Option<Nanos>,
    gaps: Vec<Nanos>,
    events: usize,
    tokens: u32,
    prompt: u32,
    status: u16,
    cut: Option<Nanos>,
}

impl ClientView {
    /// A streamed answer whose tokens left the server at these instants.
    pub(crate) fn answered(request: &Request, tokens: &[(Nanos, u32)], path: Path) -> Self {
        let delay = Nanos::from_seconds(path.delay);
        // The arrival at the server lies one way after the sending.
        let sent = request.arrival;
        let reached = |left: Nanos| left.since(sent) + delay + delay;
        let mut arrivals: Vec<Nanos> = tokens.iter().map(|(at, _)| reached(*at)).collect();
        if let Some(buffer) = path.buffer {
            release_in_pieces(&mut arrivals, buffer);
        }
        let mut gaps: Vec<Nanos> = arrivals.windows(2).map(|w| w[1].since(w[0])).collect();
        gaps.sort_unstable();
        let started = if path.buffer.is_some() { arrivals.first().copied() } else { None };
        Self {
            sent,
            // Headers go out at once; a buffering proxy sends them with the first piece.
            headers: started.unwrap_or(Nanos(3_000_000) + delay + delay),
            first: arrivals.first().copied(),
            last: arrivals.last().copied(),
            gaps,
            events: tokens.len(),
            tokens: tokens.iter().map(|(_, n)| n).sum(),
            prompt: request.prompt,
            status: 200,
            cut: None,
        }
    }

    /// A request that was refused.
    pub(crate) fn refused(request: &Request, status: u16, now: Nanos, path: Path) -> Self {
        let delay = Nanos::from_seconds(path.delay);
        let headers = now.since(request.arrival) + delay + delay;
        Self {
            sent: request.arrival,
            headers,
            first: None,
            last: None,
            gaps: Vec::new(),
            events: 0,
            tokens: 0,
            prompt: request.prompt,
            status,
            cut: None,
        }
    }

    /// A streamed answer that was cut off at an instant, with the tokens that left the server before.
    pub(crate) fn cut(request: &Request, tokens: &[(Nanos, u32)], now: Nanos, path: Path) -> Self {
        Self { cut: Some(now.since(request.arrival)), ..Self::answered(request, tokens, path) }
    }

    /// Whether it ended after this instant.
    pub(crate) fn ended(&self, from: Nanos) -> bool {
        self.sent + self.cut.or(self.last).unwrap_or(self.headers) >= from
    }

    /// The client's record of it.
    pub(crate) fn record(&self, epoch_ms: u64) -> ClientRequest {
        let answered = self.status == 200 && self.cut.is_none();
        let refused = (self.status != 200).then(|| format!("HTTP {}", self.status));
        let cut = self.cut.map(|_| "the connection was closed before the answer ended".to_owned());
        ClientRequest {
            sent: Millis(epoch_ms + self.sent.0 / 1_000_000),
            connect: None,
            headers: Some(self.headers.seconds()),
            first: self.first.map(Nanos::seconds),
            last: self.last.map(Nanos::seconds),
            chunks: self.events as u32,
            gap_p50: self.gaps.get(self.gaps.len() / 2).map(|g| g.seconds()),
            gap_max: self.gaps.last().map(|g| g.seconds()),
            tokens: answered.then_some(Tokens(f64::from(self.tokens))),
            prompt_tokens: Some(Tokens(f64::from(self.prompt))),
            status: Some(self.status),
            error: refused.or(cut),
            ended: self.cut.map(Nanos::seconds),
            ..ClientRequest::default()
        }
    }
}

/// Events that a proxy with such a buffer passes on together.
pub(crate) fn events_in_a_piece(buffer: Bytes) -> usize {
    (buffer.0 / EVENT_BYTES).ceil().max(1.0) as usize
}

/// Holds events back until a buffer is full or the answer ends.
fn release_in_pieces(arrivals: &mut [Nanos], buffer: Bytes) {
    for piece in arrivals.chunks_mut(events_in_a_piece(buffer)) {
        if let Some(last) = piece.last().copied() {
            piece.fill(last);
        }
    }
}
