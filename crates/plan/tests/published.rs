//! Expected speeds against published and measured ones: the table of `docs/plan-accuracy.md`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

use std::fmt::Write as _;

use intriage_case::Tokens;
use intriage_physics::{KvDtype, ModelShape, gpu, known};
use intriage_plan::{Deployed, EngineLimits, Layout, Release};
use serde_json::Value;

/// What the page says about the error of the expectation, as shares; more fails the test.
const MEDIAN_DECODE: f64 = 0.15;
const MEDIAN_SATURATED: f64 = 0.20;
const MEDIAN_HELD_OUT: f64 = 0.30;
const WORST: f64 = 0.60;

/// One row of the table.
struct Row {
    what: String,
    figure: f64,
    bound: f64,
    expected: f64,
    experts: bool,
    /// Whether the figure was left aside when the expectation was fitted.
    held_out: bool,
    engine: String,
    source: String,
}

impl Row {
    /// Positive where the expectation is too high a number.
    fn error(&self) -> f64 {
        self.expected / self.figure - 1.0
    }
}

fn table() -> Value {
    serde_json::from_str(include_str!("../data/published.json")).unwrap()
}

fn text(row: &Value, field: &str) -> String {
    row[field].as_str().unwrap_or_default().to_owned()
}

fn deployed(table: &Value, row: &Value) -> Deployed {
    let name = text(row, "model");
    let mut model = match &table["configs"][&name] {
        Value::Null => known::model(&name).unwrap(),
        config => ModelShape::from_config_json(&config.to_string()).unwrap(),
    };
    let weights = text(row, "weights");
    if !weights.is_empty() {
        model = model.with_weights(&weights).unwrap();
    }
    let kv = KvDtype::parse(&text(row, "kv"), &model).unwrap();
    Deployed {
        name,
        model,
        gpu: gpu::find(&text(row, "gpu")).unwrap().gpu,
        tp: row["tp"].as_u64().unwrap() as u32,
        pp: 1,
        layout: Layout::Asked,
        node: 8,
        kv,
        weights,
        utilisation: None,
        release: Release::default(),
    }
}

fn named(row: &Value, rest: &str) -> String {
    let weights = row["weights"].as_str().map_or(String::new(), |weights| format!(" {weights}"));
    format!("{}{weights} · {} × {} · {rest}", text(row, "model"), row["tp"], text(row, "gpu"))
}

fn decode_rows(table: &Value) -> Vec<Row> {
    let row = |row: &Value| {
        let deployed = deployed(table, row);
        let (batch, context) = (row["batch"].as_u64().unwrap() as u32, row["context"].as_f64().unwrap());
        let pace = deployed.decode_pace(batch, Tokens(context));
        Row {
            what: named(row, &format!("batch {batch}")),
            figure: row["ms"].as_f64().unwrap(),
            bound: pace.bound.get() * 1e3,
            expected: pace.expected.get() * 1e3,
            experts: deployed.model.experts().is_some(),
            held_out: row["held_out"] == true,
            engine: text(row, "engine"),
            source: text(row, "source"),
        }
    };
    table["decode"].as_array().unwrap().iter().map(row).collect()
}

fn saturated_rows(table: &Value) -> Vec<Row> {
    let row = |row: &Value| {
        let deployed = deployed(table, row);
        let limit = |field: &str| row[field].as_u64().map(|n| n as u32);
        let limits =
            EngineLimits { window: None, max_sequences: limit("sequences"), token_budget: limit("budget") };
        let (isl, osl) = (row["isl"].as_f64().unwrap(), row["osl"].as_f64().unwrap());
        let speed = deployed.saturated(Tokens(isl), Tokens(osl), limits).unwrap();
        Row {
            what: named(row, &format!("{isl} in, {osl} out")),
            figure: row["tokens_per_s"].as_f64().unwrap(),
            bound: speed.bound.0.get(),
            expected: speed.expected.0.get(),
            experts: deployed.model.experts().is_some(),
            held_out: row["held_out"] == true,
            engine: text(row, "engine"),
            source: text(row, "source"),
        }
    };
    table["saturated"].as_array().unwrap().iter().map(row).collect()
}

fn median(rows: &[&Row]) -> f64 {
    let mut errors: Vec<f64> = rows.iter().map(|row| row.error().abs()).collect();
    errors.sort_by(f64::total_cmp);
    let middle = errors.len() / 2;
    if errors.len().is_multiple_of(2) {
        f64::midpoint(errors[middle - 1], errors[middle])
    } else {
        errors[middle]
    }
}

