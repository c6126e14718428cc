//! Module names as quantization configs write them: plain parts, globs, and a small share of regex.

/// One entry of `ignore`, `modules_to_not_convert` or `targets`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pattern {
    /// Consecutive dotted parts, anywhere in the name: `mlp.gate` but not `mlp.gate_proj`.
    Parts(Vec<String>),
    /// Globs of which one must match the whole name.
    Globs(Vec<String>),
}

impl Pattern {
    /// Reads one entry; `None` where it uses more of regex than is understood here.
    pub(super) fn read(text: &str) -> Option<Self> {
        if let Some(regex) = text.strip_prefix("re:") {
            return globs_of(regex).map(Self::Globs);
        }
        // Wrappers of vision models put the language part under another root.
        let text = text.strip_prefix("language_model.").unwrap_or(text);
        let text = text.strip_prefix("model.language_model.").unwrap_or(text);
        if text.contains('*') {
            // The module itself or anything inside it, under whatever root.
            let variants = [text.to_owned(), format!("{text}.*"), format!("*.{text}"), format!("*.{text}.*")];
            return Some(Self::Globs(variants.into()));
        }
        Some(Self::Parts(text.split('.').map(str::to_owned).collect()))
    }

    /// Whether the module of this name is meant.
    pub(super) fn matches(&self, name: &str) -> bool {
        match self {
            Self::Parts(parts) => {
                let last = parts.last().map_or("", String::as_str);
                name.contains(last) && {
                    let name: Vec<&str> = name.split('.').collect();
                    name.windows(parts.len().max(1)).any(|window| window.iter().eq(parts.iter()))
                }
            }
            Self::Globs(globs) => globs.iter().any(|glob| glob_matches(glob.as_bytes(), name.as_bytes())),
        }
    }
}

/// `*` stands for any letters, everything else for itself.
fn glob_matches(glob: &[u8], name: &[u8]) -> bool {
    let (mut g, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if glob.get(g) == Some(&b'*') {
            star = Some((g, n));
            g += 1;
        } else if glob.get(g) == Some(&name[n]) {
            g += 1;
            n += 1;
        } else if let Some((at, matched)) = star {
            star = Some((at, matched + 1));
            g = at + 1;
            n = matched + 1;
        } else {
            return false;
        }
    }
    glob[g..].iter().all(|&byte| byte == b'*')
}

/// Anchors, `.*`, `\d+`, escaped dots and one level of `(a|b)`; the rest of regex is refused.
fn globs_of(regex: &str) -> Option<Vec<String>> {
    let open_end = !regex.ends_with('$');
    let regex = regex.trim_start_matches('^').trim_end_matches('$');
    let simple = regex.replace(".*", "*").replace(r"\d+", "*").replace("[0-9]+", "*").replace(r"\.", ".");
    let mut globs = vec![String::new()];
    let mut rest = simple.as_str();
    while let Some(open) = rest.find('(') {
        let close = open + rest[open..].find(')')?;
        let choices = rest[open + 1..close].trim_start_matches("?:");
        globs = globs
            .iter()
            .flat_map(|head| choices.split('|').map(move |choice| format!("{head}{}{choice}", &rest[..open])))
            .take(64)
            .collect();
        rest = &rest[close + 1..];
    }
    for glob in &mut globs {
        glob.push_str(rest);
        if open_end {
            glob.push('*');
        }
    }
    let understood = |glob: &String| !glob.contains(['[', ']', '(', ')', '|', '?', '+', '\\', '{', '}']);
    globs.iter().all(understood).then_some(globs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        Pattern::read(pattern).unwrap().matches(name)
    }

    #[test]
    fn plain_names_match_by_their_parts() {
        assert!(matches("lm_head", "lm_head"));
        assert!(matches("mlp.gate", "model.layers.3.mlp.gate"));
        assert!(!matches("mlp.gate", "model.layers.3.mlp.gate_proj"));
        assert!(!matches("model.layers.1", "model.layers.11.mlp.up_proj"));
        assert!(matches("model.language_model.layers.0.self_attn", "layers.0.self_attn.q_proj"));
    }

    #[test]
    fn globs_and_simple_regex_match() {
        assert!(matches("model.layers.*.self_attn", "model.layers.12.self_attn.q_proj"));
        assert!(matches("model.language_model.layers.*.mlp", "model.layers.12.mlp.up_proj"));
        assert!(matches("*mlp.gate", "model.layers.0.mlp.gate"));
        assert!(!matches("*mlp.gate", "model.layers.0.mlp.gate_proj"));
        assert!(matches("re:.*lm_head", "lm_head"));
        assert!(matches(r"re:.*mlp\.(gate|shared_expert_gate)$", "model.layers.0.mlp.gate"));
        assert!(!matches(r"re:.*mlp\.(gate|shared_expert_gate)$", "model.layers.0.mlp.gate_proj"));
        assert!(matches(r"re:model\.layers\.\d+\.self_attn", "model.layers.7.self_attn.o_proj"));
    }

    #[test]
    fn regex_beyond_the_simple_is_refused() {
        assert_eq!(Pattern::read("re:^(?!.*lm_head).*"), None);
        assert_eq!(Pattern::read("re:a(b"), None);
        assert_eq!(Pattern::read("re:[a-z]x"), None);
    }
}
