//! YAML as a small tree that knows its lines; the one place that knows the library.

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Spanned, options};

use super::ManifestError;

/// Deepest nesting read: a container of a pod template in a list of manifests lies at twelve.
const MAX_DEPTH: usize = 48;

/// Most nodes read, aliases counted as often as they are used.
const MAX_NODES: usize = 100_000;

/// A value and the line it stands on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    /// 1-based; 0 where the library does not tell.
    pub(crate) line: u32,
    /// Where its text stands in the file, in bytes; for an alias, where its anchor stands. Empty where nobody knows.
    pub(crate) at: Range<usize>,
    pub(crate) value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Nothing,
    /// Any scalar, as text.
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

/// The documents of a file.
pub(crate) fn documents(text: &str) -> Result<Vec<Node>, ManifestError> {
    let options = options! {
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            max_nodes: MAX_NODES,
            max_events: 4 * MAX_NODES,
            max_documents: 256,
            flow_nesting_limit: MAX_DEPTH,
        },
    };
    serde_saphyr::from_multiple_with_options::<Node>(text, options).map_err(|error| {
        let line = error.location().map_or(0, |at| u32::try_from(at.line()).unwrap_or(u32::MAX));
        // The first line says what is wrong; it must not quote the file, which may hold secrets.
        ManifestError::Yaml { line, why: unquoted(&error.without_snippet().to_string()) }
    })
}

/// What is wrong, without words in quotes and what stands behind a colon: those are the file's. Signs in quotes are
/// YAML's own, and without them a message has no end.
fn unquoted(message: &str) -> String {
    let mut rest = message.lines().next().unwrap_or_default();
    let mut what = String::new();
    while let Some(at) = rest.find(['`', '\'', '"', ':']) {
        let (before, marked) = rest.split_at(at);
        let mark = if marked.starts_with('`') {
            '`'
        } else if marked.starts_with('"') {
            '"'
        } else {
            '\''
        };
        what.push_str(before);
        let inside = marked[1..].split_once(mark).filter(|_| !marked.starts_with(':'));
        let Some((inside, behind)) = inside else {
            rest = "";
            break;
        };
        let is_signs = !inside.is_empty() && inside.chars().all(|c| c.is_ascii_punctuation());
        what.extend([&marked[..1], if is_signs { inside } else { "…" }, &marked[..1]]);
        rest = behind;
    }
    what.push_str(rest);
    let what = what.trim();
    if what.is_empty() { "not YAML".to_owned() } else { what.chars().take(120).collect() }
}

impl Node {
    /// The value of a key, where this is a map that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let Value::Map(entries) = &self.value else { return None };
        entries.iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// Down several maps.
    pub(crate) fn at(&self, keys: &[&str]) -> Option<&Self> {
        keys.iter().try_fold(self, |node, key| node.get(key))
    }

    pub(crate) fn text(&self) -> Option<&str> {
        if let Value::Text(text) = &self.value { Some(text) } else { None }
    }

    /// The items of a list; nothing else has any.
    pub(crate) fn items(&self) -> &[Self] {
        if let Value::List(items) = &self.value { items } else { &[] }
    }

    /// The entries of a map; nothing else has any.
    pub(crate) fn entries(&self) -> &[(String, Self)] {
        if let Value::Map(entries) = &self.value { entries } else { &[] }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Value>::deserialize(deserializer)?;
        let line = u32::try_from(spanned.referenced.line()).unwrap_or(u32::MAX);
        let span = spanned.defined.span();
        let at = span.byte_offset().zip(span.byte_len()).map_or(0..0, |(start, length)| {
            let start = usize::try_from(start).unwrap_or_default();
            start..start.saturating_add(usize::try_from(length).unwrap_or_default())
        });
        Ok(Self { line, at, value: spanned.value.mask() })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any)
    }
}

impl Value {
    /// `[redacted]` without quotes is a list of one word to YAML, and a text to everybody else.
    fn mask(self) -> Self {
        match &self {
            Self::List(items) if items.len() == 1 && items[0].text() == Some("redacted") => {
                Self::Text("[redacted]".to_owned())
            }
            _ => self,
        }
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any YAML value")
    }

