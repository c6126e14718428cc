//! The verdict for a person under pressure: one screen, the answer first.

use std::fmt::Write as _;

use intriage_case::{Quantity, Ratio, Seconds};
use intriage_diagnose::{Diagnosis, Event, EventKind, Finding, Outcome, Segment, SegmentOf, Status, find};
use intriage_engines::LogEnd;

use crate::forecast::{Row, forecast};
use crate::start::start_lines;
use crate::style::{BAD, BAR, GOOD, HEAD, QUIET, UNSURE, styled};
use crate::wrap::{WIDTH, hang_within, shorten};

/// Reasons shown for what was ruled out or not judged; the rest are counted.
const SHOWN: usize = 2;
/// Remedies shown.
const REMEDIES: usize = 2;
/// Kinds of events shown.
const EVENTS: usize = 3;
/// Columns of the headings at the left.
const MARGIN: usize = 14;

/// The verdict as text with ANSI styles, in a page of at most `columns` (100 where nothing is known).
pub fn text(d: &Diagnosis, columns: Option<usize>) -> String {
    let width = columns.unwrap_or(WIDTH).clamp(60, WIDTH);
    let mut page = Page { out: String::new(), width };
    page.header(d);
    page.answer(d);
    page.account(d, SegmentOf::Ttft, "Time to first token");
    page.account(d, SegmentOf::Tpot, "Time per output token");
    page.objectives(d);
    let named = d.findings.first().filter(|f| Some(&f.cause) == d.verdict.primary.cause.as_ref());
    if let Some(primary) = named {
        page.evidence(primary);
        page.others(d);
        page.remedies(d);
    }
    page.ruled_out(d);
    page.cannot_tell(d);
    let start = d.start.as_ref().map(start_lines).unwrap_or_default();
    page.list("Start", start.iter().map(String::as_str));
    page.list("Normal", d.benign.iter().map(|b| b.says.as_str()));
    page.list("Model", d.model.as_ref().map(intriage_engines::Model::line).as_deref().into_iter());
    page.list("Note", d.notes.iter().map(String::as_str));
    page.out
}

struct Page {
    out: String,
    width: usize,
}

impl Page {
    fn line(&mut self, text: impl AsRef<str>) {
        self.out.push_str(text.as_ref());
        self.out.push('\n');
    }

