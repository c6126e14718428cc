//! Answers in order: what is on the wire, and what the log says of it.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use intriage_truth::{Api, Prompt, Text, answer_text, monotonic};
use serde_json::{Value, json};
use support::{CHAT, Client, Ended, chat, log_of, post, serve};

#[test]
fn a_paced_answer_leaves_on_schedule_and_never_before_it() {
    let server = serve("ttft_ms=20,itl_ms=2,jitter_ms=1,text=utf8");
    let before = monotonic();
    let reply = Client::new(&server).post(CHAT, &chat(30));
    let after = monotonic();
    assert_eq!((reply.status, reply.ended), (200, Ended::InOrder));
    assert_eq!(reply.said().1, answer_text(Text::Utf8, 30));
    assert_eq!(reply.data().last().unwrap(), "[DONE]");
    let log = log_of(&server, 1);
    let record = &log[0];
    assert_eq!((record.want, record.tokens, record.status), (30, 30, 200));
    assert_eq!((record.api, record.connection, record.nth, record.sequence), (Api::Chat, 1, 1, 1));
    assert_eq!(record.x_request_id.as_deref(), Some("mine"));
    assert_eq!(reply.events()[0]["id"], record.response_id.as_str());
    assert_eq!(record.prompt, Prompt::of("say it slowly"));
    assert!(!record.aborted && record.fault.is_none());
    assert_eq!(record.writes.len(), 30);
    let mut last = before.max(record.arrived);
    for (index, (tokens, at)) in (0..).zip(&record.writes) {
        assert_eq!(*tokens, 1);
        assert!(*at >= record.arrived + 20_000_000 + 2_000_000 * index, "token {index} left early");
        assert!(*at >= last);
        last = *at;
    }
    assert!(last <= record.done && record.done <= after + 1_000_000_000);
    let usage = &reply.events().pop().unwrap()["usage"];
    assert_eq!(*usage, json!({"prompt_tokens": 3, "total_tokens": 33, "completion_tokens": 30}));
}

#[test]
fn words_survive_any_cut_and_any_line_end() {
    for text in ["ascii", "utf8", "escaped"] {
        for more in
            ["split=1", "split=7,crlf=true", "comments=true,crlf=true", "tokens_per_event=4", "role=none"]
        {
            let server = serve(&format!("ttft_ms=0,itl_ms=0,text={text},{more}"));
            let reply = Client::new(&server).post(CHAT, &chat(23));
            let kind = [Text::Ascii, Text::Utf8, Text::Escaped];
            let kind = kind.into_iter().find(|k| format!("{k:?}").eq_ignore_ascii_case(text)).unwrap();
            assert_eq!(reply.said().1, answer_text(kind, 23), "{text} {more}");
            assert_eq!(reply.text().contains(": ping"), more.contains("comments"));
            assert_eq!(reply.text().contains("\r\n\r\n"), more.contains("crlf"));
            assert_eq!(reply.text().contains("\"role\""), !more.contains("role=none"));
        }
    }
}

#[test]
fn a_flood_comes_in_writes_of_the_size_asked_for() {
    let server = serve("mode=flood");
    let mut client = Client::new(&server);
    let whole = client.post(CHAT, &chat(100));
    let again = client.post(CHAT, &chat(100));
    server.set(intriage_truth::Config::default().with("mode=flood,flood_batch=30").unwrap()).unwrap();
    let batches = client.post(CHAT, &chat(100));
    for reply in [&whole, &again, &batches] {
        assert_eq!(reply.said().1, answer_text(Text::Ascii, 100));
        assert_eq!(reply.events().pop().unwrap()["usage"]["completion_tokens"], 100);
    }
    let log = log_of(&server, 3);
    let sizes = |i: usize| log[i].writes.iter().map(|(tokens, _)| *tokens).collect::<Vec<_>>();
    assert_eq!((sizes(0), sizes(1), sizes(2)), (vec![100], vec![100], vec![30, 30, 30, 10]));
    for (record, reply) in log.iter().zip([&whole, &again, &batches]) {
        let ids: Vec<Value> = reply.events().iter().map(|e| e["id"].clone()).collect();
        assert!(
            ids.iter().all(|id| id == record.response_id.as_str()),
            "every event has the id of its answer"
        );
    }
    assert_ne!(log[0].response_id, log[1].response_id);
}

