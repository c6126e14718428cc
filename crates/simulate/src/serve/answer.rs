//! What the simulated model says: words, one a token, the same for the same prompt and seed.

use crate::random::mix;
use crate::serve::tokenizer;

/// Words of up to five letters: each is exactly one token, so an answer sent back is the same tokens.
const WORDS: [&str; 128] = [
    "the", "and", "for", "with", "that", "this", "from", "have", "not", "are", "was", "one", "all", "can",
    "more", "when", "there", "what", "about", "which", "time", "step", "token", "queue", "batch", "cache",
    "block", "pool", "model", "layer", "head", "beam", "draft", "slot", "turn", "page", "line", "word",
    "text", "note", "plan", "rule", "case", "fact", "cause", "load", "rate", "limit", "room", "space",
    "place", "point", "part", "side", "end", "start", "first", "last", "next", "long", "short", "small",
    "large", "great", "new", "old", "high", "low", "fast", "slow", "full", "empty", "open", "free", "busy",
    "idle", "warm", "cold", "hard", "easy", "right", "left", "near", "far", "here", "then", "now", "soon",
    "late", "early", "often", "once", "twice", "again", "still", "even", "just", "only", "also", "very",
    "much", "many", "few", "some", "each", "every", "other", "same", "such", "make", "take", "give", "find",
    "keep", "hold", "wait", "run", "read", "write", "send", "count", "begin", "stop", "grow", "fall", "rise",
    "move", "stay",
];

/// One answer, of any length.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer(u64);

impl Answer {
    /// The answer to a prompt of this fingerprint.
    pub(super) const fn new(seed: u64, prompt: u64) -> Self {
        Self(mix(seed ^ mix(prompt)))
    }

    fn word(self, index: u32) -> &'static str {
        let draw = mix(self.0 ^ u64::from(index)) % WORDS.len() as u64;
        WORDS.get(draw as usize).copied().unwrap_or("the")
    }

    /// Writes the text of `tokens` tokens from the `from`-th on.
    pub(super) fn write(self, from: u32, tokens: u32, out: &mut String) {
        for index in from..from.saturating_add(tokens) {
            if index > 0 {
                out.push(' ');
            }
            out.push_str(self.word(index));
        }
    }

    /// Its `index`-th token, as the tokenizer would cut it.
    pub(super) fn token(self, index: u32) -> u32 {
        let mut text = String::with_capacity(6);
        self.write(index, 1, &mut text);
        tokenizer::encode(&text).first().copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_as_many_tokens_as_it_has_words() {
        for word in WORDS {
            assert_eq!(tokenizer::encode(&format!(" {word}")).len(), 1, "{word}");
        }
        let answer = Answer::new(1, 2);
        let mut text = String::new();
        answer.write(0, 50, &mut text);
        let tokens: Vec<u32> = (0..50).map(|i| answer.token(i)).collect();
        assert_eq!(tokenizer::encode(&text), tokens);
    }

    #[test]
    fn the_same_prompt_and_seed_give_the_same_words() {
        let text = |seed, prompt| {
            let mut text = String::new();
            Answer::new(seed, prompt).write(0, 20, &mut text);
            text
        };
        assert_eq!(text(1, 7), text(1, 7));
        assert_ne!(text(1, 7), text(1, 8));
        assert_ne!(text(1, 7), text(2, 7));
        let (mut whole, mut parts) = (String::new(), String::new());
        Answer::new(3, 3).write(0, 9, &mut whole);
        (0..9).for_each(|i| Answer::new(3, 3).write(i, 1, &mut parts));
        assert_eq!(whole, parts);
    }
}
