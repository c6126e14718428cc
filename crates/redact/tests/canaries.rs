//! Planted secrets: none survives, and the words around them do.

#![expect(clippy::unwrap_used, reason = "a test may fail")]

use intriage_redact::Redactor;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    CommandLine,
    Environment,
    Log,
    Json,
    Label,
}
use Place::{CommandLine, Environment, Json, Label, Log};

/// Where it stands, the text with the secret between « and », and what must survive of it.
const CANARIES: &[(Place, &str, &str)] = &[
    // Command lines.
    (
        CommandLine,
        "vllm serve meta-llama/Llama-3.1-8B --api-key «canary-one» --port 8000",
        "meta-llama/Llama-3.1-8B --api-key",
    ),
    (CommandLine, "vllm serve m --api-key=«canary-two» --max-num-seqs 64", "--max-num-seqs 64"),
    (
        CommandLine,
        "vllm serve m --api-key «canary3» «canary4» «canary5» --max-model-len 8192",
        "--max-model-len 8192",
    ),
    (CommandLine, "python -m sglang.launch_server --model-path m --api-key '«canary six»' --tp 4", "--tp 4"),
    (
        CommandLine,
        "python -m sglang.launch_server --model-path m --admin-api-key «canary7» --tp 4",
        "--model-path m",
    ),
    (CommandLine, "HF_TOKEN=«canary8» vllm serve m --enforce-eager", "vllm serve m --enforce-eager"),
    (
        CommandLine,
        "docker run -e HUGGING_FACE_HUB_TOKEN=«canary9» -p 8000:8000 vllm/vllm-openai:v0.11.0",
        "-p 8000:8000 vllm/vllm-openai:v0.11.0",
    ),
    (
        CommandLine,
        "curl -H 'Authorization: Bearer «canary10»' http://localhost:8000/v1/models",
        "http://localhost:8000/v1/models",
    ),
    (CommandLine, "curl -H \"X-Api-Key: «canary11»\" localhost:8000/health", "localhost:8000/health"),
    (
        CommandLine,
        "curl -u «ann:canary12» http://localhost:9090/api/v1/query",
        "http://localhost:9090/api/v1/query",
    ),
    (CommandLine, "curl --cookie «session=canary13» http://localhost:8000/", "http://localhost:8000/"),
    (CommandLine, "llama-server -m m.gguf --api-key «canary14» -c 4096 -np 4", "-c 4096 -np 4"),
    (CommandLine, "llama-server -m m.gguf --hf-token «canary15» -ngl 99", "-ngl 99"),
    (
        CommandLine,
        "vllm serve m --kv-transfer-config '{\"connector\": \"x\", \"api_key\": \"«canary16»\"}'",
        "\"connector\": \"x\"",
    ),
    (
        CommandLine,
        "text-generation-launcher --model-id m --api-key \"«canary17»\" --max-batch-prefill-tokens 4096",
        "--max-batch-prefill-tokens 4096",
    ),
    (CommandLine, "sshpass -p «canary18» ssh node", "ssh node"),
    (
        CommandLine,
        "vllm serve s3://models/llama --download-dir /home/«canary19»/cache --dtype auto",
        "s3://models/llama --download-dir /home/",
    ),
    (CommandLine, "ray start --head --token «canary-twenty» --port 6379", "--port 6379"),
    // Environments.
    (Environment, "VLLM_API_KEY=«canary21»\nCUDA_VISIBLE_DEVICES=0,1", "CUDA_VISIBLE_DEVICES=0,1"),
    (Environment, "OPENAI_API_KEY=«sk-proj-canary22canary22»\nVLLM_USE_V1=1", "VLLM_USE_V1=1"),
    (
        Environment,
        "AWS_SECRET_ACCESS_KEY=«wJalrXUtnFEMI/K7MDENG/canary23»\nAWS_REGION=eu-west-1",
        "AWS_REGION=eu-west-1",
    ),
    (Environment, "AWS_ACCESS_KEY_ID=«AKIACANARY2400000000»\nNCCL_DEBUG=INFO", "NCCL_DEBUG=INFO"),
    (Environment, "DB_PASSWORD=\"«canary 25 with blanks»\"\nOMP_NUM_THREADS=1", "OMP_NUM_THREADS=1"),
    (Environment, "WANDB_API_KEY=«0123456789abcdef0123456789abcdefcanary26»\nRANK=0", "RANK=0"),
    (Environment, "NGC_API_KEY=«nvapi-canary27canary27canary27»\nWORLD_SIZE=8", "WORLD_SIZE=8"),
    (
        Environment,
        "AZURE_STORAGE_CONNECTION_STRING=«DefaultEndpointsProtocol=https;AccountKey=canary28==»\nTZ=UTC",
        "TZ=UTC",
    ),
    (Environment, "HOSTNAME=«canary29-gpu»\nTORCH_CUDA_ARCH_LIST=9.0", "TORCH_CUDA_ARCH_LIST=9.0"),
    (Environment, "USER=«canary30»\nSHELL=/bin/bash", "SHELL=/bin/bash"),
    (Environment, "A=1\0SLACK_BOT_TOKEN=«xoxb-canary31-canary31»\0B=2", "A=1\0SLACK_BOT_TOKEN="),
    (Environment, "HTTPS_PROXY=http://«ann:canary32»@proxy:3128\nNO_PROXY=localhost", "NO_PROXY=localhost"),
    (Environment, "PGPASSWORD=«canary33»\nPGPORT=5432", "PGPORT=5432"),
    // Logs.
    (
        Log,
        "INFO 11-15 02:26:25 [api_utils.py:273] non-default args: {'api_key': ['«canary34»', '«canary35»'], 'max_model_len': 16384}",
        "'max_model_len': 16384}",
    ),
    (
        Log,
        "server_args=ServerArgs(model_path='m', api_key='«canary36»', tp_size=4, mem_fraction_static=0.88)",
        "tp_size=4, mem_fraction_static=0.88",
    ),
    (
        Log,
        "huggingface_hub: using token «hf_canary37canary37canary37» for download of 3 files",
        "for download of 3 files",
    ),
    (
        Log,
        "git clone with «ghp_canary38canary38canary38canary38» failed after 3 tries",
        "failed after 3 tries",
    ),
    (Log, "token «github_pat_11CANARY390canary39canary39canary39» expired at 10:00", "expired at 10:00"),
    (Log, "pulling with «glpat-canary40canary40cana» from registry, 7 layers", "from registry, 7 layers"),
    (Log, "gcp auth: «ya29.canary41canary41canary41» valid for 3600 s", "valid for 3600 s"),
    (
        Log,
        "jwt «eyJhbGciOiJIUzI1NiJ9.eyJjYW5hcnkiOjQyfQ.c2lnbmF0dXJlLWNhbmFyeS00Mg» rejected: 401",
        "rejected: 401",
    ),
    (Log, "login failed for user, password: «canary43!», attempt 2", "attempt 2"),
    (
        Log,
        "-----BEGIN RSA PRIVATE KEY-----\n«MIIEowIBAAKCAQEAcanary44»\n«canary45aaaa=»\n-----END RSA PRIVATE KEY-----\nstarted in 3 s",
        "started in 3 s",
    ),
    (
        Log,
        "INFO:     «10.46.46.46»:51408 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK",
        ":51408 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK",
    ),
    (
        Log,
        "master_addr=«canary47-node», mq_connect_ip=«192.0.2.47» (local), world_size=8",
        "(local), world_size=8",
    ),
    (Log, "mail sent to «canary48@acme.example» after 5 s", "after 5 s"),
    (Log, "connection to «canary49.acme.internal» timed out after 30 s", "timed out after 30 s"),
    (
        Log,
        "Received request cmpl-1: prompt: '«canary50, what is it\\'s name?»', params: SamplingParams(n=1, max_tokens=200)",
        "params: SamplingParams(n=1, max_tokens=200)",
    ),
    (
        Log,
        "DEBUG Request cmpl-2 details: prompt: \"«canary51's name»\", prompt_token_ids: [«515151», 2], prompt_embeds shape: None.",
        "prompt_embeds shape: None.",
    ),
    (
        Log,
        "Generated response chatcmpl-3 (streaming complete): output: '«canary52 is a bird»', output_token_ids: None, finish_reason: stop",
        "finish_reason: stop",
    ),
    (
        Log,
        "[2025-03-03 17:53:04] Receive: obj=GenerateReqInput(text='«canary53»', input_ids=[«535353», 198], sampling_params={'temperature': 0.1}, rid='x')",
        "sampling_params={'temperature': 0.1}, rid='x')",
    ),
    (
        Log,
        "[2025-03-03 17:53:04] Finish: obj=GenerateReqInput(rid='x'), out={'text': '«canary54»', 'meta_info': {'e2e_latency': 2.5}}",
        "'meta_info': {'e2e_latency': 2.5}}",
    ),
    (
        Log,
        "srv  log_server_r: request:  {\"messages\":[{\"role\":\"user\",\"content\":\"«canary55 \\\"quoted\\\" hello»\"}],\"top_k\":40}",
        "\"top_k\":40}",
    ),
    (
        Log,
        "2024-05-01T10:00:00.1Z DEBUG generate: text_generation_router::server: Input: «canary56 first»\n«canary57 second line»\n2024-05-01T10:00:01.1Z  INFO text_generation_router: Success total_time=\"667ms\"",
        "Success total_time=\"667ms\"",
    ),
    (
        Log,
        "headers: [(b'host', b'localhost:8000'), (b'authorization', b'Bearer «canary58»'), (b'accept', b'*/*')]",
        "(b'accept', b'*/*')",
    ),
    (Log, "Cookie: «sid=canary59; theme=canary60»", "Cookie: "),
    (Log, "Set-Cookie: «session=canary61; Path=/; HttpOnly»", "Set-Cookie: "),
    (Log, "Authorization: Basic «YW5uOmNhbmFyeTYy»", "Authorization: Basic "),
    // URLs.
    (
        Log,
        "forwarding to https://«ann:canary63»@localhost:8443/v1/completions?n=3",
        "@localhost:8443/v1/completions?n=3",
    ),
    (
        Log,
        "GET https://localhost/m.bin?X-Amz-Credential=«AKIACANARY64/20261115»&X-Amz-Signature=«c4a9a9f64canary65»&X-Amz-Expires=3600",
        "&X-Amz-Expires=3600",
    ),
    (
        Log,
        "blob https://localhost/c/m.bin?sv=2024-01-01&sig=«canary66%2Fabc%3D»&se=2026-01-01",
        "&se=2026-01-01",
    ),
    (Log, "\"GET /v1/models?api_key=«canary67» HTTP/1.1\" 200 OK", "HTTP/1.1\" 200 OK"),
    (Log, "\"GET /ws?token=«canary68»&v=2 HTTP/1.1\" 101", "&v=2 HTTP/1.1\" 101"),
    (
        Log,
        "engine postgresql://«ann:canary/69»@«canary70-db.acme.example»:5432/metrics pool=5",
        ":5432/metrics pool=5",
    ),
    (Log, "upstream http://«canary71-vllm»:8000/v1 has 3 replicas", ":8000/v1 has 3 replicas"),
    (Log, "Server=tcp:localhost,1433;Database=m;User Id=sa;Password=«canary72»;Timeout=30", ";Timeout=30"),
    // JSON bodies.
    (Json, "{\"api_key\":\"«canary73»\",\"max_tokens\":16}", "\"max_tokens\":16"),
    (Json, "{\"server\":{\"auth\":{\"client_secret\":\"«canary74»\"},\"port\":8000}}", "\"port\":8000"),
    (Json, "{\"env\":[\"HF_TOKEN=«canary75»\",\"VLLM_USE_V1=1\"]}", "\"VLLM_USE_V1=1\""),
    (Json, "{\"prompt\":\"«canary76»\",\"n_predict\":128}", "\"n_predict\":128"),
    (
        Json,
        "{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"«canary77»\"}}],\"usage\":{\"prompt_tokens\":7}}",
        "\"usage\":{\"prompt_tokens\":7}",
    ),
    (
        Json,
        "{\"headers\":{\"Authorization\":\"Bearer «canary78»\",\"Accept\":\"*/*\"}}",
        "\"Accept\":\"*/*\"",
    ),
    (
        Json,
        "{\"url\":\"http://«ann:canary79»@localhost:1/\",\"body\":\"{\\\"password\\\":\\\"«canary80»\\\",\\\"n\\\":2}\"}",
        "\\\"n\\\":2",
    ),
    (Json, "{\"account_key\":[\"«canary81»\"],\"hostname\":\"«canary82-gpu»\",\"gpus\":8}", "\"gpus\":8"),
    // Labels of metrics.
    (
        Label,
        "up{instance=\"«canary83-gpu.acme.example»:8000\",job=\"vllm\"} 1\n",
        ":8000\",job=\"vllm\"} 1\n",
    ),
    (Label, "info{api_key=\"«canary84»\",block_size=\"16\"} 1\n", "block_size=\"16\"} 1\n"),
    (Label, "http_requests_total{path=\"/v1?token=«canary85»\",code=\"200\"} 7\n", "code=\"200\"} 7\n"),
    (Label, "x{node=\"«canary86-7»\",user=\"«canary87»\"} 0.5 1700000000\n", "\"} 0.5 1700000000\n"),
    (Label, "x{url=\"https://«ann:canary88»@localhost/\",path=\"/home/«canary89»/m\"} 3\n", "/m\"} 3\n"),
];

