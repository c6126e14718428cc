//! What a name says about its value.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::LazyLock;

use memchr::memrchr;

use crate::rules::{Extent, Finds, RULES, Rule};

/// What stands behind a name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Named {
    pub(crate) rule: &'static Rule,
    pub(crate) meaning: Meaning,
}

/// What a value is, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// A secret for certain.
    Secret(Extent),
    /// A secret where it looks random.
    Perhaps,
    /// A secret where it is a text.
    Text,
    /// A host.
    Host,
    /// A person's or an account's name.
    User,
    /// A prompt or an output, on lines that carry the mark.
    Prompt { mark: &'static str, extent: Extent },
}

/// Longest name looked at, in bytes; longer ones are data.
const LONGEST: usize = 80;
/// Most words in one name of the table that may be a part of a name.
const MOST_WORDS: usize = 3;

/// What a name says; `--api-key`, `API_KEY` and `apiKey` are the same name. `takes` is asked whether a row's meaning
/// holds here: prompts are logged under names that mean other things elsewhere.
pub(crate) fn meaning(name: &str, mut takes: impl FnMut(Meaning) -> bool) -> Option<Named> {
    let given = name.trim_start_matches('-');
    if given.is_empty() || given.len() > LONGEST {
        return None;
    }
    let name = words(given);
    let exact = TABLE.exact.get(&*name).into_iter().flatten().find(|named| takes(named.meaning));
    if exact.is_some() {
        return exact.copied();
    }
    if is_about(&name) {
        return None;
    }
    // `password2` is a password, too.
    let part = |part: &str| TABLE.parts.get(part.trim_end_matches(|c: char| c.is_ascii_digit()));
    // Most names are one word.
    let last = memrchr(b'_', name.as_bytes()).map_or(&*name, |at| &name[at + 1..]);
    let named = if last.len() == name.len() { part(&name) } else { parts_of(&name).find_map(part) };
    if named.is_some() {
        return named.copied();
    }
    let named = TABLE.last.get(last)?;
    if matches!(named.rule.finds, Finds::Last { .. }) && name.trim_start_matches('_').len() == last.len() {
        return None;
    }
    let whole_words = |benign: &&'static str| {
        name.strip_suffix(*benign).is_some_and(|before| before.is_empty() || before.ends_with('_'))
    };
    if TABLE.benign.iter().any(whole_words) {
        return None;
    }
    // A variable such as GATEWAY_KEY is set by people, and people choose keys that do not look random.
    let meaning = match named.meaning {
        Meaning::Perhaps if is_variable(given) => Meaning::Text,
        meaning => meaning,
    };
    Some(Named { meaning, ..*named })
}

/// Whether a name is written as variables of the environment are: `GATEWAY_KEY`.
pub(crate) fn is_variable(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    name.trim_matches('_').contains('_') && name.bytes().all(is_part)
}

/// Every run of up to three words of a name, which are apart by `_`.
fn parts_of(name: &str) -> impl Iterator<Item = &str> {
    let starts = std::iter::once(0).chain(name.match_indices('_').map(|(at, _)| at + 1));
    starts.flat_map(move |start| {
        let rest = &name[start..];
        let ends = rest.match_indices('_').map(|(at, _)| at).chain([rest.len()]);
        ends.take(MOST_WORDS).map(move |end| &rest[..end])
    })
}

/// `password_file`, `secret_name`: words about a secret, not the secret.
fn is_about(name: &str) -> bool {
    const ABOUT: [&str; 26] = [
        "name", "file", "path", "dir", "arn", "type", "length", "len", "count", "provider", "expiry",
        "expires", "ttl", "policy", "required", "enabled", "manager", "size", "age", "version", "sock",
        "mode", "method", "scheme", "ref", "refs",
    ];
    let last = memrchr(b'_', name.as_bytes()).map_or(name, |at| &name[at + 1..]);
    // Kubernetes' imagePullSecrets are names, too.
    ABOUT.contains(&last) || name.ends_with("pull_secrets")
}

/// In lower case, words apart by `_`: `apiKey` is `api_key`.
fn words(name: &str) -> Cow<'_, str> {
    if !name.bytes().any(|byte| byte.is_ascii_uppercase() || byte == b'-') {
        return Cow::Borrowed(name);
    }
    let mut text = String::with_capacity(name.len() + 4);
    let mut before = '_';
    for c in name.chars() {
        if c.is_ascii_uppercase() && (before.is_ascii_lowercase() || before.is_ascii_digit()) {
            text.push('_');
        }
        text.push(if c == '-' { '_' } else { c.to_ascii_lowercase() });
        before = c;
    }
    Cow::Owned(text)
}

