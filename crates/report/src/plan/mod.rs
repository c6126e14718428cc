//! A capacity plan: the answer first, then memory, speed, limits, machines, alternatives, assumptions.

mod plot;

use intriage_case::{Quantity, Ratio};
use intriage_plan::{Alternative, Capacity, Count, Fleet, MemoryAccount, Plan, Pool, rate_text};

use crate::style::{BAD, BAR, GOOD, HEAD, QUIET, styled};
use crate::wrap::{WIDTH, hang_within, shorten};

/// Columns of the headings at the left.
const MARGIN: usize = 14;

/// The plan as text with ANSI styles, in a page of at most `columns` (100 where nothing is known).
pub fn plan_text(plan: &Plan, columns: Option<usize>) -> String {
    let width = columns.unwrap_or(WIDTH).clamp(60, WIDTH);
    let mut page = Page { out: String::new(), width };
    page.header(plan);
    page.answer(plan);
    if let Some(memory) = &plan.memory {
        page.memory(memory);
    }
    if let Some(pool) = &plan.pool {
        page.pool(pool);
    }
    if let Some(capacity) = &plan.capacity {
        page.capacity(capacity);
        page.out.push_str(&plot::plot(capacity, width));
        page.line("");
    }
    if let Some(fleet) = &plan.fleet {
        page.fleet(fleet);
    }
    page.alternatives(plan);
    page.list("Assumed", plan.assumptions.iter().map(String::as_str));
    page.list("Note", plan.notes.iter().map(String::as_str));
    page.out
}

/// The plan as JSON, one value, a newline at the end. Equal plans give equal bytes.
pub fn plan_json(plan: &Plan) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(plan)?;
    text.push('\n');
    Ok(text)
}

/// The JSON Schema of the plan, generated from its types.
pub fn plan_schema() -> Result<String, serde_json::Error> {
    let mut schema = schemars::schema_for!(Plan);
    schema.insert("$id".into(), "https://intriage.dev/schemas/plan-1.schema.json".into());
    let mut text = serde_json::to_string_pretty(&schema)?;
    text.push('\n');
    Ok(text)
}

struct Page {
    out: String,
    width: usize,
}

impl Page {
    fn line(&mut self, text: impl AsRef<str>) {
        self.out.push_str(text.as_ref().trim_end());
        self.out.push('\n');
    }