fn planted(text: &str) -> (String, Vec<String>) {
    let hidden = text.split('«').skip(1).filter_map(|part| part.split_once('»'));
    (text.replace(['«', '»'], ""), hidden.map(|(hidden, _)| hidden.to_owned()).collect())
}

fn redacted(redactor: &Redactor, place: Place, text: &str) -> String {
    match place {
        CommandLine => redactor.command_line(text),
        Environment => redactor.environment(text),
        Log => redactor.text(text).into_owned(),
        Json => redactor.json(text),
        Label => String::from_utf8(redactor.exposition(text.as_bytes())).unwrap(),
    }
}

#[test]
fn no_planted_secret_survives_and_the_words_around_it_do() {
    let secrets: usize = CANARIES.iter().map(|(_, text, _)| planted(text).1.len()).sum();
    assert!(secrets >= 60, "{secrets} planted");
    for (place, text, stays) in CANARIES {
        let (text, hidden) = planted(text);
        let redactor = Redactor::new();
        let safe = redacted(&redactor, *place, &text);
        for secret in &hidden {
            assert!(!safe.contains(secret.as_str()), "{place:?}: {secret:?} is in {safe}");
        }
        assert!(!safe.to_lowercase().contains("canary"), "{place:?}: a part is in {safe}");
        assert!(safe.contains(stays), "{place:?}: {stays:?} is lost in {safe}");
        assert_eq!(safe.matches('\n').count(), text.matches('\n').count(), "{place:?}: {safe}");
        assert_eq!(redacted(&redactor, *place, &safe), safe, "{place:?}");
    }
}

