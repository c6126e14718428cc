//! URLs: the user and password in them, and the host.

use crate::hits::{Hit, With};
use crate::hosts::is_url_host;
use crate::pseudonyms::Kind;
use crate::rules::Part;
use crate::scan::rule_name;

/// Longest part of a URL in which the `@` behind a password is looked for, in bytes.
const LONGEST: usize = 1024;

/// Schemes whose first part is no host: a bucket, a path, a repository.
const NO_HOST: [&str; 14] =
    ["s3", "gs", "gcs", "hf", "file", "oci", "az", "abfs", "abfss", "ipc", "unix", "inproc", "data", "shm"];

/// Looks at the URL whose `://` stands at `at`.
pub(crate) fn find(line: &str, at: usize, hits: &mut Vec<Hit>) {
    let bytes = line.as_bytes();
    let part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+.-".contains(*byte);
    let scheme = &line[at - bytes[..at].iter().rev().take(24).take_while(part).count()..at];
    if scheme.is_empty() {
        return;
    }
    let from = at + 3;
    let near = &line[from..line.floor_char_boundary(from.saturating_add(LONGEST))];
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '`' | '\\' | '\0');
    let near = &near[..near.find(ends).unwrap_or(near.len())];
    let mut authority = &near[..near.find(['/', '?', '#']).unwrap_or(near.len())];
    let mut user_end = authority.rfind('@');
    if user_end.is_none() && !ends_in_port(authority) {
        // A slash in a password: nobody escapes it.
        user_end = near.find('@');
        authority = user_end.map_or(authority, |at| {
            let rest = &near[at + 1..];
            &near[..at + 1 + rest.find(['/', '?', '#']).unwrap_or(rest.len())]
        });
    }
    if let Some(length) = user_end.filter(|length| *length > 0 && &near[..*length] != "git") {
        let rule = rule_name(Part::UrlCredentials);
        hits.push(Hit { start: from, end: from + length, with: With::Mask, rule });
    }
    if NO_HOST.contains(&scheme.to_ascii_lowercase().as_str()) {
        return;
    }
    let mut start = from + user_end.map_or(0, |length| length + 1);
    for member in authority[start - from..].split(',') {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let length = member.find(|c| !allowed(c)).unwrap_or(member.len());
        let name = member[..length].trim_end_matches(['.', '-']);
        if is_url_host(name) {
            let (end, with) = (start + name.len(), With::Pseudonym(Kind::Host));
            hits.push(Hit { start, end, with, rule: rule_name(Part::UrlHost) });
        }
        start += member.len() + 1;
    }
}

/// `host`, `host:8000`, `[::1]:8000`, but not `user:pass`.
fn ends_in_port(authority: &str) -> bool {
    match authority.rsplit_once(':') {
        Some((_, port)) => {
            port.trim_end_matches([')', ',', '.', ';', ']', '}']).bytes().all(|b| b.is_ascii_digit())
        }
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Vec<&str> {
        let mut hits = Vec::new();
        line.match_indices("://").for_each(|(at, _)| find(line, at, &mut hits));
        hits.iter().map(|hit| &line[hit.start..hit.end]).collect()
    }

    #[test]
    fn passwords_are_found_even_with_a_slash_or_an_at() {
        assert_eq!(found("http://u:p@ss@gpu7:80/x"), ["u:p@ss", "gpu7"]);
        assert_eq!(found("postgres://u:a/b@db.acme.example/x"), ["u:a/b", "db.acme.example"]);
        assert_eq!(found("mongodb://u:p@h1:27017,h2:27017/db"), ["u:p", "h1", "h2"]);
        assert_eq!(found("https://ghp_x@github.com/a"), ["ghp_x"]);
    }

    #[test]
    fn addresses_buckets_and_public_hosts_are_left() {
        for line in [
            "http://127.0.0.1:8000",
            "http://[::1]:80/",
            "s3://models/llama",
            "file:///srv/x",
            "http://localhost:80/a@b",
            "see https://docs.vllm.ai/en/latest/.",
            "http://{host}:{port}/",
            "://",
            "git clone ssh://git@github.com/x",
        ] {
            assert_eq!(found(line), Vec::<&str>::new(), "{line}");
        }
    }
}
