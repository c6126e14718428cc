//! The known names, the one the user probably meant first.

/// Every known name, closest to `wanted` first.
pub(crate) fn closest_first<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> Vec<String> {
    let wanted = wanted.to_lowercase();
    let mut names: Vec<(usize, &str)> = known.map(|name| (distance(&wanted, name), name)).collect();
    names.sort_unstable();
    names.into_iter().map(|(_, name)| name.to_owned()).collect()
}

/// Letters to change, add or drop; a name that contains the wanted one counts as near.
fn distance(wanted: &str, name: &str) -> usize {
    let name = name.to_lowercase();
    if !wanted.is_empty() && (name.contains(wanted) || wanted.contains(&name)) {
        return name.len().abs_diff(wanted.len()) / 4;
    }
    // Nobody means a name this long; a bound keeps hostile input cheap.
    let wanted: Vec<char> = wanted.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=wanted.len()).collect();
    for (i, have) in name.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, want) in wanted.iter().enumerate() {
            let substituted = diagonal + usize::from(*want != have);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[wanted.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_probably_meant_comes_first() {
        let known = ["llama-3.1-8b", "qwen3-8b", "mistral-7b"];
        assert_eq!(closest_first("lama-3.1-8b", known.into_iter())[0], "llama-3.1-8b");
        assert_eq!(closest_first("Mistral", known.into_iter())[0], "mistral-7b");
        assert_eq!(closest_first("", known.into_iter()).len(), 3);
    }
}
