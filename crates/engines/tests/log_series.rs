//! A log alone, without one scrape, shows what the engine did.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

use std::path::PathBuf;

use intriage_case::{Case, LogText, Millis, Scrape, ScrapeOutcome, Signal};
use intriage_engines::{LogClock, LogReadings, Observed, read};

fn recorded(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name).join("server.log");
    String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()
}

fn log_only(text: &str) -> Observed {
    let mut case = Case::default();
    case.add_log(LogText { name: "server.log".into(), text: text.to_owned() });
    read(&case)
}

fn values(o: &Observed, signal: Signal) -> Vec<f64> {
    o.series_or_log(signal).map(|s| s.known().map(|(_, v)| v).collect()).unwrap_or_default()
}

#[test]
fn the_log_of_a_small_kv_pool_shows_it_full_and_requests_waiting() {
    let o = log_only(&recorded("recordings/vllm016-cpu-kvsmall"));
    let running = values(&o, Signal::RequestsRunning);
    assert_eq!(running.len(), values(&o, Signal::RequestsWaiting).len());
    assert!(running.contains(&6.0) && values(&o, Signal::RequestsWaiting).contains(&4.0));
    assert!(values(&o, Signal::KvUsage).iter().any(|v| (v - 0.923).abs() < 1e-9));
    assert!(values(&o, Signal::TokenRateGenerated).contains(&10.9));
    assert!(values(&o, Signal::TokenRatePrompt).contains(&108.9));
}

#[test]
fn the_year_comes_from_the_scrapes_and_without_them_only_distances_are_known() {
    let line = |at: &str| {
        format!(
            "INFO 11-15 {at} [metrics.py:486] Avg prompt throughput: 68.8 tokens/s, Avg generation throughput: 19.9 tokens/s, Running: 3 reqs, Swapped: 0 reqs, Pending: 1 reqs, GPU KV cache usage: 0.8%, CPU KV cache usage: 0.0%.\n"
        )
    };
    let text = line("02:26:49") + &line("02:26:54");
    let mut case = Case::default();
    case.add_log(LogText { name: "server.log".into(), text: text.clone() });
    case.scrapes
        .push(Scrape { at: Millis(1_794_709_700_000), outcome: ScrapeOutcome::Failed("refused".into()) });
    let o = read(&case);
    let running = o.series_or_log(Signal::RequestsRunning).unwrap();
    assert_eq!(running.times(), [Millis(1_794_709_609_000), Millis(1_794_709_614_000)]);
    assert_eq!(o.log.series[0].clock, LogClock::Wall);
    assert_eq!(values(&o, Signal::RequestsWaiting), [1.0, 1.0]);
    // The pool on the device, not the swap space behind it.
    assert!((values(&o, Signal::KvUsage)[0] - 0.008).abs() < 1e-9);

    let alone = LogReadings::of(&LogText { name: "l".into(), text });
    assert_eq!(alone.series[0].clock, LogClock::Undated);
    let times = alone.signal(Signal::RequestsRunning).unwrap().times().to_vec();
    assert_eq!(times[1].since(times[0]).get(), 5.0);
}

#[test]
fn a_recorded_log_and_its_scrapes_tell_the_same_queue_at_the_same_time() {
    let name = "recordings/vllm-cpu-maxseqs2";
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name).join("metrics");
    let mut scrapes: Vec<Scrape> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter_map(|path| {
            let at = Millis(path.file_stem()?.to_str()?.parse().ok()?);
            Some(Scrape { at, outcome: ScrapeOutcome::Body(std::fs::read(path).ok()?) })
        })
        .collect();
    scrapes.sort_by_key(|scrape| scrape.at);
    let mut case = Case { scrapes, ..Case::default() };
    case.add_log(LogText { name: "server.log".into(), text: recorded(name) });
    let o = read(&case);
    let (measured, logged) =
        (o.series(Signal::RequestsWaiting, None, None), o.log.signal(Signal::RequestsWaiting));
    let (measured, logged) = (measured.unwrap(), logged.unwrap());
    // Every line written during the window says what some scrape within ten seconds of it says.
    let mut compared = 0;
    for (i, waiting) in logged.known() {
        let near: Vec<f64> = measured
            .known()
            .filter(|(j, _)| measured.times()[*j].since(logged.times()[i]).get().abs() <= 10.0)
            .map(|(_, v)| v)
            .collect();
        if !near.is_empty() {
            let least = near.iter().copied().fold(f64::INFINITY, f64::min);
            let most = near.iter().copied().fold(0.0, f64::max);
            assert!((least..=most).contains(&waiting), "{waiting} is not in {near:?}");
            compared += 1;
        }
    }
    assert!(compared >= 3, "only {compared} lines lie in the window");
}

