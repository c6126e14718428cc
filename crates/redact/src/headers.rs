//! Values of headers: what is a word about them, where their scheme ends, and where they end.

/// Whether what stands behind a header's name is a word about it, or a switch: `authorization: missing`, `cookie=0`.
pub(crate) fn says_nothing(value: &str) -> bool {
    const ABOUT: [&str; 18] = [
        "missing",
        "required",
        "none",
        "absent",
        "disabled",
        "enabled",
        "failed",
        "denied",
        "invalid",
        "expired",
        "ok",
        "not",
        "is",
        "off",
        "on",
        "unknown",
        "rejected",
        "forbidden",
    ];
    let word = value.split([' ', ',', ';', '.', '\r', '"', '\'']).next().unwrap_or_default();
    ABOUT.contains(&word.to_ascii_lowercase().as_str())
        || (1..=2).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Behind `Bearer ` and the like, where something follows.
pub(crate) fn behind_scheme(line: &str, from: usize, end: usize) -> usize {
    const SCHEMES: [&str; 7] =
        ["bearer", "basic", "token", "digest", "apikey", "negotiate", "aws4-hmac-sha256"];
    let Some(value) = line.get(from..end) else { return from };
    match value.split_once(' ') {
        Some((scheme, rest)) if SCHEMES.contains(&scheme.to_ascii_lowercase().as_str()) => {
            end - rest.trim_start_matches(' ').len()
        }
        _ => from,
    }
}

/// The end of `a=b; c=d`: words go on where one ends with a separator, and behind a scheme nobody knows.
pub(crate) fn joined_words(line: &str, from: usize) -> usize {
    let mut end = from;
    let mut first = true;
    for word in line[from..].split_inclusive(' ') {
        // The kernel puts NUL between the words of a command line.
        if let Some(length) = word.find('\0') {
            return end + length;
        }
        end += word.len();
        let bare = word.trim_end();
        let scheme = first && bare.bytes().all(|byte| byte.is_ascii_alphabetic());
        first = false;
        if !(bare.ends_with([';', ',']) || scheme || bare.is_empty()) {
            break;
        }
    }
    from + line[from..end].trim_end_matches([' ', '\r', '"', '\'']).len()
}
