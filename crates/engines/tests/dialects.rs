//! Given this engine's metrics, the signals are those.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use intriage_case::{Case, LogText, Millis, Scrape, ScrapeOutcome, Signal};
use intriage_engines::{Engine, Instance, Observed, Setting, read};

/// A case of these scrapes, five seconds apart.
fn scrapes(bodies: &[&str]) -> Case {
    let mut case = Case::default();
    for (i, body) in bodies.iter().enumerate() {
        let outcome = ScrapeOutcome::Body(body.as_bytes().to_vec());
        case.scrapes.push(Scrape { at: Millis(1_700_000_000_000 + i as u64 * 5000), outcome });
    }
    case
}

fn with_version(mut case: Case, version: &str) -> Case {
    case.endpoints.insert("/version".into(), format!("{{\"version\":\"{version}\"}}"));
    case
}

fn last(o: &Observed, signal: Signal) -> Option<f64> {
    o.series(signal, None, None)?.last()
}

fn delta(o: &Observed, signal: Signal) -> f64 {
    o.series(signal, None, None).unwrap().counter().unwrap().delta
}

#[test]
fn old_and_new_names_of_vllm_carry_the_same_signals() {
    let old = with_version(
        scrapes(&["vllm:gpu_cache_usage_perc{model_name=\"m\"} 0.5\n\
                   vllm:time_per_output_token_seconds_bucket{model_name=\"m\",le=\"+Inf\"} 4\n\
                   vllm:time_per_output_token_seconds_sum{model_name=\"m\"} 0.2\n\
                   vllm:time_per_output_token_seconds_count{model_name=\"m\"} 4\n"]),
        "0.6.3",
    );
    let new = with_version(
        scrapes(&["vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.5\n\
                   vllm:inter_token_latency_seconds_bucket{engine=\"0\",model_name=\"m\",le=\"+Inf\"} 4\n\
                   vllm:inter_token_latency_seconds_sum{engine=\"0\",model_name=\"m\"} 0.2\n\
                   vllm:inter_token_latency_seconds_count{engine=\"0\",model_name=\"m\"} 4\n"]),
        "0.32.0",
    );
    for case in [old, new] {
        let o = read(&case);
        assert_eq!(last(&o, Signal::KvUsage), Some(0.5));
        assert_eq!(o.histograms(Signal::LatencyItl, None).unwrap()[0].as_ref().unwrap().mean(), Some(0.05));
    }
}

#[test]
fn a_release_that_says_the_same_thing_twice_is_read_once() {
    // 0.10.2 to 0.11.2 expose the gap between tokens under both names.
    let body = "vllm:inter_token_latency_seconds_sum 2\nvllm:inter_token_latency_seconds_count 40\n\
                vllm:time_per_output_token_seconds_sum 2\nvllm:time_per_output_token_seconds_count 40\n";
    let o = read(&with_version(scrapes(&[body]), "0.11.2"));
    assert_eq!(o.histograms(Signal::LatencyItl, None).unwrap()[0].as_ref().unwrap().count(), 40.0);
    assert_eq!(o.metric(Signal::LatencyItl), Some("vllm:inter_token_latency_seconds"));
}

#[test]
fn prefix_counters_were_blocks_before_0_9() {
    let body = "vllm:gpu_prefix_cache_queries_total{model_name=\"m\"} 100\nvllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"10\"} 1\n";
    let blocks = read(&with_version(scrapes(&[body]), "0.8.5"));
    let tokens = read(&with_version(scrapes(&[body]), "0.10.1"));
    assert_eq!(last(&blocks, Signal::KvPrefixQueries), Some(1600.0));
    assert_eq!(last(&tokens, Signal::KvPrefixQueries), Some(100.0));
    assert_eq!(blocks.config.number(Setting::KvCapacity), Some(160.0));
}

#[test]
fn data_parallel_engines_add_up_and_the_fullest_pool_counts() {
    let body = "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 3\nvllm:num_requests_running{engine=\"1\",model_name=\"m\"} 5\n\
                vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.2\nvllm:kv_cache_usage_perc{engine=\"1\",model_name=\"m\"} 0.9\n";
    let o = read(&with_version(scrapes(&[body]), "0.32.0"));
    assert_eq!((last(&o, Signal::RequestsRunning), last(&o, Signal::KvUsage)), (Some(8.0), Some(0.9)));
    assert_eq!(o.instances().len(), 2);
    let second = Instance { model: Some("m".into()), engine: Some("1".into()) };
    assert_eq!(o.series(Signal::RequestsRunning, Some(&second), None).unwrap().last(), Some(5.0));
}

