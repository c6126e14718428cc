//! How an answer is told: terminal text, JSON and its schema, runbook pages, the scoreboard.
//!
//! Everything here is a pure function from data to text. Text for people carries ANSI styles; the
//! caller prints it through a stream that strips them where they are not wanted.

mod bench;
mod config;
mod config_advice;
mod config_sarif;
mod contents;
mod difference;
mod draws;
mod explain;
mod forecast;
mod health;
mod inventory;
mod json;
mod plan;
mod preflight;
mod scoreboard;
mod start;
mod style;
mod text;
mod wrap;

pub use bench::{
    BoundaryFacts, ProbeRow, bench_json, bench_row, bench_row_names, bench_schema, bench_text, boundary_text,
    import_text, sweep_text,
};
pub use config::{CONFIG_SCHEMA, ConfigReport, config_json, config_schema, config_text};
pub use config_sarif::config_sarif;
pub use contents::{contents_json, contents_schema, contents_text, some_of};
pub use difference::{difference_json, difference_schema, difference_text};
pub use draws::{
    Bin, CALM, Calibration, ClassCalibration, Coverage, DrawReport, DrawRow, FaultOf, HURTS, Line, Score,
    Table, Truth, calibration, draw_report, draws_json, draws_text,
};
pub use explain::{benign_page, catalogue_page, cause_page, thresholds_page};
pub use health::{health_json, health_schema, health_text};
pub use inventory::inventory_text;
pub use json::{json, schema};
pub use plan::{plan_json, plan_schema, plan_text};
pub use preflight::{preflight_json, preflight_schema, preflight_text};
pub use scoreboard::{Row, Totals, scoreboard, totals};
pub use text::text;