fn markdown(rows: &[Row], unit: &str, digits: usize) -> String {
    let mut out = format!(
        "| model, cards, load | engine | published, {unit} | bound | expected | error | source |\n|---|---|---|---|---|---|---|\n"
    );
    for row in rows {
        writeln!(
            out,
            "| {} | {} | {:.digits$} | {:.digits$} | {:.digits$} | {:+.0} % | {} |",
            if row.held_out { format!("{} †", row.what) } else { row.what.clone() },
            row.engine,
            row.figure,
            row.bound,
            row.expected,
            row.error() * 100.0,
            row.source
        )
        .unwrap();
    }
    out
}

fn summary(name: &str, rows: &[Row]) -> String {
    let percent = |which: &dyn Fn(&Row) -> bool| {
        format!("{:.0} %", median(&rows.iter().filter(|row| which(row)).collect::<Vec<_>>()) * 100.0)
    };
    let worst = rows.iter().map(|row| row.error().abs()).fold(0.0, f64::max);
    format!(
        "{name}: median error {} over {} figures ({} dense, {} mixtures of experts), largest {:.0} %. Figures that nothing was fitted to (†): {}.",
        percent(&|_| true),
        rows.len(),
        percent(&|row| !row.experts),
        percent(&|row| row.experts),
        worst * 100.0,
        percent(&|row| row.held_out),
    )
}

#[test]
fn expectations_stay_as_near_to_published_speeds_as_the_page_says() {
    let table = table();
    let (decode, saturated) = (decode_rows(&table), saturated_rows(&table));
    let page = format!(
        "{}\n\n{}\n{}\n\n{}",
        summary("Single steps", &decode),
        markdown(&decode, "ms", 2),
        summary("Saturated instances", &saturated),
        markdown(&saturated, "tokens/s", 0)
    );
    println!("{page}");
    for row in decode.iter().chain(&saturated) {
        assert!(row.error().abs() <= WORST, "{}: {:+.0} %", row.what, row.error() * 100.0);
    }
    // A bound that something has beaten is no bound.
    for row in &decode {
        assert!(row.bound <= row.figure, "{}: {} ms is below the bound {}", row.what, row.figure, row.bound);
    }
    for row in &saturated {
        assert!(row.bound >= row.figure, "{}: {} is above the bound {}", row.what, row.figure, row.bound);
    }
    assert!(median(&decode.iter().collect::<Vec<_>>()) <= MEDIAN_DECODE);
    assert!(median(&saturated.iter().collect::<Vec<_>>()) <= MEDIAN_SATURATED);
    let held_out: Vec<&Row> = decode.iter().chain(&saturated).filter(|row| row.held_out).collect();
    assert!(held_out.len() >= 10 && median(&held_out) <= MEDIAN_HELD_OUT, "{}", median(&held_out));
    let combinations: std::collections::BTreeSet<String> = ["decode", "saturated"]
        .iter()
        .flat_map(|kind| table[*kind].as_array().unwrap())
        .map(|row| format!("{} {} {}", text(row, "model"), text(row, "gpu"), row["tp"]))
        .collect();
    assert!(combinations.len() >= 12, "{combinations:?}");
    page_holds(&page);
}

/// The page's part between the markers is what the table gives.
fn page_holds(generated: &str) {
    const MARKS: (&str, &str) = ("<!-- table -->\n", "<!-- end of table -->");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/plan-accuracy.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (head, rest) = page.split_once(MARKS.0).unwrap();
    let (now, tail) = rest.split_once(MARKS.1).unwrap();
    if std::env::var_os("INTRIAGE_BLESS").is_some() {
        std::fs::write(path, format!("{head}{}{generated}\n{}{tail}", MARKS.0, MARKS.1)).unwrap();
        return;
    }
    assert_eq!(now.trim(), generated.trim(), "docs/plan-accuracy.md is stale: run with INTRIAGE_BLESS=1");
}

/// The step that nobody believed: 3.4 ms for one stream of DeepSeek-V3 on eight H200.
#[test]
fn one_stream_of_deepseek_v3_on_eight_h200_takes_about_eleven_milliseconds() {
    let row = serde_json::json!({"model": "deepseek-v3", "gpu": "h200", "tp": 8});
    let pace = deployed(&table(), &row).decode_pace(1, Tokens(1900.0));
    let ms = pace.expected.get() * 1e3;
    assert!((9.5..14.0).contains(&ms), "{ms} ms; published are 10.8 and 13.8 ms");
}
