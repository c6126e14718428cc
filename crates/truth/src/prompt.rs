//! What is remembered of a prompt: its size and a hash, not the text.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A prompt's texts, joined by line feeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prompt {
    /// Bytes of the joined text.
    pub bytes: u64,
    /// Words between ASCII blanks; a token id counts as one.
    pub words: u32,
    /// FNV-1a, 64 bits, of the joined text.
    pub hash: u64,
    parts: u32,
}

impl Default for Prompt {
    fn default() -> Self {
        Self { bytes: 0, words: 0, hash: 0xcbf2_9ce4_8422_2325, parts: 0 }
    }
}

impl Prompt {
    /// The prompt of one text.
    pub fn of(text: &str) -> Self {
        let mut prompt = Self::default();
        prompt.add(text.as_bytes());
        prompt
    }

    fn add(&mut self, text: &[u8]) {
        if self.parts > 0 {
            self.hash(b'\n');
        }
        self.parts = self.parts.saturating_add(1);
        let mut blank = true;
        for byte in text {
            self.hash(*byte);
            let now = byte.is_ascii_whitespace();
            self.words = self.words.saturating_add(u32::from(blank && !now));
            blank = now;
        }
    }

    const fn hash(&mut self, byte: u8) {
        self.hash = (self.hash ^ byte as u64).wrapping_mul(0x0100_0000_01b3);
        self.bytes += 1;
    }
}

/// Reads a prompt in any of its forms: a text, token ids, messages, content parts, and lists of them.
pub(crate) struct Reading<'a>(pub(crate) &'a mut Prompt);

impl<'de> DeserializeSeed<'de> for Reading<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reading<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a prompt: text, token ids or messages")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.0.add(text.as_bytes());
        Ok(())
    }

    fn visit_u64<E>(self, id: u64) -> Result<(), E> {
        // Its digits are one word.
        self.0.add(id.to_string().as_bytes());
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Reading(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(key) = fields.next_key()? {
            match key {
                Key::Content | Key::Text => fields.next_value_seed(Reading(self.0))?,
                Key::Other => drop(fields.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

#[derive(serde::Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Key {
    Content,
    Text,
    #[serde(other)]
    Other,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Prompt {
        let mut prompt = Prompt::default();
        let mut from = serde_json::Deserializer::from_str(json);
        Reading(&mut prompt).deserialize(&mut from).unwrap();
        prompt
    }

    #[test]
    fn a_prompt_is_the_same_in_every_form() {
        let plain = Prompt::of("two words");
        assert_eq!((plain.bytes, plain.words), (9, 2));
        assert_eq!(read(r#""two words""#), plain);
        assert_eq!(read(r#"[{"role":"user","content":"two words"}]"#), plain);
        assert_eq!(
            read(
                r#"[{"role":"user","content":[{"type":"text","text":"two\u0020words"},{"type":"image","url":1}]}]"#
            ),
            plain
        );
        assert_eq!(Prompt::of("").hash, 0xcbf2_9ce4_8422_2325);
        assert_eq!(Prompt::of("a").hash, 0xaf63_dc4c_8601_ec8c, "FNV-1a as published");
    }

    #[test]
    fn parts_are_joined_and_ids_counted() {
        let (joined, apart) = (Prompt::of("a b\nc"), read(r#"["a b","c",null]"#));
        assert_eq!((joined.bytes, joined.words, joined.hash), (apart.bytes, apart.words, apart.hash));
        assert_eq!(read("[8224,32,5]").words, 3);
        assert!(
            Reading(&mut Prompt::default())
                .deserialize(&mut serde_json::Deserializer::from_str("-1"))
                .is_err()
        );
    }
}