#[test]
fn a_container_runtimes_time_counts_before_the_lines_own() {
    let text = "{\"log\":\"INFO 01-01 00:00:00 [l.py:1] Engine 000: Avg prompt throughput: 1.0 tokens/s, Running: 3 reqs, Waiting: 0 reqs\\n\",\"stream\":\"stderr\",\"time\":\"2026-11-15T02:26:49Z\"}\n";
    let readings = LogReadings::of(&LogText { name: "l".into(), text: text.into() });
    assert_eq!(readings.signal(Signal::RequestsRunning).unwrap().times(), [Millis(1_794_709_609_000)]);
}

#[test]
fn engines_of_one_server_add_up_and_the_fullest_pool_counts() {
    let line = |at: u32, engine: u32, running: u32, kv: u32| {
        format!(
            "INFO 11-15 02:26:{at} [loggers.py:1] Engine 00{engine}: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 1.0 tokens/s, Running: {running} reqs, Waiting: 0 reqs, GPU KV cache usage: {kv}.0%\n"
        )
    };
    let text = [line(10, 0, 2, 20), line(11, 1, 5, 50), line(20, 0, 4, 30), line(21, 1, 1, 10)].concat();
    let readings = LogReadings::of(&LogText { name: "l".into(), text });
    let all = |signal| readings.signal(signal).unwrap().known().map(|(_, v)| v).collect::<Vec<_>>();
    assert_eq!(all(Signal::RequestsRunning), [2.0, 7.0, 9.0, 5.0]);
    assert_eq!(all(Signal::KvUsage), [0.2, 0.5, 0.5, 0.3]);
    assert_eq!(readings.series.iter().filter(|s| s.signal == Signal::RequestsRunning).count(), 2);
}

#[test]
fn llama_cpps_slots_and_tokens_add_up_over_its_log() {
    let text = recorded("recordings/llamacpp-slots");
    let o = log_only(&text);
    let running = values(&o, Signal::RequestsRunning);
    let slots = 2.0;
    assert!(running.iter().all(|v| (0.0..=slots).contains(v)) && running.contains(&slots), "{running:?}");
    let finished = values(&o, Signal::RequestsFinished);
    assert_eq!(*finished.last().unwrap() as usize, text.matches("stop processing: n_tokens").count());
    assert!(values(&o, Signal::TokensGenerated).windows(2).all(|pair| pair[0] <= pair[1]));
    let times = o.series_or_log(Signal::TokensGenerated).unwrap().times().to_vec();
    assert!(times.windows(2).all(|pair| pair[0] <= pair[1]) && *times.last().unwrap() < Millis(90_000));
    assert!(o.log.series.iter().all(|s| s.clock == LogClock::SinceStart));
}

#[test]
fn sglangs_lines_of_both_separators_are_read() {
    for separator in [",", "."] {
        let text = format!(
            "[2026-11-15 02:26:49] Decode batch{separator} #running-req: 2, #token: 512, token usage: 0.01, cuda graph: False, gen throughput (token/s): 35.10, #queue-req: 7\n"
        );
        let readings = LogReadings::of(&LogText { name: "l".into(), text });
        let last = |signal| readings.signal(signal).and_then(|s| s.last());
        assert_eq!(last(Signal::RequestsRunning), Some(2.0));
        assert_eq!(last(Signal::RequestsWaiting), Some(7.0));
        assert_eq!(last(Signal::TokenRateGenerated), Some(35.1));
        assert_eq!(last(Signal::ComputeGraphNow), Some(0.0));
    }
}

#[test]
fn metrics_come_before_the_log() {
    let mut case = Case::default();
    case.add_log(LogText {
        name: "server.log".into(),
        text:
            "INFO 11-15 02:26:49 [l.py:1] Engine 000: Avg prompt throughput: 1.0 tokens/s, Running: 9 reqs\n"
                .into(),
    });
    let body = ScrapeOutcome::Body(b"vllm:num_requests_running 2\n".to_vec());
    case.scrapes.push(Scrape { at: Millis(1_794_709_700_000), outcome: body });
    let o = read(&case);
    assert_eq!(values(&o, Signal::RequestsRunning), [2.0]);
    assert_eq!(values(&o, Signal::TokenRatePrompt), [1.0]);
}
