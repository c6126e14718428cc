//! `intriage simulate`: a server that a script can start, ask and end.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod support;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use support::{code, intriage, stderr, stdout};

/// A simulated server that ends by itself after a few seconds.
fn simulate(args: &[&str]) -> (Child, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_intriage"))
        .args(["simulate", "--duration", "3s"])
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut url).unwrap();
    (child, url.trim().to_owned())
}

fn get(url: &str, path: &str) -> String {
    let mut tcp = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    write!(tcp, "GET {path} HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    tcp.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_url_is_the_first_line_and_the_flags_are_what_the_server_says() {
    let (mut child, url) = simulate(&["--max-num-seqs", "7", "--model", "mine", "--data-parallel-size", "2"]);
    let info = get(&url, "/server_info?config_format=json");
    assert!(info.contains(r#""max_num_seqs":7"#) && info.contains(r#""data_parallel_size":2"#), "{info}");
    assert!(get(&url, "/v1/models").contains(r#""id":"mine""#));
    assert!(get(&url, "/metrics").contains(r#"vllm:num_requests_running{engine="1",model_name="mine"}"#));
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_fault_of_the_path_puts_a_relay_before_the_server_and_load_comes_through_it() {
    let (mut child, url) = simulate(&["--fault", "buffering-proxy", "--load", "--seed", "3"]);
    let mut served = String::new();
    while !served.contains(r#"http_requests_total{handler="/v1/completions""#) {
        served = get(&url, "/metrics");
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_trace_is_sent_with_its_lengths_and_its_shared_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.jsonl");
    let row = |at: u32| {
        format!(
            r#"{{"timestamp": {at}, "input_length": 1100, "output_length": 3, "hash_ids": [1, 2, {at}]}}"#
        )
    };
    std::fs::write(&path, format!("{}\n{}\n", row(0), row(700))).unwrap();
    let (mut child, url) = simulate(&["--trace", path.to_str().unwrap()]);
    let mut served = String::new();
    while !served.contains(r#"vllm:generation_tokens_total{engine="0",model_name="llama-3.1-8b"} 6.0"#) {
        served = get(&url, "/metrics");
    }
    assert!(
        served.contains(r#"vllm:prefix_cache_hits_total{engine="0",model_name="llama-3.1-8b"} 1024.0"#),
        "{served}"
    );
    assert_eq!(child.wait().unwrap().code(), Some(0));
    std::fs::write(&path, "not a trace").unwrap();
    let output = intriage(&["simulate", "--trace", path.to_str().unwrap()]);
    assert_eq!(code(&output), 4);
    assert!(stderr(&output).contains("line 1"), "{}", stderr(&output));
}

#[test]
fn faults_are_listed_and_mistakes_are_explained() {
    let list = stdout(&intriage(&["simulate", "--list"]));
    assert!(list.lines().count() > 25 && list.contains("low-sequence-cap"), "{list}");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for (args, status, hint) in [
        (vec!["--fault", "kaput"], 2, "low-sequence-cap"),
        (vec!["--strength", "nan"], 2, "between 0.1 and 10"),
        (vec!["--max-num-seqs", "0"], 2, "1.."),
        (vec!["--num-gpu-blocks", "1", "--block-size", "1"], 2, "holds no prompt"),
        (vec!["--port", &port], 4, "cannot listen on"),
    ] {
        let output = intriage(&[vec!["simulate", "--duration", "1s"], args.clone()].concat());
        assert_eq!(code(&output), status, "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(hint), "{args:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "nothing but a URL goes to standard output");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_ground_truth_follows_its_schedule_and_refuses_what_it_does_not_know() {
    let (mut child, url) = simulate(&["--ground-truth", "--schedule", "mode=flood, default_tokens=3"]);
    let body = r#"{"prompt": "a b"}"#;
    let mut tcp = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    let head = "POST /v1/completions HTTP/1.1\r\nConnection: close";
    write!(tcp, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut answer = String::new();
    tcp.read_to_string(&mut answer).unwrap();
    assert!(answer.contains(r#""completion_tokens":3"#), "{answer}");
    assert!(get(&url, "/truth/log").contains(r#""tokens":3"#));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let output = intriage(&["simulate", "--ground-truth", "--schedule", "speed=3"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("unknown: speed; known are mode, ttft_ms"), "{}", stderr(&output));
    for args in [&["--ground-truth", "--max-num-seqs", "3"][..], &["--schedule", "itl_ms=5"]] {
        assert_eq!(code(&intriage(&[&["simulate"], args].concat())), 2);
    }
}
