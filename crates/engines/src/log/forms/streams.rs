//! Several containers in one stream, each taken out by the name in front of its lines.

use std::collections::BTreeSet;

use super::columns;
use super::first_lines;
use crate::log::stamp;
use crate::log::wrapping::{composed, prefixed};

/// Names of one stream at most: what has more is not names.
const MOST: usize = 64;

/// One container's lines.
pub(super) struct Share {
    /// Its name.
    pub(super) name: String,
    /// Its lines without the name.
    pub(super) text: String,
    /// For each line the one of the stream it was, from 1.
    pub(super) lines: Vec<u32>,
}

/// What stands in front of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prefix {
    /// `docker compose logs`, `docker service logs`: `name-1  | `.
    Compose,
    /// `kubectl logs --prefix`: `[pod/name/container] `.
    Kubectl,
    /// kubetail: `[name container] `.
    Kubetail,
    /// logcli: `2026-11-15T02:26:49Z {container="vllm"} `.
    Logcli,
    /// stern: `name container `.
    Stern,
}

const ALL: [Prefix; 5] = [Prefix::Compose, Prefix::Kubectl, Prefix::Kubetail, Prefix::Logcli, Prefix::Stern];

/// A line taken apart.
struct Named<'a> {
    name: &'a str,
    /// What stands before the name and stays: a time.
    time: &'a str,
    message: &'a str,
}

/// The containers of a stream; `None` where lines carry no names, or one name in a form that is read anyway.
pub(super) fn shares(text: &str) -> Option<Vec<Share>> {
    let first = first_lines(text);
    let prefix = ALL.into_iter().find(|prefix| prefix.fits(&first))?;
    // In the order of their letters.
    let places: Vec<&str> = names(text, prefix)?.into_iter().collect();
    let read_anyway = places.len() == 1 && matches!(prefix, Prefix::Compose | Prefix::Kubectl);
    if read_anyway && !is_broken_inside(&first, prefix) {
        return None;
    }
    let empty = |name: &&str| Share { name: (*name).to_owned(), text: String::new(), lines: Vec::new() };
    let mut shares: Vec<Share> = places.iter().map(empty).collect();
    let mut place = 0;
    for (line, number) in text.strip_suffix('\n').unwrap_or(text).split('\n').zip(1..) {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let parts = prefix.of(line);
        // `vllm-1 exited with code 137` is of the container it names; anything else of the one that spoke last.
        let name = parts.as_ref().map_or_else(|| line.split(' ').next().unwrap_or(""), |parts| parts.name);
        if let Ok(known) = places.binary_search(&name) {
            place = known;
        }
        let Some(share) = shares.get_mut(place) else { continue };
        match &parts {
            Some(parts) if parts.time.is_empty() => share.text.push_str(parts.message),
            Some(parts) => share.text.extend([parts.time, " ", parts.message]),
            None => share.text.push_str(line),
        }
        share.text.push('\n');
        share.lines.push(number);
    }
    Some(shares)
}

/// The names of a stream; `None` where there are too many to be names.
fn names(text: &str, prefix: Prefix) -> Option<BTreeSet<&str>> {
    let mut names = BTreeSet::new();
    for line in text.split('\n') {
        if let Some(named) = prefix.of(line) {
            names.insert(named.name);
            if names.len() > MOST {
                return None;
            }
        }
    }
    Some(names)
}

/// Whether the messages behind the names were broken before the names were put in front.
fn is_broken_inside(first: &[&str], prefix: Prefix) -> bool {
    let messages: Vec<&str> = first.iter().filter_map(|line| Some(prefix.of(line)?.message)).collect();
    columns::joined(&messages.join("\n")).is_some()
}

impl Prefix {
    /// Whether nearly all lines carry it, and names come again.
    fn fits(self, lines: &[&str]) -> bool {
        let names: Vec<&str> = lines.iter().filter_map(|line| Some(self.of(line)?.name)).collect();
        let enough = names.len() * 4 >= lines.len() * 3 && !names.is_empty();
        let mut different = names.clone();
        different.sort_unstable();
        different.dedup();
        // What is only words in front of a line does not come again and again.
        let again = match self {
            Self::Compose | Self::Kubectl => true,
            Self::Kubetail | Self::Logcli | Self::Stern => {
                names.len() >= 3 && different.len() * 3 <= names.len()
            }
        };
        enough && again
    }

