//! The figures of one request, by our definitions. All times count from the instant it was sent.

use intriage_case::Nanos;

use crate::event::{Chunk, ChunkKind, Finished, Outcome};

/// How the number of answer tokens is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenCount {
    /// The server's usage at the end.
    Usage(u32),
    /// Told chunk by chunk.
    Told(u32),
    /// Not told: at least one a chunk.
    Chunks(u32),
}

impl TokenCount {
    /// The number.
    pub const fn number(self) -> u32 {
        match self {
            Self::Usage(n) | Self::Told(n) | Self::Chunks(n) => n,
        }
    }
}

/// What one request's record says. Absent is what did not happen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// Sent later than planned, by so much.
    pub late: Nanos,
    /// Begun later than planned: like `late`, without the making of a connection.
    pub begun_late: Nanos,
    /// From the first byte handed to the kernel to the last.
    pub writing: Nanos,
    /// The connection was made for this request and took so long, TLS included.
    pub connect: Option<Nanos>,
    /// Until the first byte of the answer.
    pub ttfb: Option<Nanos>,
    /// Until the first event with a choice in it, text or not.
    pub first_chunk: Option<Nanos>,
    /// Until the first text of the reasoning.
    pub first_reasoning: Option<Nanos>,
    /// Until the first text of the answer itself.
    pub first_content: Option<Nanos>,
    /// Until the first generated token, reasoning or answer: the time to first token.
    pub ttft: Option<Nanos>,
    /// Until the last generated token.
    pub e2e: Option<Nanos>,
    /// Until the last event of the stream, counts and end marker included.
    pub last_event: Option<Nanos>,
    /// Until the connection was done with it.
    pub ended: Nanos,
    /// Tokens of the answer.
    pub tokens: TokenCount,
    /// Chunks that carry something generated.
    pub chunks: u32,
    /// Further generated chunks that came with the same read as the first: the stamp is that of the last of them.
    pub first_with: u32,
    /// The first token may have come so much earlier than its stamp, because the client read late; zero where it did not.
    pub first_early: Nanos,
    /// The head came ahead of the first token, by a read of its own.
    pub head_ahead: bool,
}

impl Figures {
    /// The figures of a request.
    pub fn of(finished: &Finished) -> Self {
        let request = &finished.request;
        let chunks = &finished.chunks;
        let since = |at: Nanos| at.since(request.sent);
        let first = |kind: fn(ChunkKind) -> bool| chunks.iter().position(|c| kind(c.kind));
        let at = |index: Option<usize>| index.map(|i| since(chunks[i].at));
        let first_token = first(ChunkKind::is_generated);
        let generated = chunks.iter().filter(|c| c.kind.is_generated());
        let (count, told) =
            generated.clone().fold((0u32, 0u32), |(n, t), c| (n + 1, t.saturating_add(u32::from(c.tokens))));
        let tokens = match request.completion_tokens {
            Some(n) => TokenCount::Usage(n),
            None if told > 0 => TokenCount::Told(told),
            None => TokenCount::Chunks(count),
        };
        Self {
            late: request.sent.since(request.planned),
            begun_late: request.dialled.unwrap_or(request.sent).since(request.planned),
            writing: request.written.since(request.sent),
            connect: request
                .dialled
                .and_then(|from| request.secured.or(request.connected).map(|to| to.since(from))),
            ttfb: request.head.map(since),
            first_chunk: at(first(|k| k.is_generated() || k == ChunkKind::Empty)),
            first_reasoning: at(first(|k| k == ChunkKind::Reasoning)),
            first_content: at(first(|k| k == ChunkKind::Content)),
            ttft: at(first_token),
            e2e: generated.clone().next_back().map(|c| since(c.at)),
            last_event: chunks.last().map(|c| since(c.at)),
            ended: since(request.ended),
            tokens,
            chunks: count,
            first_with: first_token.map_or(0, |i| came_along(chunks, i)),
            first_early: first_token.map_or(Nanos(0), |i| early(chunks, i)),
            head_ahead: first_token.is_some_and(|i| request.head.is_some_and(|head| head < chunks[i].at)),
        }
    }

    /// Mean time per token after the first; absent for an answer of one token.
    pub fn tpot(&self) -> Option<Nanos> {
        let after = u64::from(self.tokens.number().checked_sub(1)?);
        let (first, last) = (self.ttft?, self.e2e?);
        (after > 0).then(|| Nanos(last.since(first).0 / after))
    }

    /// Time per token, the first one's wait spread over all.
    pub fn normalised_tpot(&self) -> Option<Nanos> {
        let n = u64::from(self.tokens.number());
        (n > 0).then_some(Nanos(self.e2e?.0 / n.max(1)))
    }
}

/// Generated chunks that came with the same read as this one, after it.
fn came_along(chunks: &[Chunk], index: usize) -> u32 {
    let this = chunks[index];
    let along = chunks[index + 1..].iter().take_while(|c| c.at == this.at);
    along.filter(|c| c.kind.is_generated()).count() as u32
}

/// How much earlier than its stamp a chunk may have come: of those of one read the last has the read's own lag, the
/// others what they may have waited at most.
fn early(chunks: &[Chunk], index: usize) -> Nanos {
    let this = chunks[index];
    let last = chunks[index..].iter().take_while(|c| c.at == this.at).last().unwrap_or(&this);
    Nanos(u64::from(this.lag.saturating_sub(last.lag)))
}

