//! Tests several causes make: does anybody wait, is it felt, which limit is reached?

use intriage_case::{
    Fact, ObjectiveMetric, Quantity, Ratio, Requests, Seconds, Series, Signal, Source, Tokens, Unit,
};
use intriage_engines::{LogEvent, Setting};

use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::thresholds::Limit;
use crate::weighing::Test;

/// A line of the log as a fact.
pub(super) fn told_by_log(line: &LogEvent, says: String) -> Fact {
    Fact { says, value: None, limit: None, signal: None, source: line.source() }
}

/// No line tells of what the engine would write down each time it happens.
pub(super) fn no_line_tells(e: &Evidence<'_>, of: &str) -> Test {
    Test::Unknown(if e.observed.log.present {
        format!("no line of the log tells of {of}")
    } else {
        format!("only the server's log tells of {of}: give --log")
    })
}

/// A test that cannot be made because a signal is missing.
pub(super) fn unknown(e: &Evidence<'_>, signal: Signal) -> Test {
    Test::Unknown(match e.observed.metric(signal) {
        Some(metric) => format!("{metric} did not move in the window"),
        None => e.observed.why_missing(signal),
    })
}

/// Requests wait. Whether that hurts is a symptom's business.
pub(super) fn requests_wait(e: &Evidence<'_>) -> Test {
    let Some(waiting) = e.gauge(Signal::RequestsWaiting) else { return unknown(e, Signal::RequestsWaiting) };
    let Some(Ratio(share)) = waiting.share_at(e.busy(), |w| w > 0.0) else {
        return Test::Unknown("nothing was running in the window".into());
    };
    let mean = waiting.mean_at(e.busy()).unwrap_or(0.0);
    if mean > 0.0
        && e.delta(Signal::TokensGenerated) == Some(0.0)
        && e.delta(Signal::TokensPrompt) == Some(0.0)
    {
        return Test::Unknown(
            "no token moved in the window: whether this is a queue or a standstill is open".into(),
        );
    }
    if mean == 0.0
        && let Some(queue) = queue_between_looks(e)
    {
        return Test::Holds(queue);
    }
    let says = if mean == 0.0 {
        "nobody waits".to_owned()
    } else {
        format!("{} waiting on average, in {} of the busy {}", Requests(mean), Ratio(share), e.looks())
    };
    // A queue of two looks is one; a single look is a gauge read between two steps.
    let looks = e.waiting_scrapes().len() as f64;
    let few = (e.busy().len() as f64) < e.limit(Limit::StretchLooks);
    let told = e.account.queue.is_some_and(|q| q.low >= e.limit(Limit::QueueFelt));
    Test::when(
        mean > 0.0 && (few || told || looks >= e.limit(Limit::StretchLooks)),
        e.fact(Signal::RequestsWaiting, says, mean),
    )
}

/// The engine's own queue times tell of a queue, and every look at the waiting gauge fell between two of them: the gauge then
/// refutes nothing.
pub(super) fn queue_between_looks(e: &Evidence<'_>) -> Option<Fact> {
    let queue = e.account.queue.filter(|q| q.low >= e.limit(Limit::QueueFelt))?;
    e.waiting_scrapes().is_empty().then(|| {
        let says =
            format!("requests wait {} on average, between the looks at the gauge", Seconds(queue.value));
        e.fact(Signal::LatencyQueue, says, queue.value)
    })
}

/// Nobody waits in any look: that refutes a limit, unless the queue lay between the looks.
pub(super) fn no_request_waits(e: &Evidence<'_>) -> Test {
    match queue_between_looks(e) {
        Some(queue) => Test::Unknown(queue.says),
        None => Test::Fails(e.fact(Signal::RequestsWaiting, "no request waits", 0.0)),
    }
}

/// The least queue worth naming: a tenth of a second, or a quarter of the first-token objective.
pub(super) fn queue_floor(e: &Evidence<'_>) -> f64 {
    let of_objective =
        e.objective(ObjectiveMetric::Ttft).map_or(0.0, |s| s.get() * e.limit(Limit::QueueOfObjective));
    e.limit(Limit::QueueTime).max(of_objective)
}

