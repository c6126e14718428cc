//! A run of `bench`: the certificate first, then the times, the counts, and what lies beside them.

mod import;
mod probes;
mod rows;
mod said;

use intriage_case::{Quantity, Ratio, Seconds, Unit};
use intriage_record::definitions::Said;
use intriage_record::{Arrival, Beside, Distribution, Group, Status, Summary, answers_needed};
use serde::Serialize;

pub use import::import_text;
pub use probes::{BoundaryFacts, ProbeRow, boundary_text, sweep_text};
pub use rows::{bench_row, bench_row_names};

use crate::style::{BAD, GOOD, HEAD, QUIET, UNSURE, styled};
use crate::wrap::{WIDTH, hang_within};

/// A run as text with ANSI styles, in a page of at most `columns` (100 where nothing is known).
pub fn bench_text(summary: &Summary, said: &[Said], columns: Option<usize>) -> String {
    let width = columns.unwrap_or(WIDTH).clamp(60, WIDTH);
    let mut page = Page { out: String::new(), width };
    page.title(summary);
    page.certificate(summary);
    page.times(&summary.all);
    page.counts(summary);
    for (name, group) in &summary.classes {
        page.group(&format!("Class {name}"), group);
    }
    for (name, group) in &summary.stages {
        page.group(&format!("At {name}"), group);
    }
    for (name, group) in &summary.turns {
        page.group(&format!("{name} turns"), group);
    }
    if let Some(beside) = &summary.beside {
        page.beside(beside, summary.certificate.ttft_error);
    }
    for said in said {
        page.out.push_str(&said::said_text(said, width));
    }
    page.out
}

/// A run as JSON, one value, a newline at the end.
#[derive(Serialize)]
struct Whole<'a, D: Serialize> {
    #[serde(flatten)]
    summary: &'a Summary,
    #[serde(skip_serializing_if = "<[Said]>::is_empty")]
    definitions: &'a [Said],
    #[serde(skip_serializing_if = "Option::is_none")]
    diagnosis: Option<&'a D>,
}

/// A run as JSON, one value, a newline at the end; with it what other tools would have said and the diagnosis.
pub fn bench_json<D: Serialize>(
    summary: &Summary,
    said: &[Said],
    diagnosis: Option<&D>,
) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(&Whole { summary, definitions: said, diagnosis })?;
    text.push('\n');
    Ok(text)
}

/// The JSON Schema of a run, generated from its types.
pub fn bench_schema() -> Result<String, serde_json::Error> {
    // As it is written: what is left out when empty is not required.
    let settings = schemars::generate::SchemaSettings::default().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<Summary>();
    schema.insert("$id".into(), "https://intriage.dev/schemas/bench-1.schema.json".into());
    let mut text = serde_json::to_string_pretty(&schema)?;
    text.push('\n');
    Ok(text)
}

/// Columns of the headings at the left.
const MARGIN: usize = 14;

struct Page {
    out: String,
    width: usize,
}

