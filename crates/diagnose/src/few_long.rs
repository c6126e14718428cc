//! A few prompts that are far longer than the rest.

use intriage_case::{Signal, Tokens};

use crate::evidence::Evidence;
use crate::thresholds::Limit;

/// One prompt in twenty is many times as long as the usual one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FewLong {
    /// One in twenty is at least this long.
    pub(crate) long: Tokens,
    /// The middle one.
    pub(crate) usual: Tokens,
}

impl FewLong {
    /// The long prompts of a window; `None` where prompts are alike or their lengths are not known.
    pub(crate) fn of(e: &Evidence<'_>) -> Option<Self> {
        let prompts = e.histogram(Signal::TokensPromptEach)?;
        let (long, usual) = (prompts.quantile(0.95)?.low, prompts.quantile(0.5)?.estimate);
        let far = long >= e.limit(Limit::LongestPrompt) * usual;
        far.then_some(Self { long: Tokens(long), usual: Tokens(usual) })
    }
}
