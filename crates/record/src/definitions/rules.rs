//! What a tool's rules are made of.

use intriage_case::Nanos;

use super::sums::Sums;
use crate::event::{Chunk, ChunkKind, Finished, Outcome, Request};
use crate::figures::{Figures, gaps};
use crate::spread::Distribution;
use crate::summary::Group;

/// The rules of one tool.
pub(super) struct Rules {
    /// Its times, in the order it prints them.
    pub figures: &'static [Figure],
    /// Its single numbers.
    pub totals: Totals,
    /// How it reads a request; `None` where it would not have sent or not have counted it.
    pub read: fn(&Finished, &Figures, bool, &mut Sums) -> Option<Reading>,
}

/// One of a tool's times.
pub(super) struct Figure {
    /// Its word for it.
    pub name: &'static str,
    /// In what it prints it.
    pub unit: &'static str,
    /// How it is computed.
    pub definition: &'static str,
    /// What our record cannot tell, and what stands in for it.
    pub estimated: Option<&'static str>,
    /// Ours of the same word.
    pub ours: fn(&Group) -> Option<&Distribution>,
    /// How it takes percentiles.
    pub percentiles: Percentiles,
}

/// How percentiles are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Percentiles {
    /// Between the two samples around the place, as numpy does.
    Interpolated,
    /// The smallest sample that reaches the share, by weight; where a sum of shares is rounded a tool may take the next one.
    Nearest,
}

/// Names and definitions of a tool's single numbers.
pub(super) struct Totals {
    pub completed: Total,
    pub failed: Total,
    pub duration: Total,
    pub tokens: Total,
    pub request_rate: Total,
    pub token_rate: Total,
    /// Good requests a second.
    pub goodput: Total,
    /// The share of good requests, where it has one, and what it is a share of.
    pub attainment: Option<(Total, Denominator)>,
}

/// One of a tool's single numbers.
pub(super) struct Total {
    /// Its word for it.
    pub name: &'static str,
    /// How it is computed.
    pub definition: &'static str,
    /// Why it is not ours, where it is not.
    pub why: &'static str,
}

/// What a share of good requests is a share of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Denominator {
    /// Answered ones.
    Completed,
    /// Answered and failed ones.
    Ended,
    /// Answered ones that have every figure, and failed ones.
    JudgedAndFailed,
}

/// How a tool takes one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reading {
    pub counted: Counted,
    /// When its clock starts for it and when it takes it as over; the tool's run lasts from the first to the last.
    pub span: Option<(Nanos, Nanos)>,
    /// Answer tokens that enter its throughput.
    pub tokens: u64,
    /// What it would hold against objectives.
    pub judged: Judged,
}

/// As what a request counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    Completed,
    Failed,
    /// Neither: cut by the end of the run.
    Unfinished,
}

/// A request's figures against objectives; absent is what the tool has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Judged {
    pub ttft: Option<Nanos>,
    pub pace: Option<Nanos>,
    pub e2e: Option<Nanos>,
}

impl Reading {
    /// A request that failed, for a tool whose run it still lengthens.
    pub(super) fn failed(begin: Nanos, end: Nanos) -> Self {
        Self { counted: Counted::Failed, span: Some((begin, end)), tokens: 0, judged: Judged::default() }
    }
}

/// Where a clock started before the request's connection stands: at the dialling, if it had to be made.
pub(super) fn before_connecting(request: &Request) -> Nanos {
    request.dialled.map_or(request.sent, |dialled| dialled.min(request.sent))
}

/// Whether a chunk has a choice in it, with or without text.
pub(super) const fn has_choice(kind: ChunkKind) -> bool {
    kind.is_generated() || matches!(kind, ChunkKind::Empty)
}

/// Until the first and the last text; tokens without text are nothing to most tools.
pub(super) fn texts(finished: &Finished) -> Option<(Nanos, Nanos)> {
    let mut texts = finished.chunks.iter().filter(|c| c.kind.has_text());
    let first = texts.next()?.at;
    Some((first, texts.next_back().map_or(first, |c| c.at)))
}

/// Notes how much later than the first token the first text came.
pub(super) fn note_silent(sums: &mut Sums, figure: usize, finished: &Finished) {
    let token = finished.chunks.iter().find(|c| c.kind.is_generated()).map(|c| c.at);
    if let (Some(token), Some((text, _))) = (token, texts(finished))
        && text > token
    {
        sums.because(figure, super::reason::Reason::SilentFirst, text.since(token));
    }
}

/// Ended by our plan or with our run: no result of the server.
pub(super) const fn is_ours(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Aborted | Outcome::Unfinished | Outcome::NeverSent)
}

/// Notes how much earlier than ours a clock started.
pub(super) fn note_connecting(sums: &mut Sums, figures: &[usize], request: &Request, begin: Nanos) {
    let connecting = request.sent.since(begin);
    if connecting > Nanos::ZERO {
        for figure in figures {
            sums.because(*figure, super::reason::Reason::Connecting, connecting);
        }
    }
}

/// Mean time a token after the first, by a tool's own first, last and count.
pub(super) fn pace(first: Nanos, last: Nanos, tokens: u32) -> Option<Nanos> {
    (tokens > 1).then(|| Nanos(last.since(first).0 / u64::from(tokens - 1)))
}

/// Calls for each gap between generated chunks that brought more than one token.
pub(super) fn each_shared_gap(finished: &Finished, mut each: impl FnMut(Nanos)) {
    gaps(finished, |gap, tokens| {
        if tokens >= 1.5 {
            each(gap);
        }
    });
}

/// Tokens of each generated chunk, told or spread evenly; the first is taken for one token where nobody tells.
pub(super) fn tokens_by_chunk(finished: &Finished) -> impl Fn(&Chunk, bool) -> u64 {
    let generated = finished.chunks.iter().filter(|c| c.kind.is_generated());
    let told = generated.clone().next().is_some_and(|c| c.tokens > 0);
    let later = generated.count().saturating_sub(1) as f64;
    let each = match finished.request.completion_tokens {
        Some(n) if later > 0.0 => ((f64::from(n) - 1.0).max(1.0) / later).round().max(1.0) as u64,
        Some(n) => u64::from(n.max(1)),
        None => 1,
    };
    move |chunk, first| match (told, first) {
        (true, _) => u64::from(chunk.tokens),
        (false, true) if later > 0.0 => 1,
        _ => each,
    }
}
