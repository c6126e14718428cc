//! Names that were found by where they stood, looked for where nothing tells them: in a sentence, in a file's name.

use std::borrow::Cow;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::hits::{Hit, With};
use crate::known::stands_apart;
use crate::pseudonyms::Kind;
use crate::trade::is_name_of_its_own;

/// Shortest name that is looked for everywhere, in bytes.
const SHORTEST_HOST: usize = 4;
const SHORTEST_USER: usize = 5;

/// Rules whose hosts are real ones by where they stand; others must look like one.
const SURE: [&str; 9] = [
    "log-host",
    "host-field",
    "known-host",
    "nccl-host",
    "uname",
    "assigned-node",
    "connect-host",
    "bracketed-host",
    "unresolved-host",
];

/// The names a redactor has found by where they stood; see [`crate::Redactor::seen`].
pub struct Seen {
    hosts: Names,
    users: Names,
}

struct Names {
    find: Option<AhoCorasick>,
    pseudonyms: Vec<String>,
}

/// The name that was hidden, where it is worth to be looked for everywhere.
pub(crate) fn worth(hit: &Hit, line: &str) -> Option<(Kind, String)> {
    let With::Pseudonym(kind) = hit.with else { return None };
    let name = line.get(hit.start..hit.end)?;
    let long = match kind {
        Kind::Host => name.len() >= SHORTEST_HOST,
        Kind::User => name.len() >= SHORTEST_USER,
        Kind::Ip | Kind::Mail => false,
    };
    let looks = |name: &str| {
        name.bytes().any(|b| b.is_ascii_digit()) && name.bytes().any(|b| b.is_ascii_alphabetic())
    };
    let sure = kind == Kind::User || SURE.contains(&hit.rule) || looks(name);
    (long && sure && is_name_of_its_own(name)).then(|| (kind, name.to_owned()))
}

impl Seen {
    pub(crate) fn new(names: &[(Kind, String, String)]) -> Self {
        let of = |wanted: Kind| names.iter().filter(move |(kind, ..)| *kind == wanted);
        Self { hosts: Names::new(of(Kind::Host), true), users: Names::new(of(Kind::User), false) }
    }

    /// The text with every such name behind its pseudonym.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.hosts.replaced(text) {
            None => self.users.replaced(text).map_or(Cow::Borrowed(text), Cow::Owned),
            Some(without) => Cow::Owned(self.users.replaced(&without).unwrap_or(without)),
        }
    }
}

impl std::fmt::Debug for Seen {
    /// No originals: this ends up in logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seen").field("hosts", &self.hosts.pseudonyms).finish_non_exhaustive()
    }
}

impl Names {
    fn new<'a>(names: impl Iterator<Item = &'a (Kind, String, String)>, any_case: bool) -> Self {
        let (originals, pseudonyms): (Vec<&str>, Vec<String>) =
            names.map(|(_, original, pseudonym)| (original.as_str(), pseudonym.clone())).unzip();
        // Building fails only past billions of texts.
        let find = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .ascii_case_insensitive(any_case)
            .build(&originals);
        Self { find: find.ok().filter(|_| !originals.is_empty()), pseudonyms }
    }

    fn replaced(&self, text: &str) -> Option<String> {
        let mut written: Option<String> = None;
        let mut copied = 0;
        for found in self.find.as_ref()?.find_iter(text) {
            if !stands_apart(text, found.start(), found.end()) {
                continue;
            }
            let written = written.get_or_insert_with(|| String::with_capacity(text.len()));
            written.push_str(&text[copied..found.start()]);
            written.push_str(&self.pseudonyms[found.pattern().as_usize()]);
            copied = found.end();
        }
        written.map(|written| written + &text[copied..])
    }
}

#[cfg(test)]
mod tests {
    use crate::Redactor;

    fn twice(text: &str) -> String {
        let redactor = Redactor::new();
        let once = redactor.text(text).into_owned();
        redactor.seen().text(&once).into_owned()
    }

    #[test]
    fn a_host_before_a_line_is_hidden_in_a_sentence_too() {
        assert_eq!(
            twice("lost connection to gpunode9\nNov 16 07:40:20 gpunode9 kernel: x\ngpunode90 stays"),
            "lost connection to host-1\nNov 16 07:40:20 host-1 kernel: x\ngpunode90 stays"
        );
        assert_eq!(twice("/home/annabel/x for annabel"), "/home/user-1/x for user-1");
    }

    #[test]
    fn words_of_the_trade_and_short_names_stay_where_nothing_tells_them() {
        for (text, safe) in [
            ("Nov 16 07:40:20 vllm vllm[7]: vllm is up", "Nov 16 07:40:20 host-1 vllm[7]: vllm is up"),
            ("http://redis:6379 lost redis", "http://host-1:6379 lost redis"),
            ("/home/ann/x can plan", "/home/user-1/x can plan"),
            ("/home/ubuntu/x on ubuntu", "/home/user-1/x on ubuntu"),
        ] {
            assert_eq!(twice(text), safe);
        }
    }
}