/// What the queue costs.
pub(super) fn queue_impact(e: &Evidence<'_>) -> Impact {
    let (share, time) = match (e.account.queue, e.account.waiting_share) {
        (Some(queue), _) => (e.account.share_of_life(queue.value), Some(Seconds(queue.value))),
        (None, share) => (Ratio(share.unwrap_or(0.0)), None),
    };
    let says = match time {
        Some(time) => format!("{time} of waiting per request, {share} of its life"),
        None => format!("{share} of a request's life is waiting"),
    };
    Impact { on: ImpactOn::Ttft, share, time, says }
}

/// The KV pool while requests wait.
pub(super) struct Pool {
    /// Share of the scrapes in which the next ordinary request did not fit.
    pub(super) full_share: f64,
    /// Mean usage.
    pub(super) usage: f64,
}

/// The KV pool in the given scrapes. Full means above the threshold, or less room left than one
/// ordinary prompt needs: a small pool is full before its gauge says so. Ordinary is what nine of
/// ten prompts need, because the one that is stuck at the head is rarely a short one.
pub(super) fn pool(e: &Evidence<'_>, scrapes: &[usize]) -> Option<Pool> {
    let prompts = e.histogram(Signal::TokensPromptEach);
    let most = prompts.and_then(|h| {
        let (median, most) = h.quantile(0.5).zip(h.quantile(0.9))?;
        Some(Tokens(most.estimate.min(median.estimate * e.limit(Limit::OrdinaryPrompt))))
    });
    let need = most.into_iter().chain(next_prompt(e)).reduce(larger);
    pool_for(e, scrapes, need.or_else(|| half_a_request(e, scrapes)))
}

/// Half of what a running request holds, where only lines of a log tell and no prompt is known: a small pool is full at 94 %
/// if the rest is less than that.
fn half_a_request(e: &Evidence<'_>, scrapes: &[usize]) -> Option<Tokens> {
    e.observed.lines.as_ref()?;
    let held = e.gauge(Signal::KvUsage)?.mean_at(scrapes)? * e.setting(Setting::KvCapacity)?;
    let running = e.gauge(Signal::RequestsRunning)?.mean_at(scrapes).filter(|running| *running >= 1.0)?;
    Some(Tokens(held / running / 2.0))
}

fn larger(a: Tokens, b: Tokens) -> Tokens {
    if a < b { b } else { a }
}

/// The KV pool in the given scrapes, full meaning less room than `need`.
pub(super) fn pool_for(e: &Evidence<'_>, scrapes: &[usize], need: Option<Tokens>) -> Option<Pool> {
    let usage = e.gauge(Signal::KvUsage)?;
    let scrapes = &e.fresh(scrapes);
    let capacity = e.setting(Setting::KvCapacity);
    let full = |u: f64| {
        let no_room = capacity.zip(need).is_some_and(|(capacity, need)| (1.0 - u) * capacity < need.get());
        u >= e.limit(Limit::KvFull) || no_room
    };
    Some(Pool { full_share: usage.share_at(scrapes, full)?.get(), usage: usage.mean_at(scrapes)? })
}

/// Tokens an ordinary request needs to be admitted: its prompt.
pub(super) fn next_prompt(e: &Evidence<'_>) -> Option<Tokens> {
    e.mean(Signal::TokensPromptEach).or_else(|| per_first_token(e, Signal::TokensPrompt)).map(Tokens)
}

/// Tokens a running request holds: its prompt and half its output.
pub(super) fn mean_context(e: &Evidence<'_>) -> Option<Tokens> {
    let output = e.mean(Signal::TokensOutputEach).or_else(|| per_first_token(e, Signal::TokensGenerated))?;
    Some(Tokens(next_prompt(e)?.get() + output / 2.0))
}

/// A token counter over the requests that got a first token, for windows in which none finished.
fn per_first_token(e: &Evidence<'_>, counter: Signal) -> Option<f64> {
    let started = e.histogram(Signal::LatencyTtft)?.count();
    (started > 0.0).then(|| e.delta(counter).map(|d| d / started))?
}

/// Tokens the running requests and the next one need, where both are known: engines set the gauge after a step and before
/// the next admission, so a small pool reads half empty while nobody else fits.
fn needed_with_the_next(e: &Evidence<'_>) -> Option<Tokens> {
    let running = e.gauge(Signal::RequestsRunning)?.mean_at(&e.waiting_scrapes())?;
    Some(Tokens(running * mean_context(e)?.get() + next_prompt(e)?.get()))
}

