//! Pages of metrics as the engine would have shown them.

use std::fmt::Write as _;

use intriage_case::{Kind, Signal};
use intriage_engines::{Engine, How, dialect};

use super::{Given, SCRAPES};

impl Given {
    /// The page of the scrape of this number.
    pub(super) fn scrape(&self, i: usize) -> String {
        let mut text = self.raw.clone();
        text.push_str(self.texts.get(i).map_or("", String::as_str));
        for (signal, values) in &self.gauges {
            let value = values.get(i).or(values.last()).copied().unwrap_or(0.0);
            let (name, labels) = self.metric(*signal, None);
            let _ = writeln!(text, "{name}{labels} {value}");
        }
        for (signal, key, values) in &self.counters {
            let value = values.get(i).or(values.last()).copied().unwrap_or(0.0);
            let (name, labels) = self.metric(*signal, key.as_deref());
            let _ = writeln!(text, "{name}{labels} {value}");
        }
        for (signal, values) in &self.histograms {
            self.write_histogram(&mut text, *signal, values, i as f64 / (SCRAPES - 1) as f64);
        }
        for (signal, [first, second]) in &self.halves {
            let gone = 2.0 * i as f64 / (SCRAPES - 1) as f64;
            let part = |values: &[(f64, f64)], part: f64| -> Vec<(f64, f64)> {
                values.iter().map(|(v, n)| (*v, n * part.clamp(0.0, 1.0))).collect()
            };
            let gained = [part(first, gone), part(second, gone - 1.0)].concat();
            self.write_histogram(&mut text, *signal, &gained, 1.0);
        }
        if let Some(sum) = self.ttft_sums.get(i) {
            let (name, labels) = self.metric(Signal::LatencyTtft, None);
            let _ = writeln!(text, "{name}_sum{labels} {sum}\n{name}_count{labels} {}", 10 * i);
        }
        text
    }

    fn write_histogram(&self, text: &mut String, signal: Signal, values: &[(f64, f64)], part: f64) {
        const BOUNDS: [f64; 24] = [
            0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 10.0, 20.0, 50.0, 100.0,
            200.0, 500.0, 1000.0, 2000.0, 5000.0, 8192.0, 20_000.0, 100_000.0,
        ];
        let (name, labels) = self.metric(signal, None);
        let inner = labels.trim_start_matches('{').trim_end_matches('}');
        let comma = if inner.is_empty() { "" } else { "," };
        for bound in BOUNDS.into_iter().chain([f64::INFINITY]) {
            let count: f64 = values.iter().filter(|(v, _)| *v <= bound).map(|(_, n)| n * part).sum();
            let le = if bound.is_finite() { bound.to_string() } else { "+Inf".into() };
            let _ = writeln!(text, "{name}_bucket{{{inner}{comma}le=\"{le}\"}} {count}");
        }
        let sum: f64 = values.iter().map(|(v, n)| v * n * part).sum();
        let count: f64 = values.iter().map(|(_, n)| n * part).sum();
        let _ = writeln!(text, "{name}_sum{labels} {sum}\n{name}_count{labels} {count}");
    }

    /// The metric this engine shows the signal with, with the labels its row asks for.
    fn metric(&self, signal: Signal, key: Option<&str>) -> (&'static str, String) {
        let row = dialect(self.engine)
            .metrics
            .iter()
            .find(|r| {
                r.signal == signal
                    && !matches!(r.how, How::Label(_) | How::LabelProduct(..) | How::LabelCount(_))
            })
            .unwrap_or_else(|| panic!("{} has no metric for {signal}", self.engine));
        assert!(signal.kind() != Kind::Histogram || key.is_none());
        let mut labels = Vec::new();
        if self.engine == Engine::Vllm && row.metric.starts_with("vllm:") {
            labels.push("engine=\"0\",model_name=\"m\"".to_owned());
        }
        if let How::Where(label, [first, ..]) = row.how {
            labels.push(format!("{label}=\"{first}\""));
        }
        if let (Some(label), Some(key)) = (row.split, key) {
            labels.push(format!("{label}=\"{key}\""));
        }
        (row.metric, if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) })
    }
}

/// The histogram of gaps between tokens after intervals of these mean gaps.
pub(super) fn gaps(so_far: &[f64]) -> String {
    const BOUNDS: [f64; 8] = [0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 1.0, f64::INFINITY];
    const EACH: f64 = 2000.0;
    let (name, labels) = ("vllm:inter_token_latency_seconds", "engine=\"0\",model_name=\"m\"");
    let mut text = String::new();
    for bound in BOUNDS {
        let le = if bound.is_finite() { bound.to_string() } else { "+Inf".into() };
        let count = so_far.iter().filter(|g| **g <= bound).count() as f64 * EACH;
        let _ = writeln!(text, "{name}_bucket{{{labels},le=\"{le}\"}} {count}");
    }
    let (sum, count) = (so_far.iter().sum::<f64>() * EACH, so_far.len() as f64 * EACH);
    let _ = writeln!(text, "{name}_sum{{{labels}}} {sum}\n{name}_count{{{labels}}} {count}");
    text
}