#[test]
fn one_of_several_models_can_be_judged_alone() {
    let body = "vllm:num_requests_running{engine=\"0\",model_name=\"a\"} 3\nvllm:num_requests_running{engine=\"0\",model_name=\"b\"} 5\n";
    let mut case = with_version(scrapes(&[body]), "0.32.0");
    assert_eq!(read(&case).identity.models, ["a", "b"]);
    case.intent.model = Some("b".into());
    assert_eq!(last(&read(&case), Signal::RequestsRunning), Some(5.0));
    case.intent.model = Some("c".into());
    let o = read(&case);
    assert!(o.notes.iter().any(|n| n.contains("\"c\"") && n.contains("a, b")), "{:?}", o.notes);
}

#[test]
fn gauges_of_several_processes_are_one_gauge() {
    // 0.9.2 to 0.11.0 with several API servers exposed the usage once per process.
    let body = "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\",pid=\"11\"} 0\nvllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\",pid=\"12\"} 0.7\n";
    assert_eq!(last(&read(&with_version(scrapes(&[body]), "0.10.0")), Signal::KvUsage), Some(0.7));
}

#[test]
fn a_restart_inside_the_window_loses_nothing_and_counts_nothing_twice() {
    let at = |n: u32| format!("vllm:generation_tokens_total{{engine=\"0\",model_name=\"m\"}} {n}\n");
    let bodies = [at(100), at(250), at(30), at(80)];
    let o = read(&with_version(scrapes(&bodies.each_ref().map(String::as_str)), "0.32.0"));
    let window = o.series(Signal::TokensGenerated, None, None).unwrap().counter().unwrap();
    assert_eq!((window.delta, window.resets), (230.0, 1));
}

#[test]
fn the_same_series_twice_in_one_scrape_counts_once() {
    let line = "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 4\n";
    let swapped = "vllm:num_requests_running{model_name=\"m\",engine=\"0\"} 4\n";
    let o = read(&with_version(scrapes(&[&format!("{line}{line}{swapped}")]), "0.32.0"));
    assert_eq!(last(&o, Signal::RequestsRunning), Some(4.0));
}

#[test]
fn a_labelled_counter_born_of_its_first_event_keeps_that_event() {
    let before = "vllm:num_requests_running 1\nhttp_requests_total{method=\"POST\",status=\"2xx\"} 5\n";
    let after = "vllm:num_requests_running 1\nhttp_requests_total{method=\"POST\",status=\"2xx\"} 6\nhttp_requests_total{method=\"POST\",status=\"4xx\"} 7\n";
    let o = read(&with_version(scrapes(&[before, after]), "0.32.0"));
    assert_eq!(o.series(Signal::HttpResponses, None, Some("4xx")).unwrap().counter().unwrap().delta, 7.0);
}

#[test]
fn behind_ray_the_colon_is_gone_and_the_engine_is_still_vllm() {
    let o =
        read(&scrapes(&["ray_vllm_num_requests_waiting{model_name=\"m\",engine=\"0\",WorkerId=\"w\"} 9\n"]));
    assert_eq!(o.identity.engine, Some(Engine::Vllm));
    assert_eq!(last(&o, Signal::RequestsWaiting), Some(9.0));
}

#[test]
fn a_release_newer_than_the_tables_works_with_a_note() {
    let o = read(&with_version(scrapes(&["vllm:num_requests_running 2\n"]), "0.99.0"));
    assert_eq!(last(&o, Signal::RequestsRunning), Some(2.0));
    assert!(o.notes.iter().any(|n| n.contains("0.99.0 is newer")), "{:?}", o.notes);
}

#[test]
fn an_unknown_release_is_bounded_by_what_it_shows() {
    let o = read(&scrapes(&[
        "vllm:num_requests_waiting_by_reason{reason=\"deferred\"} 2\nvllm:num_requests_running 1\n",
    ]));
    assert_eq!(o.identity.version, None);
    assert_eq!(o.identity.release().unwrap().to_string(), "0.20.0");
    assert_eq!(last(&o, Signal::RequestsWaitingDeferred), Some(2.0));
}

