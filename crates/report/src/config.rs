//! The configuration in columns: what was asked for, what came of it, what is seen, what the default is.

use intriage_case::Source;
use intriage_diagnose::ConfigAdvice;
use intriage_engines::{ConfigAnswer, ConfigRow, ConfigTable, RowVerdict, Said};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config_advice;
use crate::style::{BAD, GOOD, HEAD, QUIET, UNSURE, styled};
use crate::wrap::{WIDTH, hang_within, shorten};

/// The version of the format.
pub const CONFIG_SCHEMA: &str = "intriage.config/1";

/// Columns of the verdict at the left.
const MARGIN: usize = 15;
/// Widest value shown whole.
const VALUE: usize = 14;

/// The configuration of one server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigReport {
    /// Always `intriage.config/1`.
    pub schema: String,
    /// What was looked at.
    pub target: String,
    /// The engine's name as people write it, such as `vLLM`.
    pub engine: Option<String>,
    /// Its version, as it says.
    pub version: Option<String>,
    /// The configuration in columns.
    pub config: ConfigTable,
    /// Whether a server was there to compare with; manifests alone are only judged.
    #[serde(default = "compared")]
    pub compared: bool,
    /// Mistakes that the configuration shows by itself.
    #[serde(default)]
    pub advice: ConfigAdvice,
    /// What a reader should know of it.
    pub notes: Vec<String>,
}

/// Reports written before there was advice compared a server.
fn compared() -> bool {
    true
}

/// The configuration as JSON, one value, a newline at the end.
pub fn config_json(report: &ConfigReport) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(report).map(|text| text + "\n")
}

/// The JSON Schema of the configuration, generated from its types.
pub fn config_schema() -> Result<String, serde_json::Error> {
    let mut schema = schemars::schema_for!(ConfigReport);
    schema.insert("$id".into(), "https://intriage.dev/schemas/config-1.schema.json".into());
    serde_json::to_string_pretty(&schema).map(|text| text + "\n")
}

/// The configuration as text with ANSI styles: the rows that do not agree, or with `all` every row.
pub fn config_text(report: &ConfigReport, all: bool, columns: Option<usize>) -> String {
    let width = columns.unwrap_or(WIDTH).clamp(60, WIDTH);
    let mut out = String::new();
    let engine = report.engine.as_ref().map(|name| {
        let version = report.version.as_ref().map_or(String::new(), |v| format!(" {v}"));
        format!("{name}{version}")
    });
    let manifest = report.config.manifest.as_ref().map(|base| {
        let files = std::iter::once(base).chain(&report.config.overrides);
        files.map(String::as_str).collect::<Vec<_>>().join(" + ")
    });
    // Without a server the manifests are the target.
    let manifest = manifest.filter(|_| report.compared);
    let head: Vec<&str> = [Some(report.target.as_str()), engine.as_deref(), manifest.as_deref()]
        .into_iter()
        .flatten()
        .collect();
    out.push_str(&styled(QUIET, head.join(" · ")));
    out.push('\n');
    out.push_str(&config_advice::findings(&report.advice, width));
    if !report.compared {
        out.push_str(&config_advice::answer(&report.advice, width));
        return out;
    }
    let hidden = |row: &&ConfigRow| !matches!(row.verdict, RowVerdict::Agrees | RowVerdict::Default);
    let mut rows: Vec<&ConfigRow> = report.config.rows.iter().filter(|row| all || hidden(row)).collect();
    rows.sort_by_key(|row| row.verdict);
    if !rows.is_empty() {
        let name = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
        let titles =
            ["asked for", "started with", "resolved", "seen", "default"].map(|t| format!("{t:>VALUE$}"));
        let line = format!("{:MARGIN$}{:<name$}{}", "", "", titles.join(""));
        out.push_str(&styled(HEAD, line.trim_end()));
        out.push('\n');
        for row in rows {
            out.push_str(&one(row, name, width));
        }
    }
    out.push_str(&answer(&report.config, width));
    out.push('\n');
    for note in &report.notes {
        out.push_str(&hang_within(width, "note: ", note));
    }
    out
}

