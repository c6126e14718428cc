//! Standstills: no token although requests are in the engine, for longer than its steps take.
//!
//! A stop must be told from a long step. Prompts that are computed in one step are booked when it ends, so a silence that
//! ends with as many prompt tokens as it takes that long to compute was a step. A silence whose like is common among the
//! gaps between tokens is usual here. And a pause shows nobody in the engine: first tokens and gaps behind it tell that
//! requests were there.

use intriage_case::{ClientRequest, Histogram, Millis, Ratio, Requests, Seconds, Signal};
use intriage_engines::{Instance, Meaning};

use super::events::{Event, EventKind, later, requests, when};
use super::intervals::Interval;
use super::pace::Pace;
use super::unanswered::unanswered;
use crate::evidence::Evidence;
use crate::lately::lately;
use crate::silence::steps_show_in;
use crate::thresholds::Limit;

/// Longest steps up to this part of a standstill are those of a fast engine.
const FAST: f64 = 0.1;

/// The standstills of each engine behind the address that counts its steps as they happen.
pub(super) fn standstills(e: &Evidence<'_>, intervals: &[Interval]) -> Vec<Event> {
    let instances = e.observed.instances();
    let scopes: Vec<Option<&Instance>> =
        if instances.len() < 2 { vec![None] } else { instances.iter().map(Some).collect() };
    let pace = Pace::of(e, intervals);
    let alone = instances.len() < 2;
    let mut found: Vec<Event> = scopes
        .into_iter()
        .filter_map(|of| Steps::of(e, of, pace))
        .flat_map(|steps| steps.standstills())
        .collect();
    if found.is_empty() && alone {
        found.extend(unanswered(e, intervals, pace));
    }
    found
}

/// One engine, scrape by scrape.
struct Steps<'a, 'e> {
    e: &'a Evidence<'e>,
    engine: Option<&'a str>,
    pace: Pace,
    /// Something that a step moves has moved since the scrape before, or nobody knows.
    moved: Vec<bool>,
    running: Vec<Option<f64>>,
    waiting: Vec<Option<f64>>,
    gaps: Vec<Option<Histogram>>,
    first_tokens: Vec<Option<Histogram>>,
    prompts: Vec<Option<f64>>,
    /// Tokens of each step.
    sizes: Vec<Option<Histogram>>,
    generated: Vec<Option<f64>>,
    preempted: Vec<Option<f64>>,
    given_up: Vec<Option<f64>>,
}

impl<'a, 'e> Steps<'a, 'e> {
    fn of(e: &'a Evidence<'e>, of: Option<&'a Instance>, pace: Pace) -> Option<Self> {
        let tracks = steps_show_in(e, of)?;
        let moved = (0..e.observed.times.len()).map(|i| {
            let before = |track: &Vec<Option<f64>>| i.checked_sub(1).and_then(|j| track[j]).zip(track[i]);
            let mut known = tracks.iter().filter_map(before).peekable();
            known.peek().is_none() || known.any(|(then, now)| then != now)
        });
        let values = |signal, key| {
            e.observed.series(signal, of, key).map_or(Vec::new(), |series| series.values().to_vec())
        };
        let states = |signal| e.observed.histograms(signal, of).unwrap_or_default();
        let computed = values(Signal::TokensPromptComputed, None);
        Some(Self {
            e,
            engine: of.and_then(|instance| instance.engine.as_deref()),
            pace,
            moved: moved.collect(),
            running: values(Signal::RequestsRunning, None),
            waiting: values(Signal::RequestsWaiting, None),
            gaps: states(Signal::LatencyItl),
            first_tokens: states(Signal::LatencyTtft),
            prompts: if computed.is_empty() { values(Signal::TokensPrompt, None) } else { computed },
            sizes: states(Signal::TokensPerStep),
            generated: values(Signal::TokensGenerated, None),
            preempted: values(Signal::RequestsPreempted, None),
            given_up: values(Signal::RequestsFinished, Some("abort")),
        })
    }