/// The gaps of one answer: each generated chunk after the first, as (gap, tokens in it).
///
/// Tokens are those told; where none are told but the server's count equals the chunks, each chunk is one token; else
/// the tokens after the first chunk are spread over the chunks and `exact` is false.
pub(crate) fn gaps(finished: &Finished, mut each: impl FnMut(Nanos, f64)) -> bool {
    let mut generated = finished.chunks.iter().filter(|c| c.kind.is_generated());
    let Some(first) = generated.next() else { return true };
    let chunks = generated.clone().count() as f64;
    let told = first.tokens > 0;
    let per_chunk = match finished.request.completion_tokens {
        Some(n) if finished.request.outcome == Outcome::Ok && chunks > 0.0 => {
            (f64::from(n) - 1.0).max(1.0) / chunks
        }
        _ => 1.0,
    };
    let mut before = first.at;
    for chunk in generated {
        let tokens = if told { f64::from(chunk.tokens) } else { per_chunk };
        each(chunk.at.since(before), tokens);
        before = chunk.at;
    }
    told || (per_chunk - 1.0).abs() < f64::EPSILON
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::event::{Finish, Request};

    pub(crate) fn request(id: u64, sent_ms: u64) -> Request {
        let mut request = Request::planned(id, Nanos(sent_ms * 1_000_000));
        (request.status, request.outcome, request.finish) = (200, Outcome::Ok, Finish::Length);
        (request.input, request.output) = (Some(64), 4);
        request
    }

    pub(crate) fn chunk(at_ms: u64, kind: ChunkKind) -> Chunk {
        Chunk { at: Nanos(at_ms * 1_000_000), lag: 20_000, bytes: 250, kind, tokens: 0 }
    }

    pub(crate) fn answer(id: u64, sent: u64, chunks: &[(u64, ChunkKind)]) -> Finished {
        let chunks: Vec<Chunk> = chunks.iter().map(|(at, kind)| chunk(*at, *kind)).collect();
        let mut request = request(id, sent);
        request.ended = chunks.last().map_or(request.sent, |c| c.at);
        request.completion_tokens = Some(chunks.iter().filter(|c| c.kind.is_generated()).count() as u32);
        Finished { request, chunks }
    }

    use ChunkKind::*;

    #[test]
    fn the_role_is_no_token_and_counts_are_not_the_end() {
        let f = Figures::of(&answer(
            1,
            100,
            &[
                (110, Empty),
                (150, Reasoning),
                (160, Reasoning),
                (170, Content),
                (190, Content),
                (195, Usage),
                (196, Done),
            ],
        ));
        let ms = |n: Option<Nanos>| n.unwrap().0 / 1_000_000;
        assert_eq!(ms(f.first_chunk), 10);
        assert_eq!(ms(f.ttft), 50);
        assert_eq!(ms(f.first_content), 70);
        assert_eq!(ms(f.e2e), 90);
        assert_eq!(ms(f.last_event), 96);
        assert_eq!(f.tokens, TokenCount::Usage(4));
        assert_eq!(f.tpot().unwrap().0, 40_000_000 / 3);
        assert_eq!(ms(f.normalised_tpot()), 22);
    }

    #[test]
    fn an_answer_of_one_token_has_no_time_per_token() {
        let f = Figures::of(&answer(1, 0, &[(50, Content), (50, Usage)]));
        assert_eq!(f.tpot(), None);
        assert_eq!(f.first_with, 0, "the counts that came along are no second token");
        assert_eq!(Figures::of(&answer(1, 0, &[(50, Content), (50, Content)])).first_with, 1);
    }

    #[test]
    fn a_first_token_that_was_read_late_with_others_may_have_come_earlier() {
        let mut late = answer(1, 0, &[(50, Content), (50, Content), (50, Usage), (60, Done)]);
        assert_eq!(Figures::of(&late).first_early, Nanos(0), "read in time, they came together");
        for before_the_last in &mut late.chunks[..2] {
            before_the_last.lag = 30_020_000;
        }
        assert_eq!(Figures::of(&late).first_early, Nanos(30_000_000));
    }

    #[test]
    fn tokens_of_a_chunk_share_its_gap() {
        let mut two = answer(1, 0, &[(50, Content), (60, Content), (70, Content)]);
        let mut seen = Vec::new();
        assert!(gaps(&two, |gap, n| seen.push((gap.0 / 1_000_000, n))));
        assert_eq!(seen, [(10, 1.0), (10, 1.0)]);
        two.request.completion_tokens = Some(9);
        seen.clear();
        assert!(!gaps(&two, |gap, n| seen.push((gap.0 / 1_000_000, n))), "8 tokens in 2 chunks are a guess");
        assert_eq!(seen, [(10, 4.0), (10, 4.0)]);
        two.chunks[0].tokens = 3;
        two.chunks[1].tokens = 2;
        two.chunks[2].tokens = 4;
        seen.clear();
        assert!(gaps(&two, |gap, n| seen.push((gap.0 / 1_000_000, n))));
        assert_eq!(seen, [(10, 2.0), (10, 4.0)]);
    }
}
