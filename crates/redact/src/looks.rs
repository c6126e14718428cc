//! What a value looks like: a secret, a placeholder, base64.

/// Shortest value that is taken for a secret by its looks alone, in characters.
const SHORTEST: usize = 16;
/// Bits a character below which text is taken for words; random hexadecimal of 32 characters has about 3.4.
const BITS: f64 = 3.0;

/// Whether a value behind a name that is only perhaps a secret's looks random: long, of letters and digits, no path.
pub(crate) fn random(value: &str) -> bool {
    let value = value.trim_end_matches('=');
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"+/_-.~%".contains(&byte);
    value.len() >= SHORTEST
        && value.bytes().all(allowed)
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && !value.starts_with(['/', '.', '~'])
        && !value.contains("://")
        && !is_dotted(value)
        && bits_per_character(value) >= BITS
}

/// Whether this is the name of a part of a model or a module: `layers.0.self_attn.k_proj.weight`.
fn is_dotted(value: &str) -> bool {
    let parts = value.split('.');
    let is_part = |part: &str| {
        let number = part.bytes().all(|byte| byte.is_ascii_digit());
        let word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
        number || part.starts_with(|c: char| c.is_ascii_lowercase() || c == '_') && part.bytes().all(word)
    };
    parts.clone().count() >= 3 && parts.clone().all(is_part) && parts.filter(|p| p.len() >= 3).count() >= 2
}

/// The same, or base64 of `user:password`.
pub(crate) fn secret(value: &str) -> bool {
    random(value) || value.len() >= 8 && basic_credentials(value)
}

/// Whether this is a text that can be a secret: no number, and no token of a vocabulary such as `</s>`.
pub(crate) fn text(value: &str) -> bool {
    !value.starts_with('<')
        && value.bytes().any(|byte| !byte.is_ascii_digit() && byte != b'.' && byte != b'-')
}

/// Whether a word behind a secret's name, with no more than a blank between, is hardly prose.
pub(crate) fn in_prose(word: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| word.bytes().any(|byte| kind(&byte));
    word.len() >= 6
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && !word.starts_with(['-', '/', '('])
        // An assignment says more itself.
        && !word.trim_end_matches('=').contains('=')
}

/// Shannon's entropy of the bytes, in bits a byte.
fn bits_per_character(value: &str) -> f64 {
    let mut counts = [0_u32; 256];
    value.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let length = value.len().max(1) as f64;
    let bits = |count: u32| {
        let share = f64::from(count) / length;
        -share * share.log2()
    };
    counts.into_iter().filter(|count| *count > 0).map(bits).sum()
}

/// Whether a value says that there is no secret here: empty, `None`, `true`, `****`, `$HF_TOKEN`, `${HF_TOKEN}`.
pub(crate) fn empty(value: &str) -> bool {
    let value = value.trim();
    let words =
        ["None", "none", "null", "NULL", "nil", "true", "True", "false", "False", "<unset>", "...", "…"];
    if value.is_empty() || words.contains(&value) || value.bytes().all(|byte| byte == b'*') {
        return true;
    }
    let between = |open: &str, close: char| value.strip_prefix(open)?.strip_suffix(close);
    let referred = between("${", '}').or_else(|| between("$(", ')'));
    if referred.is_some_and(|name| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')) {
        return true;
    }
    value.strip_prefix('$').is_some_and(|name| {
        name.contains('_') && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_' || b.is_ascii_digit())
    })
}

/// Whether this is base64 of `user:password`, as `Basic` carries it.
pub(crate) fn basic_credentials(value: &str) -> bool {
    let mut bits = 0_u32;
    let mut held = 0_u32;
    let mut colon = false;
    for byte in value.trim_end_matches('=').bytes() {
        let Some(six) = sextet(byte) else { return false };
        bits = (bits << 6 | six) & 0xffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            let decoded = (bits >> held) as u8;
            if decoded < 0x20 {
                return false;
            }
            colon |= decoded == b':';
        }
    }
    colon
}

fn sextet(byte: u8) -> Option<u32> {
    Some(u32::from(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_look_random_and_words_numbers_and_paths_do_not() {
        for key in ["9f86d081884c7d659a2feaa0c55ad015", "Zm9vYmFyYmF6cXV4MTIz", "a8Kd-02mZ_qpL1x7Rt4"] {
            assert!(random(key), "{key}");
        }
        for other in [
            "layers.0.self_attn.k_proj.weight",
            "151645",
            "<|endoftext|>",
            "hello",
            "/models/llama-3.1-8b-instruct",
            "aaaaaaaaaaaaaaaaa1",
        ] {
            assert!(!random(other), "{other}");
        }
    }

    #[test]
    fn basic_is_told_from_the_word_by_decoding_it() {
        assert!(basic_credentials("dXNlcjpwYXNz"));
        assert!(basic_credentials("YWRtaW46aHVudGVyMg=="));
        assert!(!basic_credentials("authentication"));
        assert!(!basic_credentials("Configuration"));
    }

    #[test]
    fn a_reference_to_a_secret_is_no_secret() {
        for empty_one in ["", "None", "********", "…", "$HF_TOKEN", "${AWS_SECRET}", "${K}", "$(K)"] {
            assert!(empty(empty_one), "{empty_one}");
        }
        assert!(!empty("${K:-letmein}") && !empty("$ecret") && !empty("none1"));
    }
}