    fn standstills(&self) -> Vec<Event> {
        let mut found = Vec::new();
        let mut i = 1;
        while i < self.moved.len() {
            let run = self.moved[i..].iter().take_while(|moved| !**moved).count();
            let ended = i + run;
            let event = if run == 0 {
                self.within(i)
            } else if ended < self.moved.len() {
                self.ended(i - 1, ended)
            } else {
                self.open(i - 1)
            };
            found.extend(event);
            i = ended + 1;
        }
        found
    }

    /// A silence from scrape `from` on that ends in the interval up to scrape `end`.
    fn ended(&self, from: usize, end: usize) -> Option<Event> {
        let least = self.seconds(from, end - 1);
        let held = self.held(from, end - 1);
        let start = self.e.observed.times[from];
        let seconds = self
            .length(from, end)
            .clamp(least, least + self.seconds(from.saturating_sub(1), from) + self.seconds(end - 1, end));
        if seconds < self.e.limit(Limit::Standstill)
            || self.never_served(from)
            || !self.is_a_stop(from, end, seconds)
        {
            return None;
        }
        // What is longer than the scrapes show began before the first of them, as far as tokens are missing there.
        let missing = self.missing_before(from).min(seconds - least);
        let start = later(start, -missing);
        let until = later(start, seconds);
        if held > 0.0 {
            return Some(self.event(start, until, false, held, &self.who(from, end - 1)));
        }
        // Nobody was seen at work before: what came first took long, which a warm-up tells.
        let open = self.were_open(from, end, least).filter(|_| from > 0)?;
        Some(self.event(start, until, false, 0.0, &format!("although requests were open: {open}")))
    }

    /// A silence from scrape `from` to the end of the window.
    fn open(&self, from: usize) -> Option<Event> {
        let last = self.moved.len() - 1;
        let (seconds, held) = (self.seconds(from, last), self.held(from, last));
        let (start, end) = (self.e.observed.times[from], self.e.observed.times[last]);
        let step = self.ordinary_step(from);
        // Where the longest steps are a small part of it, a silence as long as one that ended is as surely one.
        let is_fast = held > 0.0 && step > 0.0 && step <= FAST * self.e.limit(Limit::Standstill);
        let enough = if is_fast {
            self.e.limit(Limit::Standstill)
        } else {
            self.e.limit(Limit::UneasySilence).max(step * self.e.limit(Limit::StallOverStep))
        };
        if seconds < enough || last - from < 2 || self.never_served(from) {
            return None;
        }
        if held > 0.0 {
            return Some(self.event(start, end, true, held, &self.who(from, last)));
        }
        let why = self.was_stopped(from)?;
        Some(self.event(start, end, true, 0.0, &format!("and nothing runs or waits: {why}")))
    }

    /// A stop that began and ended between two scrapes: every request in the batch has one long gap.
    fn within(&self, end: usize) -> Option<Event> {
        let from = end - 1;
        let batch = self.running.get(from).copied().flatten().filter(|batch| *batch >= 2.0)?;
        let is_preempted = gain(&self.preempted, from, end).is_some_and(|n| n > 0.0);
        let seconds = self.length(from, end);
        if is_preempted || seconds < self.e.limit(Limit::Standstill) || seconds > self.seconds(from, end) {
            return None;
        }
        let gained = self.gained(from, end)?;
        let long: f64 = gained.buckets().filter(|(low, ..)| *low >= seconds / 2.0).map(|b| b.2).sum();
        if long < self.e.limit(Limit::StepExplains) * batch || !self.is_a_stop(from, end, seconds) {
            return None;
        }
        // Where in the interval it lay is not known; its end is the latest it can have been.
        let until = self.e.observed.times[end];
        Some(self.event(later(until, -seconds), until, false, batch, &self.who(from, from)))
    }

