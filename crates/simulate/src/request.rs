//! A request as the engine sees it.

use std::sync::Arc;

use crate::random::mix;
use crate::time::Nanos;
use crate::workload::Traced;

/// Names one request of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// One request: how long its prompt is and how long its answer will be.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Its name.
    pub id: RequestId,
    /// When it reached the server.
    pub arrival: Nanos,
    /// Prompt length in tokens.
    pub prompt: u32,
    /// Answer length in tokens.
    pub output: u32,
    /// The longest answer its client allowed, in tokens.
    pub max_tokens: u32,
    /// Why the answer ends.
    pub finish: Finish,
    /// What the prompt holds.
    pub content: Content,
    /// Under priority scheduling the smaller number goes first.
    pub priority: i32,
    /// The adapter it asks for.
    pub adapter: Option<u32>,
}

impl Request {
    /// Takes over what a trace tells of it.
    pub(crate) fn follow(&mut self, row: &Traced) {
        let Some((prompt, output)) = row.lengths else { return };
        self.prompt = prompt.max(1);
        self.output = output.max(1);
        self.max_tokens = self.output;
        self.finish = Finish::Stop;
        self.content = if row.blocks.is_empty() {
            Content::Unique
        } else {
            Content::Traced { blocks: row.blocks.as_slice().into(), tokens: Traced::BLOCK }
        };
    }
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Finish {
    /// The model stopped.
    Stop,
    /// The longest allowed answer was reached.
    Length,
    /// The client or the server gave up.
    Abort,
}

/// What a prompt holds, as far as the prefix cache cares.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Nobody sends it again.
    Unique,
    /// It begins with text others send too; what follows is its own.
    Shared {
        /// Names the shared text.
        prefix: u64,
        /// Its length in tokens.
        tokens: u32,
        /// Names what follows: equal for the turns of one conversation, zero where nobody sends it again.
        own: u64,
    },
    /// Keys of its full blocks, from real text.
    Keys(Arc<[u64]>),
    /// Keys of larger blocks, from a trace.
    Traced {
        /// The keys.
        blocks: Arc<[u64]>,
        /// Tokens of such a block.
        tokens: u32,
    },
}

impl Content {
    /// The key of a prompt's (or conversation's) `index`-th block; zero where it need not be found again.
    pub(crate) fn key(&self, index: u32, block_tokens: u32) -> u64 {
        match self {
            Self::Unique => 0,
            Self::Shared { prefix, tokens, own } => {
                let ends = (u64::from(index) + 1) * u64::from(block_tokens);
                if ends <= u64::from(*tokens) {
                    mix(mix(*prefix) ^ u64::from(index)) | 1
                } else if *own == 0 {
                    0
                } else {
                    mix(mix(own ^ 0x5851_f42d_4c95_7f2d) ^ u64::from(index)) | 1
                }
            }
            Self::Keys(keys) => keys.get(index as usize).copied().unwrap_or(0),
            Self::Traced { blocks, tokens } => {
                let from = u64::from(index) * u64::from(block_tokens);
                let block = blocks.get((from / u64::from((*tokens).max(1))) as usize);
                block.map_or(0, |key| mix(mix(key ^ 0x2545_f491_4f6c_dd1d) ^ u64::from(index)) | 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_share_blocks_up_to_where_their_text_differs() {
        let prompt = |own| Content::Shared { prefix: 5, tokens: 40, own };
        let (a, b) = (prompt(1), prompt(2));
        assert_eq!(a.key(0, 16), b.key(0, 16));
        assert_eq!(a.key(1, 16), b.key(1, 16));
        assert_ne!(a.key(2, 16), b.key(2, 16), "the third block ends after the shared 40 tokens");
        assert_eq!(prompt(0).key(2, 16), 0);
        assert_ne!(a.key(0, 16), a.key(1, 16));
    }
}