    /// A heading at the left, items beside it, each wrapped under its own beginning.
    fn list<'a>(&mut self, title: &str, items: impl Iterator<Item = &'a str>) {
        for (i, item) in items.enumerate() {
            let head = if i == 0 { title } else { "" };
            let lines = hang_within(self.width, &" ".repeat(MARGIN), item);
            let _ = write!(self.out, "  {}{}", styled(HEAD, format!("{head:<12}")), lines.trim_start());
        }
    }

    fn header(&mut self, d: &Diagnosis) {
        let mut parts = vec![d.target.clone()];
        if let Some(engine) = &d.engine.title {
            let version = d.engine.version.as_ref().map_or(String::new(), |v| format!(" {v}"));
            parts.push(format!("{engine}{version}"));
        }
        parts.extend(d.engine.models.first().cloned());
        let failed = match d.window.failed_scrapes {
            0 => String::new(),
            n => format!(" and {n} failed"),
        };
        let finished =
            d.window.finished_requests.map_or(String::new(), |n| format!(", {n:.0} requests finished"));
        parts.push(format!("{}, {} scrapes{failed}{finished}", d.window.seconds, d.window.scrapes));
        let lines = hang_within(self.width, "", &parts.join(" · "));
        self.line(styled(QUIET, lines));
    }

    fn answer(&mut self, d: &Diagnosis) {
        let (mark, style) = match d.verdict.status {
            Status::Healthy => ("✓ ", GOOD),
            Status::Finding => ("✗ ", BAD),
            Status::CannotTell => ("? ", UNSURE),
        };
        for line in hang_within(self.width, mark, &d.verdict.answer).lines() {
            self.line(styled(style, line));
        }
        let primary = &d.verdict.primary;
        let named = d.findings.iter().find(|f| Some(&f.cause) == primary.cause.as_ref());
        let mut parts = Vec::new();
        parts.extend(
            named.map(|f| {
                format!("{} · {} (confidence {})", f.cause, outcome(f.outcome), Ratio(f.confidence))
            }),
        );
        parts.extend(primary.segment.map(|segment| segment.to_string()));
        for word in primary.class.iter().chain(&primary.layer) {
            // A fault of memory lies in the layer called memory: once is enough.
            if !parts.contains(word) {
                parts.push(word.clone());
            }
        }
        if !parts.is_empty() {
            self.line(format!("  {}", styled(QUIET, parts.join(" · "))));
        }
        self.line("");
        // Beside a confirmed cause the others are for those who read JSON.
        let sure = named.is_some_and(|f| f.outcome == Outcome::Confirmed);
        let near = d.verdict.candidates.iter().filter(|_| !sure).map(|c| format!("{}: {}", c.cause, c.lacks));
        let near: Vec<String> = near.collect();
        self.list("Nearest", near.iter().map(String::as_str));
        let story = self.story(d);
        let load = d.context.lines();
        self.list("Load", load.iter().map(String::as_str));
        self.events(d);
        if !load.is_empty() || !near.is_empty() || !d.timeline.is_empty() || story {
            self.line("");
        }
    }

    /// What the log tells, where nobody scraped the server or an error is told; whether anything was written.
    fn story(&mut self, d: &Diagnosis) -> bool {
        let Some(story) = d
            .log_story
            .as_ref()
            .filter(|s| d.window.scrapes == 0 || !matches!(s.end, LogEnd::Unknown | LogEnd::Stopped))
        else {
            return false;
        };
        let lines = story.lines();
        self.list("Log", lines.iter().map(String::as_str));
        !lines.is_empty()
    }

    /// What happened inside the window, the gravest first; what recurs often is counted.
    fn events(&mut self, d: &Diagnosis) {
        let mut events: Vec<&Event> = d.timeline.iter().filter(|e| e.kind != EventKind::Queue).collect();
        events.sort_by_key(|e| (e.kind, e.start));
        let mut shown: Vec<String> = Vec::new();
        for kind in events.iter().map(|e| e.kind).collect::<std::collections::BTreeSet<_>>() {
            let mut same = events.iter().filter(|e| e.kind == kind);
            let longest = same.clone().max_by(|a, b| a.seconds.get().total_cmp(&b.seconds.get()));
            let more = same.by_ref().count() - 1;
            let again = if more > 0 { format!(" (and {more} more like it)") } else { String::new() };
            shown.extend(longest.map(|e| format!("{}{again}", e.says)));
        }
        self.list("Events", shown.iter().map(String::as_str).take(EVENTS));
    }

    /// Parts of one whole as bars; parts under half a percent are left out. A range behind a bar says
    /// that the part is only known to lie between two values.
    fn account(&mut self, d: &Diagnosis, of: SegmentOf, title: &str) {
        let parts: Vec<&Segment> = d.segments.iter().filter(|s| s.of == of).collect();
        if parts.is_empty() {
            return;
        }
        let total: f64 = parts.iter().map(|s| s.value.value).sum();
        self.line(format!("  {} {} {}", styled(HEAD, title), Seconds(total), styled(QUIET, "(mean)")));
        let bar_width = self.width.saturating_sub(68) as f64;
        for part in parts.iter().filter(|s| s.share.is_some_and(|r| r.get() >= 0.005)) {
            let share = part.share.map_or(0.0, Ratio::get);
            let eighths = (share * bar_width.max(8.0) * 8.0).round() as usize;
            let bar = "█".repeat(eighths / 8) + ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
            let wide = part.high - part.low > 0.2 * part.value.value.max(1e-9);
            let end = |value: f64| Quantity::new(value, part.value.unit);
            let bounds =
                if wide { format!(" {} to {}", end(part.low), end(part.high)) } else { String::new() };
            let value = part.value.to_string();
            let percent = Ratio(share).to_string();
            let (bar, bounds) = (styled(BAR, bar), styled(QUIET, bounds));
            self.line(format!("    {:<21}{value:>9} {percent:>6}  {bar}{bounds}", part.name));
        }
        self.line("");
    }

    fn objectives(&mut self, d: &Diagnosis) {
        for o in &d.objectives {
            let (mark, style) = match o.met {
                Some(true) => ("met", GOOD),
                Some(false) => ("missed", BAD),
                None => ("cannot tell", UNSURE),
            };
            self.line(format!("  Objective {}: {} ({})", o.objective, styled(style, mark), o.measured));
        }
        if !d.objectives.is_empty() {
            self.line("");
        }
    }

    fn evidence(&mut self, f: &Finding) {
        self.list("For", f.facts_for.iter().map(|x| x.says.as_str()));
        self.list("Against", f.against.iter().map(|x| x.says.as_str()));
        self.list("Missing", f.missing.iter().map(String::as_str));
    }

    fn others(&mut self, d: &Diagnosis) {
        let rest = || d.findings.iter().skip(1);
        let effects: Vec<&str> = rest().filter(|f| f.effect_of.is_some()).map(|f| f.cause.as_str()).collect();
        if !effects.is_empty() {
            self.list("Effects", std::iter::once(effects.join(", ").as_str()));
        }
        let told = |wanted: &dyn Fn(&Finding) -> bool| -> Vec<String> {
            let rest = rest().filter(|f| f.effect_of.is_none() && wanted(f));
            rest.map(|f| format!("{} ({}): {}", f.cause, outcome(f.outcome), f.says)).collect()
        };
        self.list("Behind it", told(&|f| f.drives.is_some()).iter().map(String::as_str));
        self.list("Also", told(&|f| f.drives.is_none()).iter().map(String::as_str));
        self.line("");
    }

    fn remedies(&mut self, d: &Diagnosis) {
        let Some(first) = d.remedies.first() else { return };
        for (i, remedy) in d.remedies.iter().take(REMEDIES).enumerate() {
            let head = if i == 0 { "Change" } else { "" };
            let number = format!("{}{}. ", " ".repeat(MARGIN), i + 1);
            let lines = hang_within(self.width, &number, &remedy.change);
            let _ = write!(self.out, "  {}{}", styled(HEAD, format!("{head:<12}")), lines.trim_start());
            let cost = hang_within(self.width, &format!("{}cost: ", " ".repeat(MARGIN + 3)), &remedy.cost);
            self.out.push_str(&styled(QUIET, cost));
        }
        if d.remedies.len() > REMEDIES {
            let more = format!("and {} more (--format json lists them)", d.remedies.len() - REMEDIES);
            self.list("", std::iter::once(more.as_str()));
        }
        self.predictions(d);
        // A figure says more than a sentence.
        if d.predictions.is_empty() {
            self.list("Expect", std::iter::once(first.effect.as_str()));
        }
        self.list("Confirm", std::iter::once(first.confirm.as_str()));
        self.line("");
    }

    /// What the changes are expected to do, the first one in full.
    fn predictions(&mut self, d: &Diagnosis) {
        for (i, row) in forecast(d, self.width - MARGIN).into_iter().enumerate() {
            let head = if i == 0 { "Predict" } else { "" };
            match row {
                Row::Says(text) => self.list(head, std::iter::once(text.as_str())),
                Row::Figures(text) => self.line(format!("{}{text}", " ".repeat(MARGIN))),
                Row::Aside(text) => {
                    let lines = hang_within(self.width, &" ".repeat(MARGIN), &text);
                    self.out.push_str(&styled(QUIET, lines));
                }
            }
        }
    }

    /// The primary's look-alikes first: they are what an engineer would chase next.
    fn ruled_out(&mut self, d: &Diagnosis) {
        let near = near_primary(d);
        let mut order: Vec<_> = d.ruled_out.iter().collect();
        order.sort_by_key(|r| !near.contains(&r.cause.as_str()));
        let reason =
            |r: &intriage_diagnose::RuledOut| r.because.first().map_or(String::new(), |f| f.says.clone());
        let groups = grouped(order.into_iter().map(|r| (reason(r), r.cause.as_str())));
        self.groups("Ruled out", &groups, |why, causes| format!("{}: {why}", causes.join(", ")));
    }

    fn cannot_tell(&mut self, d: &Diagnosis) {
        let reason = |u: &intriage_diagnose::Unjudged| u.missing.first().cloned().unwrap_or_default();
        let near = near_primary(d);
        let mut order: Vec<_> = d.cannot_tell.iter().collect();
        order.sort_by_key(|u| !near.contains(&u.cause.as_str()));
        let groups = grouped(order.into_iter().map(|u| (reason(u), u)));
        self.groups("Cannot tell", &groups, |why, alike| {
            let causes: Vec<&str> = alike.iter().map(|u| u.cause.as_str()).collect();
            let probes: Vec<&str> =
                alike.iter().map(|u| u.probe.split(':').next().unwrap_or_default()).collect();
            format!("{}: {why} → {}", causes.join(", "), probes.join(", "))
        });
        if !d.cannot_tell.is_empty() {
            let hint = "`intriage explain CAUSE` describes the probe (→) that would settle it";
            let lines = hang_within(self.width, &" ".repeat(MARGIN), hint);
            self.out.push_str(&styled(QUIET, lines));
        }
    }

    /// Lists groups of causes that share a reason.
    fn groups<T>(&mut self, title: &str, groups: &[(String, Vec<T>)], line: impl Fn(&str, &[T]) -> String) {
        let room = 2 * (self.width - MARGIN);
        let mut lines: Vec<String> = groups
            .iter()
            .take(SHOWN)
            .map(|(why, alike)| shorten(&line(&shorten(why, room), alike), room + room / 2))
            .collect();
        let rest: usize = groups.iter().skip(SHOWN).map(|(_, alike)| alike.len()).sum();
        if rest > 0 {
            lines.push(format!("and {rest} more (--format json lists them)"));
        }
        self.list(title, lines.iter().map(String::as_str));
    }
}

/// What is easily mistaken for the primary cause.
fn near_primary(d: &Diagnosis) -> Vec<&'static str> {
    let primary = d.findings.first().and_then(|f| find(&f.cause));
    primary.map_or(Vec::new(), |c| c.look_alikes.iter().map(|l| l.cause).collect())
}

/// Items by equal reason, in the order the reasons first appear.
fn grouped<T>(items: impl Iterator<Item = (String, T)>) -> Vec<(String, Vec<T>)> {
    let mut groups: Vec<(String, Vec<T>)> = Vec::new();
    for (why, item) in items {
        match groups.iter_mut().find(|(known, _)| *known == why) {
            Some((_, alike)) => alike.push(item),
            None => groups.push((why, vec![item])),
        }
    }
    groups
}

fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Confirmed => "confirmed",
        Outcome::Likely => "likely",
        Outcome::RuledOut => "ruled out",
        Outcome::CannotTell => "cannot tell",
    }
}
