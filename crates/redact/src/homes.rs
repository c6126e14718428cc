//! People: e-mail addresses, and user names in paths.

use crate::hits::{Hit, With};
use crate::hosts::{is_file, is_url_host};
use crate::looks;
use crate::pseudonyms::Kind;
use crate::rules::Part;
use crate::scan::rule_name;

/// Longest local part, and longest name of a user, in bytes.
const LONGEST: usize = 64;

/// Whether this is the name of somebody.
pub(crate) fn is_user(name: &str) -> bool {
    const NOBODY: [&str; 6] = ["root", "nobody", "user", "default", "system", "assistant"];
    name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        && !NOBODY.contains(&name)
        && !looks::empty(name)
}

/// Looks at the address around the `@` (or `%40`) between two places.
pub(crate) fn mail(line: &str, at: usize, behind: usize, hits: &mut Vec<Hit>) {
    let bytes = line.as_bytes();
    let local = |byte: &&u8| byte.is_ascii_alphanumeric() || b"._+-%".contains(*byte);
    let start = at - bytes[..at].iter().rev().take(LONGEST).take_while(local).count();
    let domain = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'.' || **byte == b'-';
    let end = behind + bytes[behind..].iter().take(253).take_while(domain).count();
    let name = line[behind..end].trim_end_matches(['.', '-']);
    let Some((first, last)) = name.rsplit_once('.') else {
        return shell(line, start, at, behind, name, hits);
    };
    let is_domain = last.len() >= 2 && last.bytes().all(|b| b.is_ascii_alphabetic()) && !is_file(last);
    if start == at || first.is_empty() || !is_domain || in_authority(&line[..start]) {
        return;
    }
    let (end, with) = (behind + name.len(), With::Pseudonym(Kind::Mail));
    hits.push(Hit { start, end, with, rule: rule_name(Part::Mail) });
}

/// Looks at what a shell writes before a command: `ann@gpu7:~/work$ nvidia-smi`.
fn shell(line: &str, start: usize, at: usize, behind: usize, name: &str, hits: &mut Vec<Hit>) {
    let rest = &line.as_bytes()[behind + name.len()..];
    let [b':', b'~' | b'/', path @ ..] = rest else { return };
    let length =
        path.iter().take(256).take_while(|byte| byte.is_ascii_graphic() && !b"$#".contains(*byte)).count();
    let is_shell = matches!(path.get(length..), Some([b'$' | b'#'] | [b'$' | b'#', b' ', ..]));
    let user = &line[start..at];
    if !is_shell || !is_url_host(name) || start == at {
        return;
    }
    let rule = rule_name(Part::Mail);
    if is_user(user) {
        hits.push(Hit { start, end: at, with: With::Pseudonym(Kind::User), rule });
    }
    hits.push(Hit { start: behind, end: behind + name.len(), with: With::Pseudonym(Kind::Host), rule });
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
    let cased = ["/home/", "/Users/", "/var/mail/", "/var/spool/mail/", "\\/home\\/", "\\home\\"];
    // Windows and escapes know no case.
    let any_case = ["\\users\\", "%2fhome%2f", "%5cusers%5c"];
    let ends = |known: &&str| {
        folder.len() >= known.len()
            && folder.as_bytes()[folder.len() - known.len()..].eq_ignore_ascii_case(known.as_bytes())
    };
    if !cased.iter().any(|known| folder.ends_with(known)) && !any_case.iter().any(ends) {
        return;
    }
    let windows = folder.ends_with('\\') && !folder.ends_with("home\\");
    // In JSON a backslash is two.
    let start = from + line.as_bytes()[from..].iter().take(6).take_while(|byte| **byte == b'\\').count();
    let allowed = |byte: &&u8| byte.is_ascii_alphanumeric() || b"._-+".contains(*byte) || **byte >= 0x80;
    let bytes = &line.as_bytes()[start..];
    let mut end = start + bytes.iter().take_while(allowed).count();
    if windows {
        // A name of two words is one up to the next backslash.
        let word = |byte: &&u8| allowed(byte) || **byte == b' ';
        let whole = bytes.iter().take(LONGEST).take_while(word).count();
        if bytes.get(whole) == Some(&b'\\') && whole > 0 {
            end = start + whole;
        }
    }
    let name = line[start..end].trim_end_matches('.');
    let is_folder = matches!(line.as_bytes().get(end), Some(b'/' | b'\\'));
    let a_file = !is_folder && name.rsplit_once('.').is_some_and(|(_, last)| is_file(last) || last == "html");
    if name.is_empty() || name.len() > LONGEST || a_file || name == "Shared" {
        return;
    }
    // Behind an escape's letters a pseudonym would be no word of its own.
    let escaped = folder.ends_with(|c: char| c.is_ascii_alphanumeric());
    let with = if escaped { With::Mask } else { With::Pseudonym(Kind::User) };
    hits.push(Hit { start, end: start + name.len(), with, rule: rule_name(Part::Home) });
}

#[cfg(test)]
mod tests {
    use crate::Redactor;

    #[test]
    fn the_prompt_of_a_shell_tells_who_sat_where() {
        for (line, safe) in [
            ("alice@gpubox:~$ nvidia-smi", "user-1@host-1:~$ nvidia-smi"),
            ("root@gpubox:/srv# vllm serve m", "root@host-1:/srv# vllm serve m"),
            ("(base) alice@gpubox:~/work$ ls", "(base) user-1@host-1:~/work$ ls"),
            ("@torch.compile x@main:/a b", "@torch.compile x@main:/a b"),
        ] {
            assert_eq!(Redactor::new().text(line), safe);
            assert_eq!(Redactor::new().text(safe), safe);
        }
    }
}
