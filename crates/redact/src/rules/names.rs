//! Secrets by the name they stand behind.

use super::{Extent, Finds, Rule, secret};

pub(super) const NAMES: &[Rule] = &[
    Rule {
        name: "api-key",
        what: "API keys by their name",
        finds: Finds::Secret { names: "api_key apikey api_keys apikeys", extent: Extent::Several },
        source: "vLLM's, SGLang's and llama.cpp's --api-key; vLLM's takes several and its start line prints them",
        hides: "non-default args: {'api_key': ['«letmein»'], 'port': 8000}",
        keeps: "security: no API key is set and CORS allows all origins",
    },
    Rule {
        name: "password",
        what: "passwords by their name",
        finds: secret(
            "password passwords passwd passphrase passcode pgpassword pwd userpwd sshpass db_pass user_pass \
            smtp_pass redis_pass admin_pass ssh_pass mysql_pass",
        ),
        source: "common use, and connection strings",
        hides: "Server=db;Database=x;Password=«hun,ter2»;Timeout=5",
        keeps: "password authentication failed; PWD=/srv",
    },
    Rule {
        name: "secret",
        what: "secrets by their name",
        finds: secret("secret secrets secretkey secret_key"),
        source: "common use; AWS_SECRET_ACCESS_KEY among them",
        hides: "aws_secret_access_key = «wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY»",
        keeps: "secret_name=vllm-hub",
    },
    Rule {
        name: "access-key",
        what: "other keys by their name",
        finds: secret(
            "access_key accesskey awsaccess_key_id private_key account_key accountkey \
            encryption_key signing_key master_key license_key subscription_key storage_key \
            auth_key admin_key deploy_key ssh_key hmac_key ingest_key write_key key_data",
        ),
        source: "common use; Azure storage calls its own AccountKey",
        hides: "AccountName=acme;AccountKey=«Zm9vYmFyYmF6»;EndpointSuffix=x",
        keeps: "ssl_keyfile=/etc/tls/x.pem, num_key_value_heads=8",
    },
    Rule {
        name: "token",
        what: "tokens by their name",
        finds: secret(
            "hf_token hub_token huggingface_token access_token access_tokens accesstoken \
            auth_token auth_tokens authtoken api_token api_tokens refresh_token session_token \
            bearer_token bot_token github_token gitlab_token gh_token private_token oauth_token \
            id_token vault_token admin_token service_token security_token csrf_token xsrf_token \
            sas_token sastoken deploy_token registry_token npm_token job_token client_token \
            user_token registration_token join_token identity_token wandb_token ngc_token \
            slack_token jwt",
        ),
        source: "common use; HF_TOKEN and HUGGING_FACE_HUB_TOKEN among them",
        hides: "HF_TOKEN=«letmein» vllm serve m",
        keeps: "max_tokens=7, token_budget: 8192, num_tokens=7",
    },
    Rule {
        name: "credentials",
        what: "credentials by their name",
        finds: secret("credential credentials creds"),
        source: "common use; S3 signs URLs with X-Amz-Credential",
        hides: "credentials: «alice/letmein»",
        keeps: "GOOGLE_APPLICATION_CREDENTIALS=/etc/gcp/key.json",
    },
    Rule {
        name: "connection",
        what: "connection strings by their name",
        finds: secret("connection_string connectionstring conn_str dsn"),
        source: "common use",
        hides: r#"dsn="«host=db user=x»""#,
        keeps: "the connection was closed: timeout",
    },
    Rule {
        name: "header",
        what: "headers that are secrets as a whole",
        finds: Finds::Secret {
            names: "authorization proxy_authorization cookie set_cookie cookies",
            extent: Extent::Rest,
        },
        source: "RFC 9110, RFC 6265",
        hides: "-H 'Cookie: «sid=abc; theme=dark»' http://localhost:8000",
        keeps: "allowed headers: authorization",
    },
    Rule {
        name: "header-list",
        what: "headers in a variable",
        finds: Finds::Secret {
            names: "otlp_headers otlp_traces_headers otlp_metrics_headers otlp_logs_headers",
            extent: Extent::Rest,
        },
        source: "OpenTelemetry's exporter configuration: OTEL_EXPORTER_OTLP_HEADERS holds name=value pairs",
        hides: "OTEL_EXPORTER_OTLP_HEADERS=«api-key=letmein,x-tenant=acme» vllm serve m",
        keeps: "allowed_headers=['*'], 3 headers: ok",
    },
    Rule {
        name: "token-text",
        what: "tokens that are texts",
        finds: Finds::Text { names: "token" },
        source: "common use; in log probabilities a token is a piece of the output",
        hides: r#"cluster: {"token": "«letmein»"}, token=«letmein2»"#,
        keeps: "EOS token = 151645, token: 5, Stop token: </s>, 'token': None",
    },
    Rule {
        name: "random-value",
        what: "random values behind names that are perhaps a secret's",
        finds: Finds::Perhaps {
            last: "token key auth sig signature bearer session sessionid sid",
            benign: "eos_token bos_token pad_token unk_token sep_token cls_token mask_token stop_token \
            image_token audio_token video_token output_token input_token prompt_token \
            first_token new_token per_token last_token next_token cached_token num_token \
            draft_token end_token start_token max_token special_token eot_token cache_key \
            routing_key sort_key primary_key partition_key shape_key group_key",
        },
        source: "gauge of randomness: 16 characters and 3 bits each",
        hides: "my_key=«9f86d081884c7d659a2feaa0c55ad015» GATEWAY_KEY=«letmein»",
        keeps: "my_token = 151645, key: value, cache_key=9f86d081884c7d659a2feaa0c55ad015, my_key=letmein, MAX_TOKEN=text, PER_KEY=7",
    },
];