#[test]
fn sglang_ranks_and_priorities_are_not_counted_twice() {
    let body = "sglang:num_running_reqs{model_name=\"m\",tp_rank=\"0\",priority=\"\"} 6\n\
                sglang:num_running_reqs{model_name=\"m\",tp_rank=\"1\",priority=\"\"} 6\n\
                sglang:num_running_reqs{model_name=\"m\",tp_rank=\"0\",priority=\"1\"} 2\n\
                sglang:token_usage{model_name=\"m\",tp_rank=\"0\"} 0.55\n\
                sglang:max_total_num_tokens{model_name=\"m\",tp_rank=\"0\"} 400000\n\
                sglang:kv_transfer_latency_ms_sum{model_name=\"m\"} 500\nsglang:kv_transfer_latency_ms_count{model_name=\"m\"} 10\n";
    let mut case = scrapes(&[body]);
    case.endpoints.insert(
        "/server_info".into(),
        r#"{"version":"0.5.20","max_running_requests":48,"mem_fraction_static":0.88}"#.into(),
    );
    let o = read(&case);
    assert_eq!(o.identity.engine, Some(Engine::Sglang));
    assert_eq!(o.identity.version.as_ref().unwrap().to_string(), "0.5.20");
    assert_eq!(last(&o, Signal::RequestsRunning), Some(6.0));
    assert_eq!(o.config.number(Setting::MaxSequences), Some(48.0));
    assert_eq!(o.config.number(Setting::KvCapacity), Some(400_000.0));
    let transfer = o.histograms(Signal::KvTransfer, None).unwrap()[0].clone().unwrap();
    assert!((transfer.mean().unwrap() - 0.05).abs() < 1e-12, "milliseconds become seconds");
}

#[test]
fn tgi_counts_without_total_and_tokens_as_histogram_sums() {
    let body = "tgi_queue_size 3\ntgi_batch_current_size 8\ntgi_request_success 10\n\
                tgi_request_generated_tokens_sum 900\ntgi_request_generated_tokens_count 10\n\
                tgi_request_failure{err=\"overloaded\"} 4\n";
    let o = read(&scrapes(&[body, body]));
    assert_eq!(o.identity.engine, Some(Engine::Tgi));
    assert_eq!(last(&o, Signal::RequestsWaiting), Some(3.0));
    assert_eq!(last(&o, Signal::TokensGenerated), Some(900.0));
    assert_eq!(last(&o, Signal::RequestsRejected), Some(4.0));
    assert!(o.why_missing(Signal::LatencyTtft).contains("TGI does not expose latency.ttft"));
}

#[test]
fn tensorrt_llm_multiplies_blocks_by_their_size() {
    let body = "trtllm_num_requests_running{model_name=\"m\"} 2\ntrtllm_kv_cache_max_blocks{model_name=\"m\"} 1000\ntrtllm_kv_cache_tokens_per_block{model_name=\"m\"} 32\n";
    let o = read(&scrapes(&[body]));
    assert_eq!(o.identity.engine, Some(Engine::TensorRtLlm));
    assert_eq!(o.config.number(Setting::KvCapacity), Some(32_000.0));
    let triton = read(&scrapes(&[
        "nv_trt_llm_request_metrics{model=\"m\",request_type=\"active\"} 5\nnv_trt_llm_request_metrics{model=\"m\",request_type=\"waiting\"} 7\n",
    ]));
    assert_eq!(
        (last(&triton, Signal::RequestsRunning), last(&triton, Signal::RequestsWaiting)),
        (Some(5.0), Some(7.0))
    );
}

#[test]
fn llama_cpp_shows_totals_and_says_what_it_cannot_show() {
    let body = |tokens: u32, seconds: f64| {
        format!(
            "llamacpp:requests_processing 2\nllamacpp:prompt_tokens_total 10\nllamacpp:prompt_tokens_cached_total 5\nllamacpp:tokens_predicted_total {tokens}\nllamacpp:tokens_predicted_seconds_total {seconds}\n"
        )
    };
    let mut case = scrapes(&[&body(100, 4.0), &body(200, 9.0)]);
    case.endpoints.insert(
        "/props".into(),
        r#"{"total_slots":4,"build_info":"b10500-abc","default_generation_settings":{"n_ctx":2048}}"#.into(),
    );
    let o = read(&case);
    assert_eq!(o.identity.version.as_ref().unwrap().to_string(), "b10500-abc");
    assert_eq!(o.config.number(Setting::MaxSequences), Some(4.0));
    assert_eq!(last(&o, Signal::TokensPrompt), Some(15.0), "cached tokens are part of the prompt");
    assert_eq!(delta(&o, Signal::TokensGenerated), 100.0);
    let states = o.histograms(Signal::LatencyItl, None).unwrap();
    let (gained, _) = states[1].clone().unwrap().since(states[0].as_ref().unwrap());
    assert_eq!(gained.mean(), Some(0.05));
    assert!(o.why_missing(Signal::LatencyQueue).starts_with("llama.cpp does not expose latency.queue"));
}

