//! Metrics pages: values of labels and secrets in descriptions, and not a byte else.

use std::borrow::Cow;
use std::collections::HashMap;

use memchr::{memchr, memchr_iter};

use crate::Redactor;
use crate::scan::Scope;

/// A label's name and value, as written.
type Label<'a> = (&'a [u8], &'a [u8]);

/// The page with what its labels give away hidden.
pub(crate) fn redact(redactor: &Redactor, page: &[u8]) -> Vec<u8> {
    let mut written: Option<Vec<u8>> = None;
    let mut copied = 0;
    // The same labels come with every bucket.
    let mut judged: HashMap<Label<'_>, Option<Vec<u8>>> = HashMap::new();
    for (start, line) in lines(page) {
        if line.first() == Some(&b'#') {
            if let Some((from, changed)) = help(redactor, line) {
                let written = written.get_or_insert_with(|| Vec::with_capacity(page.len()));
                written.extend_from_slice(&page[copied..start + from]);
                written.extend_from_slice(changed.as_bytes());
                copied = start + line.len();
            }
            continue;
        }
        for (name, from, to) in labels(line) {
            let value = &line[from..to];
            if is_bound(name, value) {
                continue;
            }
            let changed = judged.entry((name, value)).or_insert_with(|| judge(redactor, name, value));
            if let Some(changed) = changed {
                let written = written.get_or_insert_with(|| Vec::with_capacity(page.len()));
                written.extend_from_slice(&page[copied..start + from]);
                written.extend_from_slice(changed);
                copied = start + to;
            }
        }
    }
    match written {
        None => page.to_vec(),
        Some(mut written) => {
            written.extend_from_slice(&page[copied..]);
            written
        }
    }
}

/// Whether a label is the bound of a bucket or a quantile: most labels of a page are, and a number hides nobody.
fn is_bound(name: &[u8], value: &[u8]) -> bool {
    let number = |byte: &u8| byte.is_ascii_digit() || b".eE+-".contains(byte);
    matches!(name, b"le" | b"quantile") && value.len() <= 24 && (value == b"+Inf" || value.iter().all(number))
}

/// What a metric's description must read, where it changes, and where that begins: behind the metric's name.
fn help(redactor: &Redactor, line: &[u8]) -> Option<(usize, String)> {
    let text = std::str::from_utf8(line).ok()?;
    let told = text.strip_prefix("# HELP ")?.split_once(' ')?.1;
    // Descriptions speak of prompts and hosts; of secrets and addresses they should not.
    let scope = Scope { keep_prompts: true, host_names: false };
    match redactor.lines(told, scope, |_, _| {}) {
        Cow::Owned(changed) => Some((line.len() - told.len(), changed)),
        Cow::Borrowed(_) => None,
    }
}

fn lines(page: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut start = 0;
    memchr_iter(b'\n', page).chain([page.len()]).map(move |end| {
        let line = (start, &page[start..end]);
        start = end + 1;
        line
    })
}

/// The labels of a line: name, and where the value stands between its quotes. Exemplars have labels, too.
fn labels(line: &[u8]) -> impl Iterator<Item = (&[u8], usize, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let open = at + memchr(b'"', line.get(at..)?)?;
        let mut close = open + 1;
        while *line.get(close)? != b'"' {
            close += if line[close] == b'\\' { 2 } else { 1 };
        }
        at = close + 1;
        // A quoted text that is no value is the name of a metric or of a label.
        let name = line[..open].trim_ascii_end().strip_suffix(b"=").map(label_name);
        Some((name, open + 1, close))
    })
    .filter_map(|(name, from, to)| Some((name?, from, to)))
}

/// The name at the end of this, bare or in quotes.
fn label_name(before: &[u8]) -> &[u8] {
    let before = before.trim_ascii_end();
    let start = match before.strip_suffix(b"\"") {
        Some(inside) => {
            return &inside[inside.iter().rposition(|byte| *byte == b'"').map_or(0, |quote| quote + 1)..];
        }
        None => before.iter().rposition(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_')),
    };
    &before[start.map_or(0, |other| other + 1)..]
}

/// The value as it must be written, where it changes.
fn judge(redactor: &Redactor, name: &[u8], value: &[u8]) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(value);
    let plain = unescape(&text);
    let name = String::from_utf8_lossy(name);
    // A model may be called like a host.
    let scope = Scope { host_names: !name.contains("model") && !name.contains("lora"), ..redactor.scope() };
    let changed = redactor.named(redactor.meaning(&name), &plain, scope)?;
    Some(changed.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").into_bytes())
}

fn unescape(value: &str) -> String {
    let mut plain = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(c) = characters.next() {
        match (c, characters.clone().next()) {
            ('\\', Some('n')) => plain.push('\n'),
            ('\\', Some(escaped @ ('\\' | '"'))) => plain.push(escaped),
            _ => {
                plain.push(c);
                continue;
            }
        }
        characters.next();
    }
    plain
}

#[cfg(test)]
mod tests {
    use crate::Redactor;

    fn page(text: &str) -> String {
        String::from_utf8(Redactor::new().exposition(text.as_bytes())).unwrap()
    }

    #[test]
    fn only_values_of_labels_and_secrets_of_descriptions_change() {
        let before = "# HELP up from 10.0.0.7 api_key=\"x\"\nup{instance=\"10.0.0.7:8000\",job=\"vllm\"} 1 1700000000\nup{path=\"C:\\\\Users\\\\alice\\\\m\",host=\"gpu-7\"} 0.5 # {user=\"ann\"} 1\n";
        let after = "# HELP up from ip-1 api_key=\"[redacted]\"\nup{instance=\"ip-1:8000\",job=\"vllm\"} 1 1700000000\nup{path=\"C:\\\\Users\\\\user-1\\\\m\",host=\"host-1\"} 0.5 # {user=\"user-2\"} 1\n";
        assert_eq!(page(before), after);
        assert_eq!(page(after), after);
    }

    #[test]
    fn models_that_are_called_like_hosts_stay() {
        let text =
            "a{model_name=\"acme.example.com\",lora_name=\"x.corp\",le=\"0.005\",version=\"3.12.3\"} 1\n";
        assert_eq!(page(text), text);
    }

    #[test]
    fn a_bound_that_is_no_number_is_looked_at() {
        let text = "a_bucket{le=\"0.005\"} 1\na_bucket{le=\"+Inf\"} 2\na_bucket{le=\"10.0.0.7:80\"} 3\n";
        assert_eq!(page(text), text.replace("10.0.0.7", "ip-1"));
    }

    #[test]
    fn bytes_that_are_no_text_stay_unless_something_is_hidden() {
        let bytes = b"a{b=\"\xff\",c=\"\\x\"} 1\na{d=\"unclosed";
        assert_eq!(Redactor::new().exposition(bytes), bytes);
    }
}
