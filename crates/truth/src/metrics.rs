//! Counters of the server, as vLLM names them.

use std::fmt::Write as _;

/// Bounds of the time to first token, in seconds, as vLLM 0.26 and later have them.
const TTFT: &[f64] = &[
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0,
    80.0, 160.0, 640.0, 2560.0,
];
/// Bounds of the gaps between tokens, in seconds.
const ITL: &[f64] = &[
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
];
/// Bounds of whole requests, in seconds.
const E2E: &[f64] = &[
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0,
    960.0, 1920.0, 7680.0,
];

/// A histogram of times.
#[derive(Debug)]
pub(crate) struct Histogram {
    bounds: &'static [f64],
    counts: Vec<u64>,
    nanos: u64,
}

impl Histogram {
    fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len() + 1], nanos: 0 }
    }

    pub(crate) fn observe(&mut self, nanos: u64) {
        let seconds = nanos as f64 / 1e9;
        let bucket = self.bounds.partition_point(|bound| *bound < seconds);
        if let Some(count) = self.counts.get_mut(bucket) {
            *count += 1;
        }
        self.nanos = self.nanos.saturating_add(nanos);
    }

    fn write(&self, name: &str, labels: &str, page: &mut String) {
        let _ =
            writeln!(page, "# HELP {name} As measured at the socket, in seconds.\n# TYPE {name} histogram");
        let mut sum = 0;
        for (index, count) in self.counts.iter().enumerate() {
            sum += count;
            let bound =
                self.bounds.get(index).map_or_else(|| "+Inf".to_owned(), |bound| format!("{bound:?}"));
            let _ = writeln!(page, "{name}_bucket{{{labels},le=\"{bound}\"}} {sum}.0");
        }
        let seconds = self.nanos as f64 / 1e9;
        let _ = writeln!(page, "{name}_count{{{labels}}} {sum}.0\n{name}_sum{{{labels}}} {seconds:?}");
    }
}

/// What is counted.
#[derive(Debug)]
pub(crate) struct Metrics {
    pub(crate) running: u64,
    pub(crate) prompt_tokens: u64,
    pub(crate) cached_tokens: u64,
    pub(crate) generated_tokens: u64,
    /// Answers that ended with all of their tokens.
    pub(crate) finished: u64,
    /// Requests whose client went away.
    pub(crate) aborted: u64,
    /// Requests with a fault.
    pub(crate) faulty: u64,
    pub(crate) ttft: Histogram,
    pub(crate) itl: Histogram,
    pub(crate) e2e: Histogram,
    /// How late paced writes were, in nanoseconds: all together, the worst, and how many.
    pub(crate) late: (u64, u64, u64),
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            running: 0,
            prompt_tokens: 0,
            cached_tokens: 0,
            generated_tokens: 0,
            finished: 0,
            aborted: 0,
            faulty: 0,
            ttft: Histogram::new(TTFT),
            itl: Histogram::new(ITL),
            e2e: Histogram::new(E2E),
            late: (0, 0, 0),
        }
    }
}

impl Metrics {
    /// Notes a write of tokens that left at `now`.
    pub(crate) fn late(&mut self, now: u64, due: u64) {
        let late = now.saturating_sub(due);
        let (sum, worst, count) = self.late;
        self.late = (sum.saturating_add(late), worst.max(late), count + 1);
    }

    /// The metrics page.
    pub(crate) fn page(&self, model: &str) -> String {
        let model = model.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let labels = format!("engine=\"0\",model_name=\"{model}\"");
        let mut page = String::with_capacity(8 * 1024);
        for (name, kind, samples) in self.families() {
            let _ = writeln!(page, "# HELP {name} Counted at the socket.\n# TYPE {name} {kind}");
            for (more, value) in samples {
                let _ = writeln!(page, "{name}{{{labels}{more}}} {value}.0");
            }
        }
        self.ttft.write("vllm:time_to_first_token_seconds", &labels, &mut page);
        self.itl.write("vllm:inter_token_latency_seconds", &labels, &mut page);
        self.e2e.write("vllm:e2e_request_latency_seconds", &labels, &mut page);
        page
    }

    fn families(&self) -> [Family; 7] {
        let one = |value| vec![("", value)];
        let ended = vec![
            (",finished_reason=\"length\"", self.finished),
            (",finished_reason=\"abort\"", self.aborted),
        ];
        [
            ("vllm:num_requests_running", "gauge", one(self.running)),
            // Nobody waits for a place here.
            ("vllm:num_requests_waiting", "gauge", one(0)),
            ("vllm:prompt_tokens_total", "counter", one(self.prompt_tokens)),
            ("vllm:generation_tokens_total", "counter", one(self.generated_tokens)),
            ("vllm:request_success_total", "counter", ended),
            ("vllm:prefix_cache_queries_total", "counter", one(self.prompt_tokens)),
            ("vllm:prefix_cache_hits_total", "counter", one(self.cached_tokens)),
        ]
    }
}

/// Name, kind, and samples with their further labels.
type Family = (&'static str, &'static str, Vec<(&'static str, u64)>);
