//! The server over real sockets: what a client sends and what comes back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use intriage_case::{Ratio, Seconds};
use intriage_simulate::{Mishap, Speculation};
use proptest::prelude::*;
use serde_json::{Value, json};
use support::{Site, fleet, serve, serve_config, serve_with};

const CHAT: &str = "/v1/chat/completions";
const COMPLETE: &str = "/v1/completions";

fn hello() -> Value {
    json!({"model": "sim", "messages": [{"role": "user", "content": "Tell me about queues."}]})
}

/// A stream that lasts until somebody ends it.
fn endless() -> Value {
    json!({"prompt": "x", "max_tokens": 4000, "ignore_eos": true, "stream": true})
}

#[test]
fn a_stream_has_vllms_order_role_tokens_reason_usage_done() {
    let site = serve();
    let mut body = hello();
    body["stream"] = json!(true);
    body["max_tokens"] = json!(5);
    body["ignore_eos"] = json!(true);
    body["stream_options"] = json!({"include_usage": true});
    let reply = site.post(CHAT, &body);
    assert_eq!(reply.status, 200);
    assert!(reply.head.to_lowercase().contains("content-type: text/event-stream"));
    let events = reply.events();
    // The role, five tokens, the usage.
    assert_eq!(events.len(), 7, "{events:?}");
    assert_eq!(events[0]["choices"][0]["delta"], json!({"role": "assistant", "content": ""}));
    let reason = |i: usize| &events[i]["choices"][0]["finish_reason"];
    assert!((0..5).all(|i| reason(i).is_null()));
    assert_eq!(reason(5), "length");
    assert!(
        !events[5]["choices"][0]["delta"]["content"].as_str().unwrap().is_empty(),
        "the last has text too"
    );
    assert_eq!(events[6]["choices"], json!([]));
    assert_eq!(events[6]["usage"]["completion_tokens"], 5);
    assert!(reply.body.ends_with("data: [DONE]\n\n"));
    assert!(events.iter().all(|e| e["object"] == "chat.completion.chunk" && e["id"] == events[0]["id"]));
}

#[test]
fn usage_counts_what_the_tokenizer_counts_for_prompt_and_answer() {
    let site = serve();
    let mut body = hello();
    body["max_tokens"] = json!(12);
    let reply = site.post(CHAT, &body).json();
    let text = reply["choices"][0]["message"]["content"].as_str().unwrap();
    let prompt = site.post("/tokenize", &json!({"messages": body["messages"]})).json();
    let answer = site.post("/tokenize", &json!({"prompt": text})).json();
    assert_eq!(reply["usage"]["prompt_tokens"], prompt["count"]);
    assert_eq!(reply["usage"]["completion_tokens"], answer["count"]);
    assert_eq!(answer["tokens"].as_array().unwrap().len(), 12);
    assert_eq!(reply["choices"][0]["finish_reason"], "length");
    let back = site.post("/detokenize", &json!({"tokens": prompt["tokens"]})).json();
    let rendered = "<|im_start|>user\nTell me about queues.<|im_end|>\n<|im_start|>assistant\n";
    assert_eq!(back["prompt"], rendered);
}

#[test]
fn the_same_prompt_gives_the_same_words_whole_or_streamed() {
    let site = serve();
    let mut body = json!({"prompt": "Once upon a time", "max_tokens": 9, "ignore_eos": true});
    let whole = site.post(COMPLETE, &body).json();
    body["stream"] = json!(true);
    let events = site.post(COMPLETE, &body).events();
    let streamed: String = events.iter().map(|e| e["choices"][0]["text"].as_str().unwrap()).collect();
    assert_eq!(whole["choices"][0]["text"], streamed.as_str());
    assert_eq!(streamed.split(' ').count(), 9);
}

#[test]
fn an_answer_ends_by_itself_unless_it_is_told_not_to() {
    let site = serve(); // answers of 20 tokens
    let ask = |extra: Value| {
        let mut body = json!({"prompt": [5, 6, 7], "max_tokens": 50});
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let reply = site.post(COMPLETE, &body).json();
        assert_eq!(reply["usage"]["prompt_tokens"], 3, "token ids count exactly");
        (reply["usage"]["completion_tokens"].as_u64().unwrap(), reply["choices"][0]["finish_reason"].clone())
    };
    assert_eq!(ask(json!({})), (20, json!("stop")));
    assert_eq!(ask(json!({"max_tokens": 4})), (4, json!("length")));
    assert_eq!(ask(json!({"ignore_eos": true})), (50, json!("length")));
    assert_eq!(ask(json!({"min_tokens": 30})), (30, json!("stop")));
    assert_eq!(ask(json!({"vllm_xargs": {"answer_tokens": 7}})), (7, json!("stop")));
}