/// The pool is full while requests wait.
pub(super) fn pool_is_full(e: &Evidence<'_>) -> Test {
    let Some(pool) = pool(e, &e.waiting_scrapes()) else {
        return match e.gauge(Signal::KvUsage) {
            None => unknown(e, Signal::KvUsage),
            Some(usage) => match (queue_between_looks(e), usage.max_at(e.busy())) {
                (Some(_), Some(most)) if most < e.limit(Limit::KvFree) => Test::Fails(e.fact(
                    Signal::KvUsage,
                    format!("KV pool at most {} full", Ratio(most)),
                    most,
                )),
                _ => no_request_waits(e),
            },
        };
    };
    let need = next_prompt(e).or_else(|| half_a_request(e, &e.waiting_scrapes()));
    let says = match (e.setting(Setting::KvCapacity), need) {
        (Some(capacity), Some(need)) if pool.usage < e.limit(Limit::KvFull) => format!(
            "KV pool {} full while requests wait: {} left, the next prompt needs about {need}",
            Ratio(pool.usage),
            Tokens((1.0 - pool.usage) * capacity)
        ),
        _ => format!("KV pool {} full while requests wait", Ratio(pool.usage)),
    };
    if pool.full_share >= e.limit(Limit::Mostly) {
        return Test::Holds(e.fact(Signal::KvUsage, says, pool.usage));
    }
    if let (Some(capacity), Some(needed)) = (e.setting(Setting::KvCapacity), needed_with_the_next(e)) {
        let says = format!(
            "the running requests and the next one need about {needed} of a KV pool of {}; its gauge reads {} between steps",
            Tokens(capacity),
            Ratio(pool.usage)
        );
        if needed.get() >= e.limit(Limit::KvFull) * capacity {
            return Test::Holds(e.fact(Signal::KvUsage, says, pool.usage));
        }
        if needed.get() >= 0.5 * capacity {
            return Test::Unknown(says);
        }
    }
    Test::Fails(e.fact(Signal::KvUsage, says, pool.usage))
}

/// The pool has room while requests wait.
pub(super) fn pool_has_room(e: &Evidence<'_>) -> Test {
    let Some(pool) = pool(e, &e.waiting_scrapes()) else { return unknown(e, Signal::KvUsage) };
    let says = format!("KV pool only {} full while requests wait", Ratio(pool.usage));
    let room = pool.usage < e.limit(Limit::KvFree) && pool.full_share < 0.5;
    Test::when(room, e.fact(Signal::KvUsage, says, pool.usage))
}

/// The most sequences the engine runs at once, and how that is known.
pub(super) struct Cap {
    pub(super) value: f64,
    /// Nothing states it; the running gauge shows it.
    pub(super) inferred: bool,
}

/// The sequence cap: stated, or read off a flat top of the running gauge while requests wait.
pub(super) fn sequence_cap(e: &Evidence<'_>) -> Option<Cap> {
    let stated = e
        .observed
        .config
        .get(Setting::MaxSequences)
        .and_then(|s| Some((s.value.number()?, s.source.clone())));
    let flat = flat_top(e);
    match (stated, flat) {
        // A default is an assumption where nobody told what was set; a flat top below it is an observation.
        (Some((_, Source::Default { .. })) | None, Some(top)) if !e.observed.config.is_told() => {
            Some(Cap { value: top, inferred: true })
        }
        (Some((value, _)), _) => Some(Cap { value, inferred: false }),
        (None, _) => None,
    }
}

/// The value running stays at while requests wait and the pool has room.
fn flat_top(e: &Evidence<'_>) -> Option<f64> {
    let scrapes = e.waiting_scrapes();
    let running = e.gauge(Signal::RequestsRunning)?;
    if (scrapes.len() as f64) < e.limit(Limit::FlatTop)
        || !pool(e, &scrapes).is_none_or(|p| p.usage < e.limit(Limit::KvFree))
    {
        return None;
    }
    let top = scrapes.iter().filter_map(|&i| running.at(i)).reduce(f64::max).filter(|t| *t > 0.0)?;
    let at_top = running.share_at(&scrapes, |r| r == top)?.get();
    (at_top >= e.limit(Limit::Mostly)).then_some(top)
}

