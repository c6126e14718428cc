#![allow(clippy::unwrap_used)]

use intriage_simulate::Nanos;
use proptest::prelude::*;

use super::*;

const BURSTGPT: &str = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
5,ChatGPT,472,18,490,Conversation log
118.5,GPT-4,1087,0,1087,API log
45,ChatGPT,417,276,693,Conversation log
";

const AZURE: &str = "TIMESTAMP,ContextTokens,GeneratedTokens\r
2023-11-16 18:17:03.9799600,4808,10\r
2023-11-16 18:17:04.0319600,3180,8\r
";

fn ats(rows: &[Traced]) -> Vec<u64> {
    rows.iter().map(|row| row.at.0).collect()
}

#[test]
fn a_burstgpt_table_is_sorted_and_starts_at_zero() {
    let rows = read(BURSTGPT, "b.csv").unwrap();
    assert_eq!(ats(&rows), [0, 40_000_000_000, 113_500_000_000]);
    let lengths: Vec<_> = rows.iter().filter_map(|row| row.lengths).collect();
    assert_eq!(lengths, [(472, 18), (417, 276), (1087, 1)], "a failed request still asks for a token");
}

#[test]
fn azure_times_keep_their_fractions() {
    let rows = read(AZURE, "a.csv").unwrap();
    assert_eq!(ats(&rows), [0, 52_000_000]);
    let newer = "TIMESTAMP,ContextTokens,GeneratedTokens
2024-02-29 23:59:59.999999+00:00,1,2
2024-03-01 00:00:00.000001+00:00,3,4
2024-03-01T02:00:01+02:00,5,6";
    assert_eq!(ats(&read(newer, "a.csv").unwrap()), [0, 2_000, 1_000_001_000]);
}

#[test]
fn days_are_counted_as_the_calendar_does() {
    let at = |text| clock::date(text).map(|at| at.0 / 1_000_000_000);
    assert_eq!(at("1970-01-01 00:00:00"), Some(0));
    assert_eq!(at("2000-03-01 00:00:00"), Some(951_868_800));
    assert_eq!(at("2023-11-16T18:17:03Z"), Some(1_700_158_623));
    assert_eq!(at("2024-12-31 23:59:59"), Some(1_735_689_599));
    for wrong in
        ["2023-13-01 00:00:00", "2023-00-01 00:00:00", "2023-01-01", "2023-01-01 1:2", "1-1-1 0:0:0.x"]
    {
        assert_eq!(at(wrong), None, "{wrong}");
    }
}

#[test]
fn a_mooncake_trace_keeps_its_blocks() {
    let text = r#"{"timestamp": 1000, "input_length": 600, "output_length": 10, "hash_ids": [7, 8]}"#;
    let rows = read(text, "m.jsonl").unwrap();
    assert_eq!((rows[0].at, &rows[0].blocks[..]), (Nanos(0), &[7, 8][..]));
}

#[test]
fn mistakes_are_named_with_file_and_line() {
    let error = |text: &str| read(text, "t").unwrap_err().to_string();
    assert_eq!(error(&format!("{BURSTGPT}x,y,1,2,3,z")), "t, line 5: \"x\" is not seconds");
    assert_eq!(
        error(&format!("{BURSTGPT}1,m,-4,2,3,z")),
        "t, line 5: Request tokens \"-4\" is not a number of tokens"
    );
    assert!(error(&format!("{AZURE}2023-11-16 18:17:03")).starts_with("t, line 4: too few columns"));
    assert!(error(&format!("{AZURE}yesterday,1,2")).starts_with("t, line 4: \"yesterday\" is not a date"));
    assert!(error("{}").starts_with("t, line 1: missing field"));
    assert!(error("a,b\n1,2").starts_with("t: its first line is none of a known trace"));
    assert_eq!(error("\n \n"), "t: the trace has no requests");
    assert_eq!(error("TIMESTAMP,ContextTokens,GeneratedTokens\n"), "t: the trace has no requests");
    assert!(open(Path::new("/nowhere.csv")).unwrap_err().to_string().starts_with("/nowhere.csv: No such"));
}

proptest! {
    #[test]
    fn no_text_brings_it_down(junk in ".{0,200}", time in ".{0,40}", a in any::<f64>(), b in any::<i64>()) {
        let _ = read(&junk, "t");
        let _ = read(&format!("{BURSTGPT}{junk}"), "t");
        let _ = read(&format!("{AZURE}{junk},{a},{b}"), "t");
        let _ = read(&format!("{BURSTGPT}{a},m,{b},{a}"), "t");
        let _ = clock::date(&time);
    }

    #[test]
    fn any_digits_are_a_date_or_none(y in any::<u32>(), mo in 0u32..20, d in 0u32..40, h in any::<u16>(), f in "[0-9]{0,30}", o in "[+-][0-9]{1,10}:[0-9]{1,10}") {
        for year in [y, y % 300 + 1950] {
            let _ = clock::date(&format!("{year}-{mo}-{d} {h}:1:1.{f}{o}"));
        }
    }

    #[test]
    fn rows_come_in_order_from_zero(times in proptest::collection::vec(0.0f64..1e9, 1..60)) {
        let lines: Vec<_> = times.iter().map(|t| format!("{t},m,1,1,2,z")).collect();
        let text = format!("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n{}", lines.join("\n"));
        let rows = read(&text, "t").unwrap();
        prop_assert_eq!(rows.len(), times.len());
        prop_assert_eq!(rows[0].at, Nanos(0));
        prop_assert!(rows.windows(2).all(|w| w[0].at <= w[1].at));
    }
}
