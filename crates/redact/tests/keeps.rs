//! What a diagnosis reads stays, and pseudonyms hold over texts.

use intriage_redact::{PseudonymMap, Redactor};

#[test]
fn lines_a_diagnosis_reads_stay_as_they_are() {
    let lines = [
        "(APIServer pid=1232) INFO 11-15 02:47:32 [loggers.py:335] Engine 000: Avg prompt throughput: 42.4 tokens/s, Avg generation throughput: 28.8 tokens/s, Running: 2 reqs, Waiting: 14 reqs, CPU KV cache usage: 0.6%, Prefix cache hit rate: 0.0%",
        "(EngineCore pid=879) INFO 11-15 02:27:46 [kernel_warmup.py:227] Using FlashInfer autotune cache file: .cache/vllm/flashinfer_autotune_cache/0.6.14/90a/de92545795ee4cc9b5c62d7dd6e30e476c1e3762303a3b23ff7c48eafde19bb6/autotune_configs.json",
        "INFO:     127.0.0.1:42532 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK",
        "INFO:     ::1:51372 - \"POST /v1/completions HTTP/1.1\" 200 OK",
        "16.15.202.152 I slot launch_slot_: id  3 | task 2 | processing task, n_tokens = 48, truncated = 0",
        "print_info: EOS token        = 151645 '<|im_end|>'",
        "[2025-03-03 17:53:04 TP0] Prefill batch. #new-seq: 1, #new-token: 63, #cached-token: 1, cache hit rate: 1.41%, token usage: 0.00, #running-req: 0,",
        "Chunked prefill is enabled with max_num_batched_tokens=8192.",
        "SamplingParams(n=1, temperature=0.7, stop=[], stop_token_ids=[], max_tokens=100, min_tokens=0, truncate_prompt_tokens=None), lora_request: None.",
        "[pip3] nvidia-cublas-cu12==12.4.5.8",
        "[conda] nvidia-cudnn-cu12         9.1.0.70                 pypi_0    pypi",
        "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.",
        "  File \"/usr/local/lib/python3.12/dist-packages/vllm/v1/engine/core.py\", line 402, in step",
        "model='meta-llama/Llama-3.1-8B-Instruct', tokenizer='meta-llama/Llama-3.1-8B-Instruct', tokenizer_mode=auto, revision=None",
        "usage: {\"prompt_tokens\": 7, \"completion_tokens\": 12, \"total_tokens\": 19}",
        "security: no API key is set and CORS allows all origins (see https://github.com/ggml-org/llama.cpp/pull/25655)",
        "terminate called after throwing an instance of 'std::bad_alloc' at c10::Error",
        "num_key_value_heads=8, kv_cache_dtype=auto, hash_block_size=None, token_budget: 8192, num_tokens=7",
        "GPU 00000000:1B:00.0 ECC off, driver version: 570.86.15",
        "`--api-key` was not given",
        "This model's maximum context length is 1024 tokens. However, your prompt contains at least 1025 input tokens.",
        "Processed prompts: 100%|##########| 4/4 [00:01<00:00,  3.20it/s, est. speed input: 12.00 toks/s]",
        "prompt eval time =     12.50 ms /     7 tokens (    1.79 ms per token,   560.00 tokens per second)",
        "slot update_slots: id  0 | task 2 | new prompt, n_ctx_slot = 4096, n_keep = 0, n_prompt_tokens = 48",
        "no answer within 5 s, the user: gone",
        "upstream timed out: no answer: 504",
        "Error code: 401 - {'error': {'message': 'invalid token', 'code': 401}}",
        "json: invalid token '}' at 3, unknown key 'max_tokens'",
        "pod failed: secret \"hub\" not found, password authentication failed for user root",
        "signature of forward(): (input_ids, positions), signature mismatch: 3 != 4",
        "Running 4 of 7 requests, 3 waiting",
        "generate{parameters=GenerateParameters { max_new_tokens: 48, seed: None } total_time=\"667.179861ms\" queue_time=\"129.535µs\"",
    ];
    for line in lines {
        assert_eq!(Redactor::new().text(line), line);
    }
}

#[test]
fn one_original_has_one_pseudonym_in_all_texts() {
    let redactor = Redactor::new().known_hosts(["gpu7".to_owned()]);
    assert_eq!(redactor.text("10.0.0.7 and 10.0.0.8 on GPU7, gpu77"), "ip-1 and ip-2 on host-1, gpu77");
    assert_eq!(
        redactor.json("{\"peer\":\"10.0.0.8:1\",\"host\":\"gpu7\"}"),
        "{\"peer\":\"ip-2:1\",\"host\":\"host-1\"}"
    );
    assert_eq!(
        redactor.command_line("x --host gpu7 --dist-init-addr 10.0.0.7:5000"),
        "x --host host-1 --dist-init-addr ip-1:5000"
    );
    assert_eq!(redactor.environment("USER=ann\nHOME=/home/ann"), "USER=user-1\nHOME=/home/user-1");
    let map = redactor.map();
    assert_eq!(map.originals["ip-2"], "10.0.0.8");
    assert_eq!(map.originals["user-1"], "ann");

    let written = serde_json::to_string(&map).unwrap();
    let read: PseudonymMap = serde_json::from_str(&written).unwrap();
    let later = Redactor::from_map(read).unwrap();
    assert_eq!(later.text("from 10.0.0.9 to 10.0.0.8"), "from ip-3 to ip-2");
}

