//! What differs between two cases, side by side.

use std::fmt::Write as _;

use intriage_case::{Quantity, numbers_apart, quantities_apart};
use intriage_diagnose::{Difference, Row, Weight};

use crate::style::{BAD, GOOD, HEAD, QUIET, UNSURE, styled};
use crate::wrap::{WIDTH, hang_within};

/// A difference as text with ANSI styles, in a page of at most `columns` (100 where nothing is known).
pub fn difference_text(found: &Difference, columns: Option<usize>) -> String {
    let width = columns.unwrap_or(WIDTH).clamp(60, WIDTH);
    let mut out = format!("{} → {}\n", styled(HEAD, &found.a.target), styled(HEAD, &found.b.target));
    let mut area = None;
    for row in &found.differs {
        let heading = (row.weight, row.area);
        if area != Some(heading) {
            area = Some(heading);
            let (style, word) = match row.weight {
                Weight::High => (BAD, "matters"),
                Weight::Medium => (UNSURE, "may matter"),
                Weight::Low => (QUIET, "follows"),
            };
            let _ = writeln!(out, "\n{} {}", styled(HEAD, row.area.name()), styled(style, word));
        }
        let [a, b] = shown(row);
        let says = format!("{a} → {b}");
        out.push_str(&hang_within(width, &format!("  {:<28} ", row.what), &says));
    }
    for unseen in &found.unseen {
        out.push_str(&hang_within(width, "not compared: ", unseen));
    }
    out.push('\n');
    let same = format!("{} facts are the same", found.same);
    out.push_str(&match found.differs.len() {
        0 if found.same == 0 => {
            styled(UNSURE, "Nothing could be compared: the cases have no fact in common.".to_owned())
        }
        0 => styled(GOOD, format!("Nothing differs; {same}.")),
        n => styled(UNSURE, format!("{n} differ, {same}.")),
    });
    out.push('\n');
    out
}

/// Both values as people read them: numbers with enough digits to see that they differ.
fn shown(row: &Row) -> [String; 2] {
    let number = |value: &Option<String>| value.as_ref().and_then(|v| v.parse::<f64>().ok());
    match (number(&row.a), number(&row.b), row.unit) {
        (Some(a), Some(b), Some(unit)) => quantities_apart(Quantity::new(a, unit), Quantity::new(b, unit)),
        (Some(a), Some(b), None) => numbers_apart(a, b),
        _ => row.shown().map(|value| value.unwrap_or_else(|| "not said".into())),
    }
}

/// A difference as JSON, one value, a newline at the end.
pub fn difference_json(found: &Difference) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(found)? + "\n")
}

/// The JSON Schema of a difference, generated from its types.
pub fn difference_schema() -> Result<String, serde_json::Error> {
    let mut schema = schemars::schema_for!(Difference);
    schema.insert("$id".into(), "https://intriage.dev/schemas/difference-1.schema.json".into());
    Ok(serde_json::to_string_pretty(&schema)? + "\n")
}

#[cfg(test)]
mod tests {
    use intriage_case::{Case, Millis, Scrape, ScrapeOutcome, Target};
    use intriage_diagnose::{Thresholds, difference};

    use super::*;

    #[test]
    fn the_published_schema_is_the_one_the_types_have() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/difference-1.schema.json");
        let generated = difference_schema().unwrap();
        if std::env::var_os("INTRIAGE_BLESS").is_some() {
            std::fs::write(path, &generated).unwrap();
        }
        let published = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            published == generated,
            "schemas/difference-1.schema.json is stale: run with INTRIAGE_BLESS=1"
        );
    }

    #[test]
    fn a_difference_of_little_is_a_difference_one_can_see() {
        let case = |flags: &str| Case {
            scrapes: vec![Scrape {
                at: Millis(1000),
                outcome: ScrapeOutcome::Body(b"vllm:num_requests_running{model_name=\"m\"} 1\n".to_vec()),
            }],
            command_line: Some(format!("vllm serve m {flags}")),
            ..Case::default()
        };
        let (a, b) =
            (case("--kv-cache-memory-bytes 122406567936"), case("--kv-cache-memory-bytes 122513522688"));
        let page = difference_text(&difference(&a, &b, &Thresholds::default()), None);
        assert!(page.contains("114.0 GiB → 114.1 GiB"), "{page}");
    }

    #[test]
    fn two_releases_stand_side_by_side() {
        let case = |name: &str, flags: &str| Case {
            target: Target { name: name.into() },
            scrapes: vec![Scrape {
                at: Millis(1000),
                outcome: ScrapeOutcome::Body(b"vllm:num_requests_running{model_name=\"m\"} 1\n".to_vec()),
            }],
            command_line: Some(format!("vllm serve m {flags}")),
            ..Case::default()
        };
        let (a, b) = (
            case("before", "--max-num-seqs 4 --stream-interval 1 --kv-cache-memory-bytes 4G"),
            case("after", "--max-num-seqs 64"),
        );
        let found = difference(&a, &b, &Thresholds::default());
        // Bytes are for people to read here, and for programs to compute with there.
        let json = difference_json(&found).unwrap();
        assert!(json.contains("4294967296") && !json.contains("GiB"), "{json}");
        insta::assert_snapshot!(anstream::adapter::strip_str(&difference_text(&found, None)).to_string());
    }
}