    fn visit_bool<E>(self, on: bool) -> Result<Value, E> {
        Ok(Value::Text(on.to_string()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Text(number.to_string()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Text(number.to_string()))
    }

    fn visit_i128<E>(self, number: i128) -> Result<Value, E> {
        Ok(Value::Text(number.to_string()))
    }

    fn visit_u128<E>(self, number: u128) -> Result<Value, E> {
        Ok(Value::Text(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Text(number.to_string()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Value, E> {
        Ok(Value::Text(String::from_utf8_lossy(bytes).into_owned()))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Nothing)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Nothing)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Vec::new();
        // A key may be a number or a switch; what is neither text nor scalar names nothing here.
        while let Some((key, node)) = entries.next_entry::<Value, Node>()? {
            if let Value::Text(key) = key {
                map.push((key, node));
            }
        }
        Ok(Value::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_know_their_lines_and_scalars_are_text() {
        let docs = documents("a:\n  b: [1, true, \"x\"]\n---\nc: 0.92\nd:\n  - e\n").unwrap();
        assert_eq!(docs.len(), 2);
        let b = docs[0].at(&["a", "b"]).unwrap();
        assert_eq!(b.line, 2);
        assert_eq!(b.items().iter().filter_map(Node::text).collect::<Vec<_>>(), ["1", "true", "x"]);
        assert_eq!(docs[1].get("c").and_then(Node::text), Some("0.92"));
        assert_eq!(docs[1].get("d").unwrap().items()[0].line, 6);
    }

    #[test]
    fn values_know_where_their_text_stands() {
        let text = "é: &k \"x\\x61\"\nb: ['q r', *k]\nc: |\n  one\n  two\nd: plain\n  goes on # but not this\ne: [redacted]\n";
        let docs = documents(text).unwrap();
        let raw = |node: &Node| text[node.at.clone()].trim_end().to_owned();
        let list = docs[0].get("b").unwrap().items();
        assert_eq!((raw(&list[0]), raw(&list[1])), ("'q r'".into(), "\"x\\x61\"".into()));
        assert_eq!(raw(docs[0].get("c").unwrap()), "one\n  two");
        assert_eq!(raw(docs[0].get("d").unwrap()), "plain\n  goes on");
        assert_eq!(docs[0].get("e").and_then(Node::text), Some("[redacted]"));
    }

    #[test]
    fn what_is_no_yaml_is_named_with_its_line_and_without_its_text() {
        let error = documents("a: 1\nb: [hunter2, \nc: }").unwrap_err();
        assert!(error.line() >= 2, "{error:?}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }

    #[test]
    fn what_is_wrong_is_said_to_its_end() {
        let error = documents("a:\n  b: 1\n   c: 2\n").unwrap_err().to_string();
        assert!(!error.ends_with(" of") && !error.ends_with(" by"), "{error}");
        assert_eq!(unquoted("illegal placement of ':' indicator"), "illegal placement of ':' indicator");
        assert_eq!(
            unquoted("':' may not precede any of `[{` in it"),
            "':' may not precede any of `[{` in it"
        );
        assert_eq!(unquoted("unknown alias 'hunter2' here"), "unknown alias '…' here");
        assert_eq!(unquoted("duplicate key: hunter2"), "duplicate key");
        assert_eq!(unquoted("it's \"hunter2"), "it");
        assert_eq!(unquoted(": x"), "not YAML");
    }

    #[test]
    fn a_bomb_is_refused() {
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for i in 1..12 {
            let one = format!("*a{}", i - 1);
            let ten = vec![one; 10].join(", ");
            bomb.push_str(&["a", &i.to_string(), ": &a", &i.to_string(), " [", &ten, "]\n"].concat());
        }
        assert!(documents(&bomb).is_err());
        assert!(documents(&["[".repeat(5000), "]".repeat(5000)].concat()).is_err());
    }
}
