//! Reading one field of a config, with an error that names it.

use serde_json::{Map, Value};

use super::ModelError;

/// A JSON object whose fields go by several names.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(pub(super) &'a Map<String, Value>);

/// Nothing real has a million of anything but vocabulary and positions.
pub(super) const FEW: u64 = 1 << 20;
/// Vocabularies, positions and widths.
pub(super) const MANY: u64 = 1 << 27;

impl<'a> Fields<'a> {
    pub(super) fn get(self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// The first of the names that is there.
    fn first(self, names: &[&'static str]) -> Option<(&'static str, &'a Value)> {
        names.iter().find_map(|&name| self.get(name).map(|value| (name, value)))
    }

    /// A count from 1 to `most`, if the field is there.
    pub(super) fn count(self, names: &[&'static str], most: u64) -> Result<Option<u64>, ModelError> {
        self.whole(names, 1, most)
    }

    /// A count from 0 to `most`, if the field is there.
    pub(super) fn count_or_zero(self, names: &[&'static str], most: u64) -> Result<Option<u64>, ModelError> {
        self.whole(names, 0, most)
    }

    /// A count from 1 to `most` that must be there.
    pub(super) fn need(self, names: &[&'static str], most: u64) -> Result<u64, ModelError> {
        self.count(names, most)?.ok_or_else(|| self.missing(names))
    }

    pub(super) fn flag(self, name: &str) -> Option<bool> {
        self.get(name).and_then(Value::as_bool)
    }

    pub(super) fn text(self, name: &str) -> Option<&'a str> {
        self.get(name).and_then(Value::as_str)
    }

    pub(super) fn object(self, name: &str) -> Option<Fields<'a>> {
        self.get(name).and_then(Value::as_object).map(Fields)
    }

    /// The strings of a list; anything else in it is passed over.
    pub(super) fn texts(self, name: &str) -> Option<Vec<&'a str>> {
        self.get(name).and_then(Value::as_array).map(|list| list.iter().filter_map(Value::as_str).collect())
    }

    pub(super) fn missing(self, names: &[&str]) -> ModelError {
        let (field, others) = names.split_first().map_or(("", &[][..]), |(first, rest)| (*first, rest));
        let others = if others.is_empty() { "no other name".to_owned() } else { others.join(", ") };
        let mut present: Vec<&str> = self.0.keys().map(String::as_str).take(40).collect();
        present.sort_unstable();
        let present =
            if present.is_empty() { "nothing".to_owned() } else { shortened(&present.join(", "), 600) };
        ModelError::Missing { field: field.to_owned(), others, present }
    }

    fn whole(self, names: &[&'static str], least: u64, most: u64) -> Result<Option<u64>, ModelError> {
        let Some((name, value)) = self.first(names) else { return Ok(None) };
        let whole = value.as_u64().or_else(|| {
            value.as_f64().filter(|v| v.fract() == 0.0 && (0.0..=most as f64).contains(v)).map(|v| v as u64)
        });
        match whole {
            Some(whole) if (least..=most).contains(&whole) => Ok(Some(whole)),
            _ => Err(bad(name, value, &format!("a whole number from {least} to {most}"))),
        }
    }
}

pub(super) fn bad(field: &str, found: &Value, wanted: &str) -> ModelError {
    ModelError::Bad {
        field: field.to_owned(),
        found: shortened(&found.to_string(), 80),
        wanted: wanted.to_owned(),
    }
}

fn shortened(text: &str, most: usize) -> String {
    let mut short: String = text.chars().take(most).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