/// Running stays at the sequence cap while requests wait.
pub(super) fn at_sequence_cap(e: &Evidence<'_>) -> Test {
    let Some(running) = e.gauge(Signal::RequestsRunning) else { return unknown(e, Signal::RequestsRunning) };
    let scrapes = e.waiting_scrapes();
    let Some(mean) = running.mean_at(&scrapes) else { return cap_between_looks(e, &running) };
    let Some(cap) = sequence_cap(e) else {
        return Test::Unknown(format!(
            "the sequence cap of {} is not stated anywhere: give --engine-args or --log",
            e.observed.engine_name()
        ));
    };
    let how = if cap.inferred { "a flat top at" } else { "a cap of" };
    let mut fact = e.fact(
        Signal::RequestsRunning,
        format!("{} running on average while others wait, {how} {:.0}", Requests(mean), cap.value),
        mean,
    );
    fact.limit = Some(Quantity::new(cap.value, Unit::Requests));
    // Slots that fall free are refilled a step later: a small cap reads lower in between.
    let in_most = |least: f64, share: Limit| {
        running.share_at(&scrapes, |r| r >= least).is_some_and(|s| s.get() >= e.limit(share))
    };
    let one_less = cap.value - 1.0;
    let pool_has_room = pool(e, &scrapes).is_some_and(|p| p.usage < e.limit(Limit::KvFree));
    let one_free =
        pool_has_room && !cap.inferred && one_less > cap.value / 2.0 && in_most(one_less, Limit::Sustained);
    let at_cap = in_most(cap.value, Limit::Mostly) || one_free;
    Test::when(at_cap || mean >= e.limit(Limit::AtCap) * cap.value, fact)
}

/// The cap where no look caught a waiting request: it is reached if the fullest looks come up to it.
fn cap_between_looks(e: &Evidence<'_>, running: &Series) -> Test {
    let stated = e.setting(Setting::MaxSequences).zip(running.max_at(e.busy()));
    let (Some(_), Some((cap, most))) = (queue_between_looks(e), stated) else { return no_request_waits(e) };
    let says = format!("up to {} running, a cap of {cap:.0}", Requests(most));
    let fact = e.fact(Signal::RequestsRunning, says, most);
    if most >= e.limit(Limit::AtCap) * cap {
        Test::Holds(fact)
    } else if most < cap / 2.0 {
        Test::Fails(fact)
    } else {
        Test::Unknown(fact.says)
    }
}

/// Running stays at a cap somebody stated. A flat top proves nothing here: a full pool makes one too.
pub(super) fn at_stated_cap(e: &Evidence<'_>) -> Test {
    if e.observed.config.was_chosen(Setting::MaxSequences) {
        at_sequence_cap(e)
    } else {
        Test::Unknown("the sequence cap is not stated".into())
    }
}

/// The token budget of a step: stated, or one of the engine's defaults that full steps come up to.
pub(super) fn token_budget(e: &Evidence<'_>, mean_step: f64) -> Option<f64> {
    e.setting(Setting::TokenBudget).or_else(|| {
        let defaults = intriage_engines::dialect(e.observed.identity.engine?).default_budgets;
        // Output tokens come on top of a chunk, so a full step may read slightly above its budget.
        let fits = |budget: &f64| (e.limit(Limit::BudgetFull)..1.05).contains(&(mean_step / budget));
        defaults.iter().copied().find(fits)
    })
}

/// Steps are filled to the token budget while requests wait.
pub(super) fn steps_are_full(e: &Evidence<'_>) -> Test {
    let waiting = e.gauge(Signal::RequestsWaiting);
    let while_waiting = |i: usize| waiting.as_ref().and_then(|w| w.at(i)).is_some_and(|w| w > 0.0);
    let Some(steps) = e.histogram_where(Signal::TokensPerStep, while_waiting) else {
        return unknown(e, Signal::TokensPerStep);
    };
    let Some(mean) = steps.mean() else { return no_request_waits(e) };
    let Some(budget) = token_budget(e, mean) else {
        return Test::Unknown(format!(
            "steps carry {}; the token budget of {} is not stated anywhere: give --engine-args or --log",
            Tokens(mean),
            e.observed.engine_name()
        ));
    };
    let how = if e.setting(Setting::TokenBudget).is_some() {
        "the budget is"
    } else {
        "as a default budget allows:"
    };
    let says = format!("steps carry {} on average, {how} {}", Tokens(mean), Tokens(budget));
    let mut fact = e.fact(Signal::TokensPerStep, says, mean);
    fact.limit = Some(Quantity::new(budget, Unit::Tokens));
    Test::when(mean >= e.limit(Limit::BudgetFull) * budget, fact)
}