    /// Whether neither the prompts behind a silence nor the usual gaps explain it.
    fn is_a_stop(&self, from: usize, end: usize, least: f64) -> bool {
        let prompts =
            gain(&self.prompts, from, self.booked_by(end)).unwrap_or(0.0) + self.computed_again(end);
        let by_prompts = match self.pace.prompt {
            Some(pace) => prompts * pace >= self.e.limit(Limit::StepExplains) * least,
            // Nobody knows how long these prompts take.
            None => prompts > 0.0 && least < self.e.limit(Limit::StallSeconds),
        };
        let before = self.gaps.get(from).and_then(Option::as_ref);
        let usual = before.and_then(|gaps| gaps.share_above(least / 2.0)).map_or(0.0, Ratio::get);
        !by_prompts && usual < self.e.limit(Limit::UsualGap)
    }

    /// Tokens of a request that was thrown back before and is computed again: engines book them nowhere.
    fn computed_again(&self, end: usize) -> f64 {
        let thrown_back = gain(&self.preempted, 0, end).is_some_and(|n| n > 0.0);
        let each =
            [Signal::TokensPromptEach, Signal::TokensOutputEach].map(|s| self.e.mean(s).unwrap_or(0.0));
        if thrown_back { each.iter().sum() } else { 0.0 }
    }

    /// The scrape by which a prompt that was read through a silence is booked: with its last piece, some steps behind the
    /// first.
    fn booked_by(&self, end: usize) -> usize {
        let count = |i: usize| self.sizes.get(i).and_then(Option::as_ref).map(Histogram::count);
        let Some(before) = count(end - 1) else { return end };
        let few = |i: &usize| count(*i).is_some_and(|n| n - before <= self.e.limit(Limit::PieceSteps));
        (end + 1..self.moved.len()).take_while(few).last().unwrap_or(end)
    }

    /// How long the silence was for those in the batch: what the gaps that ended behind it are longer than usual, or
    /// what the scrapes show.
    fn length(&self, from: usize, end: usize) -> f64 {
        let shown = self.seconds(from, end - 1);
        let batch = self.running.get(from).copied().flatten().unwrap_or(0.0);
        let Some(gained) = self.gained(from, end).filter(|gained| gained.count() >= batch && batch > 0.0)
        else {
            return shown;
        };
        (gained.sum() - self.pace.gap * (gained.count() - batch)) / batch
    }

    /// Of the interval before scrape `from` the time in which tokens of the usual pace are missing.
    fn missing_before(&self, from: usize) -> f64 {
        let Some(before) = from.checked_sub(1) else { return 0.0 };
        let (Some(tokens), Some(batch)) =
            (gain(&self.generated, before, from), self.running.get(from).copied().flatten())
        else {
            return 0.0;
        };
        let seconds = self.seconds(before, from);
        (seconds - tokens * self.pace.gap / batch.max(1.0)).clamp(0.0, seconds)
    }

    /// What tells that requests were open through a silence in which none was shown.
    fn were_open(&self, from: usize, end: usize, least: f64) -> Option<String> {
        let gap = self.gained(end - 1, end).and_then(|gaps| gaps.quantile(1.0));
        if let Some(gap) = gap.filter(|gap| gap.high >= least && gap.low >= least / 2.0) {
            return Some(format!("a gap between two tokens of {} and more ended with it", Seconds(gap.low)));
        }
        // Those that came in the middle of it waited for half of it, and those that came behind it not at all.
        let first = since(&self.first_tokens, end - 1, end).and_then(|gained| gained.mean());
        let times = self.e.limit(Limit::BehindSilence);
        if let Some(first) =
            first.filter(|first| *first >= (least / times).max(times * self.pace.first_token))
        {
            return Some(format!("first tokens behind it came after {}", Seconds(first)));
        }
        self.clients_waited(from, end - 1)
    }

    /// What clients tell of requests without a first token; of one engine among several they do not.
    fn clients_waited(&self, from: usize, to: usize) -> Option<String> {
        let (began, ended) = (self.e.observed.times[from], self.e.observed.times[to]);
        let least = self.e.limit(Limit::Standstill);
        let waited = |request: &&ClientRequest| {
            let over = request.first.or(request.ended).or(request.last);
            let over = over.map_or(ended, |seconds| later(request.sent, seconds.get()));
            request.error.is_none() && over.min(ended).since(request.sent.max(began)).get() >= least
        };
        let waited = self.e.observed.client.iter().filter(waited).count();
        (waited > 0 && self.engine.is_none())
            .then(|| format!("clients waited for the first token of {}", requests(waited as f64)))
    }