    fn of(self, line: &str) -> Option<Named<'_>> {
        let plain = |(name, message)| Named { name, time: "", message };
        match self {
            Self::Compose => composed(line).map(plain),
            Self::Kubectl => prefixed(line).map(plain),
            Self::Kubetail => {
                let (name, message) = line.strip_prefix('[')?.split_once("] ")?;
                let (pod, container) = name.split_once(' ').unwrap_or((name, ""));
                (is_pod(pod) && (container.is_empty() || is_part(container)))
                    .then_some(plain((name, message)))
            }
            Self::Stern => {
                let (pod, rest) = line.split_once(' ')?;
                let (container, message) = rest.split_once(' ').unwrap_or((rest, ""));
                let end = pod.len() + 1 + container.len();
                (is_pod(pod) && is_part(container)).then(|| plain((&line[..end], message)))
            }
            Self::Logcli => {
                let (_, end) = stamp::leading(line)?;
                let (labels, message) = line.get(end..)?.strip_prefix(" {")?.split_once('}')?;
                let labelled = labels.is_empty() || labels.contains("=\"");
                let message = message.strip_prefix(' ').unwrap_or(message);
                labelled.then_some(Named { name: labels, time: &line[..end], message })
            }
        }
    }
}

/// A pod's name: what made it put a number or a hash behind it.
fn is_pod(name: &str) -> bool {
    let tail = name.rsplit_once('-').map_or("", |(_, tail)| tail);
    let numbered = !tail.is_empty() && tail.bytes().any(|byte| byte.is_ascii_digit());
    let hashed = tail.len() == 5 && name.matches('-').count() >= 2;
    is_part(name) && (numbered || hashed)
}

fn is_part(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<(String, String, Vec<u32>)> {
        shares(text).unwrap_or_default().into_iter().map(|s| (s.name, s.text, s.lines)).collect()
    }

    fn expected(parts: [(&str, &str, &[u32]); 2]) -> Vec<(String, String, Vec<u32>)> {
        parts.map(|(name, text, lines)| (name.to_owned(), text.to_owned(), lines.to_vec())).to_vec()
    }

    #[test]
    fn containers_of_compose_are_taken_apart_with_the_numbers_of_their_lines() {
        let text = "router-1  | GET /\nvllm-1    | INFO ready\nvllm-1    | INFO x\nrouter-1  | GET /\nvllm-1 exited with code 137\n";
        let both = expected([
            ("router-1", "GET /\nGET /\n", &[1, 4]),
            ("vllm-1", "INFO ready\nINFO x\nvllm-1 exited with code 137\n", &[2, 3, 5]),
        ]);
        assert_eq!(told(text), both);
    }

    #[test]
    fn pods_are_taken_apart_whatever_tool_names_them() {
        for prefix in ["[pod/vllm-NUMBER/server]", "[vllm-NUMBER server]", "vllm-NUMBER server"] {
            let line = |number: &str, says: &str| format!("{} {says}\n", prefix.replace("NUMBER", number));
            let text = [
                line("0", "a"),
                line("1", "b"),
                line("0", "c"),
                line("1", "d"),
                line("0", "e"),
                line("1", "f"),
            ]
            .concat();
            let shares = told(&text);
            assert_eq!(shares.len(), 2, "{prefix}: {shares:?}");
            assert_eq!((shares[0].1.as_str(), &shares[0].2[..]), ("a\nc\ne\n", &[1, 3, 5][..]), "{prefix}");
        }
    }

    #[test]
    fn labels_of_loki_are_names_and_the_time_stays() {
        let line = |who: &str| format!("2026-11-15T02:26:49Z {{container=\"{who}\"}} INFO ready\n");
        let shares = told(&[line("vllm"), line("nginx")].concat().repeat(3));
        assert_eq!(shares.len(), 2);
        assert!(shares[0].1.starts_with("2026-11-15T02:26:49Z INFO ready\n"), "{shares:?}");
    }

    #[test]
    fn a_log_without_names_is_one() {
        for text in [
            "INFO 11-15 02:26:49 [a.py:1] ready\n",
            "slot launch_slot_: id  3 | task 2 | processing task\n",
            "llama_model_loader: - kv   0: general.architecture str = llama\n",
            "vllm-1  | INFO ready\n",
        ] {
            assert!(shares(&text.repeat(9)).is_none(), "{text}");
        }
    }
}