impl Page {
    fn line(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// A heading at the left and text beside it.
    fn entry(&mut self, heading: &str, text: &str) {
        let first = format!("  {heading:<width$}", width = MARGIN - 2);
        self.out.push_str(&hang_within(self.width, &first, text));
    }

    fn title(&mut self, summary: &Summary) {
        let load = match &summary.arrival {
            Arrival::Closed { concurrency } => format!("{concurrency} in flight"),
            Arrival::Open { rate: Some(rate), shape, .. } => format!("{shape} {rate} req/s"),
            Arrival::Open { rate: None, shape, .. } => shape.clone(),
        };
        let duration = summary.all.duration.map_or_else(String::new, |d| d.to_string());
        let parts = [&summary.url, &summary.model, &summary.api, &load, &duration];
        let parts: Vec<&str> = parts.into_iter().map(String::as_str).filter(|p| !p.is_empty()).collect();
        self.line(&styled(QUIET, parts.join(" · ")));
        self.line("");
    }

    fn certificate(&mut self, summary: &Summary) {
        let certificate = &summary.certificate;
        let (style, mark, word) = match certificate.status {
            Status::Valid => (GOOD, "✓", "VALID"),
            Status::Invalid => (BAD, "✗", "INVALID"),
            Status::Unknown => (UNSURE, "?", "UNKNOWN"),
        };
        let mut parts = Vec::new();
        if let Some(error) = certificate.ttft_error {
            let from = certificate.error_parts;
            let path = from.path.or(from.front_end).or(from.round_trip);
            let own = from
                .sending
                .zip(path)
                .map(|(own, path)| format!(" (client {own}, way to the server {path})"));
            parts.push(format!("TTFT ± {error}{}", own.unwrap_or_default()));
        }
        if let Some(error) = certificate.itl_error {
            parts.push(format!("ITL ± {error}"));
        }
        self.line(&format!("{} {}", styled(style, format!("{mark} {word}")), parts.join(", ")));
        for reason in &certificate.reasons {
            self.out.push_str(&hang_within(self.width, "  ", reason));
        }
        self.line("");
    }

    fn times(&mut self, group: &Group) {
        let head = format!(
            "  {:<MARGIN$}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}",
            "", "mean", "p50", "p90", "p95", "p99", "max"
        );
        self.line(&styled(QUIET, head));
        let rows: [(&str, &Distribution, bool); 11] = [
            ("TTFT", &group.ttft, true),
            ("… from plan", &group.planned.ttft, group.planned.omission_p99.is_some_and(|gap| gap.0 > 1e-4)),
            ("ITL", &group.itl, true),
            ("TPOT", &group.tpot, true),
            ("E2E", &group.e2e, true),
            ("first byte", &group.ttfb, true),
            ("first chunk", &group.first_chunk, differs(&group.first_chunk, &group.ttft)),
            ("reasoning", &group.first_reasoning, true),
            ("first content", &group.first_content, group.first_reasoning.n > 0),
            ("chunk gap", &group.chunk_gap, differs(&group.chunk_gap, &group.itl)),
            ("sent late", &group.lateness, true),
        ];
        for (name, times, wanted) in rows {
            if wanted && times.n > 0 {
                let figures = [times.mean, times.p50, times.p90, times.p95, times.p99, times.max].map(short);
                let [mean, p50, p90, p95, p99, max] = figures;
                self.line(&format!(
                    "  {name:<MARGIN$}{mean:>10}{p50:>10}{p90:>10}{p95:>10}{p99:>10}{max:>10}"
                ));
            }
        }
        self.uncertified(&group.ttft);
        self.line("");
    }

    /// The percentiles of the table that have too few answers.
    fn uncertified(&mut self, times: &Distribution) {
        let count = |n: u64| Quantity::new(n as f64, Unit::Count).to_string();
        let short: Vec<String> = [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)]
            .into_iter()
            .map(|(name, quantile)| (name, answers_needed(quantile)))
            .filter(|(_, needs)| times.n > 0 && times.answers < *needs)
            .map(|(name, needs)| format!("{name} ({} of {})", count(times.answers), count(needs)))
            .collect();
        if !short.is_empty() {
            let text = format!("not certified, too few answers: {}", short.join(", "));
            self.line(&styled(QUIET, format!("  {text}")));
        }
    }

    fn counts(&mut self, summary: &Summary) {
        let all = &summary.all;
        if summary.interrupted {
            self.entry("Stopped", "the run was ended early; what was planned for later is not in it");
        }
        self.entry("Requests", &requests(all));
        self.entry("Throughput", &throughput(all));
        if let Some(gap) = all.planned.omission_p99.filter(|gap| gap.0 > 1e-4) {
            let text = format!(
                "p99 TTFT from the planned instant is {gap} more than from sending: a user waits from the plan on"
            );
            self.entry("Omission", &text);
        }
        self.goodput(all);
        for error in summary.errors.iter().take(8) {
            let detail = if error.text.is_empty() { String::new() } else { format!(": {}", error.text) };
            self.entry("Error", &format!("{} × {}{detail}", error.count, error.outcome.words()));
        }
        if let (Some(cpu), Some(memory)) = (summary.client_cpu_per_million_tokens, summary.client_peak_memory)
        {
            self.entry("Client", &format!("{cpu:.2} CPU s per million tokens, {memory} at most"));
        }
    }

