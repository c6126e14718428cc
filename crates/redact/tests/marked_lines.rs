//! Secrets and texts of many lines, behind every mark that runtimes, journals and loggers put before each of them.

use intriage_redact::Redactor;

/// What goes over several lines; what must be hidden stands between « and ».
const BODIES: [&str; 9] = [
    "-----BEGIN PRIVATE KEY-----\n«MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj»\n«abc=»\n-----END PRIVATE KEY-----\nready",
    "-----BEGIN RSA PRIVATE KEY-----\n«Proc-Type: 4,ENCRYPTED»\n«DEK-Info: AES-256-CBC,00»\n\n«MIIEow»\n-----END RSA PRIVATE KEY-----\nready",
    "{\n  \"private_key_id\": \"«planted-1»\",\n  \"api_keys\": [\n    \"«planted-2»\",\n    \"«planted-3»\"\n  ],\n  \"token\":\n    \"«planted-4»\",\n  \"n\": 7\n}",
    "kind: Secret\ndata:\n  foo: «bGV0bWVpbg==»\n  more: |\n    «bWVpbg==»\nmetadata:\n  name: hub",
    "a:\n  password: |\n    «planted one»\n    «planted two»\n  n: 7\n  HF_TOKEN:\n    «planted3»\n  port: 1",
    "env:\n- name: HF_TOKEN\n  value: «planted»\n- name: N\n  value: 3",
    "Args:\n  --api-key\n  «planted»\n  --port\n  8000",
    "{\"prompt\": [\n  \"«planted one»\",\n  \"«planted two»\"\n],\n\"n\": 7}",
    "prompt: '«planted one»\n«planted two»', n=7\nready",
];

const MARKS: [&str; 14] = [
    "",
    "(APIServer pid=1) ",
    "\u{1b}[1;36m(APIServer pid=1)\u{1b}[0;0m ",
    "(EngineCore_DP0 pid=12) ",
    "2026-11-16T07:40:20.123Z ",
    "2026-11-16T07:40:20.123456789Z stderr F ",
    "vllm-1  | ",
    "\u{1b}[36mvllm-1  |\u{1b}[0m ",
    "Nov 16 07:40:20 localhost vllm[7]: ",
    "2026-11-16T07:40:20+0000 localhost vllm[7]: ",
    "[pod/vllm-0/server] ",
    "[rank0]: ",
    "vllm-1  | (APIServer pid=1) ",
    "2026-11-16T07:40:20.1Z stderr F (APIServer pid=1) ",
];

/// Marks that begin a record each: a text of several lines has them on its first alone.
const RECORDS: [&str; 5] = [
    "(APIServer pid=1) INFO 11-16 07:40:20 [core.py:12] ",
    "[2026-11-16 07:40:20 TP0] ",
    "2026-11-16 07:40:20,123 - root - INFO - ",
    "INFO:     ",
    "2026-11-16T07:40:20.1Z stderr F INFO 11-16 07:40:20 [core.py:12] ",
];

/// Checks that all that is planted is hidden, and every line around it stays byte for byte.
fn check(body: &str, written: impl Fn(&str) -> String) {
    let lines: Vec<(String, bool)> =
        body.split('\n').map(|line| (line.replace(['«', '»'], ""), line.contains('«'))).collect();
    let text = lines.iter().map(|(line, _)| written(line)).collect::<Vec<_>>().join("\n");
    let redactor = Redactor::new();
    let safe = redactor.text(&text).into_owned();
    assert_eq!(redactor.text(&safe), safe, "{text}");
    assert_eq!(safe.split('\n').count(), lines.len());
    for (safe, (line, planted)) in safe.split('\n').zip(&lines) {
        if *planted {
            assert!(safe.contains("[redacted]") || safe.contains(" characters]"), "{line} is in {safe}");
        } else {
            assert_eq!(safe, written(line), "of {text}");
        }
    }
    for planted in body.split('«').skip(1).filter_map(|part| part.split('»').next()) {
        assert!(!safe.contains(planted), "{planted} is in {safe}");
    }
}

#[test]
fn no_mark_before_a_line_lets_a_secret_of_several_lines_through() {
    for body in BODIES {
        for mark in MARKS {
            check(body, |line| [mark, line].concat());
        }
    }
}

#[test]
fn a_loggers_own_mark_on_every_line_lets_no_secret_through() {
    for body in BODIES.iter().filter(|body| !body.contains("prompt: '")) {
        for mark in RECORDS {
            check(body, |line| [mark, line].concat());
        }
    }
}

#[test]
fn dockers_records_let_no_secret_of_several_lines_through() {
    let record = |line: &str| {
        let text = serde_json::Value::from([line, "\n"].concat());
        format!("{{\"log\":{text},\"stream\":\"stderr\",\"time\":\"2026-11-16T07:40:21Z\"}}")
    };
    for body in BODIES {
        check(body, record);
    }
}

#[test]
fn a_text_ends_where_the_next_record_begins() {
    for mark in RECORDS {
        let line = format!("{mark}prompt: 'who is\n{mark}Engine 000: Running: 2 reqs\nready");
        let safe = format!("{mark}prompt: '[6 characters]\n{mark}Engine 000: Running: 2 reqs\nready");
        assert_eq!(Redactor::new().text(&line), safe);
    }
}
