//! Secrets as sessions, files of passwords and connection strings of other makes carry them.

use super::{Finds, Rule, shape, shape_if};

pub(super) const SESSIONS: &[Rule] = &[
    Rule {
        name: "session-cookie",
        what: "sessions by the name of their cookie",
        finds: Finds::Text { names: "phpsessid jsessionid sessionid csrftoken" },
        source: "PHP's session.name, Servlet's JSESSIONID, Django's settings",
        hides: "GET /x;jsessionid=«letmein» PHPSESSID=«letmein2» csrftoken=«letmein3» sessionid=«letmein4»",
        keeps: "sessionid=5, jsessionid: 7",
    },
    Rule {
        name: "express-cookie",
        what: "sessions of Express",
        finds: shape("connect.sid=", r#"connect\.sid=([^ \t\r\n;"']+)"#),
        source: "express-session's default name",
        hides: "connect.sid=«s%3Aletmein» theme=dark",
        keeps: "connect.sid is its name",
    },
    Rule {
        name: "netrc",
        what: "passwords as .netrc has them",
        finds: shape("login", r"login[ \t]+[^ \t]+[ \t]+password[ \t]+([^ \t\r\n]+)"),
        source: "netrc(5)",
        hides: "machine localhost login ci password «letmein»",
        keeps: "login with a password is required",
    },
    Rule {
        name: "token-variable",
        what: "personal access tokens in variables",
        finds: shape_if(
            |value| !crate::looks::empty(value),
            "_pat= _pat:",
            r#"_PAT[=:][ ]?["']?([^ \t\r\n"',;]{6,})"#,
        ),
        source: "common use: GH_PAT, AZURE_DEVOPS_EXT_PAT",
        hides: "GH_PAT=«letmein» GITLAB_PAT: «letmein2»",
        keeps: "MODEL_PATH=/models/llama, GH_PAT=$GITHUB_PAT, file_pat=letmein",
    },
    Rule {
        name: "hugging-face-organisation",
        what: "Hugging Face tokens of organisations",
        finds: shape("api_org_", "api_org_[A-Za-z0-9]{16,}"),
        source: "TruffleHog, pkg/detectors/huggingface: api_org_ and 34 letters",
        hides: "login with «api_org_AbCdEfGhIjKlMnOpQrStUv» ok",
        keeps: "api_org_name is set",
    },
    Rule {
        name: "oracle",
        what: "user and password before Oracle's address",
        finds: shape("jdbc:oracle:", r#"jdbc:oracle:[a-z]+:([^ \t\r\n"'@/]+/[^ \t\r\n"'@]+)@"#),
        source: "Oracle's JDBC guide, thin-style database URLs",
        hides: "url=jdbc:oracle:thin:«scott/letmein»@db:1521/x",
        keeps: "jdbc:oracle:thin:@localhost:1521",
    },
    Rule {
        name: "encoded-credentials",
        what: "user and password of a URL in a URL",
        finds: shape_if(
            is_pair,
            "%3a%2f%2f",
            "%3[Aa]%2[Ff]%2[Ff]((?:[A-Za-z0-9._~!$*+-]|%[0-9A-Fa-f]{2}){3,256}?)%40",
        ),
        source: "RFC 3986, percent-encoding",
        hides: "GET /cb?to=https%3A%2F%2F«ann%3Aletmein»%40localhost%2F HTTP/1.1",
        keeps: "GET /cb?to=https%3A%2F%2Flocalhost%2Fa%40b HTTP/1.1",
    },
];

/// `user:password`, encoded, and no path.
fn is_pair(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    lower.contains("%3a") && !lower.contains("%2f")
}