fn one(row: &ConfigRow, name: usize, width: usize) -> String {
    let style = match row.verdict {
        RowVerdict::Stale | RowVerdict::Overridden | RowVerdict::AutoDisabled | RowVerdict::Dropped => BAD,
        RowVerdict::Unknown => UNSURE,
        RowVerdict::Agrees => GOOD,
        RowVerdict::Default => QUIET,
    };
    let value = |said: &Option<Said>| {
        let shown =
            |said: &Said| row.setting.map_or_else(|| said.value.to_string(), |of| of.shown(&said.value));
        let text = said.as_ref().map_or("·".to_owned(), |said| shorten(&shown(said), VALUE - 2));
        format!("{text:>VALUE$}")
    };
    let cells = [&row.requested, &row.started_with, &row.resolved, &row.observed, &row.default].map(value);
    // Styles have no width: the line is laid out without them.
    let verdict = format!("{:<MARGIN$}", row.verdict.name());
    let mut out = format!("{}{:<name$}{}\n", styled(style, verdict), row.name, cells.join(""));
    let indent = " ".repeat(MARGIN);
    if !row.says.is_empty() {
        out.push_str(&hang_within(width, &indent, &row.says));
    }
    let named = [
        ("asked for", &row.requested),
        ("started with", &row.started_with),
        ("resolved", &row.resolved),
        ("seen", &row.observed),
    ];
    let from: Vec<String> = named
        .into_iter()
        .filter_map(|(title, said)| Some(format!("{title}: {}", place(&said.as_ref()?.from))))
        .collect();
    if !from.is_empty() {
        out.push_str(&styled(QUIET, hang_within(width, &indent, &from.join("; "))));
    }
    out
}

/// Where a value was read, as people look it up.
fn place(source: &Source) -> String {
    match source {
        Source::Metric { name } => name.clone(),
        Source::Derived { from } => from.clone(),
        Source::Log { file, line } | Source::Manifest { file, line } => format!("{file} line {line}"),
        Source::CommandLine => "the command line given".into(),
        Source::Environment { name } => format!("variable {name}"),
        Source::Endpoint { path } => path.clone(),
        Source::Default { rule } => rule.clone(),
        Source::Gpu { tool } => tool.clone(),
        Source::Kernel { file } => file.clone(),
        Source::Scrape => "the scrapes".into(),
        Source::Client => "the clients".into(),
        Source::Probe { url } => url.clone(),
    }
}

fn answer(table: &ConfigTable, width: usize) -> String {
    let agreeing = |asked: bool| {
        let agrees = |row: &&ConfigRow| row.verdict == RowVerdict::Agrees && row.requested.is_some() == asked;
        table.rows.iter().filter(agrees).count()
    };
    let (asked, started) = (agreeing(true), agreeing(false));
    let off = table.rows.iter().filter(|row| row.is_off()).count();
    let unseen: Vec<&str> = table
        .rows
        .iter()
        .filter(|row| row.verdict == RowVerdict::Unknown)
        .map(|row| row.name.as_str())
        .collect();
    let are = |count| if count == 1 { "is" } else { "are" };
    let mut parts = Vec::new();
    if off > 0 {
        parts.push(format!("{off} {} not in force as asked for", are(off)));
    }
    match (asked, off) {
        (0, _) => {}
        (asked, 0) => parts.push(format!("{asked} in force as asked for")),
        (asked, _) => parts.push(format!("{asked} {}", are(asked))),
    }
    if started > 0 {
        parts.push(format!("{started} in force as it was started"));
    }
    let is_known = !parts.is_empty();
    if !unseen.is_empty() {
        parts.push(format!("{} that nothing shows: {}", unseen.len(), unseen.join(", ")));
    }
    let whole = unseen.is_empty() && table.not_compared.is_empty() && table.left_out.is_empty();
    let (style, says) = match (off, is_known) {
        _ if !table.asked => {
            (UNSURE, "Nothing says what was asked for: give --manifest, --log or --engine-args.".to_owned())
        }
        (0, false) if unseen.is_empty() => (UNSURE, "Nothing asked for can be compared.".to_owned()),
        (0, true) if table.answer() == ConfigAnswer::Nothing => {
            let file = table.manifest.as_deref().unwrap_or("the manifest");
            (UNSURE, format!("Nothing of {file} can be compared; {}.", parts.join(", ")))
        }
        (0, true) if whole => (GOOD, format!("{}, nothing that is not.", parts.join(", "))),
        (0, _) => (if unseen.is_empty() { GOOD } else { UNSURE }, format!("{}.", parts.join(", "))),
        _ => (BAD, format!("{}.", parts.join("; "))),
    };
    let mut out = styled(style, hang_within(width, "", &says).trim_end());
    if !table.not_compared.is_empty() {
        let names = table.not_compared.join(", ");
        out.push('\n');
        out.push_str(&styled(QUIET, hang_within(width, "Not compared: ", &names).trim_end()));
    }
    out
}

