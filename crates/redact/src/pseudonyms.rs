//! One original, one pseudonym: `ip-1`, `host-1`, `mail-1`, `user-1`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Pseudonym to original, for the owner's eyes only: with it a redacted case can be read as it was.
///
/// Serialises as one flat object, `{"host-1": "gpu7.example.com", …}`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PseudonymMap {
    /// The pairs, by pseudonym.
    pub originals: BTreeMap<String, String>,
}

/// Why a map cannot be taken up.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MapError {
    /// A name that is no pseudonym.
    #[error("{0:?} is no pseudonym: they read ip-1, host-1, mail-1 or user-1")]
    NotAPseudonym(String),
    /// Two pseudonyms for one original, so that neither is stable.
    #[error("{0} and {1} stand for the same original")]
    Twice(String, String),
}

/// What a pseudonym stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    Ip,
    Host,
    Mail,
    User,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Ip, Self::Host, Self::Mail, Self::User];

    fn prefix(self) -> &'static str {
        match self {
            Self::Ip => "ip",
            Self::Host => "host",
            Self::Mail => "mail",
            Self::User => "user",
        }
    }

    /// One spelling for what is the same: addresses as the standard writes them, names in lower case.
    pub(crate) fn canonical(self, original: &str) -> String {
        match self {
            Self::Ip => {
                original.parse::<IpAddr>().map_or_else(|_| original.to_ascii_lowercase(), |ip| ip.to_string())
            }
            Self::Host => original.trim_end_matches('.').to_ascii_lowercase(),
            Self::Mail => original.replace("%40", "@").to_ascii_lowercase(),
            Self::User => original.to_owned(),
        }
    }
}

/// Reads `host-12` as a pseudonym; the number has no leading zero, so that every pseudonym has one spelling.
pub(crate) fn read(text: &str) -> Option<(Kind, u32)> {
    let (prefix, number) = text.rsplit_once('-')?;
    let kind = Kind::ALL.into_iter().find(|kind| kind.prefix() == prefix)?;
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let number = (digits && !number.starts_with('0')).then(|| number.parse().ok())??;
    Some((kind, number))
}

/// The pseudonyms given so far.
#[derive(Debug, Default)]
pub(crate) struct Pseudonyms {
    numbers: HashMap<(Kind, String), u32>,
    highest: HashMap<Kind, u32>,
    /// What stands in the texts already, and may be somebody's real name: never given.
    standing: HashSet<(Kind, u32)>,
    map: PseudonymMap,
}

impl Pseudonyms {
    /// Goes on from what an earlier redactor gave.
    pub(crate) fn from_map(map: PseudonymMap) -> Result<Self, MapError> {
        let mut taken = Self::default();
        for (pseudonym, original) in &map.originals {
            let Some((kind, number)) = read(pseudonym) else {
                return Err(MapError::NotAPseudonym(pseudonym.clone()));
            };
            if let Some(other) = taken.numbers.insert((kind, kind.canonical(original)), number) {
                return Err(MapError::Twice(format!("{}-{other}", kind.prefix()), pseudonym.clone()));
            }
            let highest = taken.highest.entry(kind).or_default();
            *highest = (*highest).max(number);
        }
        taken.map = map;
        Ok(taken)
    }

    /// The pseudonym of an original, the same as before where it was seen before.
    pub(crate) fn of(&mut self, kind: Kind, original: &str) -> String {
        let key = (kind, kind.canonical(original));
        if let Some(number) = self.numbers.get(&key) {
            return format!("{}-{number}", kind.prefix());
        }
        let highest = self.highest.entry(kind).or_default();
        *highest = highest.saturating_add(1);
        while self.standing.contains(&(kind, *highest)) {
            *highest = highest.saturating_add(1);
        }
        let pseudonym = format!("{}-{highest}", kind.prefix());
        self.numbers.insert(key, *highest);
        self.map.originals.insert(pseudonym.clone(), original.to_owned());
        pseudonym
    }

    /// Keeps what reads like a pseudonym and was not given here from being given.
    pub(crate) fn keep_free(&mut self, pseudonym: &str) {
        if !self.map.originals.contains_key(pseudonym) {
            self.standing.extend(read(pseudonym));
        }
    }

    pub(crate) fn map(&self) -> &PseudonymMap {
        &self.map
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_original_in_another_spelling_has_the_same_pseudonym() {
        let mut given = Pseudonyms::default();
        assert_eq!(given.of(Kind::Ip, "2001:DB8::0:7"), "ip-1");
        assert_eq!(given.of(Kind::Ip, "2001:db8::7"), "ip-1");
        assert_eq!(given.of(Kind::Host, "GPU7.example.com"), "host-1");
        assert_eq!(given.of(Kind::Host, "gpu7.example.com"), "host-1");
        assert_eq!(given.of(Kind::Mail, "ann%40example.com"), "mail-1");
        assert_eq!(given.of(Kind::Mail, "ann@example.com"), "mail-1");
        assert_eq!(given.map().originals.len(), 3);
    }

    #[test]
    fn a_map_goes_on_where_it_ended() {
        let map: PseudonymMap =
            serde_json::from_str(r#"{"host-4":"a.example.com","ip-1":"10.0.0.1"}"#).unwrap();
        let mut given = Pseudonyms::from_map(map).unwrap();
        assert_eq!(given.of(Kind::Host, "a.example.com"), "host-4");
        assert_eq!(given.of(Kind::Host, "b.example.com"), "host-5");
        assert_eq!(given.of(Kind::Ip, "10.0.0.2"), "ip-2");
    }

    #[test]
    fn a_number_that_stands_in_a_text_is_not_given() {
        let mut given = Pseudonyms::default();
        given.keep_free("host-1");
        given.keep_free("host-2");
        assert_eq!(given.of(Kind::Host, "gpu7"), "host-3");
        given.keep_free("host-3");
        assert_eq!(given.of(Kind::Host, "gpu7"), "host-3");
    }

    #[test]
    fn a_map_that_is_none_is_refused_with_its_reason() {
        let map =
            |json: &str| Pseudonyms::from_map(serde_json::from_str(json).unwrap()).map(|_| ()).unwrap_err();
        assert_eq!(map(r#"{"gpu-1":"x"}"#), MapError::NotAPseudonym("gpu-1".into()));
        assert_eq!(map(r#"{"host-01":"x"}"#), MapError::NotAPseudonym("host-01".into()));
        assert_eq!(map(r#"{"host-1":"x","host-2":"X"}"#), MapError::Twice("host-1".into(), "host-2".into()));
    }
}
