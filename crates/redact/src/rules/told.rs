//! Secrets in a sentence about them: what was wrong with it, and whose it was.

use super::{Rule, shape_if, user};
use crate::looks;

pub(super) const TOLD: &[Rule] = &[
    Rule {
        name: "quoted-password",
        what: "passwords in quotes behind their name",
        finds: shape_if(
            |value| !looks::empty(value),
            "password␣ passwd␣ passphrase␣ passcode␣",
            r#"(?i-u:password|passwd|passphrase|passcode)[ \t]+(?:\\*["'`])([^"'`\\\r\n]{1,256})\\*["'`]"#,
        ),
        source: "common form",
        hides: "wrong password '«hunter»' for this host, password \"«letmein»\" is wrong",
        keeps: "password authentication failed, the password field 'x' is empty",
    },
    Rule {
        name: "refused-secret",
        what: "tokens and keys in quotes behind what was wrong with them",
        finds: shape_if(
            is_secret,
            "wrong␣ invalid␣ incorrect␣ bad␣ expired␣ revoked␣ unknown␣ malformed␣ unauthorized␣ rejected␣",
            r#"(?i-u:wrong|invalid|incorrect|bad|expired|revoked|unknown|malformed|unauthorized|rejected)[ \t]+(?i-u:(?:access|auth|bearer|api|refresh|session|bot|user|hf|huggingface|security|csrf|id) ?[_-]?)?(?i-u:token|api[ _-]?key|access[ _-]?key|secret[ _-]?key|credentials?|jwt|signature|cookie)(?i-u: provided| given)?:?[ \t]+(?:\\*["'`])([^"'`\\\r\n]{1,512})\\*["'`]"#,
        ),
        source: "common form",
        hides: "401: invalid token \"«letmein»\", Invalid API key '«letmein2»', expired access token `«letmein3»`",
        keeps: "invalid token \"}\" at 3, unknown token '<|im_end|>', invalid key 'max_tokens', unknown secret 'hub' in namespace ml",
    },
    Rule {
        name: "secret-refused",
        what: "tokens and keys in quotes before what was wrong with them",
        finds: shape_if(
            is_secret,
            "token␣' token␣\" token␣` token␣\\ key␣' key␣\" key␣` key␣\\ jwt␣' jwt␣\" credential␣' credential␣\" credentials␣' credentials␣\"",
            r#"(?i-u:token|(?:api|access|secret)[ _-]?key|key|jwt|credentials?)[ \t]+(?:\\*["'`])([^"'`\\\r\n]{1,512})\\*["'`] (?i-u:(?:has |is |was |are |were )?(?:expired|revoked|rejected|refused|denied|unauthorized|wrong|incorrect|invalid|not valid|not authorized|not accepted|no longer valid))"#,
        ),
        source: "common form",
        hides: "the token '«letmein»' has expired, API key \"«letmein2»\" was rejected",
        keeps: "token '<|eot_id|>' is invalid here, key 'max_tokens' is unknown",
    },
    Rule {
        name: "password-of",
        what: "passwords behind whose they are",
        finds: shape_if(
            is_told,
            "password␣for␣ password␣of␣ passwd␣for␣ passphrase␣for␣ token␣for␣ key␣for␣ secret␣for␣ credentials␣for␣",
            r#"(?i-u:password|passwd|passphrase|token|key|secret|credentials) (?:for|of) (?:the )?(?:(?:new |db |database |admin |service )?(?:user|account|host|server) )?["']?[A-Za-z0-9_.@-]+["']?(?: is| was| set to| changed to|:| =)[ \t]+["']?([^ \t\r\n"']*[^ \t\r\n"',;.])"#,
        ),
        source: "common form",
        hides: "password for user root is «letmein», token for ci: «letmein2»",
        keeps: "password for root is wrong, password for root: , the key for routing is cache_key, token for step: 7",
    },
    Rule {
        name: "refused-password",
        what: "passwords between what was wrong with them and whose they are",
        finds: shape_if(
            is_told,
            "wrong␣password bad␣password invalid␣password incorrect␣password",
            r"(?i-u:wrong|bad|invalid|incorrect) (?i-u:password) ([^ \t\r\n]+) (?i-u:for|from|by) (?i-u:user|account|host|root|admin)",
        ),
        source: "common form",
        hides: "bad password «hunter» for user root",
        keeps: "wrong password given for user root, invalid password attempt from host",
    },
    Rule {
        name: "password-user",
        what: "users whose password is spoken of",
        finds: user(
            "password␣for␣user password␣of␣user",
            r#"(?i-u:password) (?:for|of) user ["']?([A-Za-z_][A-Za-z0-9_.-]*[A-Za-z0-9_-])"#,
        ),
        source: "common form",
        hides: "password for user «alice» was refused",
        keeps: "password for user root was refused",
    },
];

/// A text that can be a secret, and no piece of a vocabulary, no sign of a grammar and no name of a setting. Behind
/// `secret` alone Kubernetes has a name.
fn is_secret(value: &str) -> bool {
    let of_name = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    let setting = value.contains('_') && value.bytes().all(of_name);
    value.len() >= 3 && looks::text(value) && !looks::empty(value) && !setting && !value.contains("|>")
}

/// Behind `password for root is`: no word about it.
fn is_told(word: &str) -> bool {
    const ABOUT: [&str; 52] = [
        "a",
        "an",
        "the",
        "not",
        "no",
        "never",
        "now",
        "too",
        "wrong",
        "incorrect",
        "invalid",
        "correct",
        "valid",
        "expired",
        "required",
        "missing",
        "empty",
        "set",
        "unset",
        "unknown",
        "weak",
        "stored",
        "kept",
        "read",
        "hashed",
        "encrypted",
        "being",
        "already",
        "about",
        "used",
        "needed",
        "ok",
        "denied",
        "refused",
        "rejected",
        "accepted",
        "changed",
        "reset",
        "generated",
        "in",
        "by",
        "done",
        "failed",
        "hidden",
        "given",
        "provided",
        "supplied",
        "entered",
        "attempt",
        "attempts",
        "hash",
        "or",
    ];
    let bare = word.trim_end_matches(['.', ',', ';', '!']).to_ascii_lowercase();
    let number = bare.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let setting = bare.contains('_') && bare.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    !bare.is_empty() && !ABOUT.contains(&bare.as_str()) && !number && !setting && !looks::empty(&bare)
}