/// What is known by a name. The names are ours, so nobody can choose them to collide, and a plain sum is enough.
type ByName<T> = HashMap<&'static str, T, BuildHasherDefault<Sum>>;

/// FNV-1a over the bytes.
#[derive(Default)]
struct Sum(u64);

impl Hasher for Sum {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        // The map goes by the upper bits, too.
        self.0 ^ (self.0 << 32)
    }
}

/// The rows of [`RULES`] that go by a name.
struct Table {
    exact: ByName<Vec<Named>>,
    parts: ByName<Named>,
    last: ByName<Named>,
    benign: Vec<&'static str>,
}

impl Table {
    fn add(&mut self, names: &'static str, meant: Named) {
        for name in names.split_whitespace() {
            self.exact.entry(name).or_default().push(meant);
        }
    }
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table {
        exact: ByName::default(),
        parts: ByName::default(),
        last: ByName::default(),
        benign: Vec::new(),
    };
    for rule in RULES {
        match rule.finds {
            Finds::Secret { names, extent } => {
                let named = Named { rule, meaning: Meaning::Secret(extent) };
                table.parts.extend(names.split_whitespace().map(|name| (name, named)));
            }
            Finds::Perhaps { last, benign } => {
                let named = Named { rule, meaning: Meaning::Perhaps };
                table.last.extend(last.split_whitespace().map(|word| (word, named)));
                table.benign.extend(benign.split_whitespace());
            }
            Finds::Last { last, benign } => {
                let named = Named { rule, meaning: Meaning::Secret(Extent::Value) };
                table.last.extend(last.split_whitespace().map(|word| (word, named)));
                table.benign.extend(benign.split_whitespace());
            }
            Finds::Text { names } => table.add(names, Named { rule, meaning: Meaning::Text }),
            Finds::HostField { names } => table.add(names, Named { rule, meaning: Meaning::Host }),
            Finds::UserField { names } => table.add(names, Named { rule, meaning: Meaning::User }),
            Finds::Prompt { names, mark, extent } => {
                table.add(names, Named { rule, meaning: Meaning::Prompt { mark, extent } });
            }
            Finds::Shape { .. } | Finds::Structure { .. } => {}
        }
    }
    table
});

#[cfg(test)]
mod tests {
    use super::*;

    fn sure(name: &str) -> bool {
        matches!(meaning(name, |_| true), Some(Named { meaning: Meaning::Secret(_), .. }))
    }

    #[test]
    fn a_secrets_name_is_known_in_every_spelling() {
        let names = [
            "--api-key",
            "OPENAI_API_KEY",
            "apiKey",
            "hf_token",
            "HF_TOKEN",
            "accessToken",
            "x-api-key",
            "admin_api_key",
            "PGPASSWORD",
            "password2",
            "db_password",
            "client-secret",
            "AccountKey",
            "aws_secret_access_key",
            "Set-Cookie",
            "RABBITMQ_DEFAULT_PASS",
            "X-Token",
        ];
        for name in names {
            assert!(sure(name), "{name}");
        }
    }

    #[test]
    fn no_name_of_the_table_is_longer_than_what_is_looked_at() {
        assert!(TABLE.parts.keys().all(|name| name.split('_').count() <= MOST_WORDS));
    }

    #[test]
    fn counts_of_tokens_and_names_of_files_are_not_secrets() {
        let names = [
            "max_tokens",
            "token_budget",
            "tokenizer",
            "num_tokens",
            "prompt_tokens",
            "token_ids",
            "eos_token_id",
            "new-token",
            "first_token",
            "ssl-keyfile",
            "password_file",
            "secret_name",
            "secretKeyRef",
            "imagePullSecrets",
            "key_value_heads",
            "author",
            "time_per_output_token",
            "monkey",
            "kv_cache",
            "num_key_value_heads",
            "eos_token",
            "cache_key",
            "forward_pass",
            "pass_rate",
            "bypass",
        ];
        for name in names {
            assert!(meaning(name, |_| true).is_none(), "{name}");
        }
    }
}
