//! The verdict for a person under pressure: one screen, the answer first.

use std::fmt::Write as _;

use intriage_case::{Quantity, Ratio, Seconds, Unit};
use intriage_diagnose::{Diagnosis, Finding, Outcome, RuledOut, Segment, SegmentOf, Status, find};

use crate::style::{BAD, BAR, GOOD, HEAD, QUIET, UNSURE, styled};
use crate::wrap::{WIDTH, hang, shorten};

/// Ruled-out causes, and reasons for not judging, that are shown; the rest are counted.
const SHOWN: usize = 4;
/// Remedies shown.
const REMEDIES: usize = 3;

/// The verdict as text with ANSI styles.
pub fn text(d: &Diagnosis) -> String {
    let mut out = String::new();
    header(d, &mut out);
    answer(d, &mut out);
    accounts(d, &mut out);
    objectives(d, &mut out);
    if let Some(primary) = d.findings.first() {
        evidence(primary, &mut out);
        others(d, &mut out);
        remedies(d, &mut out);
    }
    ruled_out(d, &mut out);
    cannot_tell(d, &mut out);
    notes(d, &mut out);
    out
}

fn header(d: &Diagnosis, out: &mut String) {
    let mut parts = vec![d.target.clone()];
    if let Some(engine) = &d.engine.title {
        parts.push(match &d.engine.version {
            Some(version) => format!("{engine} {version}"),
            None => engine.clone(),
        });
    }
    parts.extend(d.engine.models.first().cloned());
    let finished =
        d.window.finished_requests.map_or(String::new(), |n| format!(", {n:.0} requests finished"));
    let failed = if d.window.failed_scrapes > 0 {
        format!(" ({} failed)", d.window.failed_scrapes)
    } else {
        String::new()
    };
    parts.push(format!(
        "{}, {} scrapes{failed}{finished}",
        d.window.seconds,
        d.window.scrapes + d.window.failed_scrapes
    ));
    let _ = writeln!(out, "{}\n", styled(QUIET, parts.join(" · ")));
}

fn answer(d: &Diagnosis, out: &mut String) {
    let (mark, style) = match d.verdict.status {
        Status::Healthy => ("✓ ", GOOD),
        Status::Finding => ("✗ ", BAD),
        Status::CannotTell => ("? ", UNSURE),
    };
    for (i, line) in hang("  ", &d.verdict.answer).lines().enumerate() {
        let line = if i == 0 { line.replacen("  ", mark, 1) } else { line.to_owned() };
        let _ = writeln!(out, "{}", styled(style, line));
    }
    if let Some(first) = d.findings.first() {
        let _ = writeln!(
            out,
            "  {}",
            styled(
                QUIET,
                format!("{} · {}, {} sure", first.cause, outcome(first.outcome), Ratio(first.confidence))
            )
        );
    }
    out.push('\n');
}

fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Confirmed => "confirmed",
        Outcome::Likely => "likely",
        Outcome::RuledOut => "ruled out",
        Outcome::CannotTell => "cannot tell",
    }
}

fn accounts(d: &Diagnosis, out: &mut String) {
    account(d, SegmentOf::Ttft, "Time to first token", out);
    account(d, SegmentOf::Tpot, "Time per output token", out);
}

/// Parts of one whole as bars; parts under half a percent are left out unless nothing else is there.
fn account(d: &Diagnosis, of: SegmentOf, title: &str, out: &mut String) {
    const BAR_WIDTH: f64 = 32.0;
    let parts: Vec<&Segment> = d.segments.iter().filter(|s| s.of == of).collect();
    if parts.is_empty() {
        return;
    }
    let total: f64 = parts.iter().map(|s| s.value.value).sum();
    let _ = writeln!(out, "  {} {}", styled(HEAD, title), Seconds(total));
    for part in parts.iter().filter(|s| s.share.is_some_and(|r| r.get() >= 0.005)) {
        let share = part.share.map_or(0.0, Ratio::get);
        let eighths = (share * BAR_WIDTH * 8.0).round() as usize;
        let bar = "█".repeat(eighths / 8) + ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
        let spread = part.high - part.low > 0.2 * part.value.value.max(1e-9);
        let bounds = if spread {
            format!(" ({} to {})", bound(part.low, part.value.unit), bound(part.high, part.value.unit))
        } else {
            String::new()
        };
        let _ = writeln!(
            out,
            "    {:<21}{:>9} {:>5}  {}{}",
            part.name,
            part.value.to_string(),
            Ratio(share).to_string().replace(' ', ""),
            styled(BAR, bar),
            styled(QUIET, bounds)
        );
    }
    out.push('\n');
}

fn bound(value: f64, unit: Unit) -> String {
    Quantity::new(value, unit).to_string()
}

