//! What the caller knows: secrets given on the command line, hosts given as targets.

use aho_corasick::{AhoCorasick, MatchKind};

use crate::hits::{Hit, With};
use crate::pseudonyms::Kind;
use crate::trade::is_name_of_its_own;

/// Shortest secret that is looked for everywhere, in bytes: shorter ones stand in too many words.
const SHORTEST: usize = 4;

/// Shortest secret that is looked for inside of words, in bytes: what is shorter may be a part of another word.
const SHORTEST_IN_WORDS: usize = 12;

/// What is given where a server asks for a key and takes any: examples of its documentation, and words for nothing.
const PLACEHOLDERS: [&str; 16] = [
    "empty",
    "none",
    "null",
    "dummy",
    "fake",
    "test",
    "token",
    "token-abc123",
    "sk-no-key-required",
    "not-needed",
    "not-used",
    "placeholder",
    "secret",
    "password",
    "changeme",
    "your-api-key",
];

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
            let tells = |line: &&str| {
                line.len() >= SHORTEST && !PLACEHOLDERS.contains(&line.to_ascii_lowercase().as_str())
            };
            for line in secret.lines().map(str::trim).filter(tells) {
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
        let tells = |host: &String| is_name_of_its_own(host);
        self.hosts.extend(hosts.into_iter().map(|host| host.trim().to_owned()).filter(tells));
        self.find_hosts = automaton(&self.hosts, true);
    }

    pub(crate) fn find(&self, line: &str, hits: &mut Vec<Hit>) {
        for found in self.find_secrets.iter().flat_map(|known| known.find_iter(line)) {
            if found.len() < SHORTEST_IN_WORDS && !stands_apart(line, found.start(), found.end()) {
                continue;
            }
            hits.push(Hit { start: found.start(), end: found.end(), with: With::Mask, rule: "known" });
        }
        for found in self.find_hosts.iter().flat_map(|known| known.find_iter(line)) {
            let is_address = line[found.range()].parse::<std::net::IpAddr>().is_ok();
            if is_address || !stands_apart(line, found.start(), found.end()) {
                continue;
            }
            let with = With::Pseudonym(Kind::Host);
            hits.push(Hit { start: found.start(), end: found.end(), with, rule: "known-host" });
        }
    }
}

/// Whether this is no part of a longer word. What is escaped before it, `\n` or `%20`, ends the word there.
pub(crate) fn stands_apart(line: &str, start: usize, end: usize) -> bool {
    let (before, after) = (&line.as_bytes()[..start], &line.as_bytes()[end..]);
    let word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let escaped = match before {
        [.., b'\\', b'n' | b't' | b'r'] => true,
        [.., b'%', first, second] => first.is_ascii_hexdigit() && second.is_ascii_hexdigit(),
        _ => false,
    };
    (escaped || !before.last().is_some_and(word)) && !after.first().is_some_and(word)
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

#[cfg(test)]
mod tests {
    use crate::Redactor;

    #[test]
    fn a_host_that_is_called_like_an_engine_does_not_rename_the_engine() {
        for name in ["vllm", "INFO", "qwen", "gpu", "vm"] {
            let redactor = Redactor::new().known_hosts([name.to_owned()]);
            for line in [
                "vLLM API server version 0.11.0",
                "vllm:num_requests_running 3",
                "INFO Qwen on GPU",
                "/proc/sys/vm/x",
            ] {
                assert_eq!(redactor.text(line), line);
            }
        }
        let redactor = Redactor::new().known_hosts(["vllm".to_owned()]);
        assert_eq!(redactor.text("POST http://vllm:8000/v1 to vllm"), "POST http://host-1:8000/v1 to vllm");
    }

    #[test]
    fn a_short_secret_is_a_word_of_its_own_and_a_placeholder_is_none() {
        let redactor =
            Redactor::new().with_known(["late".to_owned(), "EMPTY".to_owned(), "token-abc123".to_owned()]);
        assert_eq!(
            redactor.text("late, translate: \\nlate latest"),
            "[redacted], translate: \\n[redacted] latest"
        );
        assert_eq!(redactor.text("queue EMPTY, token-abc123"), "queue EMPTY, token-abc123");
        let long = Redactor::new().with_known(["twelve-and-more".to_owned()]);
        assert_eq!(long.text("xtwelve-and-morex"), "x[redacted]x");
    }
}
