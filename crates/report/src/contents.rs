//! What a case holds, on one page.

use std::fmt::Write as _;

use intriage_case::Gathered;
use intriage_diagnose::Contents;

use crate::style::{BAD, GOOD, HEAD, QUIET, UNSURE, styled};
use crate::wrap::{WIDTH, hang_within};

/// Columns of the names at the left.
const MARGIN: usize = 14;

/// The contents of a case as text with ANSI styles, in a page of at most `columns` (100 where nothing is known); `strays` are what
/// lies beside it and was not looked at.
pub fn contents_text(contents: &Contents, strays: &[String], columns: Option<usize>) -> String {
    let width = columns.unwrap_or(WIDTH).clamp(60, WIDTH);
    let mut page = Page { out: String::new(), width };
    page.whole(contents);
    for replica in &contents.replicas {
        page.out.push('\n');
        page.out.push_str(&styled(HEAD, format!("replica {}\n", replica.name)));
        page.whole(&replica.contents);
    }
    page.safety(contents, strays);
    page.out
}

/// Most names in a list for people.
const MOST_NAMES: usize = 8;

/// Names in a row, the first few of them where there are many.
pub fn some_of(names: &[String]) -> String {
    let more = names.len().saturating_sub(MOST_NAMES);
    let first = names[..names.len() - more].join(", ");
    if more == 0 { first } else { format!("{first} and {more} more") }
}

/// The contents as JSON, one value, a newline at the end.
pub fn contents_json(contents: &Contents) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(contents)? + "\n")
}

/// The JSON Schema of the contents, generated from their types.
pub fn contents_schema() -> Result<String, serde_json::Error> {
    let mut schema = schemars::schema_for!(Contents);
    schema.insert("$id".into(), "https://intriage.dev/schemas/contents-1.schema.json".into());
    Ok(serde_json::to_string_pretty(&schema)? + "\n")
}

struct Page {
    out: String,
    width: usize,
}

impl Page {
    fn row(&mut self, name: &str, says: &str) {
        let lines = hang_within(self.width, &" ".repeat(MARGIN), says);
        let _ = write!(self.out, "  {}{}", styled(HEAD, format!("{name:<12}")), lines.trim_start());
    }

    fn whole(&mut self, c: &Contents) {
        self.row("target", if c.target.is_empty() { "not named" } else { &c.target });
        let engine = match (&c.engine.title, &c.engine.version) {
            (Some(engine), Some(version)) => format!("{engine} {version}"),
            (Some(engine), None) => format!("{engine}, version unknown"),
            _ => "none recognised".into(),
        };
        let served = if c.engine.models.is_empty() {
            String::new()
        } else {
            format!(", serving {}", c.engine.models.join(", "))
        };
        self.row("engine", &format!("{engine}{served}"));
        if let Some(model) = &c.model {
            self.row("model", &model.line());
        }
        if let (Some(start), Some(end)) = (c.start, c.end) {
            self.row("time", &format!("{start} to {end}, {}", c.seconds));
        }
        let failed =
            if c.failed_scrapes > 0 { format!(", {} failed", c.failed_scrapes) } else { String::new() };
        self.row("metrics", &format!("{} scrapes{failed}", c.scrapes));
        self.some("endpoints", &c.endpoints.join(", "));
        for log in &c.logs {
            self.row("log", &format!("{}, {} in {} lines", log.name, log.size, log.lines));
        }
        if c.command_line {
            self.row("command", "the server's command line");
        }
        self.machine(c);
        for path in &c.paths {
            let how = path.error.clone().unwrap_or_else(|| format!("{} streamed answers", path.streams));
            self.row("path", &format!("{}: {how}", path.url));
        }
        if c.client_requests > 0 {
            self.row("client", &format!("{} requests as their client saw them", c.client_requests));
        }
        self.some("objectives", &c.objectives.join(", "));
        self.inventory(c);
        for note in &c.notes {
            self.row("note", note);
        }
    }

    fn some(&mut self, name: &str, says: &str) {
        if !says.is_empty() {
            self.row(name, says);
        }
    }

    fn machine(&mut self, c: &Contents) {
        if let Some(host) = &c.host {
            let mut says: Vec<String> = host.cpu.iter().cloned().collect();
            says.extend(host.cpus.map(|n| format!("{n} CPUs")));
            says.extend(host.memory.map(|m| format!("{m} of memory")));
            says.extend(host.kernel.as_ref().map(|k| format!("Linux {k}")));
            says.push(format!("{} serving processes in {} looks", host.processes, host.snapshots));
            self.row("host", &says.join(", "));
        }
        if let Some(gpu) = &c.gpu {
            let first = gpu.cards.first().map_or("samples alone", String::as_str);
            let driver = gpu.driver.as_ref().map_or(String::new(), |d| format!(", driver {d}"));
            let says =
                format!("{} × {first}{driver}, {} samples by {}", gpu.cards.len(), gpu.samples, gpu.source);
            self.row("gpu", &says);
        }
    }

