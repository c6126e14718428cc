//! The routes beside inference, and what is refused.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use proptest::prelude::*;
use serde_json::{Value, json};
use support::{CHAT, Client, Ended, chat, serve};

#[test]
fn the_log_is_also_had_over_http() {
    let server = serve("mode=flood");
    let mut client = Client::new(&server);
    (1..=3).for_each(|tokens| drop(client.post(CHAT, &chat(tokens))));
    let lines: Vec<Value> =
        client.get("/truth/log").text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.iter().map(|l| l["tokens"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 3]);
    let log = server.log().unwrap();
    assert_eq!(lines[2]["writes"], json!([[3, log[2].writes[0].1]]));
    let stats = client.get("/truth/stats").json();
    assert_eq!(
        (&stats["requests"], &stats["tokens"], &stats["in_flight"]),
        (&json!(3), &json!(6), &json!(0))
    );
    assert_eq!(client.post("/truth/reset", &json!({})).status, 200);
    assert_eq!(client.get("/truth/log").body.len(), 0);
    client.post(CHAT, &chat(1));
    assert_eq!(server.log().unwrap()[0].sequence, 1);
}

#[test]
fn the_configuration_is_changed_over_http_or_refused_whole() {
    let server = serve("mode=flood");
    let mut client = Client::new(&server);
    assert_eq!(client.get("/truth/config?default_tokens=7&text=utf8").status, 200);
    let reply = client.get("/truth/config?default_tokens=9&tpot_ms=3&speed=1");
    assert_eq!(reply.status, 400);
    let message = reply.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("tpot_ms, speed") && message.contains("itl_ms"), "{message}");
    for bad in
        ["ttft_ms=-3", "mode=fast", "cached_share=2", "fault=fire", "ttft_ms", "default_tokens=99999999999"]
    {
        assert_eq!(client.get(&format!("/truth/config?{bad}")).status, 400, "{bad}");
    }
    let body = json!({"messages": [], "stream": true});
    assert_eq!(client.post(CHAT, &body).said().1.split(' ').count(), 7, "a refused change changes nothing");
}

#[test]
fn metrics_agree_with_what_was_served() {
    let server = serve("ttft_ms=2,itl_ms=12,template_tokens=7,cached_share=0.25,model=a\"b");
    let mut client = Client::new(&server);
    (0..2).for_each(|_| drop(client.post(CHAT, &chat(3))));
    let page = client.get("/metrics");
    let labels = "engine=\"0\",model_name=\"a\\\"b\"";
    let value = |name: &str, more: &str| {
        let start = format!("vllm:{name}{{{labels}{more}}} ");
        let line = page.text().lines().find_map(|line| line.strip_prefix(&start).map(str::to_owned));
        line.unwrap_or_else(|| panic!("{start}")).parse::<f64>().unwrap()
    };
    assert_eq!(value("prompt_tokens_total", ""), 20.0);
    assert_eq!(value("prefix_cache_hits_total", ""), 4.0);
    assert_eq!(value("generation_tokens_total", ""), 6.0);
    assert_eq!(value("num_requests_running", ""), 0.0);
    assert_eq!(value("request_success_total", ",finished_reason=\"length\""), 2.0);
    assert_eq!(value("time_to_first_token_seconds_count", ""), 2.0);
    assert_eq!(value("time_to_first_token_seconds_bucket", ",le=\"0.001\""), 0.0);
    assert_eq!(value("inter_token_latency_seconds_bucket", ",le=\"+Inf\""), 4.0);
    // From the arrival to the last token, whatever share of it each had.
    let both = value("time_to_first_token_seconds_sum", "") + value("inter_token_latency_seconds_sum", "");
    assert!(both >= 2.0 * 0.026);
    assert!(value("e2e_request_latency_seconds_sum", "") >= 2.0 * 0.026);
}

#[test]
fn the_tokenizer_counts_what_usage_counts() {
    let server = serve("template_tokens=4,max_model_len=500");
    let mut client = Client::new(&server);
    let reply =
        client.post("/tokenize", &json!({"messages": [{"role": "user", "content": "say it slowly"}]})).json();
    assert_eq!((&reply["count"], &reply["max_model_len"]), (&json!(7), &json!(500)));
    assert_eq!(reply["tokens"].as_array().unwrap().len(), 7);
    assert_eq!(client.post("/tokenize", &json!({"text": 1})).status, 400);
    client.get("/truth/config?tokenize=off");
    assert_eq!(client.post("/tokenize", &json!({"prompt": "a"})).status, 404);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let server = serve("mode=flood,max_model_len=100");
    let mut client = Client::new(&server);
    assert_eq!(client.get("/nowhere").status, 404);
    assert_eq!(client.get(CHAT).status, 405);
    assert_eq!(client.get("/truth/reset").status, 405);
    assert_eq!(client.post(CHAT, &json!({"messages": [], "max_tokens": 101})).status, 400);
    assert_eq!(client.post(CHAT, &json!({"messages": [], "max_tokens": 0})).status, 400);
    assert_eq!(client.post(CHAT, &json!([])).status, 400);
    assert_eq!(client.get("/v1/models").json()["data"][0]["id"], "truth");
    assert_eq!(client.get("/version").status, 200);
    client.send(b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n");
    assert_eq!(client.reply().status, 413);
    assert_eq!(client.rest(), Ended::Closed);
    assert!(server.log().unwrap().is_empty());
}

#[test]
fn a_body_may_come_in_chunks_and_after_a_continue() {
    let server = serve("mode=flood");
    let mut client = Client::new(&server);
    client.send(
        format!("POST {CHAT} HTTP/1.1\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n")
            .as_bytes(),
    );
    client.more().unwrap();
    assert_eq!(client.left, b"HTTP/1.1 100 Continue\r\n\r\n");
    client.left.clear();
    let body = chat(4).to_string();
    let (first, second) = body.split_at(9);
    client.send(format!("9\r\n{first}\r\n").as_bytes());
    client.send(format!("{:X};a=b\r\n{second}\r\n0\r\n\r\n", second.len()).as_bytes());
    assert_eq!(client.reply().said().1.split(' ').count(), 4);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_client_brings_it_down(noise in prop::collection::vec(any::<u8>(), 1..2000), at in 0_usize..300) {
        let server = serve("mode=flood");
        let mut bytes = support::post(CHAT, &chat(3));
        let at = at.min(bytes.len());
        bytes.splice(at..at, noise);
        let mut client = Client::new(&server);
        client.send(&bytes);
        drop(client);
        prop_assert_eq!(Client::new(&server).get("/health").status, 200);
    }
}
