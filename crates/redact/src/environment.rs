//! Environments: `NAME=value`, where a secret's value is all that follows.

use crate::Redactor;
use crate::hits::{Hit, With};
use crate::looks;
use crate::names::{self, Meaning};

/// The environment with its secrets hidden.
pub(crate) fn redact(redactor: &Redactor, environment: &str) -> String {
    if !environment.contains('\0') {
        return redactor.lines(environment, redactor.scope(), find).into_owned();
    }
    let entries = environment.split('\0').map(|entry| match secret(entry) {
        // A value may have lines of its own; as many stay.
        Some(from) => {
            let lines = |line: &str| {
                if line.trim().is_empty() { line.to_owned() } else { crate::hits::MASK.to_owned() }
            };
            let value: Vec<String> = entry[from..].split('\n').map(lines).collect();
            [&entry[..from], &value.join("\n")].concat()
        }
        None => redactor.lines(entry, redactor.scope(), find).into_owned(),
    });
    entries.collect::<Vec<_>>().join("\0")
}

/// Adds the rest of a line that sets a secret.
pub(crate) fn find(line: &str, hits: &mut Vec<Hit>) {
    let Some(from) = secret(line) else { return };
    let value = line[from..].trim_end();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    let inside = quote.and_then(|quote| value.strip_prefix(quote)?.strip_suffix(quote)).unwrap_or(value);
    let start = from + usize::from(inside.len() < value.len());
    hits.push(Hit { start, end: start + inside.len(), with: With::Mask, rule: "environment" });
}

/// Where the value of a secret begins.
fn secret(entry: &str) -> Option<usize> {
    let (before, value) = entry.split_once('=')?;
    let name =
        before.trim_start().trim_start_matches("export ").trim_start_matches("declare -x ").trim_start();
    let plain =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
    let named = names::meaning(name, |meaning| !matches!(meaning, Meaning::Prompt { .. }));
    let Some(Meaning::Secret(_)) = named.map(|named| named.meaning) else { return None };
    let folder = value.starts_with('/') && (name == "PWD" || name.to_ascii_lowercase().contains("cred"));
    (plain && !folder && !looks::empty(value)).then_some(before.len() + 1)
}

#[cfg(test)]
mod tests {
    use crate::Redactor;

    #[test]
    fn a_secret_is_all_behind_its_name() {
        let redactor = Redactor::new();
        let lines = "USER=alice\nexport DB_PASSWORD=\"two words\"\nAPI_KEY=a b c\nPWD=/srv\nVLLM_MAX_TOKENS=5\nHF_TOKEN=\nHOME=/home/alice\n";
        let hidden = "USER=user-1\nexport DB_PASSWORD=\"[redacted]\"\nAPI_KEY=[redacted]\nPWD=/srv\nVLLM_MAX_TOKENS=5\nHF_TOKEN=\nHOME=/home/user-1\n";
        assert_eq!(redactor.environment(lines), hidden);
        assert_eq!(redactor.environment(hidden), hidden);
    }

    #[test]
    fn entries_apart_by_nul_may_have_lines() {
        let entries = "A=1\0TLS_PRIVATE_KEY=-----BEGIN X-----\nabc\n-----END X-----\0HOSTNAME=gpu-7\0";
        assert_eq!(
            Redactor::new().environment(entries),
            "A=1\0TLS_PRIVATE_KEY=[redacted]\n[redacted]\n[redacted]\0HOSTNAME=host-1\0"
        );
    }
}