    /// A heading at the left, items beside it, each wrapped under its own beginning.
    fn list<'a>(&mut self, title: &str, items: impl Iterator<Item = &'a str>) {
        let mut any = false;
        for (i, item) in items.enumerate() {
            let head = if i == 0 { title } else { "" };
            let lines = hang_within(self.width, &" ".repeat(MARGIN), item);
            self.line(format!("  {}{}", styled(HEAD, format!("{head:<12}")), lines.trim_start()));
            any = true;
        }
        if any {
            self.line("");
        }
    }

    fn header(&mut self, plan: &Plan) {
        let asked = &plan.asked;
        let mut parts = Vec::new();
        if let Some(model) = &asked.model {
            let weights = asked.weights.as_deref().unwrap_or("as stored");
            let kv = asked.kv_dtype.as_deref().unwrap_or("bf16");
            parts.push(format!("{model} ({weights}, KV {kv})"));
        }
        if let Some(gpu) = &asked.gpu {
            let stages = if asked.pp > 1 { format!(" in {} stages", asked.pp) } else { String::new() };
            parts.push(format!("{} × {gpu}{stages}", asked.tp.saturating_mul(asked.pp)));
        }
        let rate = rate_text(asked.rate);
        parts.push(format!("{rate} of {:.0} in / {:.0} out", asked.isl.get(), asked.osl.get()));
        parts.extend(asked.objectives.iter().map(ToString::to_string));
        let lines = hang_within(self.width, "", &parts.join(" · "));
        self.line(styled(QUIET, lines.trim_end()));
    }

    fn answer(&mut self, plan: &Plan) {
        let cheaper = plan.cheapest.as_ref().filter(|cheapest| !cheapest.planned);
        if let Some(cheapest) = cheaper {
            let says = format!(
                "cheapest: {}: {} GPUs in all, {} an instance",
                cheapest.flags,
                cheapest.gpus,
                rate_text(cheapest.per_instance)
            );
            for line in hang_within(self.width, "✓ ", &says).lines() {
                self.line(styled(GOOD, line));
            }
        }
        let (mark, style) = if plan.verdict.works { ("✓ ", GOOD) } else { ("✗ ", BAD) };
        let asked = if cheaper.is_some() { "as asked: " } else { "" };
        for line in hang_within(self.width, mark, &format!("{asked}{}", plan.verdict.answer)).lines() {
            self.line(styled(style, line));
        }
        self.line("");
        self.list("Instead", plan.verdict.instead.iter().map(String::as_str));
    }

    fn memory(&mut self, memory: &MemoryAccount) {
        self.line(format!("  {} {}", styled(HEAD, "Memory of each GPU"), memory.total));
        // A plan that does not fit is drawn to the scale of what it would take.
        let whole = memory.parts.iter().map(|part| part.bytes.get()).sum::<f64>().max(memory.total.get());
        for part in &memory.parts {
            let share = Ratio::of(part.bytes.get(), whole).unwrap_or(Ratio(0.0));
            let bar = styled(BAR, plot::bar(share, self.width - 50));
            let percent = memory.share(part).to_string();
            let bytes = part.bytes.to_string();
            self.line(format!("    {:<20}{bytes:>10} {percent:>6}  {bar}", part.name));
        }
        if memory.short_by.get() > 0.0 {
            self.line(format!("    {:<20}{:>10}", "missing", memory.short_by.to_string()));
        }
        self.line("");
    }

    fn pool(&mut self, pool: &Pool) {
        let bytes = pool.bytes_per_token.map_or(String::new(), |bytes| format!(" at {bytes} a token"));
        let shared = if pool.shared.get() >= 1.0 {
            format!(", {:.0} of it shared and held once", pool.shared.get())
        } else {
            String::new()
        };
        let items = [
            format!("{}{bytes}", pool.tokens),
            format!(
                "{:.2}x concurrency at full length ({}), {:.1}x at the live context of {:.0}{shared} (long answers stay longer)",
                pool.concurrency_full.get(),
                pool.window,
                pool.concurrency_live.get(),
                pool.live_context.get()
            ),
        ];
        self.list("KV pool", items.iter().map(String::as_str));
    }

    fn capacity(&mut self, capacity: &Capacity) {
        if !capacity.paces.is_empty() {
            let room = (self.width - 26).min(60);
            let head = format!("{:<width$}{:>10}{:>12}", "One step", "bound", "expected", width = room + 2);
            self.line(format!("  {}", styled(HEAD, head)));
            for pace in &capacity.paces {
                let kind = if pace.compute_bound { "compute" } else { "bandwidth" };
                let step = format!("{} ({kind})", shorten(&pace.step, room - kind.len() - 4));
                let (bound, expected) = (pace.bound.to_string(), pace.expected.to_string());
                self.line(format!("    {step:<room$}{bound:>10}{expected:>12}"));
            }
            self.line("");
        }
        let ceilings: Vec<String> = capacity
            .ceilings
            .iter()
            .map(|ceiling| {
                let rate = rate_text(ceiling.rate);
                let batch = format!("{:.0} in the batch", ceiling.batch.get());
                match ceiling.of {
                    intriage_plan::CeilingOf::Speed => format!("{rate}: {}", ceiling.of.name()),
                    of => format!("{rate}: {} ({batch})", of.name()),
                }
            })
            .collect();
        self.list("Never over", ceilings.iter().map(String::as_str));
        let mut one = Vec::new();
        if let Some(best) = &capacity.at_objectives {
            one.push(format!(
                "{} within the objectives: {} out, TTFT p95 {}, ITL mean {} and p95 {}, end to end {}, {:.0} running, KV pool {} full",
                rate_text(best.rate),
                Quantity::from(best.output),
                best.ttft_p95,
                best.itl_mean,
                best.itl_p95,
                best.e2e_mean,
                best.running.get(),
                best.kv_usage
            ));
        }
        if let Some(knee) = capacity.knee {
            one.push(format!("knee (most throughput for its latency) at {}", rate_text(knee)));
        }
        one.push(format!("stopped by {}: {}", capacity.binding.limit.name(), capacity.binding.says));
        self.list("Instance", one.iter().map(String::as_str));
    }

    fn fleet(&mut self, fleet: &Fleet) {
        let count = |count: &Count, chosen: bool, why: String| {
            let mark = if chosen { "→ " } else { "  " };
            format!("{mark}{}, {} {why}", count.instances_text(), count.gpus_text())
        };
        let (growth, spare) = (fleet.for_growth.share, fleet.with_spare.share);
        let mut items = vec![
            count(&fleet.bare, false, "with no room".into()),
            count(&fleet.for_growth, fleet.growth_asked, format!("for {growth} more demand")),
            count(&fleet.with_spare, !fleet.growth_asked, format!("with {spare} of the capacity spare")),
        ];
        items.push(one_lost(fleet));
        if let (Some(hour), Some(month), Some(output), Some(all)) = (
            fleet.price_per_hour,
            fleet.price_per_month,
            fleet.price_per_million_output,
            fleet.price_per_million_tokens,
        ) {
            items.push(format!(
                "costs {hour:.2} an hour and {month:.0} a month (730 h); {output:.2} a million output tokens, {all:.2} a million of both, at the planned rate with idle headroom included"
            ));
        }
        self.list("Machines", items.iter().map(String::as_str));
        let misread = format!("GPUs = QPS × latency / QPS per GPU? {}", fleet.misread.says);
        self.list("Formula", std::iter::once(misread.as_str()));
    }

    fn alternatives(&mut self, plan: &Plan) {
        if plan.alternatives.is_empty() {
            return;
        }
        let priced = plan.alternatives.iter().any(|a| a.price_per_million_output.is_some());
        let price_head = if priced { "a million out" } else { "" };
        let head = format!(
            "{:<width$}{:>13}{:>12}{:>6}{price_head:>15}",
            "Alternatives",
            "pool tokens",
            "req/s each",
            "GPUs",
            width = self.change_room() + 2
        );
        self.line(format!("  {}", styled(HEAD, head.trim_end())));
        if let (Some(pool), Some(fleet)) = (&plan.pool, &plan.fleet) {
            let own = Alternative {
                change: if plan.asked.layout_chosen { "as planned".into() } else { "as asked".into() },
                gpus_per_instance: fleet.gpus_per_instance,
                pool: Some(pool.tokens),
                per_instance: Some(fleet.per_instance),
                instances: Some(fleet.needed.instances),
                gpus: Some(fleet.needed.gpus),
                price_per_million_output: fleet.price_per_million_output,
                why_not: None,
                lower_precision: false,
            };
            self.alternative(&own);
        }
        for alternative in &plan.alternatives {
            self.alternative(alternative);
        }
        self.line("");
        if plan.alternatives.iter().any(|alternative| alternative.lower_precision) {
            let says = "* lower precision than planned: the quality must be checked before use, with your own prompts and reference answers (golden set, eval)";
            self.list("", std::iter::once(says));
        }
    }

    /// Columns for what is changed; the numbers beside it take 46 and the margin 4.
    fn change_room(&self) -> usize {
        (self.width - 50).clamp(10, 46)
    }

    fn alternative(&mut self, a: &Alternative) {
        let room = self.change_room();
        let mark = if a.lower_precision { " *" } else { "" };
        let change = format!("{}{mark}", shorten(&a.change, room - mark.len()));
        let number = |value: f64| Quantity::new(value, intriage_case::Unit::Count).to_string();
        let pool = a.pool.map_or("-".into(), |tokens| number(tokens.get().round()));
        if let Some(why) = &a.why_not {
            let lines = hang_within(self.width, &format!("    {change:<room$}{pool:>13}  "), why);
            self.line(lines.trim_end());
            return;
        }
        let rate = a.per_instance.map_or("-".into(), |rate| short(rate.0.get()));
        let gpus = a.gpus.map_or("-".into(), |gpus| number(gpus as f64));
        let price = a.price_per_million_output.map_or(String::new(), |price| format!("{price:.2}"));
        self.line(format!("    {change:<room$}{pool:>13}{rate:>12}{gpus:>6}{price:>15}"));
    }
}

