//! Signs of YAML around a value that are no part of it, and values that only say where a secret is kept.

/// Whether an object of YAML says where a secret is kept, and not what it is: `{secretName: hub, items: …}`.
pub(crate) fn refers(object: &str) -> bool {
    const FIRST: [&str; 8] =
        ["name:", "secretName:", "key:", "path:", "file:", "source:", "external:", "items:"];
    let inside = object.trim_start_matches(['[', '{', ' ']);
    object.contains('{') && FIRST.iter().any(|name| inside.starts_with(name))
}

/// An address, or the pseudonym of one.
pub(crate) fn is_address(text: &str) -> bool {
    text.parse::<std::net::IpAddr>().is_ok()
        || text.strip_prefix("ip-").is_some_and(|n| n.parse::<u32>().is_ok())
}

/// Whether a value is YAML's sign for a text in the lines below: `|`, `>-`.
pub(crate) fn is_block(value: &str) -> bool {
    let sign = value.trim_end();
    sign.starts_with(['|', '>'])
        && sign.len() <= 3
        && sign[1..].bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'+'))
}

/// Where a line's text begins, behind YAML's dashes.
pub(crate) fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t', '-']).len()
}

/// Behind YAML's tag and anchor, which are no part of a value: `!!str letmein`, `&pw letmein`.
pub(crate) fn behind_marks(value: &str) -> &str {
    let mut rest = value.trim_start();
    while rest.starts_with(['!', '&']) {
        let Some((_, behind)) = rest.split_once(' ') else { return rest };
        rest = behind.trim_start();
    }
    rest
}
