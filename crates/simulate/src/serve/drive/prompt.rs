//! Prompts of an exact length, as token ids; those that share a beginning really begin alike.

use crate::random::mix;
use crate::request::{Content, Request};

/// Ids that every usual vocabulary has and that are no special tokens.
const FIRST: u64 = 1000;
const IDS: u64 = 24_000;

/// The tokens of a planned request's prompt.
pub(super) fn tokens(seed: u64, request: &Request) -> impl Iterator<Item = u32> {
    let own = mix(seed ^ mix(request.id.0));
    let content = request.content.clone();
    (0..request.prompt).map(move |index| {
        let shared = match &content {
            Content::Shared { prefix, tokens, .. } if index < *tokens => Some(*prefix),
            Content::Traced { blocks, tokens } => blocks.get((index / (*tokens).max(1)) as usize).copied(),
            _ => None,
        };
        let text = shared.map_or(own, |text| mix(text ^ mix(!seed)));
        (FIRST + mix(text ^ u64::from(index)) % IDS) as u32
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Finish, RequestId};
    use crate::time::Nanos;

    fn prompt(id: u64, prefix: u64) -> Vec<u32> {
        let request = Request {
            id: RequestId(id),
            arrival: Nanos::ZERO,
            prompt: 50,
            output: 1,
            max_tokens: 1,
            finish: Finish::Stop,
            content: Content::Shared { prefix, tokens: 30, own: 0 },
            priority: 0,
            adapter: None,
        };
        tokens(9, &request).collect()
    }

    #[test]
    fn prompts_of_a_group_share_exactly_their_beginning() {
        let (a, b, c) = (prompt(1, 5), prompt(2, 5), prompt(3, 6));
        assert_eq!(a.len(), 50);
        assert_eq!(a[..30], b[..30]);
        assert_ne!(a[30..], b[30..]);
        assert_ne!(a[..30], c[..30]);
        assert!(a.iter().all(|t| (1000..25_000).contains(t)));
    }
}