#[test]
fn several_prompts_are_answered_side_by_side() {
    let site = serve();
    let body = json!({"prompt": ["one", "two words", "and three words"], "max_tokens": 6, "ignore_eos": true,
        "stream": true, "stream_options": {"include_usage": true, "continuous_usage_stats": true}});
    let events = site.post(COMPLETE, &body).events();
    for index in 0..3 {
        let mine: Vec<&Value> = events.iter().filter(|e| e["choices"][0]["index"] == index).collect();
        assert_eq!(mine.len(), 6);
        let counts: Vec<u64> =
            mine.iter().map(|e| e["usage"]["completion_tokens"].as_u64().unwrap()).collect();
        assert_eq!(counts, [1, 2, 3, 4, 5, 6], "usage goes along in every chunk");
    }
    let last = events.last().unwrap();
    assert_eq!(last["usage"]["completion_tokens"], 18);
    assert_eq!(last["usage"]["prompt_tokens"], 1 + 2 + 3);
}

#[test]
fn mistakes_are_answered_in_vllms_form() {
    let site = serve();
    let long = json!({"prompt": vec![1; 5000]}).to_string();
    let cases = [
        (CHAT, "{", 400, Value::Null),
        (CHAT, r#"{"model": "sim"}"#, 400, json!("messages")),
        (CHAT, r#"{"model": "other", "messages": [{"role": "user", "content": "x"}]}"#, 404, json!("model")),
        (COMPLETE, r#"{"prompt": "x", "max_tokens": -5}"#, 400, json!("max_tokens")),
        (COMPLETE, r#"{"prompt": "x", "max_tokens": 1000000}"#, 400, json!("max_tokens")),
        (COMPLETE, r#"{"prompt": "x", "n": 3}"#, 400, json!("n")),
        (COMPLETE, &long, 400, json!("input_tokens")),
        ("/v1/nothing", "{}", 404, Value::Null),
        ("/v1/models", "{}", 405, Value::Null),
    ];
    for (route, body, status, param) in cases {
        let reply = site.send("POST", route, body.as_bytes());
        assert_eq!(reply.status, status, "{route} {body:.60}");
        let error = &reply.json()["error"];
        assert_eq!(error["code"], status);
        assert_eq!(error["param"], param, "{body:.60}");
        assert!(error["message"].as_str().is_some_and(|m| !m.is_empty()));
        assert!(error["type"].is_string());
    }
    assert_eq!(site.get(COMPLETE).status, 405);
}

#[test]
fn a_body_beyond_the_limit_is_refused_before_it_has_come() {
    let site = serve();
    let head = format!("POST {COMPLETE} HTTP/1.1\r\nHost: t\r\nContent-Length: {}\r\n\r\n", 9 << 20);
    let answer = site.raw(&[head.as_bytes(), &vec![b' '; 9 << 20]].concat());
    // The answer may be lost behind a reset; the server must not be.
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 413"), "{}", String::from_utf8_lossy(&answer));
    assert_eq!(site.get("/health").status, 200);
}

#[test]
fn a_prompt_that_nearly_fills_the_window_is_cut_short_and_not_refused() {
    let site = serve(); // a window of 4096
    let body = json!({"prompt": vec![7; 4090], "max_tokens": 600, "ignore_eos": true});
    let reply = site.post(COMPLETE, &body).json();
    assert_eq!(reply["usage"]["completion_tokens"], 6);
    assert_eq!(reply["choices"][0]["finish_reason"], "length");
}

#[test]
fn a_full_queue_is_refused_with_503() {
    let mut fleet = fleet();
    fleet.engines[0].max_sequences = 1;
    fleet.engines[0].queue_limit = Some(1);
    let site = serve_with(fleet, None);
    // One runs, one waits.
    let running = site.open(COMPLETE, &endless());
    site.wait_for("vllm:num_requests_running", 1.0);
    let waiting = site.open(COMPLETE, &endless());
    site.wait_for("vllm:num_requests_waiting", 1.0);
    let refused = site.post(COMPLETE, &endless());
    assert_eq!(refused.status, 503);
    assert_eq!(refused.json()["error"]["code"], 503);
    assert_eq!(site.metric("vllm:admission_rejections_total", "max_num_queued_reqs"), 1.0);
    drop((running, waiting));
}

#[test]
fn a_client_that_hangs_up_frees_its_place() {
    let site = serve();
    for stream in [true, false] {
        let mut body = endless();
        body["stream"] = json!(stream);
        let open = site.open(COMPLETE, &body);
        site.wait_for("vllm:num_requests_running", 1.0);
        drop(open);
        site.wait_for("vllm:num_requests_running", 0.0);
    }
    assert!(site.metric("vllm:generation_tokens_total", "") < 8000.0);
    assert_eq!(site.metric("vllm:request_success_total", ""), 0.0, "as in vLLM, a hang-up is no end");
}

#[test]
fn metrics_count_what_was_answered() {
    let site = serve();
    for _ in 0..3 {
        site.post(COMPLETE, &json!({"prompt": vec![9; 40], "max_tokens": 10, "ignore_eos": true}));
    }
    site.send("POST", COMPLETE, b"nonsense");
    let page = site.get("/metrics");
    assert!(page.head.to_lowercase().contains("content-type: text/plain; version=0.0.4"));
    assert_eq!(site.metric("vllm:generation_tokens_total", ""), 30.0);
    assert_eq!(site.metric("vllm:prompt_tokens_total", ""), 120.0);
    assert_eq!(site.metric("vllm:time_to_first_token_seconds_count", ""), 3.0);
    assert_eq!(site.metric("vllm:prefix_cache_hits_total", ""), 64.0, "two full blocks, found twice");
    assert_eq!(site.metric("http_requests_total", "2xx"), 3.0);
    assert_eq!(site.metric("http_requests_total", "4xx"), 1.0);
}

#[test]
fn a_conversation_finds_its_text_in_the_cache() {
    let site = serve();
    let question = "Please explain in detail how a paged pool of blocks is shared by many requests at once.";
    let mut messages = vec![json!({"role": "user", "content": question})];
    let first = site.post(CHAT, &json!({"messages": messages, "max_tokens": 40, "ignore_eos": true})).json();
    messages.push(first["choices"][0]["message"].clone());
    messages.push(json!({"role": "user", "content": "Go on."}));
    site.post(CHAT, &json!({"messages": messages, "max_tokens": 1}));
    // The last token of an answer is never computed: nothing comes after it.
    let computed = first["usage"]["total_tokens"].as_f64().unwrap() - 1.0;
    let hits = site.metric("vllm:prefix_cache_hits_total", "");
    assert_eq!(hits, (computed / 16.0).floor() * 16.0, "question and answer are found, block by block");
}

#[test]
fn what_intriage_asks_a_server_is_answered() {
    let site = serve();
    let info = site.get("/server_info?config_format=json").json();
    assert_eq!(info["vllm_config"]["scheduler_config"]["max_num_seqs"], 8);
    assert_eq!(info["vllm_config"]["cache_config"]["num_gpu_blocks"], 4096);
    let text = site.get("/server_info").json();
    assert!(text["vllm_config"].as_str().unwrap().contains("max_num_seqs=8, max_num_batched_tokens=2048"));
    let models = site.get("/v1/models").json();
    assert_eq!(models["data"][0]["max_model_len"], 4096);
    assert_eq!(models["data"][0]["root"], "org/sim");
    assert_eq!(site.get("/version").json()["version"], "0.32.0+simulated");
    assert_eq!(site.get("/load").json(), json!({"server_load": 0}));
    for route in ["/health", "/ping"] {
        let reply = site.get(route);
        assert_eq!((reply.status, reply.body.as_str()), (200, ""));
    }
}

#[test]
fn nonsense_on_the_wire_ends_its_own_connection_only() {
    let site = serve();
    for garbage in [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
        b"GET\r\n\r\n".to_vec(),
        b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n".to_vec(),
        b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".to_vec(),
        [b"GET /".as_slice(), &vec![b'a'; 300_000], b" HTTP/1.1\r\n\r\n"].concat(),
        vec![0; 100_000],
    ] {
        site.raw(&garbage);
    }
    let open: Vec<_> = (0..200).map(|_| site.connect()).collect();
    assert_eq!(site.post(COMPLETE, &json!({"prompt": "still there?"})).status, 200);
    drop(open);
}

#[test]
fn a_crash_ends_open_streams_with_an_error_and_then_the_server() {
    let site = serve_with(fleet(), Some(Mishap::Crash { after: Seconds(0.3) }));
    let reply = site.post(COMPLETE, &endless());
    assert_eq!(reply.status, 200, "the head had gone out before");
    let events = reply.events();
    assert!(events.len() > 1);
    assert_eq!(events.last().unwrap()["error"]["code"], 500);
    site.wait_until_gone();
}

#[test]
fn a_hung_engine_keeps_its_requests_and_the_server_still_answers() {
    let site = serve_with(fleet(), Some(Mishap::Hang { after: Seconds(0.1), engine: None }));
    let open = site.open(COMPLETE, &endless());
    site.wait_for("vllm:num_requests_running", 1.0);
    let tokens = site.wait_until_still("vllm:generation_tokens_total");
    assert!(tokens < 4000.0, "{tokens}");
    assert_eq!(site.metric("vllm:num_requests_running", ""), 1.0);
    assert_eq!(site.get("/health").status, 200);
    drop(open);
}

#[test]
fn a_paused_engine_goes_on_where_it_stopped() {
    let pause = Mishap::Pause { after: Seconds(0.1), lasting: Seconds(0.6) };
    let site = serve_with(fleet(), Some(pause));
    let body = json!({"prompt": "x", "max_tokens": 300, "ignore_eos": true});
    let reply = site.post(COMPLETE, &body);
    assert_eq!((reply.status, reply.json()["usage"]["completion_tokens"].as_u64()), (200, Some(300)));
    // 300 steps of 2 ms take 0.6 s by themselves.
    assert!(site.metric("vllm:e2e_request_latency_seconds_sum", "") >= 1.1);
}

#[test]
fn adapters_are_models_of_their_own() {
    let site = serve_config(|config| config.adapters = 2);
    let status = |model: &str| site.post(COMPLETE, &json!({"model": model, "prompt": "x"})).status;
    assert_eq!((status("sim"), status("sim-adapter-1"), status("sim-adapter-2")), (200, 200, 404));
    let models = site.get("/v1/models").json();
    assert_eq!(models["data"][2]["id"], "sim-adapter-1");
    assert_eq!(models["data"][2]["parent"], "sim");
}

#[test]
fn tokens_of_one_step_share_a_chunk() {
    let mut fleet = fleet();
    fleet.engines[0].speculation = Some(Speculation { draft_tokens: 3, acceptance: Ratio(1.0) });
    let site = serve_with(fleet, None);
    let body = json!({"prompt": "x", "max_tokens": 9, "ignore_eos": true, "stream": true});
    let events = site.post(COMPLETE, &body).events();
    let words: Vec<usize> =
        events.iter().map(|e| e["choices"][0]["text"].as_str().unwrap().split_whitespace().count()).collect();
    assert_eq!(words, [1, 4, 4], "one token from the prompt, then a step of one and three accepted drafts");
}

#[test]
fn a_slow_front_end_is_waited_for_before_the_engine_sees_the_request() {
    let mut fleet = fleet();
    fleet.front.per_request = Seconds(0.3);
    let site = serve_with(fleet, None);
    site.post(COMPLETE, &json!({"prompt": "x", "max_tokens": 1}));
    assert!(site.metric("vllm:time_to_first_token_seconds_sum", "") >= 0.3);
    assert!(site.metric("vllm:request_queue_time_seconds_sum", "") < 0.3, "it waited before the queue");
}

/// One server for all cases: it must survive them together.
fn survivor() -> &'static Site {
    static SITE: std::sync::OnceLock<Site> = std::sync::OnceLock::new();
    SITE.get_or_init(serve)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn any_body_gets_an_answer(
        body in prop_oneof![
            any::<Vec<u8>>(),
            r#"\{"prompt": ?("[a-z ]{0,20}"|\[[0-9,]{0,10}\]|null|-1), "max_tokens": ?-?[0-9]{1,12}\}"#
                .prop_map(String::into_bytes),
        ],
        chat in any::<bool>(),
    ) {
        let reply = survivor().send("POST", if chat { CHAT } else { COMPLETE }, &body);
        prop_assert!([200, 400].contains(&reply.status), "{}", reply.status);
    }
}
