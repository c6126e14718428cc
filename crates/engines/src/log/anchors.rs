//! A few short texts of which every text that is looked for holds one, and usual lines hold none.
//!
//! Hundreds of texts share their rare parts: `rror`, `CUDA`, `ailed`. Four bytes are what the vector search looks at, so
//! each part has four.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use memchr::memchr;

/// Bytes of an anchor.
const LENGTH: usize = 4;

/// Lines of healthy servers, from the recordings: most of what a log holds looks like these.
static USUAL: &[u8] = include_bytes!("usual.txt");

/// Anchors for these texts, each of which has at least four bytes.
pub(super) fn anchors<'a>(texts: &[&'a str]) -> Vec<&'a [u8]> {
    let mut usual: BTreeMap<&[u8], usize> = BTreeMap::new();
    USUAL.windows(LENGTH).for_each(|part| *usual.entry(part).or_default() += 1);
    let mut holding: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
    for (text, bytes) in texts.iter().map(|text| text.as_bytes()).enumerate() {
        let mut parts: BTreeSet<&[u8]> =
            bytes.windows(LENGTH).filter(|part| !usual.contains_key(part)).collect();
        if parts.is_empty() {
            let often = |part: &&[u8]| (usual.get(part).copied().unwrap_or(0), Reverse(rarity(part)));
            parts.extend(bytes.windows(LENGTH).min_by_key(often));
        }
        for part in parts {
            holding.entry(part).or_default().push(text);
        }
    }
    let mut covered = vec![false; texts.len()];
    let mut chosen = Vec::new();
    // The part that most of the texts left hold, until none is left.
    while let Some((part, _)) = holding
        .iter()
        .map(|(part, texts)| (*part, texts.iter().filter(|text| !covered[**text]).count()))
        .filter(|(_, count)| *count > 0)
        .max_by_key(|(part, count)| (*count, rarity(part)))
    {
        holding[part].iter().for_each(|text| covered[*text] = true);
        chosen.push(part);
    }
    chosen
}

/// How rare bytes are in logs: the sum of their places among the bytes of the recordings' logs, the most common first.
fn rarity(part: &[u8]) -> usize {
    const COMMON: &[u8] = b" 1e0ri./to:pn2s5OaPcvTlISd7\"m34-=h()6FANg_u89Hy,KR[]E'bkfCUGwMq|xLDW%";
    part.iter().map(|byte| memchr(*byte, COMMON).unwrap_or(COMMON.len())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(text: &[u8], part: &[u8]) -> bool {
        text.windows(part.len()).any(|window| window == part)
    }

    #[test]
    fn every_text_of_the_tables_holds_an_anchor_and_they_are_few() {
        let texts = crate::log_texts();
        let anchors = anchors(texts);
        for text in texts {
            assert!(anchors.iter().any(|anchor| holds(text.as_bytes(), anchor)), "{text}");
        }
        assert!(anchors.len() * 3 < texts.len(), "{} anchors for {} texts", anchors.len(), texts.len());
    }

    #[test]
    fn few_usual_lines_hold_an_anchor() {
        let anchors = anchors(crate::log_texts());
        let lines: Vec<&[u8]> = USUAL.split(|byte| *byte == b'\n').collect();
        let held = lines.iter().filter(|line| anchors.iter().any(|anchor| holds(line, anchor))).count();
        assert!(held * 10 < lines.len(), "{held} of {}", lines.len());
    }
}
