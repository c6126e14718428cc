//! Environments: `NAME=value`, where a secret's value is all that follows.

use crate::Redactor;
use crate::hits::{Hit, MASK, With};
use crate::names::{self, Meaning};
use crate::{assigned, looks};

/// The environment with its secrets hidden.
pub(crate) fn redact(redactor: &Redactor, environment: &str) -> String {
    if !environment.contains('\0') {
        return redactor.lines(environment, redactor.scope(), find).into_owned();
    }
    let entries = environment.split('\0').map(|entry| {
        let written = redactor.lines(entry, redactor.scope(), find).into_owned();
        let Some(from) = secret(&written) else { return written };
        // A value may have lines of its own; as many stay.
        let lines = |line: &str| if line.trim().is_empty() { line.to_owned() } else { MASK.to_owned() };
        let value: Vec<String> = written[from..].split('\n').map(lines).collect();
        [&written[..from], &value.join("\n")].concat()
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
    let named = names::meaning(name, |meaning| !matches!(meaning, Meaning::Prompt { .. }))?;
    let hides = matches!(named.meaning, Meaning::Secret(_))
        && !assigned::is_folder(named.rule.name, name, value)
        && !looks::empty(value);
    (plain && hides).then_some(before.len() + 1)
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

    #[test]
    fn a_file_of_credentials_is_no_secret_and_a_secret_that_looks_like_a_path_is() {
        let redactor = Redactor::new();
        let file = "GOOGLE_APPLICATION_CREDENTIALS=/etc/gcp/key.json";
        assert_eq!(redactor.environment(file), file);
        // Found by fuzzing: one of two readings masked the first line alone.
        let once = redactor.environment("MY_SECRET_CREDENTIALS=/etc/x\nsecond\0A=1");
        assert_eq!(once, "MY_SECRET_CREDENTIALS=[redacted]\n[redacted]\0A=1");
        assert_eq!(redactor.environment(&once), once);
    }
}
