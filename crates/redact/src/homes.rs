//! People: e-mail addresses, and user names in paths.

use crate::hits::{Hit, With};
use crate::hosts::is_file;
use crate::pseudonyms::Kind;
use crate::rules::Part;
use crate::scan::rule_name;

/// Longest local part, and longest name of a user, in bytes.
const LONGEST: usize = 64;

/// Looks at the address around the `@` (or `%40`) between two places.
pub(crate) fn mail(line: &str, at: usize, behind: usize, hits: &mut Vec<Hit>) {
    let bytes = line.as_bytes();
    let local = |byte: &&u8| byte.is_ascii_alphanumeric() || b"._+-%".contains(*byte);
    let start = at - bytes[..at].iter().rev().take(LONGEST).take_while(local).count();
    let domain = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'.' || **byte == b'-';
    let end = behind + bytes[behind..].iter().take(253).take_while(domain).count();
    let name = line[behind..end].trim_end_matches(['.', '-']);
    let Some((first, last)) = name.rsplit_once('.') else { return };
    let is_domain = last.len() >= 2 && last.bytes().all(|b| b.is_ascii_alphabetic()) && !is_file(last);
    if start == at || first.is_empty() || !is_domain || in_authority(&line[..start]) {
        return;
    }
    let (end, with) = (behind + name.len(), With::Pseudonym(Kind::Mail));
    hits.push(Hit { start, end, with, rule: rule_name(Part::Mail) });
}

/// Whether this is the end of a URL's user part: `http://user:pass@host` has no e-mail in it.
fn in_authority(before: &str) -> bool {
    let near = &before[before.ceil_char_boundary(before.len().saturating_sub(256))..];
    let word = near.rsplit(|c: char| c.is_whitespace() || c == '"' || c == '\'').next().unwrap_or_default();
    word.rsplit_once("://").is_some_and(|(_, authority)| !authority.contains('/'))
}

/// Looks at the name behind `/home/` and the like.
pub(crate) fn home(line: &str, from: usize, hits: &mut Vec<Hit>) {
    let folder = &line[..from];
    let cased = ["/home/", "/Users/", "\\Users\\", "/var/mail/", "/var/spool/mail/"];
    if !cased.iter().any(|known| folder.ends_with(known)) {
        return;
    }
    // In JSON a backslash is two.
    let start = from + line.as_bytes()[from..].iter().take(6).take_while(|byte| **byte == b'\\').count();
    let allowed = |byte: &&u8| byte.is_ascii_alphanumeric() || b"._-+".contains(*byte) || **byte >= 0x80;
    let bytes = &line.as_bytes()[start..];
    let end = start + bytes.iter().take_while(allowed).count();
    let name = line[start..end].trim_end_matches('.');
    let is_folder = matches!(line.as_bytes().get(end), Some(b'/' | b'\\'));
    let a_file = !is_folder && name.rsplit_once('.').is_some_and(|(_, last)| is_file(last) || last == "html");
    if name.is_empty() || name.len() > LONGEST || a_file || name == "Shared" {
        return;
    }
    let (end, with) = (start + name.len(), With::Pseudonym(Kind::User));
    hits.push(Hit { start, end, with, rule: rule_name(Part::Home) });
}
