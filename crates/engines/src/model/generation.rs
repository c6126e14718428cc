//! `generation_config.json`: what engines take as the default of every request.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Fields that change what a model answers or when it stops; the rest tells of the library that wrote the file.
const FIELDS: &[&str] = &[
    "do_sample",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "repetition_penalty",
    "presence_penalty",
    "frequency_penalty",
    "eos_token_id",
    "bos_token_id",
    "pad_token_id",
    "max_length",
    "max_new_tokens",
    "stop_strings",
];

/// Longest value kept, in bytes as JSON: a list of stop ids is short.
const MAX_VALUE: usize = 512;

/// The fields there are, as JSON.
pub(super) fn read(config: &Map<String, Value>) -> BTreeMap<String, String> {
    let present = FIELDS.iter().filter_map(|name| Some((*name, config.get(*name)?)));
    let written =
        present.filter(|(_, value)| !value.is_null()).map(|(name, value)| (name, value.to_string()));
    written.filter(|(_, json)| json.len() <= MAX_VALUE).map(|(name, json)| (name.to_owned(), json)).collect()
}