#[test]
fn lmdeploy_and_dynamo_are_recognised() {
    let lmdeploy = read(&scrapes(&["lmdeploy:num_requests_waiting{model_name=\"m\",engine=\"0\"} 2\n"]));
    assert_eq!(
        (lmdeploy.identity.engine, last(&lmdeploy, Signal::RequestsWaiting)),
        (Some(Engine::Lmdeploy), Some(2.0))
    );
    let body = "dynamo_frontend_queued_requests{model=\"m\"} 4\ndynamo_frontend_model_max_num_seqs{model=\"m\"} 64\n\
                dynamo_frontend_requests_total{model=\"m\",status=\"error\"} 3\ndynamo_frontend_requests_total{model=\"m\",status=\"success\"} 30\n";
    let dynamo = read(&scrapes(&[body]));
    assert_eq!(
        (dynamo.identity.engine, last(&dynamo, Signal::RequestsWaiting)),
        (Some(Engine::Dynamo), Some(4.0))
    );
    assert_eq!(dynamo.config.number(Setting::MaxSequences), Some(64.0));
    assert_eq!(last(&dynamo, Signal::RequestsErrors), Some(3.0));
}

#[test]
fn a_worker_behind_dynamo_speaks_as_its_engine() {
    let body =
        "dynamo_component_total_blocks 5\nvllm:num_requests_running{engine=\"0\",model_name=\"m\"} 2\n";
    assert_eq!(read(&scrapes(&[body])).identity.engine, Some(Engine::Vllm));
}

#[test]
fn a_damaged_scrape_keeps_what_came_before() {
    let o = read(&with_version(scrapes(&["vllm:num_requests_running 4\nvllm:num_requests_wai"]), "0.32.0"));
    assert_eq!(last(&o, Signal::RequestsRunning), Some(4.0));
    assert!(o.notes.iter().any(|n| n.contains("damaged (line 2")), "{:?}", o.notes);
}

#[test]
fn strangers_are_nobody() {
    let o = read(&scrapes(&["node_load1 0.5\n"]));
    assert_eq!(o.identity.engine, None);
    assert!(o.notes[0].contains("no engine known here"), "{:?}", o.notes);
}

#[test]
fn every_row_names_a_prefix_of_its_engine_or_a_common_metric() {
    for engine in Engine::ALL {
        let dialect = intriage_engines::dialect(*engine);
        for row in dialect.metrics {
            let own = dialect.prefixes.iter().any(|p| row.metric.starts_with(p));
            let common = row.metric.starts_with("http_") || row.metric.starts_with("process_");
            assert!(own || common, "{engine}: {}", row.metric);
        }
    }
}

fn log_only(text: &str) -> Observed {
    let logs = vec![LogText { name: "server.log".into(), text: text.to_owned() }];
    read(&Case { logs, ..Case::default() })
}

#[test]
fn the_log_of_tensorrt_llm_tells_what_it_made_of_its_limits() {
    let o = log_only(
        "[TRT-LLM] [I] max_seq_len=131072, max_num_requests=2048, max_num_tokens=8192\n\
         [TRT-LLM] [I] Peak memory during memory usage profiling (torch + non-torch): 91.46 GiB, available KV cache memory when calculating max tokens: 41.11 GiB, fraction is set 0.85, kv size is 35136. device total memory 139.81 GiB\n",
    );
    assert_eq!(o.identity.engine, Some(Engine::TensorRtLlm));
    assert_eq!(o.config.number(Setting::ContextWindow), Some(131_072.0));
    assert_eq!(o.config.number(Setting::MaxSequences), Some(2048.0));
    assert_eq!(o.config.number(Setting::TokenBudget), Some(8192.0));
    assert_eq!(o.config.number(Setting::MemoryFraction), Some(0.85));
    assert_eq!(o.config.number(Setting::KvBytes), Some(41.11 * 1_073_741_824.0));
}

#[test]
fn the_log_of_tgi_tells_how_many_tokens_fit() {
    let o = log_only(
        "2025-07-04T12:35:04.406179Z  INFO text_generation_launcher: Default `max_batch_prefill_tokens` to 8000\n\
         2025-07-04T12:36:09.754597Z  INFO text_generation_router: router/src/main.rs:354: Setting max batch total tokens to 43808\n",
    );
    assert_eq!(o.identity.engine, Some(Engine::Tgi));
    assert_eq!(o.config.number(Setting::TokenBudget), Some(8000.0));
    assert_eq!(o.config.number(Setting::KvCapacity), Some(43_808.0));
}
