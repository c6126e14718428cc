//! The account of the time: measured parts first, and what is left is said.

use intriage_case::{Histogram, Ratio, Seconds, Signal};

use crate::evidence::Evidence;
use crate::thresholds::Limit;

/// A part with its bounds and its source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Part {
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) source: &'static str,
}

impl Part {
    fn exact(value: f64, source: &'static str) -> Self {
        Self { value, low: value, high: value, source }
    }

    fn between(low: f64, high: f64, source: &'static str) -> Self {
        let (low, high) = (low.max(0.0), high.max(low).max(0.0));
        Self { value: f64::midpoint(low, high), low, high, source }
    }
}

/// Where the first-token time and the token time went; seconds throughout.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Account {
    /// Mean time to first token of the requests whose phases are known.
    pub(crate) ttft: Option<f64>,
    /// Best estimate of the queue, requests still waiting included.
    pub(crate) queue: Option<Part>,
    /// Mean prefill.
    pub(crate) prefill: Option<Part>,
    /// Time before the scheduler saw the request: at most one engine step.
    pub(crate) input: Option<Part>,
    /// First-token time beyond all that.
    pub(crate) frontend: Option<Part>,
    /// Mean gap between tokens.
    pub(crate) itl: Option<f64>,
    /// The ordinary step, from the median gap.
    pub(crate) step: Option<Part>,
    /// Gaps many times the median.
    pub(crate) stalls: Option<Part>,
    /// Steps slowed by the prompts in them.
    pub(crate) interference: Option<Part>,
    /// Time the GPU waited for the host.
    pub(crate) host: Option<Part>,
    /// Mean decode time of a request.
    pub(crate) decode: Option<f64>,
    /// Share of requests in the server that wait, by Little's law the queue's share of their life.
    pub(crate) waiting_share: Option<f64>,
}

impl Account {
    pub(crate) fn of(e: &Evidence<'_>) -> Self {
        let mut a =
            Self { waiting_share: waiting_share(e), itl: e.mean(Signal::LatencyItl), ..Self::default() };
        a.decode = e.mean(Signal::LatencyDecode).or_else(|| Some(a.itl? * e.mean(Signal::TokensOutputEach)?));
        a.prefill = e.mean(Signal::LatencyPrefill).map(|v| Part::exact(v, "mean of finished requests"));
        a.queue = queue(e);
        // Without the first tokens of the same requests there is nothing to split.
        if let Some(aligned) = aligned_ttft(e) {
            a.ttft = Some(aligned);
            a.split_first_token(e);
        }
        a.follow_first_tokens(e);
        a.keep_within_first_token();
        a.split_token(e);
        a
    }

    /// A request's life as far as it is known: queue, prefill, decode.
    pub(crate) fn life(&self) -> Option<Seconds> {
        let queue = self.queue.map_or(0.0, |p| p.value);
        let first = self.ttft.unwrap_or(0.0).max(queue + self.prefill.map_or(0.0, |p| p.value));
        let life = first + self.decode.unwrap_or(0.0);
        (life > 0.0).then_some(Seconds(life))
    }

    /// `time` as a share of a request's life.
    pub(crate) fn share_of_life(&self, time: f64) -> Ratio {
        self.life()
            .and_then(|life| Ratio::of(time, life.get()))
            .map_or(Ratio(0.0), |r| Ratio(r.get().clamp(0.0, 1.0)))
    }

    /// An ordinary step between two tokens: the mean gap less stalls and prompts, the host's part included.
    pub(crate) fn ordinary_step(&self) -> Option<f64> {
        self.step.map(|step| step.value + self.host.map_or(0.0, |h| h.value))
    }

    /// The queue's share of the time to first token.
    pub(crate) fn queue_share(&self) -> Option<f64> {
        let queue = self.queue?.value;
        let ttft = self.ttft?.max(queue);
        (ttft > 0.0).then(|| queue / ttft)
    }

    /// What is left of the first-token time after queue and prefill: one engine step at most is the
    /// wait in the engine's input, the rest was spent in front of it.
    fn split_first_token(&mut self, e: &Evidence<'_>) {
        let (Some(ttft), Some(queue), Some(prefill)) = (self.ttft, self.queue, self.prefill) else { return };
        let rest = (ttft - queue.value - prefill.value).max(0.0);
        // A step is as long as the longest thing in it: a token gap, or somebody's prefill.
        let gap = e.histogram(Signal::LatencyItl).and_then(|h| h.length_biased_mean()).unwrap_or(0.0);
        let step = gap.max(prefill.value);
        // A request that comes at any moment of a step waits for half of it on average, and never for more than all.
        let input = rest.min(step / 2.0);
        self.input = Some(Part {
            value: input,
            low: 0.0,
            high: rest.min(step),
            source: "ttft - queue - prefill, up to half a step",
        });
        self.frontend = Some(Part {
            value: rest - input,
            low: (rest - step).max(0.0),
            high: rest,
            source: "ttft - queue - prefill beyond the wait for a step",
        });
    }

