//! The page as text: families in the order and form of vLLM 0.32.

use std::fmt::Write as _;

use crate::metrics::Exporter;
use crate::metrics::record::{Buckets, EngineMetrics};

pub(super) fn page(exporter: &Exporter) -> String {
    let mut page = Page { text: String::with_capacity(64 * 1024), exporter };
    page.process();
    page.gauges();
    page.counters();
    page.histograms();
    page.cache_info();
    page.http();
    page.text
}

struct Page<'a> {
    text: String,
    exporter: &'a Exporter,
}

impl Page<'_> {
    /// Writing to a string cannot fail.
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        let _ = self.text.write_fmt(line);
        self.text.push('\n');
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} {kind}"));
    }

    /// Labels sorted by name, as vLLM's client sorts them.
    fn labels(&self, engine: usize, extra: Option<(&str, &str)>) -> String {
        let model = self.exporter.model.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let mut labels = vec![format!("engine=\"{engine}\""), format!("model_name=\"{model}\"")];
        if let Some((name, value)) = extra {
            labels.push(format!("{name}=\"{value}\""));
            labels.sort();
        }
        labels.join(",")
    }

    fn process(&mut self) {
        let (start, cpu) = (self.exporter.started.0, self.exporter.process_cpu.0);
        self.head("process_start_time_seconds", "gauge", "Unix time at which the process started.");
        self.line(format_args!("process_start_time_seconds {start:?}"));
        self.head("process_cpu_seconds_total", "counter", "CPU time the process has used, in seconds.");
        self.line(format_args!("process_cpu_seconds_total {cpu:?}"));
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl Fn(&EngineMetrics) -> f64) {
        self.head(name, "gauge", help);
        for (i, engine) in self.exporter.engines.iter().enumerate() {
            let labels = self.labels(i, None);
            self.line(format_args!("{name}{{{labels}}} {:?}", value(engine)));
        }
    }

    fn split_gauge(
        &mut self,
        name: &str,
        help: &str,
        values: impl Fn(&EngineMetrics) -> Vec<(&'static str, f64)>,
        label: &str,
    ) {
        self.head(name, "gauge", help);
        for (i, engine) in self.exporter.engines.iter().enumerate() {
            for (key, value) in values(engine) {
                let labels = self.labels(i, Some((label, key)));
                self.line(format_args!("{name}{{{labels}}} {value:?}"));
            }
        }
    }

    fn counter(&mut self, name: &str, help: &str, value: impl Fn(&EngineMetrics) -> u64) {
        self.head(&format!("{name}_total"), "counter", help);
        for (i, engine) in self.exporter.engines.iter().enumerate() {
            let labels = self.labels(i, None);
            self.line(format_args!("{name}_total{{{labels}}} {:?}", value(engine) as f64));
        }
        self.created(name, &[None]);
    }

    fn split_counter(
        &mut self,
        name: &str,
        help: &str,
        values: impl Fn(&EngineMetrics) -> Vec<u64>,
        (label, keys): (&str, &[&str]),
    ) {
        self.head(&format!("{name}_total"), "counter", help);
        for (i, engine) in self.exporter.engines.iter().enumerate() {
            for (key, value) in keys.iter().zip(values(engine)) {
                let labels = self.labels(i, Some((label, key)));
                self.line(format_args!("{name}_total{{{labels}}} {:?}", value as f64));
            }
        }
        let extras: Vec<Option<(&str, &str)>> = keys.iter().map(|key| Some((label, *key))).collect();
        self.created(name, &extras);
    }

    fn created(&mut self, name: &str, extras: &[Option<(&str, &str)>]) {
        self.head(&format!("{name}_created"), "gauge", "When counting began, Unix time.");
        for engine in 0..self.exporter.engines.len() {
            for extra in extras {
                let labels = self.labels(engine, *extra);
                self.line(format_args!("{name}_created{{{labels}}} {:?}", self.exporter.started.0));
            }
        }
    }

    fn histogram(&mut self, name: &str, help: &str, buckets: impl Fn(&EngineMetrics) -> &Buckets) {
        self.head(name, "histogram", help);
        for (i, engine) in self.exporter.engines.iter().enumerate() {
            let labels = self.labels(i, None);
            let (engine_label, rest) = labels.split_once(',').unwrap_or((&labels, ""));
            let histogram = buckets(engine);
            let mut count = 0;
            let limits = histogram.limits.iter().map(|l| format!("{l:?}")).chain(["+Inf".to_owned()]);
            for (limit, n) in limits.zip(&histogram.counts) {
                count += n;
                self.line(format_args!(
                    "{name}_bucket{{{engine_label},le=\"{limit}\",{rest}}} {:?}",
                    count as f64
                ));
            }
            self.line(format_args!("{name}_count{{{labels}}} {:?}", count as f64));
            self.line(format_args!("{name}_sum{{{labels}}} {:?}", histogram.sum));
        }
        self.created(name, &[None]);
    }

    fn gauges(&mut self) {
        self.gauge("vllm:num_requests_running", "Requests in the batch.", |e| f64::from(e.load.running));
        self.gauge("vllm:num_requests_waiting", "Requests that wait.", |e| {
            f64::from(e.load.waiting + e.load.deferred)
        });
        self.split_gauge(
            "vllm:num_requests_waiting_by_reason",
            "Requests that wait, by what they wait for.",
            |e| vec![("capacity", f64::from(e.load.waiting)), ("deferred", f64::from(e.load.deferred))],
            "reason",
        );
        self.split_gauge(
            "vllm:engine_sleep_state",
            "Whether the engine is awake.",
            |_| vec![("awake", 1.0), ("weights_offloaded", 0.0), ("discard_all", 0.0)],
            "sleep_state",
        );
        self.gauge("vllm:kv_cache_usage_perc", "Share of the KV pool in use, 1 being all.", |e| {
            f64::from(e.load.blocks_held) / f64::from(e.load.blocks.max(1))
        });
    }

    fn counters(&mut self) {
        self.counter("vllm:prefix_cache_queries", "Prompt tokens looked up.", |e| e.prefix_queries);
        self.counter("vllm:prefix_cache_hits", "Prompt tokens found.", |e| e.prefix_hits);
        self.counter("vllm:num_preemptions", "Requests thrown back.", |e| e.preemptions);
        self.counter("vllm:prompt_tokens", "Prompt tokens.", |e| e.prompt_tokens);
        self.split_counter(
            "vllm:prompt_tokens_by_source",
            "Prompt tokens, by where they came from.",
            |e| vec![e.prompt_tokens - e.cached_tokens, e.cached_tokens, 0],
            ("source", &["local_compute", "local_cache_hit", "external_kv_transfer"]),
        );
        self.counter("vllm:prompt_tokens_cached", "Prompt tokens from a cache.", |e| e.cached_tokens);
        self.counter("vllm:generation_tokens", "Tokens generated.", |e| e.generated_tokens);
        self.split_counter(
            "vllm:request_success",
            "Requests answered, by why the answer ended.",
            |e| vec![e.finished_stop, e.finished_length, 0, 0, 0],
            ("finished_reason", &["stop", "length", "abort", "error", "repetition"]),
        );
        let model = self.exporter.model.clone();
        self.head("vllm:admission_rejections_total", "counter", "Requests refused by a limit.");
        let refused = [("max_num_queued_reqs", self.exporter.rejections), ("max_num_queued_tokens", 0)];
        for (reason, n) in refused {
            self.line(format_args!(
                "vllm:admission_rejections_total{{model_name=\"{model}\",reason=\"{reason}\"}} {:?}",
                n as f64
            ));
        }
        let positions = self.exporter.engines.first().map_or(0, |e| e.accepted_at.len());
        if positions > 0 {
            const POSITIONS: [&str; 16] =
                ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15"];
            self.counter("vllm:spec_decode_num_drafts", "Rounds of speculation.", |e| e.drafts);
            self.counter("vllm:spec_decode_num_draft_tokens", "Tokens drafted.", |e| e.draft_tokens);
            self.counter("vllm:spec_decode_num_accepted_tokens", "Drafted tokens accepted.", |e| {
                e.accepted_tokens
            });
            self.split_counter(
                "vllm:spec_decode_num_accepted_tokens_per_pos",
                "Drafted tokens accepted, by position.",
                |e| e.accepted_at.clone(),
                ("position", &POSITIONS[..positions.min(16)]),
            );
        }
    }

    fn histograms(&mut self) {
        self.histogram("vllm:request_prompt_tokens", "Prompt length.", |e| &e.prompt_length);
        self.histogram("vllm:request_generation_tokens", "Answer length.", |e| &e.output_length);
        self.histogram("vllm:iteration_tokens_total", "Tokens in a step.", |e| &e.step_tokens);
        self.histogram("vllm:request_max_num_generation_tokens", "Longest answer.", |e| &e.longest_output);
        self.histogram("vllm:request_params_n", "Answers asked for.", |e| &e.answers);
        self.histogram("vllm:request_params_max_tokens", "Longest answer allowed.", |e| &e.max_tokens);
        self.histogram("vllm:time_to_first_token_seconds", "Arrival to first token.", |e| &e.ttft);
        self.histogram("vllm:inter_token_latency_seconds", "Gaps between tokens.", |e| &e.itl);
        self.histogram("vllm:request_time_per_output_token_seconds", "Mean gap of a request.", |e| &e.tpot);
        self.histogram("vllm:e2e_request_latency_seconds", "Arrival to last token.", |e| &e.e2e);
        self.histogram("vllm:request_queue_time_seconds", "Time in the queue.", |e| &e.queue);
        self.histogram("vllm:request_inference_time_seconds", "Scheduled to last token.", |e| &e.inference);
        self.histogram("vllm:request_prefill_time_seconds", "Scheduled to first token.", |e| &e.prefill);
        self.histogram("vllm:request_decode_time_seconds", "First to last token.", |e| &e.decode);
        self.histogram("vllm:request_num_preemptions", "Times thrown back.", |e| &e.preemptions_each);
        self.histogram("vllm:request_prefill_kv_computed_tokens", "Prompt tokens computed.", |e| {
            &e.computed_length
        });
    }

    fn cache_info(&mut self) {
        let Some(config) = self.exporter.config.clone() else { return };
        self.head("vllm:cache_config_info", "gauge", "The KV cache as configured.");
        let tokens = config.pool_tokens().0;
        for engine in 0..self.exporter.engines.len() {
            self.line(format_args!(
                "vllm:cache_config_info{{block_size=\"{}\",cache_dtype=\"auto\",enable_prefix_caching=\"{}\",engine=\"{engine}\",gpu_memory_utilization=\"0.92\",kv_cache_max_concurrency=\"{}\",kv_cache_size_tokens=\"{tokens}\",num_gpu_blocks=\"{}\"}} 1.0",
                config.block_tokens,
                if config.prefix_cache { "True" } else { "False" },
                tokens / f64::from(config.context_window),
                config.pool_blocks,
            ));
        }
    }

    fn http(&mut self) {
        self.head("http_requests_total", "counter", "Requests answered, by route and status.");
        let http = self.exporter.http.clone();
        // Statuses are grouped as vLLM groups them.
        let mut grouped = std::collections::BTreeMap::<(String, u16), u64>::new();
        for ((route, status), n) in http {
            *grouped.entry((route, status / 100)).or_default() += n;
        }
        for ((route, class), n) in grouped {
            self.line(format_args!(
                "http_requests_total{{handler=\"{route}\",method=\"POST\",status=\"{class}xx\"}} {:?}",
                n as f64
            ));
        }
    }
}