#[test]
fn a_canary_is_found_in_plain_text_wherever_it_came_from() {
    // What a collector takes for plain text may be any of these.
    for (place, text, _) in CANARIES {
        let (text, hidden) = planted(text);
        let safe = Redactor::new().text(&text).into_owned();
        // A value with blanks and several bare words behind a flag are only known for what they are in their own place.
        let own_place = ["canary 25", "canary4", "ann:canary12", "canary18", "canary-twenty"];
        for secret in hidden.iter().filter(|secret| !own_place.iter().any(|own| secret.contains(own))) {
            assert!(!safe.contains(secret.as_str()), "{place:?}: {secret:?} is in {safe}");
        }
    }
}

#[test]
fn a_secret_the_caller_knows_is_found_anywhere_and_in_any_spelling() {
    let redactor = Redactor::new().with_known(["let me/in".to_owned(), "ab\nlong second".to_owned()]);
    assert_eq!(
        redactor.text("x let me/in y let%20me%2Fin z long second"),
        "x [redacted] y [redacted] z [redacted]"
    );
    assert_eq!(redactor.json("{\"let me/in\":\"a let me/in\"}"), "{\"[redacted]\":\"a [redacted]\"}");
    assert_eq!(redactor.exposition(b"a{b=\"let me/in\"} 1"), b"a{b=\"[redacted]\"} 1");
    assert_eq!(redactor.command_line("x let\\ me 'let me/in'"), "x let\\ me '[redacted]'");
    assert!(!format!("{redactor:?}").contains("let me/in"));
}

#[test]
fn no_error_of_a_map_shows_an_original() {
    let map = serde_json::from_str("{\"host-1\":\"canary.example\",\"host-2\":\"canary.example\"}").unwrap();
    let error = Redactor::from_map(map).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("canary"));
}
