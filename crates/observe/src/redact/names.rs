//! Names of files in a case: whoever opens it sees them, like what stands in the files.

use std::collections::BTreeSet;

use intriage_redact::Redactor;

/// A file's name without what must not leave its owner; still the name of a file, with the same ending.
pub(super) fn name(redactor: &Redactor, name: &str) -> String {
    // A mask's brackets stand in no name of ours.
    let safe = part(redactor, name).replace(['[', ']'], "");
    if safe.is_empty() { "redacted".to_owned() } else { safe }
}

/// Endings by which a case's files are read: no part of what stands before them.
const ENDINGS: [&str; 10] = ["log", "txt", "json", "jsonl", "csv", "yaml", "yml", "service", "conf", "case"];

fn part(redactor: &Redactor, name: &str) -> String {
    // A secret reaches to the end of its word; the ending is none of it.
    if let Some((stem, ending)) =
        name.rsplit_once('.').filter(|(stem, e)| !stem.is_empty() && ENDINGS.contains(e))
    {
        return [&stem_part(redactor, stem), ".", ending].concat();
    }
    stem_part(redactor, name)
}

fn stem_part(redactor: &Redactor, name: &str) -> String {
    let mut safe = redactor.text(name).into_owned();
    // A file is called after its host or its owner, with an ending behind it that makes it neither.
    if let Some((stem, ending)) = safe.rsplit_once('.') {
        safe = [&redactor.text(stem), ".", ending].concat();
    }
    // An underscore is part of a word to the rules, and joins two of them in a name: `server_10.0.0.7.log`.
    let mut from = 0;
    while let Some(at) = safe[from..].find('_') {
        from += at + 1;
        let all = redactor.text(&safe[from..]).into_owned();
        // What is nothing as a whole may be called after somebody, with an ending behind it.
        let (rest, ending) = match all.rsplit_once('.') {
            Some((stem, ending)) if all == safe[from..] => {
                (redactor.text(stem).into_owned(), [".", ending].concat())
            }
            _ => (all, String::new()),
        };
        safe = [&safe[..from], &rest, &ending].concat();
    }
    safe
}

/// Folders and files, each by its own name.
pub(super) fn path(redactor: &Redactor, path: &str) -> String {
    let whole = redactor.text(path);
    let parts =
        whole.split('/').map(|part| if part.is_empty() { String::new() } else { name(redactor, part) });
    parts.collect::<Vec<_>>().join("/")
}

/// A sentence with the paths in it made safe part by part; elsewhere a part of a path is no host.
pub(super) fn sentence(redactor: &Redactor, text: &str) -> String {
    let safe = redactor.text(text);
    let words = safe.split(' ').map(|word| {
        let is_path = word.contains('/') && !word.contains("://");
        let safe = |one: &str| if is_path { part(redactor, one) } else { one.to_owned() };
        word.split('/').map(safe).collect::<Vec<_>>().join("/")
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Gives each name once: a second one gets a number before its ending.
#[derive(Default)]
pub(super) struct Unique(BTreeSet<String>);

impl Unique {
    pub(super) fn take(&mut self, wanted: &str) -> String {
        let dot = wanted.rfind('.').filter(|dot| *dot > 0 && !wanted[*dot..].contains('/'));
        let (stem, ending) = wanted.split_at(dot.unwrap_or(wanted.len()));
        let numbered = (2..).map(|n: u32| [stem, "-", &n.to_string(), ending].concat());
        let free = std::iter::once(wanted.to_owned()).chain(numbered).find(|name| !self.0.contains(name));
        let free = free.unwrap_or_default();
        self.0.insert(free.clone());
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_hosts_and_keys_and_keep_their_endings() {
        let redactor = Redactor::new();
        for (given, safe) in [
            ("gpu7.corp.acme-internal.com.log", "host-1.log"),
            ("server_gpu7.corp.acme-internal.com.log", "server_host-1.log"),
            ("hf_CANARYabcdefghijklmnop.log", "redacted.log"),
            ("run_hf_CANARYabcdefghijklmnop.yaml", "run_redacted.yaml"),
            ("ann.lee@acme.example.log", "mail-1.log"),
            ("vllm_10.0.0.7.service", "vllm_ip-1.service"),
            ("api_key=letmein.log", "api_key=redacted.log"),
            ("token-abc123def456ghi789.password=x.log", "token-abc123def456ghi789.password=redacted.log"),
            ("server.log", "server.log"),
            ("journal-vllm.service.log", "journal-vllm.service.log"),
        ] {
            assert_eq!(name(&redactor, given), safe);
            assert_eq!(name(&redactor, safe), safe);
        }
        assert_eq!(path(&redactor, "/v1/models"), "/v1/models");
        let told = sentence(&redactor, "log /srv/gpu7.corp.acme-internal.com.log");
        assert_eq!(told, "log /srv/host-1.log");
    }

    #[test]
    fn two_that_became_one_are_told_apart() {
        let mut names = Unique::default();
        let taken: Vec<String> =
            ["a.log", "a.log", "a.log", "b/c.d/e", "b/c.d/e"].map(|name| names.take(name)).into();
        assert_eq!(taken, ["a.log", "a-2.log", "a-3.log", "b/c.d/e", "b/c.d/e-2"]);
    }
}
