//! The load and its figures: what a reader needs to place a verdict.

use intriage_case::{Histogram, Profile, Ratio, Requests, Seconds, Signal, Tokens};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evidence::Evidence;

/// What was asked of the server and how it answered, over the window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Context {
    /// What the load is judged for.
    pub profile: Profile,
    /// Prompt lengths of the requests that finished, in tokens.
    pub prompt: Option<Spread>,
    /// Answer lengths of the requests that finished, in tokens.
    pub answer: Option<Spread>,
    /// Requests in the batch.
    pub running: Option<Level>,
    /// Requests that wait.
    pub waiting: Option<Level>,
    /// Requests that got a first token, per second of busy time.
    pub first_tokens_per_second: Option<f64>,
    /// Requests that finished, per second of busy time.
    pub finished_per_second: Option<f64>,
    /// Prompt tokens per second of busy time, cached ones included.
    pub prompt_tokens_per_second: Option<f64>,
    /// Output tokens per second of busy time.
    pub output_tokens_per_second: Option<f64>,
    /// Time to first token, in seconds.
    pub ttft: Option<Spread>,
    /// Gap between tokens, in seconds.
    pub itl: Option<Spread>,
    /// A request's whole life, in seconds.
    pub e2e: Option<Spread>,
    /// Share of the prompt tokens looked up that the prefix cache held.
    pub prefix_hits: Option<Ratio>,
    /// Highest share of the KV pool in use.
    pub kv_peak: Option<Ratio>,
}

/// A gauge over the busy scrapes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Level {
    /// Its mean.
    pub mean: f64,
    /// Its highest value.
    pub max: f64,
}

/// A distribution: the exact mean, and quantiles with the bounds of their buckets.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Δsum / Δcount.
    pub mean: f64,
    /// The median.
    pub p50: Option<Quantile>,
    /// The 95th percentile.
    pub p95: Option<Quantile>,
    /// The 99th percentile.
    pub p99: Option<Quantile>,
}

/// A quantile from a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Quantile {
    /// By straight line inside its bucket.
    pub estimate: f64,
    /// Lower bound of its bucket.
    pub low: f64,
    /// Upper bound of its bucket; null where the bucket has none.
    pub high: Option<f64>,
}

impl Context {
    pub(crate) fn of(e: &Evidence<'_>) -> Self {
        let time = e.busy_time().get();
        let rate = |n: Option<f64>| n.filter(|_| time > 0.0).map(|n| n / time);
        let spread = |signal| e.histogram(signal).as_ref().and_then(Spread::of);
        let hits = e.delta(Signal::KvPrefixHits).zip(e.delta(Signal::KvPrefixQueries));
        let cached = e.delta(Signal::TokensPromptCached).zip(e.delta(Signal::TokensPrompt));
        Self {
            profile: e.intent.profile,
            prompt: spread(Signal::TokensPromptEach),
            answer: spread(Signal::TokensOutputEach),
            running: Level::of(e, Signal::RequestsRunning),
            waiting: Level::of(e, Signal::RequestsWaiting),
            first_tokens_per_second: rate(e.histogram(Signal::LatencyTtft).map(|h| h.count())),
            finished_per_second: rate(e.finished().map(Requests::get)),
            prompt_tokens_per_second: rate(e.delta(Signal::TokensPrompt)),
            output_tokens_per_second: rate(e.delta(Signal::TokensGenerated)),
            ttft: spread(Signal::LatencyTtft),
            itl: spread(Signal::LatencyItl),
            e2e: spread(Signal::LatencyE2e),
            prefix_hits: hits.or(cached).and_then(|(part, all)| Ratio::of(part, all)),
            kv_peak: e.gauge(Signal::KvUsage).and_then(|s| s.max()).map(Ratio),
        }
    }

    /// The load and the figures, a line each; a line that would be empty is left out.
    pub fn lines(&self) -> Vec<String> {
        let lines = [self.load(), self.figures()];
        lines.into_iter().filter(|parts| !parts.is_empty()).map(|parts| parts.join(" · ")).collect()
    }