#[cfg(test)]
mod tests {
    use intriage_case::{Case, LogText, ManifestText, Millis, Scrape, ScrapeOutcome};
    use intriage_engines::read;

    use super::*;

    #[test]
    fn the_published_schema_is_the_one_the_types_have() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/config-1.schema.json");
        let generated = config_schema().unwrap();
        if std::env::var_os("INTRIAGE_BLESS").is_some() {
            std::fs::write(path, &generated).unwrap();
        }
        let published = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            published == generated,
            "schemas/config-1.schema.json is stale: run the tests with INTRIAGE_BLESS=1"
        );
    }

    fn report() -> ConfigReport {
        let page = "vllm:num_requests_running{engine=\"0\"} 2\nvllm:cache_config_info{block_size=\"128\",enable_prefix_caching=\"False\"} 1\n";
        let unit = "[Service]\nExecStart=vllm serve m --max-num-seqs 32 \\\n  --enable-prefix-caching --block-size 128 --kv-cache-memory-bytes 4G\n";
        let log = "INFO non-default args: {'max_num_seqs': 2, 'enable_prefix_caching': True, 'block_size': 128}\nINFO Initializing a V1 LLM engine (v0.32.0) with config: device_config=cpu\n";
        let case = Case {
            scrapes: vec![Scrape { at: Millis(1), outcome: ScrapeOutcome::Body(page.into()) }],
            logs: vec![LogText { name: "server.log".into(), text: log.into() }],
            manifests: vec![ManifestText { name: "vllm.service".into(), changed: None, text: unit.into() }],
            ..Case::default()
        };
        ConfigReport {
            schema: CONFIG_SCHEMA.into(),
            target: "http://127.0.0.1:8000".into(),
            engine: Some("vLLM".into()),
            version: Some("0.32.0".into()),
            config: read(&case).table,
            compared: true,
            advice: ConfigAdvice::default(),
            notes: Vec::new(),
        }
    }

    fn told(all: bool) -> String {
        anstream::adapter::strip_str(&config_text(&report(), all, None)).to_string()
    }

    #[test]
    fn what_does_not_agree_is_shown_with_where_it_was_read() {
        insta::assert_snapshot!(told(false));
    }

    #[test]
    fn bytes_are_told_to_people_as_they_say_them_and_to_programs_as_a_number() {
        assert!(told(true).contains("4.00 GiB"), "{}", told(true));
        let json = config_json(&report()).unwrap();
        assert!(json.contains("4294967296") && !json.contains("GiB\""), "{json}");
    }

    #[test]
    fn what_nothing_shows_and_what_is_not_compared_is_named() {
        let mut given = report();
        given.config.rows.retain(|row| !row.is_off());
        given.config.not_compared = vec!["--api-key".into(), "--port".into()];
        let text =
            |given: &ConfigReport| anstream::adapter::strip_str(&config_text(given, false, None)).to_string();
        let told = text(&given);
        assert!(
            told.contains("1 in force as asked for, 1 that nothing shows: --kv-cache-memory-bytes.\n"),
            "{told}"
        );
        assert!(told.contains("Not compared: --api-key, --port\n"), "{told}");
        given.config.rows.retain(|row| row.verdict != RowVerdict::Unknown);
        assert!(text(&given).contains("1 in force as asked for.\n"), "{}", text(&given));
        given.config.not_compared.clear();
        assert!(text(&given).contains("1 in force as asked for, nothing that is not.\n"), "{}", text(&given));
        given.config.rows.iter_mut().for_each(|row| row.requested = None);
        let told = text(&given);
        assert!(
            told.contains("Nothing of vllm.service can be compared; 1 in force as it was started.\n"),
            "{told}"
        );
        given.config.rows.retain(|row| row.verdict != RowVerdict::Agrees);
        assert!(text(&given).contains("Nothing asked for can be compared.\n"), "{}", text(&given));
    }

    #[test]
    fn every_row_is_shown_when_asked_for() {
        insta::assert_snapshot!(told(true));
    }
}
