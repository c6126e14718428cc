//! The JSON of result files: what it is, and where something in it is wrong.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::ImportError;

/// The text of a file, with its name for errors.
pub(super) struct File<'a> {
    pub name: &'a str,
    pub text: &'a [u8],
}

/// The kinds of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Vllm,
    Sglang,
    Guidellm,
    AiperfRecords,
    AiperfSums,
    InferencePerfRequests,
    InferencePerfSums,
}

/// Keys that a file must have to be of a kind, the most telling kind first.
const SHAPES: [(Shape, bool, &[&str]); 8] = [
    (Shape::Guidellm, false, &["benchmarks", "metadata"]),
    (Shape::AiperfSums, false, &["aiperf_version", "input_config"]),
    (Shape::AiperfRecords, false, &["metadata", "metrics"]),
    (Shape::InferencePerfSums, false, &["load_summary", "successes", "failures"]),
    (Shape::Sglang, false, &["total_output_tokens_retokenized", "request_throughput"]),
    (Shape::Vllm, false, &["model_id", "total_input_tokens", "request_throughput"]),
    (Shape::Vllm, false, &["tokenizer_id", "total_output_tokens", "request_throughput"]),
    (Shape::InferencePerfRequests, true, &["start_time", "end_time", "info"]),
];

impl File<'_> {
    /// What kind of file it is, by the keys of its first document.
    pub(super) fn shape(&self) -> Result<Shape, ImportError> {
        let mut documents = serde_json::Deserializer::from_slice(self.text).into_iter::<Keys>();
        let keys = match documents.next() {
            Some(keys) => keys.map_err(|why| self.json(&why))?,
            None => Keys::default(),
        };
        let has = |wanted: &&[&str]| wanted.iter().all(|key| keys.names.iter().any(|name| name == key));
        let known = SHAPES.iter().find(|(_, listed, wanted)| *listed == keys.listed && has(wanted));
        known.map(|(shape, ..)| *shape).ok_or_else(|| ImportError::Unknown {
            name: self.name.to_owned(),
            keys: match keys.names.len() {
                0 => "none".to_owned(),
                _ => keys
                    .names
                    .iter()
                    .take(8)
                    .map(|k| k.chars().take(40).collect())
                    .collect::<Vec<String>>()
                    .join(", "),
            },
        })
    }

    /// Every document of the file: one, or one a line.
    pub(super) fn documents<T: DeserializeOwned>(&self) -> impl Iterator<Item = Result<T, ImportError>> {
        serde_json::Deserializer::from_slice(self.text)
            .into_iter::<T>()
            .map(|document| document.map_err(|why| self.json(&why)))
    }

    fn json(&self, why: &serde_json::Error) -> ImportError {
        ImportError::Json { name: self.name.to_owned(), what: why.to_string() }
    }

    /// A value that cannot be.
    pub(super) fn value(&self, place: impl fmt::Display, what: impl fmt::Display) -> ImportError {
        ImportError::Value { name: self.name.to_owned(), place: place.to_string(), what: what.to_string() }
    }
}

/// The keys of a document, or of the first one in a list.
#[derive(Default)]
struct Keys {
    listed: bool,
    names: Vec<String>,
}

/// Keys kept: result files have fewer than a hundred.
const MOST_KEYS: usize = 1000;

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfDocument;
        impl<'de> Visitor<'de> for OfDocument {
            type Value = Keys;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object or a list of objects")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
                let mut keys = Keys::default();
                while let Some((key, IgnoredAny)) = map.next_entry::<String, IgnoredAny>()? {
                    if keys.names.len() < MOST_KEYS {
                        keys.names.push(key);
                    }
                }
                Ok(keys)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Keys, A::Error> {
                let first = list.next_element::<Keys>()?.unwrap_or_default();
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Keys { listed: true, names: first.names })
            }
        }
        deserializer.deserialize_any(OfDocument)
    }
}

/// A number, or a word in place of one, as Python writes a rate without limit.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum NumberOrWord {
    Number(f64),
    Word(String),
}

impl NumberOrWord {
    /// The number, where it is one.
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Number(n) if n.is_finite() => Some(*n),
            _ => None,
        }
    }

    /// The word, where it is one.
    pub(super) fn word(&self) -> Option<&str> {
        match self {
            Self::Word(word) => Some(word),
            Self::Number(_) => None,
        }
    }
}

/// The numbers among a document's own values, by key; all else is passed over without being kept.
pub(super) struct Numbers(pub BTreeMap<String, f64>);

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfDocument;
        impl<'de> Visitor<'de> for OfDocument {
            type Value = Numbers;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Numbers, A::Error> {
                let mut numbers = BTreeMap::new();
                while let Some((key, MaybeNumber(value))) = map.next_entry::<String, MaybeNumber>()? {
                    if let (Some(value), true) = (value, numbers.len() < MOST_KEYS) {
                        numbers.insert(key, value);
                    }
                }
                Ok(Numbers(numbers))
            }
        }
        deserializer.deserialize_map(OfDocument)
    }
}

/// A finite number, or anything else.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MaybeNumber(pub Option<f64>);

impl<'de> Deserialize<'de> for MaybeNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfValue;
        impl<'de> Visitor<'de> for OfValue {
            type Value = MaybeNumber;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }

            fn visit_f64<E>(self, n: f64) -> Result<MaybeNumber, E> {
                Ok(MaybeNumber(n.is_finite().then_some(n)))
            }

            fn visit_u64<E>(self, n: u64) -> Result<MaybeNumber, E> {
                Ok(MaybeNumber(Some(n as f64)))
            }

            fn visit_i64<E>(self, n: i64) -> Result<MaybeNumber, E> {
                Ok(MaybeNumber(Some(n as f64)))
            }

            fn visit_bool<E>(self, _: bool) -> Result<MaybeNumber, E> {
                Ok(MaybeNumber(None))
            }

            fn visit_str<E>(self, _: &str) -> Result<MaybeNumber, E> {
                Ok(MaybeNumber(None))
            }

            fn visit_unit<E>(self) -> Result<MaybeNumber, E> {
                Ok(MaybeNumber(None))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<MaybeNumber, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(MaybeNumber(None))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<MaybeNumber, A::Error> {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(MaybeNumber(None))
            }
        }
        deserializer.deserialize_any(OfValue)
    }
}

/// Python writes NaN and Infinity, which no other reader of JSON takes: `null` in their place.
pub(super) fn without_python_words(text: &[u8]) -> Cow<'_, [u8]> {
    const WORDS: [&[u8]; 3] = [b"-Infinity", b"Infinity", b"NaN"];
    let mut clean: Option<Vec<u8>> = None;
    let (mut at, mut copied, mut quoted) = (0, 0, false);
    while let Some(&byte) = text.get(at) {
        match byte {
            b'\\' if quoted => at += 1,
            b'"' => quoted = !quoted,
            b'-' | b'I' | b'N' if !quoted => {
                if let Some(word) = WORDS.iter().find(|word| text[at..].starts_with(word)) {
                    let out = clean.get_or_insert_with(Vec::new);
                    out.extend_from_slice(&text[copied..at]);
                    out.extend_from_slice(b"null");
                    at += word.len();
                    copied = at;
                    continue;
                }
            }
            _ => {}
        }
        at += 1;
    }
    match clean {
        Some(mut out) => {
            out.extend_from_slice(text.get(copied..).unwrap_or_default());
            Cow::Owned(out)
        }
        None => Cow::Borrowed(text),
    }
}
