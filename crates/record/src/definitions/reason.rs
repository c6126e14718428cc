//! Why a tool's figure differs from ours in a run, counted while the requests go by.

use intriage_case::{Nanos, Seconds};

/// One cause of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// Its clock stops at a chunk without text.
    EmptyFirst,
    /// A token without text is none to it.
    SilentFirst,
    /// Its clock starts before the connection stands.
    Connecting,
    /// Reasoning is no token to it.
    Reasoning,
    /// Neither the time of the reasoning nor its tokens count.
    WithoutReasoning,
    /// Its end is a chunk without text.
    EmptyLast,
    /// Its end is the last event of the stream.
    Tail,
    /// What it divides by the tokens is longer than from first to last token.
    WiderSpan,
    /// The wait for the first token is spread over the tokens.
    FirstSpread,
    /// A gap that brought several tokens counts once.
    SharedGap,
    /// A gap to or from a chunk without text counts.
    EmptyGap,
    /// Tokens of one chunk count as gaps of nothing.
    ZeroGap,
    /// One mean a request in place of every gap.
    Averaged,
    /// No figure for an answer of one token.
    OneToken,
    /// A figure of nothing for an answer without tokens.
    NoToken,
    /// It takes for answered what did not end well.
    BrokenOff,
}

/// How many samples a cause concerns, and by how much.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Shift {
    pub samples: u64,
    pub total: u128,
}

impl Shift {
    pub(super) fn add_many(&mut self, amount: Nanos, samples: u64) {
        self.samples += samples;
        self.total += u128::from(amount.0) * u128::from(samples);
    }

    pub(super) fn mean(self) -> Seconds {
        Seconds(self.total as f64 / 1e9 / self.samples.max(1) as f64)
    }
}

impl Reason {
    /// It moves a time, and by nothing where that time is nothing.
    pub(super) const fn is_of_time(self) -> bool {
        matches!(
            self,
            Self::EmptyFirst
                | Self::SilentFirst
                | Self::Connecting
                | Self::Reasoning
                | Self::EmptyLast
                | Self::Tail
                | Self::WiderSpan
                | Self::FirstSpread
        )
    }

    /// The cause in words, with what it concerns in this run.
    pub(super) fn words(self, shift: Shift) -> String {
        let (n, mean) = (shift.samples, shift.mean());
        let answers = if n == 1 { "1 answer".to_owned() } else { format!("{n} answers") };
        match self {
            Self::EmptyFirst => {
                format!("its clock stops at a chunk without text in {answers}, {mean} before the first token")
            }
            Self::SilentFirst => {
                format!("it does not see first tokens without text, which adds {mean} to {answers}")
            }
            Self::Connecting => {
                format!("it also counts making the connection, {mean} in {n} of the requests")
            }
            Self::Reasoning => {
                format!("reasoning is no token to it, which adds {mean} to {answers}")
            }
            Self::WithoutReasoning => {
                format!("it leaves out time and tokens of the reasoning in {answers}")
            }
            Self::EmptyLast => {
                format!("it ends at a chunk without text in {answers}, {mean} after the last token")
            }
            Self::Tail => {
                format!("it waits for what follows the last token (counts, end marker), {mean} in {answers}")
            }
            Self::WiderSpan => {
                format!(
                    "the time it divides reaches beyond first and last token in {answers}, {mean} more a token"
                )
            }
            Self::FirstSpread => {
                format!(
                    "it spreads the wait for the first token over all tokens, {mean} a token in {answers}"
                )
            }
            Self::SharedGap => {
                format!("{n} gaps of {mean} brought several tokens each and count once")
            }
            Self::EmptyGap => {
                format!("{n} of its gaps, {mean} on average, begin or end at a chunk without text")
            }
            Self::ZeroGap => {
                format!("{n} tokens that came in one chunk with others count as gaps of 0")
            }
            Self::Averaged => {
                format!("it has one mean for each of {answers}, so a stall inside an answer does not show")
            }
            Self::OneToken => {
                format!("{answers} of one token have no such figure there")
            }
            Self::NoToken => {
                format!("{answers} without a token count with 0")
            }
            Self::BrokenOff => {
                format!("{answers} that did not end well count there")
            }
        }
    }
}