#[test]
fn prompts_stay_where_they_were_asked_for_and_secrets_in_them_do_not() {
    let line = "Received request a: prompt: 'my key is sk-canary1234567890', params: x";
    assert_eq!(Redactor::new().text(line), "Received request a: prompt: '[29 characters]', params: x");
    assert_eq!(
        Redactor::new().keep_prompts().text(line),
        "Received request a: prompt: 'my key is [redacted]', params: x"
    );
}

#[test]
fn long_texts_that_sglang_cuts_are_hidden_on_both_sides_of_the_cut() {
    let line = "Receive: obj=GenerateReqInput(text='the beginning' ... 'the end', input_ids=[1, 2] ... [3], stream=True)";
    assert_eq!(
        Redactor::new().text(line),
        "Receive: obj=GenerateReqInput(text='[13 characters]' ... '[7 characters]', input_ids=[2 ids] ... [1 ids], stream=True)"
    );
}

#[test]
fn a_key_keeps_its_lines_and_its_loggers_prefix() {
    let text = "a\n(x) INFO -----BEGIN PRIVATE KEY-----\n(x) INFO MIIEvQIBADANBgkqhkiG9w0BAQ\n  abc/def+\n\n  zz=\n-----END PRIVATE KEY-----\nb\r\n";
    let safe = "a\n(x) INFO -----BEGIN PRIVATE KEY-----\n(x) INFO [redacted]\n  [redacted]\n\n  [redacted]\n-----END PRIVATE KEY-----\nb\r\n";
    assert_eq!(Redactor::new().text(text), safe);
    assert_eq!(Redactor::new().text(safe), safe);
}

#[test]
fn a_key_whose_beginning_is_missing_is_hidden_back_to_where_the_log_was_cut() {
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    let end = "-----END RSA PRIVATE KEY-----";
    let text = format!("INFO loading weights from /models/llama\n{body}\n{body}\nabc=\n{end}\nready\n");
    let safe = format!(
        "INFO loading weights from /models/llama\n[redacted]\n[redacted]\n[redacted]\n{end}\nready\n"
    );
    let prefixed = format!("x INFO initialisation\nx INFO {body}\nx INFO {body}\nx INFO {end}\n");
    let prefixed_safe =
        format!("x INFO initialisation\nx INFO [redacted]\nx INFO [redacted]\nx INFO {end}\n");
    for (text, safe) in [(text, safe), (prefixed, prefixed_safe)] {
        assert_eq!(Redactor::new().text(&text), safe);
        assert_eq!(Redactor::new().text(&safe), safe);
    }
    let certificate = format!("{body}\n-----END CERTIFICATE-----\n");
    assert_eq!(Redactor::new().text(&certificate), certificate);
}

#[test]
fn a_password_of_several_words_is_hidden_to_its_end() {
    for (line, safe) in [
        ("password: correct horse battery", "password: [redacted]"),
        ("login password: correct horse, user: 7", "login password: [redacted], user: 7"),
        ("password: correct horse retries=3", "password: [redacted] retries=3"),
        ("a\0--header\0X-Token: letmein\0--n\0x", "a\0--header\0X-Token: [redacted]\0--n\0x"),
    ] {
        assert_eq!(Redactor::new().text(line), safe);
        assert_eq!(Redactor::new().text(safe), safe);
        assert_eq!(Redactor::new().command_line(line), safe);
    }
}

#[test]
fn colours_stay_and_hide_nothing() {
    let line = "\u{1b}[1;36m(APIServer pid=6716)\u{1b}[0;0m INFO \u{1b}[33m10.0.0.7\u{1b}[0m api_key=\u{1b}[31mletmein\u{1b}[0m, n=3";
    let safe = "\u{1b}[1;36m(APIServer pid=6716)\u{1b}[0;0m INFO \u{1b}[33mip-1\u{1b}[0m api_key=\u{1b}[31m[redacted]\u{1b}[0m, n=3";
    let redactor = Redactor::new();
    assert_eq!(redactor.text(line), safe);
    assert_eq!(redactor.text(safe), safe);
}

#[test]
fn a_redactor_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    shared(&Redactor::new());
}

#[test]
fn a_name_behind_a_name_is_not_taken_for_its_value() {
    let redactor = Redactor::new();
    assert_eq!(redactor.text("uid \"password\": \"a!!000\""), "uid \"password\": \"[redacted]\"");
    assert_eq!(redactor.text("dsn password=a_!0a0"), "dsn password=[redacted]");
}

#[test]
fn the_rules_count_what_they_hid() {
    let redactor = Redactor::new();
    let _ = redactor.text("10.0.0.1 10.0.0.2 password=x");
    let found = redactor.found();
    assert_eq!((found["address"], found["password"]), (2, 1));
}
