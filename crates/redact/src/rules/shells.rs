//! Secrets of commands that take them as a word of their own.

use super::{Rule, shape, shape_if};
use crate::looks;

pub(super) const SHELLS: &[Rule] = &[
    Rule {
        name: "openssl-pass",
        what: "passwords of openssl's commands",
        finds: shape("pass:", r#"pass:([^ \t\r\n"']{4,})"#),
        source: "openssl-passphrase-options(1): -passin pass:…, -passout pass:…, -pass pass:…",
        hides: "+ openssl rsa -in k.pem -passin pass:«letmein» -out o.pem",
        keeps: "pass: 17, bypass:letmein, pass:3",
    },
    Rule {
        name: "openssl-key",
        what: "passwords of openssl enc",
        finds: shape("openssl␣enc", r#"openssl enc [^|;\r\n]{0,200}?-k[ \t]+["']?([^ \t\r\n"']+)"#),
        source: "openssl-enc(1)",
        hides: "openssl enc -aes-256-cbc -k «letmein» -in x",
        keeps: "openssl enc -aes-256-cbc -kfile /etc/x -in x",
    },
    Rule {
        name: "wandb-login",
        what: "the key behind wandb login",
        finds: shape("wandb␣login", r"wandb login (?:--[a-z-]+ )*([A-Za-z0-9_]{16,})"),
        source: "wandb login --help",
        hides: "+ wandb login --relogin «0123456789abcdef0123456789abcdef01234567»",
        keeps: "wandb login --relogin",
    },
    Rule {
        name: "mc-alias",
        what: "keys of MinIO's client",
        finds: shape("alias␣set", r"alias set [^ \t]+ https?://[^ \t]+ ([^ \t\r\n]+[ \t]+[^ \t\r\n]+)"),
        source: "mc alias set --help: ALIAS URL ACCESSKEY SECRETKEY",
        hides: "mc alias set m http://localhost:9000 «minio letmein»",
        keeps: "mc alias set m http://localhost:9000",
    },
    Rule {
        name: "from-literal",
        what: "literals of kubectl create secret",
        finds: shape_if(
            |value| !looks::empty(value.trim_matches(['"', '\'', ','])),
            "--from-literal",
            r#"--from-literal[= \t]["']?[A-Za-z0-9_.-]+=("[^"]*"|'[^']*'|[^ \t\r\n"']+)"#,
        ),
        source: "kubectl create secret generic --help",
        hides: "kubectl create secret generic x --from-literal=a=«letmein» --from-literal 'b=«letmein2»'",
        keeps: "--from-literal=a=$A_B, use --from-literal",
    },
];
