//! A tokenizer of our own: simple, without state, and exactly reversible for any text.
//!
//! A word is cut into pieces of up to five letters, the space before it belonging to the first; a
//! capital begins a piece. Digits go three at a time. Everything else is one token a byte. English
//! prose comes out at about 1.4 tokens a word, as with the tokenizers of real models.

/// Longest piece of a word, in letters.
const LONGEST: usize = 5;
/// Pieces of one to five letters.
const LETTER_PIECES: u32 = 26 + 676 + 17_576 + 456_976 + 11_881_376;
/// Groups of one to three digits.
const DIGIT_PIECES: u32 = 10 + 100 + 1000;

// Where each kind of token begins; bytes come first.
const LETTERS: u32 = 256;
const DIGITS: u32 = LETTERS + 4 * LETTER_PIECES;
/// Begins a message of a chat; never comes from text.
pub const MESSAGE_START: u32 = DIGITS + 2 * DIGIT_PIECES;
/// Ends a message of a chat; never comes from text.
pub const MESSAGE_END: u32 = MESSAGE_START + 1;
/// Tokens there are.
pub const VOCABULARY: u32 = MESSAGE_END + 1;

/// Cuts a text into tokens.
pub fn encode(text: &str) -> Vec<u32> {
    let mut tokens = Vec::with_capacity(text.len() / 4 + 1);
    encode_into(text, &mut tokens);
    tokens
}

/// Cuts a text into tokens behind those already there.
pub(super) fn encode_into(text: &str, tokens: &mut Vec<u32>) {
    let mut rest = text.as_bytes();
    while let Some(byte) = rest.first() {
        let spaced = usize::from(*byte == b' ');
        let (token, used) = match rest.get(spaced) {
            Some(c) if c.is_ascii_alphabetic() => letters(&rest[spaced..], spaced == 1),
            Some(c) if c.is_ascii_digit() => digits(&rest[spaced..], spaced == 1),
            _ => (u32::from(*byte), 1 - spaced),
        };
        tokens.push(token);
        rest = &rest[used + spaced..];
    }
}

/// The token at the beginning of a word, and its length in bytes.
fn letters(word: &[u8], spaced: bool) -> (u32, usize) {
    let tail = word[1..].iter().take(LONGEST - 1).take_while(|c| c.is_ascii_lowercase()).count();
    let length = 1 + tail;
    let number =
        word[..length].iter().fold(0, |n, c| n * 26 + u32::from(c.to_ascii_lowercase().saturating_sub(b'a')));
    let kind = u32::from(spaced) * 2 + u32::from(word[0].is_ascii_uppercase());
    (LETTERS + kind * LETTER_PIECES + shorter(26, length) + number, length)
}

/// The token at the beginning of a number, and its length in bytes.
fn digits(number: &[u8], spaced: bool) -> (u32, usize) {
    let length = number.iter().take(3).take_while(|c| c.is_ascii_digit()).count();
    let value = number[..length].iter().fold(0, |n, c| n * 10 + u32::from(c.saturating_sub(b'0')));
    (DIGITS + u32::from(spaced) * DIGIT_PIECES + shorter(10, length) + value, length)
}

/// How many pieces over an alphabet are shorter than this.
fn shorter(alphabet: u32, length: usize) -> u32 {
    (1..length as u32).map(|l| alphabet.pow(l)).sum()
}

/// The text of tokens; `Err` names the first that is none. Half a character becomes U+FFFD.
pub fn decode(tokens: &[u32]) -> Result<String, u32> {
    let mut bytes = Vec::with_capacity(tokens.len() * 5);
    for &token in tokens {
        decode_one(token, &mut bytes)?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn decode_one(token: u32, out: &mut Vec<u8>) -> Result<(), u32> {
    match token {
        0..LETTERS => out.push(token as u8),
        LETTERS..DIGITS => {
            let (kind, index) = ((token - LETTERS) / LETTER_PIECES, (token - LETTERS) % LETTER_PIECES);
            if kind >= 2 {
                out.push(b' ');
            }
            let first = out.len();
            spell(index, 26, b'a', out);
            if kind % 2 == 1 {
                out[first].make_ascii_uppercase();
            }
        }
        DIGITS..MESSAGE_START => {
            let (spaced, index) = ((token - DIGITS) / DIGIT_PIECES, (token - DIGITS) % DIGIT_PIECES);
            if spaced == 1 {
                out.push(b' ');
            }
            spell(index, 10, b'0', out);
        }
        MESSAGE_START => out.extend_from_slice(b"<|im_start|>"),
        MESSAGE_END => out.extend_from_slice(b"<|im_end|>"),
        _ => return Err(token),
    }
    Ok(())
}

/// Writes the `index`-th piece over an alphabet, the short ones counted first.
fn spell(mut index: u32, alphabet: u32, zero: u8, out: &mut Vec<u8>) {
    let mut length = 1;
    while index >= alphabet.pow(length) {
        index -= alphabet.pow(length);
        length += 1;
    }
    let digits = (0..length).rev().map(|place| (index / alphabet.pow(place) % alphabet) as u8 + zero);
    out.extend(digits);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pieces(text: &str) -> Vec<String> {
        encode(text).iter().map(|t| decode(&[*t]).unwrap()).collect()
    }

    #[test]
    fn words_are_cut_after_five_letters_and_keep_their_space() {
        assert_eq!(pieces("The scheduler waits."), ["The", " sched", "uler", " waits", "."]);
        assert_eq!(pieces("vLLM 0.32, 16384"), ["v", "L", "L", "M", " 0", ".", "32", ",", " 163", "84"]);
        assert_eq!(pieces("  a\n"), [" ", " a", "\n"]);
    }

    #[test]
    fn prose_has_about_as_many_tokens_as_real_tokenizers_give_it() {
        let text = "A request waits until the scheduler finds room for its prompt in the pool of blocks, \
                    and then every step gives it one more token until the model decides to stop.";
        let words = text.split(' ').count() as f64;
        let ratio = encode(text).len() as f64 / words;
        assert!((1.2..1.7).contains(&ratio), "{ratio}");
    }

    #[test]
    fn an_id_that_is_no_token_is_named() {
        assert_eq!(decode(&[97, VOCABULARY]), Err(VOCABULARY));
        assert_eq!(decode(&[MESSAGE_START, 97]).unwrap(), "<|im_start|>a");
    }

    proptest! {
        #[test]
        fn any_text_comes_back_as_it_was(text in any::<String>()) {
            prop_assert_eq!(decode(&encode(&text)).unwrap(), text);
        }

        #[test]
        fn words_and_numbers_come_back_too(text in "[A-Za-z0-9 .,]{0,80}") {
            let tokens = encode(&text);
            prop_assert!(tokens.iter().all(|t| *t < MESSAGE_START));
            prop_assert_eq!(decode(&tokens).unwrap(), text);
        }

        #[test]
        fn every_token_has_a_text_of_its_own(token in 0..VOCABULARY) {
            prop_assert!(!decode(&[token]).unwrap().is_empty());
            if (LETTERS..MESSAGE_START).contains(&token) {
                prop_assert_eq!(encode(&decode(&[token]).unwrap()), vec![token]);
            }
        }

        #[test]
        fn texts_that_begin_alike_begin_with_the_same_tokens(rest in "[a-z .]{0,40}") {
            let start = "You are a helpful assistant.";
            let whole = encode(&[start, " ", &rest].concat());
            prop_assert!(whole.starts_with(&encode(start)));
        }
    }
}