    /// Where the queue grows, the requests that finished waited less than those that got their first
    /// token now; the first tokens tell what users feel, and the difference is queue.
    fn follow_first_tokens(&mut self, e: &Evidence<'_>) {
        let Some(now) = e.mean(Signal::LatencyTtft) else { return };
        let ended = self.ttft;
        let waits = self.waiting_share.is_some_and(|share| share > e.limit(Limit::WaitingMatters));
        if ended.is_some_and(|ended| !waits || now < e.limit(Limit::Outgrown) * ended) {
            return;
        }
        self.ttft = Some(now);
        let (Some(queue), true) = (self.queue, waits) else { return };
        let known = ended.unwrap_or(queue.low + self.prefill.map_or(0.0, |p| p.value));
        let grown = queue.value.max(queue.low + now - known);
        self.queue = Some(Part {
            value: grown,
            low: queue.low,
            high: queue.high.max(grown),
            source: "first tokens of the window less what is not queue",
        });
    }

    /// Requests still waiting may imply a longer queue than the first tokens seen had time for.
    fn keep_within_first_token(&mut self) {
        if let (Some(ttft), Some(queue)) = (self.ttft, &mut self.queue) {
            let room = (ttft - self.prefill.map_or(0.0, |p| p.value)).max(0.0);
            queue.value = queue.value.min(room);
            queue.low = queue.low.min(queue.value);
        }
    }

    /// Physics narrows what buckets leave open: prompts take no more of a gap than computing them takes,
    /// and a step is no shorter than its floor.
    pub(crate) fn know_floor(&mut self, decode: Seconds, most_prompt_time: Option<Ratio>) {
        let (Some(step), Some(interference)) = (&mut self.step, &mut self.interference) else { return };
        let both = step.value + interference.value;
        let least = decode.get().min(both);
        let most = most_prompt_time.map_or(interference.value, |share| both * share.get());
        let slowed = interference.value.min(most).min(both - least);
        if slowed < interference.value {
            *interference = Part {
                value: slowed,
                low: interference.low.min(slowed),
                high: interference.high.min(most.max(slowed)),
                source: "steps slower than the median, up to what the card needs for the prompts",
            };
            *step = Part {
                value: both - slowed,
                low: least,
                high: both,
                source: "mean gap less what the card needs for the prompts in it",
            };
        }
    }

    fn split_token(&mut self, e: &Evidence<'_>) {
        let Some(gaps) = e.histogram(Signal::LatencyItl) else { return };
        let (Some(mean), Some(median)) = (gaps.mean(), gaps.quantile(0.5)) else { return };
        let n = gaps.count();
        let stall_from = median.high * e.limit(Limit::StallFactor);
        let (least, most) = gaps.mass_above(stall_from);
        let stalls = if least > 0.0 {
            Part::between(least / n, most / n, "gaps far above the median")
        } else {
            Part::exact(0.0, "no gap far above the median")
        };
        let ordinary = (mean - stalls.value).max(0.0);
        // Small steps are bound by reading the weights: a few prompt tokens more cost them nothing.
        let heavy = e.mean(Signal::TokensPerStep).is_some_and(|n| n >= e.limit(Limit::HeavyStep));
        let mixed = if heavy { prompt_share_of_steps(e).unwrap_or(0.0) } else { 0.0 };
        let base = ordinary.min(median.estimate.min(median.high));
        let slowed = (ordinary - base).max(0.0);
        // Where prompts are most of what a step computes, what decoding alone would take is not known:
        // anything from nothing to the whole step.
        let interference = if mixed > 0.5 {
            Part {
                value: ordinary,
                low: slowed,
                high: ordinary,
                source: "steps in which most tokens are prompt tokens",
            }
        } else {
            Part { value: slowed, low: 0.0, high: slowed, source: "steps slower than the median" }
        };
        let step = (ordinary - interference.value).max(0.0);
        self.stalls = Some(stalls);
        self.interference = Some(interference);
        if let Some(busy) = e.observed.gpu.busy_share() {
            let host = step * (1.0 - busy.get()).max(0.0);
            self.host = Some(Part::exact(host, "step time in which no kernel ran"));
            self.step = Some(Part {
                value: step - host,
                low: 0.0,
                high: step,
                source: "median gap less the host's part",
            });
        } else {
            self.step = Some(Part {
                value: step,
                low: median.low.min(step),
                high: ordinary,
                source: "median gap between tokens",
            });
        }
    }
}