fn objectives(d: &Diagnosis, out: &mut String) {
    for o in &d.objectives {
        let (mark, style) = match o.met {
            Some(true) => ("met", GOOD),
            Some(false) => ("missed", BAD),
            None => ("cannot tell", UNSURE),
        };
        let _ = writeln!(out, "  Objective {}: {} ({})", o.objective, styled(style, mark), o.measured);
    }
    if !d.objectives.is_empty() {
        out.push('\n');
    }
}

fn evidence(f: &Finding, out: &mut String) {
    list("For", f.facts_for.iter().map(|x| x.says.as_str()), out);
    list("Against", f.against.iter().map(|x| x.says.as_str()), out);
    list("Missing", f.missing.iter().map(String::as_str), out);
}

fn list<'a>(title: &str, items: impl Iterator<Item = &'a str>, out: &mut String) {
    for (i, item) in items.enumerate() {
        let head = if i == 0 { title } else { "" };
        let lines = hang("              ", item);
        let first = lines.trim_start();
        let _ = write!(out, "  {}{first}", styled(HEAD, format!("{head:<12}")));
    }
}

fn others(d: &Diagnosis, out: &mut String) {
    let effects: Vec<&str> =
        d.findings.iter().skip(1).filter(|f| f.effect_of.is_some()).map(|f| f.cause.as_str()).collect();
    if !effects.is_empty() {
        list("Effects", std::iter::once(effects.join(", ").as_str()), out);
    }
    let also: Vec<String> = d
        .findings
        .iter()
        .skip(1)
        .filter(|f| f.effect_of.is_none())
        .map(|f| format!("{} ({}): {}", f.cause, outcome(f.outcome), f.says))
        .collect();
    list("Also", also.iter().map(String::as_str), out);
    out.push('\n');
}

fn remedies(d: &Diagnosis, out: &mut String) {
    let Some(first) = d.remedies.first() else { return };
    for (i, remedy) in d.remedies.iter().take(REMEDIES).enumerate() {
        let head = if i == 0 { "Change" } else { "" };
        let lines = hang("              ", &format!("{}. {}", i + 1, remedy.change));
        let _ = write!(out, "  {}{}", styled(HEAD, format!("{head:<12}")), lines.trim_start());
        let _ = write!(out, "{}", styled(QUIET, hang("                 cost: ", &remedy.cost)));
    }
    list("Expect", std::iter::once(first.effect.as_str()), out);
    list("Confirm", std::iter::once(first.confirm.as_str()), out);
    out.push('\n');
}

/// The primary's look-alikes first: they are what an engineer would chase next.
fn ruled_out(d: &Diagnosis, out: &mut String) {
    let near: Vec<&str> = d
        .findings
        .first()
        .and_then(|f| find(&f.cause))
        .map_or(Vec::new(), |c| c.look_alikes.iter().map(|l| l.cause).collect());
    let mut order: Vec<&RuledOut> = d.ruled_out.iter().collect();
    order.sort_by_key(|r| !near.contains(&r.cause.as_str()));
    let shown = order.iter().take(SHOWN).map(|r| {
        let because = r.because.first().map_or(String::new(), |f| format!(": {}", f.says));
        shorten(&format!("{}{because}", r.cause), WIDTH - 14)
    });
    let mut lines: Vec<String> = shown.collect();
    let rest: Vec<&str> = order.iter().skip(SHOWN).map(|r| r.cause.as_str()).collect();
    if !rest.is_empty() {
        lines.push(format!("and {} more (--format json lists them)", rest.len()));
    }
    list("Ruled out", lines.iter().map(String::as_str), out);
}

/// Causes that lack the same thing share a line.
fn cannot_tell(d: &Diagnosis, out: &mut String) {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for unjudged in &d.cannot_tell {
        let why = unjudged.missing.first().map_or("", String::as_str);
        match groups.iter_mut().find(|(known, _)| *known == why) {
            Some((_, causes)) => causes.push(&unjudged.cause),
            None => groups.push((why, vec![&unjudged.cause])),
        }
    }
    let mut lines: Vec<String> = groups
        .iter()
        .take(SHOWN)
        .map(|(why, causes)| format!("{}: {}", causes.join(", "), shorten(why, 2 * WIDTH - 60)))
        .collect();
    if groups.len() > SHOWN {
        let rest: usize = groups.iter().skip(SHOWN).map(|(_, causes)| causes.len()).sum();
        lines
            .push(format!("and {rest} more; `intriage explain CAUSE` describes the probe that settles each"));
    }
    list("Cannot tell", lines.iter().map(String::as_str), out);
}

fn notes(d: &Diagnosis, out: &mut String) {
    list("Normal", d.benign.iter().map(|b| b.says.as_str()), out);
    list("Note", d.notes.iter().map(String::as_str), out);
}