    fn goodput(&mut self, group: &Group) {
        let Some(goodput) = &group.goodput else { return };
        let share = goodput.share.map_or(String::new(), |s| format!(" ({s})"));
        let rate = goodput
            .requests_per_second
            .map_or(String::new(), |r| format!(", {}", Quantity::new(r, Unit::RequestsPerSecond)));
        self.entry(
            "Goodput",
            &format!("{} of {} planned requests are good{share}{rate}", goodput.good, goodput.of),
        );
        for held in &goodput.objectives {
            let measured = held.measured.map_or("too many failed to say".to_owned(), |m| {
                match held.objective.limit_share() {
                    Some(_) => Ratio(m).to_string(),
                    None => Seconds(m).to_string(),
                }
            });
            let verdict = if held.met { styled(GOOD, "held") } else { styled(BAD, "not held") };
            self.entry(
                "",
                &format!(
                    "{}: {measured}, {verdict}; {} requests break it on their own",
                    held.objective, held.broken_by
                ),
            );
        }
    }

    fn group(&mut self, name: &str, group: &Group) {
        self.line("");
        self.line(&styled(HEAD, name));
        self.times(group);
        self.entry("Requests", &requests(group));
        self.entry("Throughput", &throughput(group));
        self.goodput(group);
    }

    fn beside(&mut self, beside: &Beside, client_error: Option<Seconds>) {
        if let (Some(server), Some(client), Some(between)) =
            (beside.server_ttft, beside.client_ttft, beside.between)
        {
            let path = match (beside.path, beside.scrape, beside.share(client_error)) {
                (Some(path), Some(scrape), Some(share)) => {
                    let verdict = if between <= share { "explain it" } else { "do not explain it" };
                    let wait = beside.cpu_wait.map_or_else(String::new, |wait| {
                        format!(", its front end's wait for a CPU at most {wait}")
                    });
                    format!("; network and front end {verdict} (first byte {path}, a scrape {scrape}{wait})")
                }
                (Some(path), ..) => format!("; the first byte took {path}"),
                (None, ..) => String::new(),
            };
            self.entry(
                "Server",
                &format!(
                    "mean TTFT {server} by its own clock, {client} by ours: {between} lie between{path}"
                ),
            );
        }
        let tokens = |said: Option<intriage_case::Tokens>, ours: intriage_case::Tokens| match said {
            Some(said) if said == ours => format!("{said}, as the server counts"),
            Some(said) => format!("{ours}, the server counts {said}"),
            None => format!("{ours}, the server does not tell"),
        };
        self.entry(
            "Counted",
            &format!(
                "out {}; in {}",
                tokens(beside.server_output_tokens, beside.client_output_tokens),
                tokens(beside.server_input_tokens, beside.client_input_tokens)
            ),
        );
    }
}

fn add(out: &mut String, text: &str) {
    out.push_str(text);
}

/// Two distributions that would print differently.
fn differs(a: &Distribution, b: &Distribution) -> bool {
    a.n > 0 && (short(a.p50) != short(b.p50) || short(a.mean) != short(b.mean))
}

fn short(time: Option<Seconds>) -> String {
    time.map_or_else(|| "–".to_owned(), |t| t.to_string())
}

fn requests(group: &Group) -> String {
    let r = group.requests;
    let count = |n: u64| Quantity::new(n as f64, Unit::Count).to_string();
    let mut parts = vec![format!("{} answered", count(r.ok))];
    let more = [
        (r.failed, "failed"),
        (r.aborted, "given up by plan"),
        (r.unfinished, "still running at the end"),
        (r.never_sent, "never sent"),
    ];
    parts.extend(more.into_iter().filter(|(n, _)| *n > 0).map(|(n, words)| format!("{} {words}", count(n))));
    format!("{} of {} planned", parts.join(", "), count(r.planned))
}

fn throughput(group: &Group) -> String {
    let t = &group.throughput;
    let rate = |value: Option<f64>, unit| value.map(|v| Quantity::new(v, unit).to_string());
    let mut parts = Vec::new();
    parts.extend(rate(t.requests_per_second, Unit::RequestsPerSecond));
    parts.extend(rate(t.output_tokens_per_second, Unit::TokensPerSecond).map(|r| format!("{r} out")));
    parts.extend(
        rate(t.input_tokens_per_second, Unit::TokensPerSecond)
            .filter(|_| t.input_tokens > 0)
            .map(|r| format!("{r} in")),
    );
    parts.extend(rate(t.sent_per_second, Unit::RequestsPerSecond).map(|r| format!("sent {r}")));
    if let Some(cached) = t.cached_tokens {
        parts.extend(
            Ratio::of(cached as f64, t.input_tokens as f64)
                .map(|r| format!("{r} of the prompt tokens cached")),
        );
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests;