/// Share of the tokens in an engine step that are prompt tokens.
pub(crate) fn prompt_share_of_steps(e: &Evidence<'_>) -> Option<f64> {
    let prompt = e.delta(Signal::TokensPromptComputed).or_else(|| e.delta(Signal::TokensPrompt))?;
    let output = e.delta(Signal::TokensGenerated)?;
    (prompt + output > 0.0).then(|| prompt / (prompt + output))
}

/// Mean first-token time of the requests whose queue and prefill times are known.
///
/// Engines record the first token when it comes and the phases when the request ends, so over a
/// window the two histograms hold different requests. Counting first tokens in order gives the ones
/// that belong to the finished requests, as long as requests finish roughly in order.
fn aligned_ttft(e: &Evidence<'_>) -> Option<f64> {
    let first = cumulative(e, Signal::LatencyTtft)?;
    let ended = cumulative(e, Signal::LatencyQueue)?;
    let (ended_before, ended_after) = (ended.first()?.0, ended.last()?.0);
    let (first_before, _) = *first.first()?;
    // Requests that got a first token and never ended (hung-up clients) shift the count.
    let running = e.observed.series(Signal::RequestsRunning, None, None).and_then(|s| s.at(0)).unwrap_or(0.0);
    let lost = (first_before - ended_before - running).max(0.0);
    // Those whose first token came before the window are not in it; the rest must speak for them, so
    // it has to be the larger part.
    let start = (ended_before + lost).max(first_before);
    let end = ended_after + lost;
    if end - start < 0.5 * (ended_after - ended_before) {
        return None;
    }
    let (from, to) = (sum_at(&first, start)?, sum_at(&first, end)?);
    (end > start && to >= from).then(|| (to - from) / (end - start))
}

/// `(count, sum)` at each scrape; `None` if the process restarted in between.
fn cumulative(e: &Evidence<'_>, signal: Signal) -> Option<Vec<(f64, f64)>> {
    let states: Vec<Histogram> = e.observed.histograms(signal, None)?.into_iter().flatten().collect();
    let points: Vec<(f64, f64)> = states.iter().map(|h| (h.count(), h.sum())).collect();
    let rising = points.windows(2).all(|w| w[1].0 >= w[0].0);
    (rising && points.len() > 1).then_some(points)
}

/// The sum when `count` observations had been made, by straight line between scrapes.
fn sum_at(points: &[(f64, f64)], count: f64) -> Option<f64> {
    let (first, last) = (points.first()?, points.last()?);
    // First tokens that came before the window are not in it.
    if count < first.0 {
        return None;
    }
    if count > last.0 {
        return None;
    }
    if count == first.0 {
        return Some(first.1);
    }
    points.windows(2).find(|w| w[1].0 >= count && w[1].0 > w[0].0).map(|w| {
        let part = (count - w[0].0) / (w[1].0 - w[0].0);
        w[0].1 + part * (w[1].1 - w[0].1)
    })
}

/// Mean waiting over mean waiting plus running, in the busy scrapes.
fn waiting_share(e: &Evidence<'_>) -> Option<f64> {
    let mean = |signal| e.observed.series(signal, None, None)?.mean_at(e.busy());
    let (waiting, running) = (mean(Signal::RequestsWaiting)?, mean(Signal::RequestsRunning)?);
    (waiting + running > 0.0).then(|| waiting / (waiting + running))
}

/// The histogram's mean, or by Little's law what the waiting requests imply where they are many and
/// the histogram, filled only at the end of a request, has not seen them yet.
fn queue(e: &Evidence<'_>) -> Option<Part> {
    let recorded = e.histogram(Signal::LatencyQueue);
    let mean = recorded.as_ref().and_then(Histogram::mean);
    let implied = implied_queue(e);
    match (mean, implied) {
        (Some(mean), Some(implied)) => {
            let few = recorded.is_some_and(|h| h.count() < e.limit(Limit::MeanSample));
            let unseen = few && implied > 2.0 * mean && implied > e.limit(Limit::QueueTime);
            Some(if unseen {
                Part {
                    value: implied,
                    low: mean,
                    high: implied,
                    source: "waiting requests / first tokens per second",
                }
            } else {
                Part { value: mean, low: mean, high: mean.max(implied), source: "mean of finished requests" }
            })
        }
        (Some(mean), None) => Some(Part::exact(mean, "mean of finished requests")),
        (None, Some(implied)) => Some(Part {
            value: implied,
            low: 0.0,
            high: implied,
            source: "waiting requests / first tokens per second",
        }),
        (None, None) => None,
    }
}

/// W = L / X with L the mean number waiting and X the rate of first tokens.
fn implied_queue(e: &Evidence<'_>) -> Option<f64> {
    let waiting = e.observed.series(Signal::RequestsWaiting, None, None)?.mean_at(e.busy())?;
    let started = e.histogram(Signal::LatencyTtft)?.count();
    let time = e.busy_time().get();
    (started > 0.0 && time > 0.0).then(|| waiting * time / started)
}