/// What is left when one instance fails.
fn one_lost(fleet: &Fleet) -> String {
    let lost = &fleet.one_lost;
    if fleet.needed.instances < 2 {
        return format!(
            "with one instance lost nothing serves: {} ({}) survive it",
            lost.needed.instances_text(),
            lost.needed.gpus_text()
        );
    }
    let holds = rate_text(lost.holds);
    if lost.holds_peak {
        return format!("with one instance lost {holds} are held, the peak included");
    }
    format!(
        "with one instance lost only {holds} are held: {} ({}) hold the peak without one",
        lost.needed.instances_text(),
        lost.needed.gpus_text()
    )
}

/// A rate in a column, never read as zero.
fn short(rate: f64) -> String {
    match rate {
        0.95.. => format!("{rate:.1}"),
        0.01.. => format!("{rate:.2}"),
        _ => "<0.01".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use intriage_case::{PerSecond, Requests, Tokens};
    use intriage_physics::{KvDtype, gpu, known};
    use intriage_plan::{Ask, Deployed, EngineLimits, Headroom, Layout, Release, Traffic, plan};

    use super::*;

    #[test]
    fn no_line_is_wider_than_the_page() {
        let deployed = Deployed {
            name: "llama-3.2-1b".to_owned(),
            model: known::model("llama-3.2-1b").unwrap(),
            gpu: gpu::find("l40s").unwrap().gpu,
            tp: 1,
            pp: 1,
            layout: Layout::Asked,
            node: 8,
            kv: KvDtype::Bf16,
            weights: "bf16".to_owned(),
            utilisation: None,
            release: Release::default(),
        };
        let ask = Ask {
            deployed: Some(deployed),
            measured: None,
            limits: EngineLimits::default(),
            traffic: Traffic::of(PerSecond(Requests(1e5)), Tokens(300.0), Tokens(20.0)),
            objectives: vec!["itl.p95=20ms".parse().unwrap()],
            headroom: Headroom::Growth(Ratio(0.25)),
            price: Some(2.5),
            seed: 1,
        };
        let plan = plan(&ask, &mut || {});
        for width in [60, 80, 100] {
            let text = plan_text(&plan, Some(width));
            for line in text.lines() {
                // A style is an escape up to its `m`.
                let bare: usize = line
                    .split('\u{1b}')
                    .enumerate()
                    .map(|(i, part)| if i == 0 { part } else { part.split_once('m').map_or("", |p| p.1) })
                    .map(|part| part.chars().count())
                    .sum();
                assert!(bare <= width, "{bare} of {width} columns: {line}");
            }
        }
    }

    #[test]
    fn the_published_schema_is_the_one_the_types_have() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/plan-1.schema.json");
        let generated = super::plan_schema().unwrap();
        if std::env::var_os("INTRIAGE_BLESS").is_some() {
            std::fs::write(path, &generated).unwrap();
        }
        let published = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            published == generated,
            "schemas/plan-1.schema.json is stale: run the tests with INTRIAGE_BLESS=1"
        );
    }
}