    /// What tells that an engine that shows nobody was stopped by hand.
    fn was_stopped(&self, from: usize) -> Option<String> {
        let awake = self.e.observed.series(Signal::EngineAwake, None, None).and_then(|series| series.last());
        if awake == Some(0.0) {
            return Some("the engine is asleep".into());
        }
        if let Some(line) = lately(self.e, Meaning::Paused).filter(|_| from > 0) {
            return Some(format!("the engine was paused ({} line {})", line.file, line.line));
        }
        if let Some(waited) = self.clients_waited(from, self.moved.len() - 1) {
            return Some(waited);
        }
        let before = from.checked_sub(1)?;
        let batch = self.running.get(before).copied().flatten()?;
        let given_up = gain(&self.given_up, before, from).filter(|n| *n > 0.0 && *n >= batch / 2.0)?;
        Some(format!("the server gave up {} before", requests(given_up)))
    }

    /// An engine that has never given a token may be loading or compiling.
    fn never_served(&self, at: usize) -> bool {
        self.generated.get(at).copied().flatten() == Some(0.0)
    }

    /// How long steps take that are not rare, up to scrape `at`.
    fn ordinary_step(&self, at: usize) -> f64 {
        let prefill = self.e.observed.histograms(Signal::LatencyPrefill, None).unwrap_or_default();
        let states = [self.gaps.get(at), prefill.get(at)];
        let long = states.into_iter().flatten().flatten().filter_map(|state| state.quantile(0.99));
        long.map(|bounds| if bounds.high.is_finite() { bounds.high } else { bounds.low }).fold(0.0, f64::max)
    }

    /// The fewest requests in the engine at the scrapes.
    fn held(&self, from: usize, to: usize) -> f64 {
        let at = |values: &[Option<f64>], i: usize| values.get(i).copied().flatten().unwrap_or(0.0);
        (from..=to).map(|i| at(&self.running, i) + at(&self.waiting, i)).fold(f64::INFINITY, f64::min)
    }

    /// `while 31 requests were running`.
    fn who(&self, from: usize, to: usize) -> String {
        let fewest = |values: &[Option<f64>]| {
            (from..=to).filter_map(|i| values.get(i).copied().flatten()).fold(f64::INFINITY, f64::min)
        };
        let (running, waiting) = (fewest(&self.running), fewest(&self.waiting));
        let were = |n: f64| if n == 1.0 { "was" } else { "were" };
        if running.is_finite() && running > 0.0 {
            format!("while {} {} running", requests(running), were(running))
        } else {
            format!("while {} {} waiting", requests(waiting), were(waiting))
        }
    }

    fn event(&self, start: Millis, end: Millis, open: bool, held: f64, who: &str) -> Event {
        let engine = self.engine.map_or(String::new(), |engine| format!(" by engine {engine}"));
        let says = format!("{} no token was produced{engine} {who}", when(start, end, open));
        let event = Event::new(EventKind::Standstill, start, end, says).open(open);
        if held > 0.0 { event.size(Requests(held)) } else { event }
    }

    fn seconds(&self, from: usize, to: usize) -> f64 {
        let times = &self.e.observed.times;
        times[to].since(times[from]).get()
    }

    fn gained(&self, from: usize, end: usize) -> Option<Histogram> {
        since(&self.gaps, from, end)
    }
}

fn since(states: &[Option<Histogram>], from: usize, end: usize) -> Option<Histogram> {
    let (then, now) = (states.get(from)?.as_ref()?, states.get(end)?.as_ref()?);
    let (gained, restarted) = now.since(then);
    (!restarted).then_some(gained)
}

fn gain(values: &[Option<f64>], from: usize, end: usize) -> Option<f64> {
    let gained = values.get(end).copied().flatten()? - values.get(from).copied().flatten()?;
    (gained >= 0.0).then_some(gained)
}
