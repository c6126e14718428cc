//! The engine of a case: its limits from the configuration, the engine's defaults where nothing states them.

use intriage_case::{Ratio, Seconds, Signal, Tokens};
use intriage_engines::{Setting, dialect};
use intriage_simulate::workload::SharedPrefix;
use intriage_simulate::{Class, EngineConfig, Lengths, Policy, StepTime};

use crate::lengths::lengths;
use crate::why_not::WhyNot;
use crate::window::Window;

/// Block size where nothing states one.
const BLOCK: f64 = 16.0;
/// Token budget where nothing states one and the engine has no known default.
const BUDGET: f64 = 8192.0;
/// Tokens of a pool whose size nothing states: large enough never to bind.
const ENDLESS_POOL: f64 = 4_000_000.0;
/// Blocks of the largest pool that is modelled.
pub(crate) const MOST_BLOCKS: f64 = 2_000_000.0;
/// How much steps of equal load differ, as a coefficient of variation.
const STEP_NOISE: f64 = 0.05;

/// The engine's limits; step times are put in by the fit.
pub(crate) fn engine(window: &Window<'_>) -> Result<EngineConfig, WhyNot> {
    let config = &window.observed.config;
    let whole = |value: f64| value.round().clamp(0.0, f64::from(u32::MAX / 4)) as u32;
    let block = config.number(Setting::KvBlockSize).filter(|b| *b >= 1.0).unwrap_or(BLOCK);
    let pool = config.number(Setting::KvCapacity).unwrap_or(ENDLESS_POOL);
    if window.delta(Signal::SpecDraftTokens).is_some_and(|n| n > 0.0) {
        return Err(WhyNot::Speculates);
    }
    let engine = EngineConfig {
        max_sequences: whole(sequence_cap(window)),
        token_budget: whole(token_budget(window)),
        chunked_prefill: config.switch(Setting::ChunkedPrefill).unwrap_or(true),
        plans_ahead: config.switch(Setting::AsyncScheduling).unwrap_or(true),
        block_tokens: whole(block),
        pool_blocks: whole((pool / block).min(MOST_BLOCKS)),
        prefix_cache: config.switch(Setting::PrefixCaching).unwrap_or(false),
        policy: Policy::Fcfs,
        context_window: whole(config.number(Setting::ContextWindow).unwrap_or(ENDLESS_POOL)),
        queue_limit: config.number(Setting::QueueLimit).filter(|n| *n >= 1.0).map(whole),
        max_adapters: u32::MAX,
        speculation: None,
        step: StepTime { noise: Ratio(STEP_NOISE), ..StepTime::constant(Seconds(0.0)) },
    };
    engine.check().map_err(|e| WhyNot::Settings(e.to_string()))?;
    Ok(engine)
}

/// The cap stated, or where nobody told what was set and requests wait beside a pool with room, the most
/// that were seen running.
fn sequence_cap(window: &Window<'_>) -> f64 {
    let config = &window.observed.config;
    let most =
        |signal| window.series(signal).and_then(|s| s.into_iter().flatten().reduce(f64::max)).unwrap_or(0.0);
    let stated = config.number(Setting::MaxSequences).filter(|n| *n >= 1.0);
    let told = config.is_told() || config.was_chosen(Setting::MaxSequences);
    let capped = most(Signal::RequestsWaiting) > 0.0 && most(Signal::KvUsage) < 0.9;
    match stated {
        Some(cap) if told || !capped => cap,
        _ if capped => most(Signal::RequestsRunning).max(1.0),
        _ => (4.0 * most(Signal::RequestsRunning)).max(256.0),
    }
}

/// The budget stated, or the smallest of the engine's defaults that the steps seen fit into.
fn token_budget(window: &Window<'_>) -> f64 {
    let seen = window.mean(Signal::TokensPerStep).unwrap_or(0.0);
    let defaults = window.observed.identity.engine.map_or(&[][..], |e| dialect(e).default_budgets);
    let fits = || defaults.iter().copied().find(|b| *b >= seen);
    let stated = window.observed.config.number(Setting::TokenBudget).filter(|n| *n >= 1.0);
    stated.or_else(fits).unwrap_or(BUDGET)
}

/// What requests are like: lengths, and the part of each prompt the cache already serves.
pub(crate) fn class(window: &Window<'_>, engine: &EngineConfig) -> Result<Class, WhyNot> {
    let missing = |signal| WhyNot::Missing(window.observed.why_missing(signal));
    let read = |signal, counter| {
        window.gained(signal).and_then(|h| lengths(&h, engine.context_window.saturating_sub(1))).or_else(
            || {
                let started = window.gained(Signal::LatencyTtft)?.count();
                let each = window.delta(counter)? / started;
                (each >= 1.0 && each.is_finite()).then(|| Lengths::Fixed(each.round() as u32))
            },
        )
    };
    let prompt = read(Signal::TokensPromptEach, Signal::TokensPrompt)
        .ok_or_else(|| missing(Signal::TokensPromptEach))?;
    let answer = read(Signal::TokensOutputEach, Signal::TokensGenerated)
        .ok_or_else(|| missing(Signal::TokensOutputEach))?;
    let mut class = Class::plain(prompt, answer, u32::MAX);
    let cached = cached_tokens(window, class.prompt.mean()).get();
    let blocks = (cached / f64::from(engine.block_tokens)).round();
    if engine.prefix_cache && blocks >= 1.0 {
        class.prefix = Some(SharedPrefix { groups: 1, tokens: blocks as u32 * engine.block_tokens });
    }
    Ok(class)
}

/// Tokens of a mean prompt that came from the cache. What a request had to compute tells best: lookups
/// are counted again every time a waiting request is tried.
fn cached_tokens(window: &Window<'_>, prompt: Tokens) -> Tokens {
    let uncached = || Some(window.mean(Signal::TokensPromptEach)? - window.mean(Signal::TokensUncachedEach)?);
    let ratio = || {
        let found = Ratio::of(window.delta(Signal::KvPrefixHits)?, window.delta(Signal::KvPrefixQueries)?)?;
        Some(found.get() * prompt.get())
    };
    Tokens(uncached().or_else(ratio).unwrap_or(0.0).clamp(0.0, prompt.get()))
}
