//! What the caller knows: secrets given on the command line, hosts given as targets.

use aho_corasick::{AhoCorasick, MatchKind};

use crate::hits::{Hit, With};
use crate::pseudonyms::Kind;

/// Shortest secret that is looked for everywhere, in bytes: shorter ones stand in too many words.
const SHORTEST: usize = 4;

/// Texts that are hidden wherever they stand.
#[derive(Default)]
pub(crate) struct Known {
    secrets: Vec<String>,
    hosts: Vec<String>,
    find_secrets: Option<AhoCorasick>,
    find_hosts: Option<AhoCorasick>,
}

impl Known {
    /// Adds secrets, each also as a URL and as JSON would write it, and each line of those that have several.
    pub(crate) fn add_secrets(&mut self, secrets: impl IntoIterator<Item = String>) {
        for secret in secrets {
            for line in secret.lines().map(str::trim).filter(|line| line.len() >= SHORTEST) {
                let json = serde_json::Value::from(line).to_string();
                let spellings = [line.to_owned(), percent(line), json[1..json.len() - 1].to_owned()];
                for spelling in spellings {
                    if !self.secrets.contains(&spelling) {
                        self.secrets.push(spelling);
                    }
                }
            }
        }
        self.find_secrets = automaton(&self.secrets, false);
    }

    pub(crate) fn add_hosts(&mut self, hosts: impl IntoIterator<Item = String>) {
        let tells = |host: &String| !host.is_empty() && !host.eq_ignore_ascii_case("localhost");
        self.hosts.extend(hosts.into_iter().map(|host| host.trim().to_owned()).filter(tells));
        self.find_hosts = automaton(&self.hosts, true);
    }

    pub(crate) fn find(&self, line: &str, hits: &mut Vec<Hit>) {
        for found in self.find_secrets.iter().flat_map(|known| known.find_iter(line)) {
            hits.push(Hit { start: found.start(), end: found.end(), with: With::Mask, rule: "known" });
        }
        for found in self.find_hosts.iter().flat_map(|known| known.find_iter(line)) {
            let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
            let before = found.start().checked_sub(1).map(|i| line.as_bytes()[i]);
            let after = line.as_bytes().get(found.end()).copied();
            let name = &line[found.range()];
            let is_address = name.parse::<std::net::IpAddr>().is_ok();
            if before.is_some_and(word) || after.is_some_and(word) || is_address {
                continue;
            }
            let with = With::Pseudonym(Kind::Host);
            hits.push(Hit { start: found.start(), end: found.end(), with, rule: "known-host" });
        }
    }
}

fn automaton(texts: &[String], any_case: bool) -> Option<AhoCorasick> {
    // Building fails only past billions of texts.
    let builder = AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .ascii_case_insensitive(any_case)
        .build(texts);
    builder.ok().filter(|_| !texts.is_empty())
}

/// As a URL writes it.
fn percent(text: &str) -> String {
    use std::fmt::Write as _;
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}
