//! What holds for any text, and for texts made of what engines and people write.

use intriage_redact::Redactor;
use proptest::prelude::*;

/// Pieces that rules look for, put together in every wrong way.
fn piece() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "password",
        "api_key",
        "--api-key",
        "token",
        "key",
        "Authorization",
        "Cookie",
        "prompt",
        "text",
        "content",
        "prompt_token_ids",
        "host",
        "hostname",
        "user",
        "secret",
        "Bearer ",
        "Basic ",
        "Input: ",
        "http://",
        "://",
        "/home/",
        "@",
        "%40",
        "-----BEGIN RSA PRIVATE KEY-----",
        "-----END RSA PRIVATE KEY-----",
        "MIIEow",
        "sk-",
        "hf_",
        "AKIA",
        "eyJ",
        "[redacted]",
        "[12 characters]",
        "[3 ids]",
        "ip-1",
        "host-1",
        "host-12",
        "user-1",
        "mail-1",
        "10.0.0.7",
        "192.168.1.9",
        "2001:db8::7",
        "::1",
        "gpu-7.acme.internal",
        "acme.com",
        "None",
        "Received request",
        "Generated response",
        "obj=",
        "text_generation_router",
        "2024-05-01T10:00:00Z ",
        "\"model\"",
        "name: ",
        "value: ",
        "\"value\"",
        "- name: ",
        "value: ",
        "\"value\"",
        " provided:",
        "API ",
        "?token=",
        "&sig=",
        "abc123def456ghi789",
        "dXNlcjpwYXNz",
        " ... ",
        "ip-10-0-0-1",
        "$HF_TOKEN",
        "${K:-x}",
        "curl ",
        " -u ",
        "sshpass ",
        " -p",
        "requirepass ",
        "pass",
        "X-Token",
        "?code=",
        "$apr1$",
        "dial tcp ",
        ":8000",
        "gpu-node-17",
        ":12:34 [0] NCCL INFO ",
        "-----END PRIVATE KEY-----",
        "\"--api-key\", ",
        "--api-key\n",
        "kind: Secret\n",
        "data:\n  ",
        "\"kind\":\"Secret\"",
        "\"data\":{",
        "password: |\n",
        "value: >-\n",
        "\"prompt\": [\n",
        "Private-Lines: 2\n",
        "{\"log\":\"",
        "\",\"stream\":\"stderr\"}\n",
        "2026-11-16T07:40:21Z stderr P ",
        "2026-11-16T07:40:21Z stderr F ",
        "<password>",
        "api%5Fkey",
        "| api_key | ",
        "alice@gpubox:~$ ",
        "Prompt: ",
        "prompt=",
        "Generated text: ",
        "User: ",
        "Assistant: ",
        "question",
        "messages",
        "INFO 11-16 07:40:20 [x.py:3] ",
        "(APIServer pid=1) ",
        "vllm-1  | ",
        "Nov 16 07:40:20 gpunode vllm[7]: ",
        "\nprompt: 'who is\n",
        "wrong password '",
        "invalid token \"",
        "password for user ann is ",
        "X-Signature",
        "[]string{",
        "ann 1234 1 99 10:01 ? 00:12:33 ",
        "c:\\users\\",
        "connect to host gpubox7 port 22",
    ]);
    let marks = prop::sample::select(vec![
        "=",
        ":",
        ": ",
        " = ",
        ", ",
        ";",
        "'",
        "\"",
        "\\\"",
        "\\\\\\\"",
        "[",
        "]",
        "{",
        "}",
        "(",
        ")",
        " ",
        "\n",
        "\r\n",
        "\0",
        "\u{1b}[0m",
        "\u{1b}",
        "/",
        "?",
        "&",
        "-",
        ".",
        "|",
        "é",
        "日",
        "\\n",
        "\t",
        "<",
        ">",
        "%3D",
        "#",
        "`",
        "\"\"\"",
        "\u{201c}",
        "\u{201d}",
    ]);
    prop_oneof![
        6 => words.prop_map(str::to_owned),
        6 => marks.prop_map(str::to_owned),
        1 => "[a-zA-Z0-9+/=_.-]{1,40}",
        1 => any::<String>().prop_map(|text| text.chars().take(12).collect()),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..24).prop_map(|pieces| pieces.concat())
}

fn lines(text: &str) -> usize {
    text.matches('\n').count()
}

fn json_value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        text().prop_map(Into::into)
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            prop::collection::vec((piece(), inner), 0..5)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn redacting_what_was_redacted_changes_nothing(text in text()) {
        for redactor in [Redactor::new(), Redactor::new().keep_prompts()] {
            let once = redactor.text(&text).into_owned();
            prop_assert_eq!(redactor.text(&once), once.as_str());
            prop_assert_eq!(lines(&once), lines(&text));
            let once = redactor.command_line(&text);
            prop_assert_eq!(redactor.command_line(&once), once.as_str());
            let once = redactor.environment(&text);
            prop_assert_eq!(redactor.environment(&once), once.as_str());
            prop_assert_eq!(lines(&once), lines(&text));
        }
    }

    #[test]
    fn json_stays_json_of_the_same_form(value in json_value()) {
        let redactor = Redactor::new();
        for body in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let once = redactor.json(&body);
            prop_assert!(serde_json::from_str::<serde_json::Value>(&once).is_ok(), "{}", once);
            prop_assert_eq!(lines(&once), lines(&body));
            prop_assert_eq!(redactor.json(&once), once.as_str());
        }
    }

    #[test]
    fn a_page_keeps_everything_but_values_of_labels(values in prop::collection::vec(text(), 1..4)) {
        let escaped = |value: &String| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let labels: Vec<String> = values.iter().zip(["a", "host", "api_key"]).map(|(v, n)| format!("{n}=\"{}\"", escaped(v))).collect();
        let page = format!("# HELP x api_key=\"y\" 10.0.0.7\nx{{{}}} 1.5 1700\nx 2\n", labels.join(","));
        let redactor = Redactor::new();
        let once = String::from_utf8(redactor.exposition(page.as_bytes())).unwrap();
        prop_assert_eq!(lines(&once), lines(&page));
        let kept = once.starts_with("# HELP x api_key=\"[redacted]\" ip-1\nx{a=\"") && once.ends_with("\"} 1.5 1700\nx 2\n");
        prop_assert!(kept, "{}", once);
        prop_assert_eq!(redactor.exposition(once.as_bytes()), once.as_bytes());
    }

    #[test]
    fn any_bytes_of_a_page_are_survived(page in prop::collection::vec(any::<u8>(), 0..200)) {
        let redactor = Redactor::new();
        let once = redactor.exposition(&page);
        prop_assert_eq!(redactor.exposition(&once), once);
    }

    #[test]
    fn a_secret_behind_a_name_never_survives(
        name in prop::sample::select(vec!["password", "api_key", "HF_TOKEN", "client_secret", "aws_secret_access_key"]),
        by in prop::sample::select(vec!["=", ": ", " = ", "\": \"", "': '"]),
        secret in "[A-Za-z0-9+/_.!-]{6,30}",
        before in "[a-z ]{0,10}",
    ) {
        let (open, close) = match by { "\": \"" => ("\"", "\""), "': '" => ("'", "'"), _ => ("", "") };
        let line = format!("{before} {open}{name}{by}{secret}{close}");
        let safe = Redactor::new().text(&line).into_owned();
        prop_assume!(!format!("{before}{name}").contains(secret.as_str()));
        prop_assert!(!safe.contains(secret.as_str()), "{}", safe);
        prop_assert!(safe.contains(name), "{}", safe);
    }
}