#[test]
fn every_api_answers_with_exactly_the_tokens_asked_for() {
    let server = serve("ttft_ms=1,itl_ms=0,template_tokens=5,cached_share=0.5");
    let mut client = Client::new(&server);
    let text = answer_text(Text::Ascii, 9);
    for stream in [true, false] {
        let reply =
            client.post("/v1/completions", &json!({"prompt": "a b c", "max_tokens": 9, "stream": stream}));
        let pieces = if stream { reply.events() } else { vec![reply.json()] };
        let said: String = pieces.iter().filter_map(|e| e["choices"][0]["text"].as_str()).collect();
        assert_eq!(said, text);
        assert_eq!(pieces.last().unwrap()["choices"][0]["finish_reason"], "length");

        let body = json!({"input": [{"role": "user", "content": "a b c"}], "max_output_tokens": 9, "stream": stream});
        let reply = client.post("/v1/responses", &body);
        let last = if stream { reply.events().pop().unwrap()["response"].clone() } else { reply.json() };
        assert_eq!(last["output"][0]["content"][0]["text"], text.as_str());
        assert_eq!((&last["usage"]["output_tokens"], &last["usage"]["input_tokens"]), (&json!(9), &json!(8)));
        if stream {
            let deltas = reply.events().into_iter().filter(|e| e["type"] == "response.output_text.delta");
            assert_eq!(deltas.map(|e| e["delta"].as_str().unwrap().to_owned()).collect::<String>(), text);
            let numbers: Vec<u64> =
                reply.events().iter().map(|e| e["sequence_number"].as_u64().unwrap()).collect();
            assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
            assert!(reply.text().starts_with("event: response.created\n"));
        }

        let reply = client.post("/completion", &json!({"prompt": "a b c", "n_predict": 9, "stream": stream}));
        let pieces = if stream { reply.events() } else { vec![reply.json()] };
        assert_eq!(pieces.iter().map(|e| e["content"].as_str().unwrap()).collect::<String>(), text);
        assert_eq!(pieces.iter().map(|e| e["tokens"].as_array().unwrap().len()).sum::<usize>(), 9);
        let last = pieces.last().unwrap();
        assert_eq!(
            (&last["stop"], &last["tokens_predicted"], &last["tokens_evaluated"]),
            (&json!(true), &json!(9), &json!(8))
        );
        assert!(last["timings"]["prompt_ms"].as_f64().unwrap() >= 1.0);

        let path = if stream { "/generate_stream" } else { "/generate" };
        let reply = client.post(path, &json!({"inputs": "a b c", "parameters": {"max_new_tokens": 9}}));
        let last = if stream { reply.events().pop().unwrap() } else { reply.json() };
        assert_eq!(
            (&last["generated_text"], &last["details"]["generated_tokens"]),
            (&json!(text), &json!(9))
        );
        if stream {
            let said = reply
                .events()
                .iter()
                .map(|e| e["token"]["text"].as_str().unwrap().to_owned())
                .collect::<String>();
            assert_eq!((said, reply.events().len()), (text.clone(), 9));
            assert!(!reply.text().contains("DONE"));
        }
    }
    let mut body = chat(9);
    body["stream"] = json!(false);
    let reply = client.post(CHAT, &body).json();
    assert_eq!(reply["choices"][0]["message"]["content"], text.as_str());
    assert_eq!(reply["usage"]["prompt_tokens_details"]["cached_tokens"], 4);
    let log = log_of(&server, 9);
    assert!(log.iter().all(|s| s.tokens == 9 && s.want == 9));
    assert_eq!(log.iter().map(|s| s.nth).collect::<Vec<_>>(), (1..=9).collect::<Vec<_>>());
}

#[test]
fn reasoning_comes_first_and_counts() {
    let server = serve("mode=flood,reasoning=6,tokens_per_event=4");
    let mut body = chat(10);
    body["stream_options"]["continuous_usage_stats"] = json!(true);
    let reply = Client::new(&server).post(CHAT, &body);
    let (thought, content) = reply.said();
    assert_eq!(format!("{thought}{content}"), answer_text(Text::Ascii, 10));
    assert_eq!(thought, answer_text(Text::Ascii, 6));
    let counts: Vec<u64> =
        reply.events().iter().map(|e| e["usage"]["completion_tokens"].as_u64().unwrap()).collect();
    assert_eq!(counts, [0, 4, 6, 10, 10]);
    assert_eq!(reply.events()[4]["usage"]["completion_tokens_details"]["reasoning_tokens"], 6);
}

#[test]
fn head_and_role_come_early_where_they_should() {
    for (keys, early, late) in
        [("headers=early", "text/event-stream", "role"), ("role=early", "\"role\"", "slow")]
    {
        let server = serve(&format!("ttft_ms=3600000,{keys}"));
        let mut client = Client::new(&server);
        client.send(&post(CHAT, &chat(1)));
        client.more().unwrap();
        let first = String::from_utf8(client.left.clone()).unwrap();
        assert!(first.contains(early) && !first.contains(late), "{keys}: {first}");
        drop(client);
        assert!(log_of(&server, 1)[0].writes.is_empty());
    }
}

#[test]
fn connections_are_kept_and_requests_that_come_too_soon_wait() {
    let server = serve("ttft_ms=5,itl_ms=1");
    let mut client = Client::new(&server);
    let mut both = post(CHAT, &chat(5));
    both.extend(post(CHAT, &chat(3)));
    client.send(&both);
    assert_eq!(client.reply().said().1.split(' ').count(), 5);
    assert_eq!(client.reply().said().1.split(' ').count(), 3);
    let log = log_of(&server, 2);
    assert_eq!((log[1].connection, log[1].nth), (1, 2));
    assert!(log[1].taken >= log[0].done && log[1].writes[0].1 >= log[1].taken + 5_000_000);
    client.send(b"GET /health HTTP/1.1\r\nConnection: close\r\n\r\n");
    assert_eq!(client.reply().status, 200);
    assert_eq!(client.rest(), Ended::Closed);
}

#[test]
fn a_client_that_leaves_is_logged() {
    let server = serve("ttft_ms=1,itl_ms=50");
    let mut client = Client::new(&server);
    client.send(&post(CHAT, &chat(1000)));
    client.more().unwrap();
    drop(client);
    let log = log_of(&server, 1);
    assert!(log[0].aborted && log[0].tokens >= 1 && log[0].tokens < 1000);
}

#[test]
fn a_client_that_does_not_read_holds_up_nobody() {
    let server = serve("mode=flood,flood_batch=10");
    let mut lazy = Client::new(&server);
    lazy.send(&post(CHAT, &chat(100_000)));
    for _ in 0..20 {
        assert_eq!(Client::new(&server).post(CHAT, &chat(50)).said().1, answer_text(Text::Ascii, 50));
    }
    // Late, but whole.
    assert_eq!(lazy.reply().said().1, answer_text(Text::Ascii, 100_000));
    let log = log_of(&server, 21);
    assert!(log[0].blocked > 0 && log[0].done > log[20].done);
}