/// Enough finished requests to compare means.
pub(super) fn enough_finished(e: &Evidence<'_>) -> Test {
    let Some(finished) = e.finished() else { return unknown(e, Signal::RequestsFinished) };
    let says = format!("{finished} finished in the window");
    Test::when(
        finished.get() >= e.limit(Limit::MeanSample),
        e.fact(Signal::RequestsFinished, says, finished.get()),
    )
}

/// Prompts are long enough for their computation to matter.
pub(super) fn prompts_are_long(e: &Evidence<'_>) -> Test {
    let Some(mean) = e.mean(Signal::TokensPromptEach) else { return unknown(e, Signal::TokensPromptEach) };
    let says = format!("prompts of {} on average", Tokens(mean));
    Test::when(mean >= e.limit(Limit::LongPrompt), e.fact(Signal::TokensPromptEach, says, mean))
}

/// Computing prompts, or waiting for prompts being computed, is the larger part of the first-token time.
pub(super) fn prompt_work_is_large(e: &Evidence<'_>) -> Test {
    let a = &e.account;
    let (Some(ttft), Some(prefill)) = (a.ttft, a.prefill) else { return unknown(e, Signal::LatencyPrefill) };
    let own = prefill.value + a.input.map_or(0.0, |p| p.value);
    let behind_others = matches!(steps_are_full(e), Test::Holds(_));
    let large = own >= e.limit(Limit::PrefillShare) * ttft || behind_others;
    let says = if behind_others {
        format!("first token after {}, behind steps full of other prompts", Seconds(ttft))
    } else {
        format!("first token after {}, {} of it prompt work", Seconds(ttft), Ratio((own / ttft).min(1.0)))
    };
    Test::when(large, e.fact(Signal::LatencyTtft, says, ttft))
}

/// The model runs on a CPU: there is no card.
pub(super) fn on_cpu(e: &Evidence<'_>) -> Test {
    match e.observed.config.text(Setting::Device) {
        Some(device) => Test::when(
            device == "cpu",
            e.setting_fact(Setting::Device, format!("the model runs on {device}")),
        ),
        None => Test::Unknown("what the model runs on is not stated".into()),
    }
}

/// The model runs on a GPU.
pub(super) fn runs_on_gpu(e: &Evidence<'_>) -> Test {
    match e.observed.config.text(Setting::Device) {
        Some("cpu") => Test::Fails(e.setting_fact(Setting::Device, "the model runs on the CPU")),
        Some(device) => Test::Holds(e.setting_fact(Setting::Device, format!("the model runs on {device}"))),
        None if !e.observed.gpu.samples.is_empty() => {
            let mut fact = e.derived("GPU readings are present", Ratio(1.0), "nvidia-smi dmon");
            fact.value = None;
            fact.source = Source::Gpu { tool: e.observed.gpu.samples_source.clone() };
            Test::Holds(fact)
        }
        None => Test::Unknown(
            "whether the model runs on a GPU is stated nowhere: give --log or --engine-args".into(),
        ),
    }
}

/// Decode is the larger part of a request's life.
pub(super) fn decode_dominates(e: &Evidence<'_>) -> Test {
    let Some(decode) = e.account.decode else { return unknown(e, Signal::LatencyDecode) };
    let share = e.account.share_of_life(decode);
    let says = format!("decode takes {share} of a request's life");
    Test::when(share.get() >= e.limit(Limit::DecodeShare), e.fact(Signal::LatencyDecode, says, decode))
}

/// The flag that sets the sequence cap of this engine.
pub(super) fn cap_flag(e: &Evidence<'_>) -> Option<&'static str> {
    let flags = intriage_engines::dialect(e.observed.identity.engine?).flags;
    flags.iter().find(|f| f.setting == Setting::MaxSequences).and_then(|f| f.names.first().copied())
}
