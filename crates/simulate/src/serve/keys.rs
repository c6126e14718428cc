//! Keys of KV blocks from real tokens: prompts that begin alike share the keys of their beginning.

use std::sync::Arc;

use crate::random::mix;
use crate::serve::answer::Answer;

/// A running fingerprint of tokens; every full block has a key that depends on all before it.
pub(super) struct Chain {
    state: u64,
    in_block: u32,
    block_tokens: u32,
    keys: Vec<u64>,
}

impl Chain {
    /// An empty chain; different salts never share a block.
    pub(super) fn new(salt: u64, block_tokens: u32) -> Self {
        Self { state: mix(salt), in_block: 0, block_tokens: block_tokens.max(1), keys: Vec::new() }
    }

    fn push(&mut self, token: u32) {
        self.state = mix(self.state ^ u64::from(token));
        self.in_block += 1;
        if self.in_block == self.block_tokens {
            self.in_block = 0;
            // Zero means no key.
            self.keys.push(self.state | 1);
        }
    }

    /// Adds the next tokens.
    pub(super) fn extend(&mut self, tokens: &[u32]) {
        for token in tokens {
            self.push(*token);
        }
    }

    /// The fingerprint of everything so far.
    pub(super) const fn fingerprint(&self) -> u64 {
        self.state
    }

    /// Keys of the prompt's and the answer's full blocks.
    pub(super) fn with_answer(mut self, answer: Answer, tokens: u32) -> Arc<[u64]> {
        for index in 0..tokens {
            self.push(answer.token(index));
        }
        self.keys.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(salt: u64, tokens: &[u32]) -> Arc<[u64]> {
        let mut chain = Chain::new(salt, 4);
        chain.extend(tokens);
        chain.with_answer(Answer::new(1, 1), 0)
    }

    #[test]
    fn prompts_share_keys_up_to_the_block_in_which_they_differ() {
        let (a, b) = (keys(0, &[1, 2, 3, 4, 5, 6, 7, 8]), keys(0, &[1, 2, 3, 4, 5, 6, 7, 9]));
        assert_eq!(a.len(), 2);
        assert_eq!(a[0], b[0]);
        assert_ne!(a[1], b[1]);
        assert_eq!(keys(0, &[1, 2, 3]).len(), 0, "only full blocks have a key");
    }

    #[test]
    fn equal_tokens_behind_another_beginning_or_under_another_salt_are_not_the_same() {
        let (a, b) = (keys(0, &[1, 2, 3, 4, 5, 6, 7, 8]), keys(0, &[9, 2, 3, 4, 5, 6, 7, 8]));
        assert_ne!(a[1], b[1]);
        assert_ne!(a[0], keys(1, &[1, 2, 3, 4])[0]);
    }

    #[test]
    fn a_conversation_finds_its_own_answer_again() {
        let answer = Answer::new(3, 3);
        let mut first = Chain::new(0, 4);
        first.extend(&[1, 2, 3]);
        let first = first.with_answer(answer, 5);
        let mut second = vec![1, 2, 3];
        second.extend((0..5).map(|i| answer.token(i)));
        assert_eq!(first[..], keys(0, &second)[..]);
    }
}
