//! Nonsense in, a clear error out: exit 4 (or 3), within its time limit, no panic.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod support;

use std::io::Write;
use std::process::Output;
use std::thread;
use std::time::{Duration, Instant};

use support::{After, Server, answer, code, intriage, json, stderr, stdout};

fn check(url: &str, more: &[&str]) -> Output {
    let mut args = vec!["check", url, "--interval", "100ms", "--window", "500ms"];
    args.extend(more);
    if !more.contains(&"--timeout") {
        args.extend(["--timeout", "1s"]);
    }
    let started = Instant::now();
    let output = intriage(&args);
    assert!(started.elapsed() < Duration::from_secs(20), "{url} took {:?}", started.elapsed());
    assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
    output
}

fn fails_with(output: &Output, hint: &str) {
    assert_eq!(code(output), 4, "{}{}", stdout(output), stderr(output));
    assert!(stderr(output).contains(hint), "{}", stderr(output));
    assert!(stdout(output).is_empty(), "nothing goes to standard output: {}", stdout(output));
}

#[test]
fn a_web_page_is_not_metrics() {
    let server = Server::start(|_, s| {
        answer(s, "200 OK", b"<!doctype html><html><body>hello</body></html>");
        After::Stays
    });
    fails_with(&check(&server.url(), &[]), "a web page");
}

#[test]
fn an_endless_body_is_cut_at_its_limit() {
    let server = Server::start(|_, s| {
        let _ = s.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while s.write_all(b"vllm:num_requests_running 1\n").is_ok() {}
        After::Stays
    });
    let output = check(&server.url(), &["--max-scrape", "1", "--timeout", "10s"]);
    fails_with(&output, "larger than 1048576 bytes");
}

#[test]
fn a_server_that_hangs_is_left_in_time() {
    let server = Server::start(|_, _| {
        thread::sleep(Duration::from_secs(30));
        After::Gone
    });
    fails_with(&check(&server.url(), &[]), "did not answer within 1 s");
}

#[test]
fn a_body_that_drips_is_left_in_time() {
    let server = Server::start(|_, s| {
        let _ = s.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
        while s.write_all(b"#").is_ok() {
            thread::sleep(Duration::from_millis(200));
        }
        After::Stays
    });
    fails_with(&check(&server.url(), &[]), "did not answer within 1 s");
}

#[test]
fn a_401_says_how_to_get_in_and_a_token_does() {
    let server = Server::start(|_, s| {
        answer(s, "401 Unauthorized", b"no");
        After::Stays
    });
    fails_with(&check(&server.url(), &[]), "--bearer-token-file");
}

#[test]
fn a_wrong_port_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let output = check(&format!("127.0.0.1:{port}"), &[]);
    fails_with(&output, &format!("127.0.0.1:{port}"));
}

#[test]
fn metrics_of_somebody_else_are_named() {
    let server = Server::start(|_, s| {
        answer(s, "200 OK", b"node_cpu_seconds_total{cpu=\"0\"} 1\n");
        After::Stays
    });
    fails_with(&check(&server.url(), &[]), "node_cpu_seconds_total");
}

#[test]
fn a_server_without_metrics_says_how_to_switch_them_on() {
    let server = Server::start(|_, s| {
        answer(s, "404 Not Found", b"");
        After::Stays
    });
    fails_with(&check(&server.url(), &[]), "--enable-metrics");
}

#[test]
fn garbage_instead_of_http_is_an_error() {
    let server = Server::start(|_, s| {
        let _ = s.write_all(b"\x00\x01\x02 hello\r\n\r\n");
        After::Stays
    });
    fails_with(&check(&server.url(), &[]), "broken");
}

#[test]
fn plain_http_behind_https_is_an_error() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream.unwrap().write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    fails_with(&check(&format!("https://127.0.0.1:{port}"), &["--insecure"]), "TLS");
}

#[test]
fn a_truncated_scrape_keeps_what_was_readable() {
    let whole = std::fs::read(first_scrape("vllm-h200-maxseqs4")).unwrap();
    let cut = whole.len() * 2 / 3;
    let server = Server::start(move |path, s| {
        if path == "/metrics" {
            answer(s, "200 OK", &whole[..cut]);
        } else {
            answer(s, "404 Not Found", b"");
        }
        After::Stays
    });
    let output = check(&server.url(), &["--format", "json"]);
    let verdict = json(&output);
    assert_eq!(code(&output), 3, "an idle scrape, cut: {}", stdout(&output));
    assert!(verdict["notes"].to_string().contains("is damaged (line"), "{}", verdict["notes"]);
}

fn first_scrape(name: &str) -> std::path::PathBuf {
    let mut all: Vec<_> = std::fs::read_dir(support::recording(name).join("metrics"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    all.sort();
    all.remove(0)
}

#[test]
fn nonsense_on_disk_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    fails_with(&intriage(&["check", dir.path().to_str().unwrap()]), "holds no recording");
    fails_with(&intriage(&["check", &path("nowhere")]), "does not exist");
    std::fs::write(path("x.case"), "hello").unwrap();
    fails_with(&intriage(&["check", &path("x.case")]), "neither a folder");
    let several = support::root().join("fixtures/recordings");
    fails_with(&intriage(&["check", several.to_str().unwrap()]), "check one of them");
}

#[test]
fn a_case_of_another_version_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let saved = dir.path().join("x.case");
    let recording = support::recording("vllm-h200-healthy");
    intriage(&["check", recording.to_str().unwrap(), "--save", saved.to_str().unwrap()]);
    // Patched in place: stored sizes and sums no longer fit, or the version is another; both are errors.
    let bytes = std::fs::read(&saved).unwrap();
    std::fs::write(&saved, &bytes[..bytes.len() / 2]).unwrap();
    fails_with(&intriage(&["check", saved.to_str().unwrap()]), "damaged");
    std::fs::copy(support::root().join("crates/intriage/tests/data/version-9.case"), &saved).unwrap();
    fails_with(&intriage(&["check", saved.to_str().unwrap()]), "intriage.case/9");
}

#[test]
fn a_scrape_of_nonsense_never_panics() {
    let dir = tempfile::tempdir().unwrap();
    let metrics = dir.path().join("metrics");
    std::fs::create_dir(&metrics).unwrap();
    for (i, body) in [
        "vllm:num_requests_running NaN\nvllm:num_requests_waiting +Inf\n",
        "vllm:num_requests_running -3\nvllm:kv_cache_usage_perc 1e308\nvllm:generation_tokens_total -1\n",
        "vllm:time_to_first_token_seconds_bucket{le=\"x\"} 1\nvllm:time_to_first_token_seconds_count 1e300\nvllm:time_to_first_token_seconds_sum -1e300\n",
        "vllm:num_requests_running{engine=\"0\"} 1\nvllm:num_requests_running{engine=\"0\"} 1\n",
    ]
    .iter()
    .enumerate()
    {
        std::fs::write(metrics.join(format!("{}000.txt", i + 1)), body).unwrap();
    }
    std::fs::create_dir(dir.path().join("endpoints")).unwrap();
    std::fs::write(dir.path().join("endpoints/version.json"), "[1, \"nonsense\"").unwrap();
    std::fs::write(dir.path().join("dmon.txt"), "# gpu sm\n 0 x\n").unwrap();
    std::fs::write(dir.path().join("server.log"), b"\xff\xfe KV cache size:  tokens\n").unwrap();
    let output = intriage(&["check", dir.path().to_str().unwrap(), "--format", "json"]);
    assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
    assert!(json(&output)["verdict"]["status"].is_string());
}
