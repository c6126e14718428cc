//! Engine versions: enough of the many schemes to order releases.

use std::fmt;

/// A release, comparable within one engine: `0.32.0`, `0.8.5.post1`, `b10408`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    parts: Vec<u32>,
    /// What the engine said.
    text: String,
}

/// The releases a table row holds for; both ends inclusive, an empty text is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VersionRange {
    /// First release that has it.
    pub since: &'static str,
    /// Last release that has it.
    pub until: &'static str,
}

impl VersionRange {
    /// Every release.
    pub const ALL: Self = Self { since: "", until: "" };

    /// Whether `version` lies inside.
    pub fn holds(&self, version: &Version) -> bool {
        let since = Version::parse(self.since).is_none_or(|since| *version >= since);
        let until = Version::parse(self.until).is_none_or(|until| *version <= until);
        since && until
    }
}

impl Version {
    /// Reads the leading release number; local parts (`+cpu`) and pre-release marks are left out.
    pub fn parse(text: &str) -> Option<Self> {
        let trimmed = text.trim().trim_start_matches(['v', 'b']);
        let release = trimmed.split(['+', '-']).next().unwrap_or_default();
        let mut parts = Vec::new();
        for part in release.split('.') {
            if let Some(post) = part.strip_prefix("post") {
                parts.push(post.parse().ok()?);
                break;
            }
            let digits = part.find(|c: char| !c.is_ascii_digit()).map_or(part, |end| &part[..end]);
            let Ok(number) = digits.parse() else { break };
            parts.push(number);
            if digits.len() < part.len() {
                break;
            }
        }
        (!parts.is_empty()).then(|| Self { parts, text: text.trim().to_owned() })
    }

    /// Major and minor, such as `0.32`.
    pub fn short(&self) -> String {
        self.parts.iter().take(2).map(u32::to_string).collect::<Vec<_>>().join(".")
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let longest = self.parts.len().max(other.parts.len());
        let at = |v: &Self, i: usize| v.parts.get(i).copied().unwrap_or(0);
        (0..longest)
            .map(|i| at(self, i).cmp(&at(other, i)))
            .find(|o| o.is_ne())
            .unwrap_or(std::cmp::Ordering::Equal)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v(text: &str) -> Version {
        Version::parse(text).unwrap()
    }

    #[test]
    fn releases_are_ordered_by_number_not_by_letter() {
        assert!(v("0.9.2") < v("0.10.0"));
        assert!(v("0.8.5") < v("0.8.5.post1"));
        assert!(v("b5440") < v("b10408"));
        assert!(v("0.32.0+cpu") == Version { text: "0.32.0+cpu".into(), parts: vec![0, 32, 0] });
        assert_eq!(v("0.28.0rc2").cmp(&v("0.28.0")), std::cmp::Ordering::Equal);
        assert_eq!(v("0.32.0").short(), "0.32");
        assert_eq!(Version::parse("unknown"), None);
    }

    #[test]
    fn both_ends_of_a_range_are_inside() {
        let range = VersionRange { since: "0.9.2", until: "0.11.2" };
        assert!(range.holds(&v("0.9.2")) && range.holds(&v("0.11.2")));
        assert!(!range.holds(&v("0.9.1")) && !range.holds(&v("0.12.0")));
        assert!(VersionRange::ALL.holds(&v("9.9")));
    }
}
