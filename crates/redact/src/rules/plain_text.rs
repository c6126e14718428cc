//! Rows for what stands in logs and other plain text as people and programs write it there: commands that were logged,
//! settings in other spellings, webhooks, host names without a domain.
//!
//! In an example of what a row hides the hidden part stands between « and ».

use super::{Finds, Part, Rule, has_digit, host, secret, shape, shape_if};
use crate::looks::in_prose;

pub(super) const PLAIN_TEXT: &[Rule] = &[
    Rule {
        name: "pass",
        what: "passwords by the last word of their name",
        finds: Finds::Last {
            last: "pass",
            benign: "forward_pass backward_pass first_pass second_pass last_pass one_pass two_pass single_pass multi_pass \
            num_pass decode_pass prefill_pass warmup_pass",
        },
        source: "common form: RabbitMQ's and PostgreSQL's images among many",
        hides: "RABBITMQ_DEFAULT_PASS=«letmein» POSTGRES_PASS=«letmein2»",
        keeps: "forward_pass=12, pass_rate=0.9, bypass=on, first_pass: 3",
    },
    Rule {
        name: "pass-text",
        what: "passwords called pass or pw, where they are texts",
        finds: Finds::Text { names: "pass pw" },
        source: "common form; a test's report counts with the same word",
        hides: "connect user=root pass=«letmein» db=x pw=«letmein2»",
        keeps: "pass=3 fail=0, pass: 17, pw=5",
    },
    Rule {
        name: "password-told",
        what: "passwords in a sentence",
        finds: shape_if(
            is_told,
            "password passwd passphrase",
            r#"(?i-u:password|passwd|passphrase)[ \t]+(?i-u:is|was|set to|changed to|=|:)[ \t]+("[^"]+"|'[^']+'|[^ \t\r\n]+)"#,
        ),
        source: "common form",
        hides: "the admin password is «letmein7» from now on",
        keeps: "password is required, the password was not accepted, password is incorrect",
    },
    Rule {
        name: "requirepass",
        what: "passwords in Redis' settings",
        finds: shape_if(
            no_prose,
            "requirepass masterauth",
            r#"(?:requirepass|masterauth)[ \t]+["']?([^ \t\r\n"']+)"#,
        ),
        source: "redis.conf",
        hides: "redis: requirepass «letmein»",
        keeps: "requirepass is not set, masterauth directive",
    },
    Rule {
        name: "x-token",
        what: "secrets in headers of one's own making",
        finds: secret("x_token x_auth x_auth_key x_key"),
        source: "common form",
        hides: "sent X-Token: «letmein» to the gateway",
        keeps: "max_token: 7, x-request-id: 12",
    },
    Rule {
        name: "oauth-code",
        what: "codes that OAuth hands back in a URL",
        finds: shape("?code= &code=", r#"[?&]code=([^& \t\r\n"'<>#]{6,})"#),
        source: "RFC 6749, section 4.1.2",
        hides: "GET /callback?code=«letmein» HTTP/1.1",
        keeps: "exit code=137, error code=NotFoundError, ?code=5",
    },
    Rule {
        name: "crypt-hash",
        what: "hashes of passwords",
        finds: shape("$apr1$ $2a$ $2b$ $2y$ $5$ $6$ $y$", r"\$(?:apr1|2[aby]|[56y])\$+[A-Za-z0-9./$=,]{8,}"),
        source: "crypt(5) and htpasswd; compose doubles the dollars",
        hides: "basicauth.users=admin:«$apr1$letmein1$abcdefghij»",
        keeps: "it costs $5 and $6$ more",
    },
    Rule {
        name: "discord-hook",
        what: "Discord webhooks",
        finds: shape(
            "discord.com/api/webhooks/ discordapp.com/api/webhooks/",
            r"discord(?:app)?\.com/api/webhooks/[0-9]+/[A-Za-z0-9_-]{8,}",
        ),
        source: "common form, unsourced",
        hides: "alert to https://«discord.com/api/webhooks/1234567890/abcDEF_ghi-jkl»",
        keeps: "see /api/webhooks/ in the reference",
    },
    Rule {
        name: "teams-hook",
        what: "Teams webhooks",
        finds: shape("webhook.office.com/", r"webhook\.office\.com/[A-Za-z0-9@/_-]{8,}"),
        source: "common form, unsourced",
        hides: "alert to https://«webhook.office.com/webhookb2/1f0e@2a3b/IncomingWebhook/4c5d/6e7f»",
        keeps: "webhook.office. is where they live",
    },
    Rule {
        name: "telegram-bot",
        what: "Telegram's bot tokens",
        finds: shape("api.telegram.org/bot", r"api\.telegram\.org/bot[0-9]+:[A-Za-z0-9_-]{16,}"),
        source: "common form, unsourced",
        hides: "POST https://«api.telegram.org/bot123456:AAE-letmein_letmein12»/sendMessage",
        keeps: "bot123456 is its name",
    },
    Rule {
        name: "program",
        what: "secrets of commands that were logged",
        finds: Finds::Structure {
            needles: "curl sshpass redis-cli mysql login mongo wget",
            part: Part::Program,
        },
        source: "curl(1), sshpass(1), docker login --help, redis-cli --help, mysql(1)",
        hides: "+ curl -s -u «admin:letmein» http://localhost:8000/health",
        keeps: "curl -sf http://localhost:8000/health; docker run -p 8000:8000, login -p",
    },
    Rule {
        name: "dial-host",
        what: "hosts that Go could not reach",
        finds: host(
            no_word,
            "dial lookup",
            r"(?:dial (?:tcp|udp)[46]?|lookup) ([A-Za-z][A-Za-z0-9-]*)(?::[0-9]+|: no such host| on )",
        ),
        source: "Go's net package: OpError and DNSError",
        hides: "dial tcp «gpunode»:8000: connect: connection refused",
        keeps: "dial tcp localhost:8000: i/o timeout, lookup table on GPU",
    },
    Rule {
        name: "nccl-host",
        what: "hosts before NCCL's lines",
        finds: Finds::Structure { needles: "nccl", part: Part::NcclHost },
        source: "NCCL's log: HOST:PID:TID [GPU] NCCL LEVEL",
        hides: "«gpunode»:1234:1250 [0] NCCL INFO Bootstrap : Using eth0",
        keeps: "11:22:33 [0] NCCL INFO x, localhost:1:2 [0] NCCL WARN y, [rank0] NCCL",
    },
    Rule {
        name: "host-and-port",
        what: "host names without a domain before a port that servers have",
        finds: Finds::Structure {
            needles: ":8000 :8001 :8002 :8080 :8081 :8443 :8888 :9000 :9090 :9100 :9400 :30000 :29500 :6379 :5432 :5000 \
            :5555 :11434 :50051 :2379",
            part: Part::HostAndPort,
        },
        source: "default ports of vLLM, SGLang, Ollama, Ray, torch, Prometheus and the servers beside them",
        hides: "no answer from «gpu-node-17»:8000 after 3 tries",
        keeps: "localhost:8000, 0.0.0.0:8000, core.py:8000, 17:08:8000, cuda:0, http:8000, n=1:80001",
    },
];

/// Behind `password is`: in quotes, or hardly prose.
fn is_told(word: &str) -> bool {
    word.starts_with(['"', '\'']) || in_prose(word.trim_end_matches(['.', ',', ';', '!']))
}

/// Words that follow the name of a setting in prose.
fn no_prose(value: &str) -> bool {
    !["is", "was", "not", "and", "or", "to", "directive", "option", "setting", "must", "in", "has"]
        .contains(&value)
}

/// Names everybody has say nothing.
fn no_word(name: &str) -> bool {
    !["localhost", "table", "unix", "failed"].contains(&name) && (has_digit(name) || name.len() > 3)
}