    fn load(&self) -> Vec<String> {
        let mut parts = Vec::new();
        let per_second = |n: f64| if n < 10.0 { format!("{n:.1}") } else { format!("{n:.0}") };
        match (self.first_tokens_per_second, self.finished_per_second) {
            (Some(begun), Some(done)) => {
                parts.push(format!("{} req/s begun, {} done", per_second(begun), per_second(done)));
            }
            (None, Some(done)) => parts.push(format!("{} req/s done", per_second(done))),
            _ => {}
        }
        let lengths = |s: &Spread| {
            let tail =
                s.p95.map_or(String::new(), |q| format!(" (p95 {})", bounded(q, |v| format!("{v:.0}"))));
            format!("{}{tail}", Tokens(s.mean.round()))
        };
        if let Some(prompt) = &self.prompt {
            let answer = self.answer.as_ref().map_or(String::new(), |a| format!(", answer {}", lengths(a)));
            parts.push(format!("prompt {}{answer}", lengths(prompt)));
        }
        if let Some(running) = self.running {
            let waiting = self
                .waiting
                .map_or(String::new(), |w| format!(", {} waiting (most {:.0})", short(w.mean), w.max));
            parts.push(format!("{} running (most {:.0}){waiting}", short(running.mean), running.max));
        }
        parts
    }

    fn figures(&self) -> Vec<String> {
        let time = |v: f64| Seconds(v).to_string();
        let of = |name: &str, s: &Spread| {
            let tail = s.p95.map_or(String::new(), |q| format!(", p95 {}", bounded(q, time)));
            format!("{name} {} on average{tail}", time(s.mean))
        };
        let mut parts = Vec::new();
        parts.extend(self.ttft.as_ref().map(|s| of("TTFT", s)));
        parts.extend(self.itl.as_ref().map(|s| of("ITL", s)));
        parts.extend(self.e2e.as_ref().map(|s| format!("E2E {}", time(s.mean))));
        parts.extend(self.kv_peak.map(|r| format!("KV peak {r}")));
        parts.extend(self.prefix_hits.map(|r| format!("prefix hits {r}")));
        parts
    }
}

/// A quantile as its bucket tells it: `250 to 500 ms`.
fn bounded(q: Quantile, show: impl Fn(f64) -> String) -> String {
    match q.high {
        Some(high) if high > q.low => format!("{} to {}", show(q.low), show(high)),
        Some(high) => show(high),
        None => format!("over {}", show(q.low)),
    }
}

fn short(n: f64) -> String {
    if n < 10.0 { format!("{n:.1}") } else { format!("{n:.0}") }
}

impl Level {
    fn of(e: &Evidence<'_>, signal: Signal) -> Option<Self> {
        let series = e.observed.series(signal, None, None)?;
        Some(Self { mean: series.mean_at(e.busy())?, max: series.max()? })
    }
}

impl Spread {
    fn of(histogram: &Histogram) -> Option<Self> {
        let quantile = |q| {
            let bounds = histogram.quantile(q)?;
            let high = bounds.high.is_finite().then_some(bounds.high);
            Some(Quantile { estimate: bounds.estimate, low: bounds.low, high })
        };
        Some(Self { mean: histogram.mean()?, p50: quantile(0.5), p95: quantile(0.95), p99: quantile(0.99) })
    }
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use crate::testing::Given;

    #[test]
    fn two_lines_tell_the_load_and_its_figures() {
        let given = Given::vllm("0.28.0")
            .gauges(RequestsRunning, &[4.0, 8.0])
            .gauge(RequestsWaiting, 0.0)
            .gauge(KvUsage, 0.5)
            .observed(LatencyTtft, &[(0.07, 550.0)])
            .observed(LatencyItl, &[(0.009, 10_000.0)])
            .observed(TokensPromptEach, &[(400.0, 550.0)])
            .observed(TokensOutputEach, &[(100.0, 550.0)])
            .finished("stop", 550.0);
        let context = given.verdict().context;
        let lines = context.lines();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(
            lines[0].contains("10 req/s begun, 10 done") && lines[0].contains("prompt 400"),
            "{}",
            lines[0]
        );
        assert!(lines[0].contains("running (most 8)"), "{}", lines[0]);
        assert!(lines[1].starts_with("TTFT 70.0 ms on average, p95 50.0 ms to 75.0 ms"), "{}", lines[1]);
        assert!(lines[1].contains("KV peak 50 %"), "{}", lines[1]);
    }

    #[test]
    fn nothing_seen_is_no_line() {
        assert!(Given::vllm("0.28.0").verdict().context.lines().is_empty());
    }
}