    fn inventory(&mut self, c: &Contents) {
        for part in &c.collected {
            let (style, word, why) = match &part.outcome {
                Gathered::Whole => (GOOD, "whole", ""),
                Gathered::Partly { why } => (UNSURE, "partly", why.as_str()),
                Gathered::Skipped { why } => (BAD, "skipped", why.as_str()),
            };
            let colon = if why.is_empty() { "" } else { ": " };
            let allowed = part.budget.map_or(String::new(), |b| format!(" (of {} and {})", b.size, b.time));
            let says = format!("{}: {} in {}{allowed}{colon}{why}", part.what, part.size, part.took);
            let lines = hang_within(self.width, &" ".repeat(MARGIN), &says);
            let _ = write!(self.out, "  {}{}", styled(style, format!("{word:<12}")), lines.trim_start());
        }
    }

    fn safety(&mut self, c: &Contents, strays: &[String]) {
        self.out.push('\n');
        let said = if c.redacted { "redacted" } else { "not said to be redacted" };
        if !strays.is_empty() {
            let says = format!(
                "not looked at, whatever it holds, since it is no part of a case: {}; intriage case redact leaves it out",
                some_of(strays)
            );
            self.styled_lines(BAD, &says);
        }
        if c.would_hide.is_empty() {
            let of = if strays.is_empty() { "" } else { " in the rest" };
            let style = if c.redacted && strays.is_empty() { GOOD } else { QUIET };
            self.styled_lines(style, &format!("{said}; a fresh look finds nothing to hide{of}"));
            return;
        }
        let found: Vec<String> = c.would_hide.iter().map(|(rule, n)| format!("{rule} {n}")).collect();
        let says = format!(
            "{said}, and a fresh look would hide more ({}): make it safe with intriage case redact",
            found.join(", ")
        );
        self.styled_lines(BAD, &says);
    }

    fn styled_lines(&mut self, style: anstyle::Style, says: &str) {
        for line in hang_within(self.width, "", says).lines() {
            self.out.push_str(&styled(style, line));
            self.out.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use intriage_case::{
        Budget, Bytes, Case, Collected, LogText, Millis, Replica, Scrape, ScrapeOutcome, Seconds, Target,
    };
    use intriage_diagnose::contents;

    use super::*;

    #[test]
    fn the_published_schema_is_the_one_the_types_have() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/contents-1.schema.json");
        let generated = contents_schema().unwrap();
        if std::env::var_os("INTRIAGE_BLESS").is_some() {
            std::fs::write(path, &generated).unwrap();
        }
        let published = std::fs::read_to_string(path).unwrap_or_default();
        assert!(published == generated, "schemas/contents-1.schema.json is stale: run with INTRIAGE_BLESS=1");
    }

    #[test]
    fn a_page_tells_what_is_there_what_is_not_and_whether_it_is_safe() {
        let scrape = |at| Scrape {
            at: Millis(at),
            outcome: ScrapeOutcome::Body(b"vllm:num_requests_running{model_name=\"m\"} 1\n".to_vec()),
        };
        let case = Case {
            target: Target { name: "http://host-1:8000".into() },
            scrapes: vec![scrape(1_000), scrape(11_000)],
            logs: vec![LogText { name: "server.log".into(), text: "ready\n".into() }],
            collected: vec![Collected {
                what: "gpu".into(),
                outcome: Gathered::Skipped { why: "no NVIDIA driver library here".into() },
                took: Seconds(0.01),
                size: Bytes(0.0),
                budget: Some(Budget { time: Seconds(13.0), size: Bytes(16e6) }),
            }],
            replicas: vec![Replica {
                name: "gpu7".into(),
                case: Case { target: Target { name: "http://host-2:8000".into() }, ..Case::default() },
            }],
            redacted: true,
            ..Case::default()
        };
        let mut told = contents(&case);
        told.would_hide.insert("bearer".into(), 2);
        insta::assert_snapshot!(anstream::adapter::strip_str(&contents_text(&told, &[], None)).to_string());
    }

    #[test]
    fn a_case_with_files_that_were_not_looked_at_is_not_called_safe() {
        let told = contents(&Case { redacted: true, ..Case::default() });
        let page = |strays: &[String]| {
            anstream::adapter::strip_str(&contents_text(&told, strays, None)).to_string().replace('\n', " ")
        };
        assert!(page(&[]).contains("redacted; a fresh look finds nothing to hide "), "{}", page(&[]));
        let many: Vec<String> = (1..=10).map(|n| format!("\"photo{n}\"")).collect();
        let said = page(&many);
        assert!(said.contains("not looked at, whatever it holds"), "{said}");
        assert!(
            said.contains("\"photo8\" and 2 more") && said.contains("nothing to hide in the rest"),
            "{said}"
        );
    }
}
