//! Host names, told from modules, files and models.

use std::net::IpAddr;

use crate::domains::{LABELS, PUBLIC};
use crate::hits::{Hit, With};
use crate::pseudonyms::Kind;
use crate::rules::Part;
use crate::scan::rule_name;

/// Longest host name, in bytes (RFC 1035).
const LONGEST: usize = 253;

/// Last labels of full names that are taken for hosts in plain text, and how sure they make it.
const LAST_LABELS: [(&str, Sure); 14] = [
    ("com", Sure::Always),
    ("org", Sure::Always),
    ("edu", Sure::Always),
    ("gov", Sure::Always),
    ("cloud", Sure::Always),
    ("lan", Sure::Always),
    ("corp", Sure::Always),
    ("intra", Sure::Always),
    ("example", Sure::Always),
    // `threading.local` is Python.
    ("internal", Sure::WithThreeLabels),
    ("local", Sure::WithThreeLabels),
    // `scipy.io`, `self.net`.
    ("net", Sure::WithNumberOrPort),
    ("io", Sure::WithNumberOrPort),
    ("ai", Sure::WithNumberOrPort),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sure {
    Always,
    WithThreeLabels,
    WithNumberOrPort,
}

/// Whether a field that holds hosts holds one. `sure` where the field's form leaves no doubt; else words are refused.
pub(crate) fn is_host(name: &str, sure: bool) -> bool {
    const WORDS: [&str; 24] = [
        "none", "null", "nil", "true", "false", "auto", "cpu", "gpu", "cuda", "unknown", "default", "local",
        "any", "all", "self", "head", "worker", "nan", "str", "string", "device", "memory", "master",
        "redacted",
    ];
    let lower = name.to_ascii_lowercase();
    if !is_name(name) || is_public(&lower) || WORDS.contains(&lower.as_str()) {
        return false;
    }
    match name.rsplit_once('.') {
        Some((_, last)) => last.len() >= 2 && last.bytes().all(|b| b.is_ascii_alphabetic()) && !is_file(last),
        None => sure || name.contains('-') || name.ends_with(|c: char| c.is_ascii_digit()),
    }
}

/// Whether a URL's host is one that tells something.
pub(crate) fn is_url_host(name: &str) -> bool {
    is_name(name) && !is_public(&name.to_ascii_lowercase())
}

fn is_public(lower: &str) -> bool {
    PUBLIC.contains(&lower) || lower.ends_with(".localhost")
}

/// Letters, digits, dots and hyphens with a letter among them, and no address.
fn is_name(name: &str) -> bool {
    (1..=LONGEST).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
        && name.bytes().any(|byte| byte.is_ascii_alphabetic())
        && !name.contains("..")
        && name.parse::<IpAddr>().is_err()
}

/// Endings of files that stand where a host's last label would: `core.py:12`.
pub(crate) fn is_file(last: &str) -> bool {
    const ENDINGS: [&str; 30] = [
        "py",
        "pyx",
        "pyc",
        "so",
        "cc",
        "cpp",
        "cu",
        "cuh",
        "hpp",
        "rs",
        "go",
        "js",
        "ts",
        "json",
        "jsonl",
        "yaml",
        "yml",
        "toml",
        "txt",
        "md",
        "log",
        "sh",
        "gguf",
        "safetensors",
        "bin",
        "pt",
        "pth",
        "cfg",
        "ini",
        "conf",
    ];
    ENDINGS.contains(&last.to_ascii_lowercase().as_str())
}

/// Looks at the full name around a dot.
pub(crate) fn in_text(line: &str, dot: usize, hits: &mut Vec<Hit>) {
    let bytes = line.as_bytes();
    let part = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'.' || **byte == b'-';
    let left = bytes[..dot].iter().rev().take(LONGEST + 1).take_while(part).count();
    let right = bytes[dot..].iter().take(LONGEST + 1).take_while(part).count();
    let start = dot - left;
    let name = line[start..dot + right].trim_end_matches(['.', '-']);
    // A file named after a host: `gpu7.acme.com.log`.
    let name = match name.rsplit_once('.') {
        Some((host, last)) if host.contains('.') && (is_file(last) || last == "case") => host,
        _ => name,
    };
    let end = start + name.len();
    let before = start.checked_sub(1).map(|i| bytes[i]);
    if before.is_some_and(|byte| b"/\\_@$%~&".contains(&byte)) || !is_url_host(name) {
        return;
    }
    let after = &bytes[end..];
    let names_a_label = matches!(after, [b'/', next, ..] if next.is_ascii_alphanumeric()) && is_label(name);
    if matches!(after, [b'(' | b'=' | b'_', ..]) || names_a_label {
        return;
    }
    let has_port = matches!(after, [b':', b'0'..=b'9', b'0'..=b'9', ..]);
    if tells_a_host(name, has_port) {
        let with = With::Pseudonym(Kind::Host);
        hits.push(Hit { start, end, with, rule: rule_name(Part::FullHostName) });
    }
}

/// Looks at what stands before NCCL's name: `HOST:PID:TID [GPU] NCCL`.
pub(crate) fn before_nccl(line: &str, at: usize, hits: &mut Vec<Hit>) {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let gpu = line[..at].strip_suffix("] ").and_then(|rest| rest.rsplit_once(" ["));
    let Some((before, _)) = gpu.filter(|(_, gpu)| digits(gpu)) else { return };
    let start = before.rfind(|c: char| c.is_ascii_whitespace()).map_or(0, |blank| blank + 1);
    let mut parts = before[start..].rsplitn(3, ':');
    let (Some(thread), Some(process), Some(name)) = (parts.next(), parts.next(), parts.next()) else {
        return;
    };
    if digits(thread) && digits(process) && is_url_host(name) {
        let (end, with) = (start + name.len(), With::Pseudonym(Kind::Host));
        hits.push(Hit { start, end, with, rule: rule_name(Part::NcclHost) });
    }
}

/// Looks at the word before a port: a host where it has a number in it, and is neither a file nor a time.
pub(crate) fn before_port(line: &str, colon: usize, hits: &mut Vec<Hit>) {
    let bytes = line.as_bytes();
    let of_name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'-';
    let start = colon - bytes[..colon].iter().rev().take(64).take_while(of_name).count();
    let name = &line[start..colon];
    let joins = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-:/@%$\\".contains(byte);
    let digits = bytes[colon + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    // A sentence may go on behind it, or a path; not a second number, as in file:line:column.
    let ends = match &bytes[colon + 1 + digits..] {
        [b':' | b'.', next, ..] => next.is_ascii_whitespace(),
        [b'/', ..] | [_] | [] => true,
        [next, ..] => !joins(next),
    };
    let is_name = (3..64).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().any(|byte| byte.is_ascii_digit())
        && !name.ends_with('-')
        && !bytes[..start].last().is_some_and(joins);
    if is_name && ends && (4..=5).contains(&digits) {
        let with = With::Pseudonym(Kind::Host);
        hits.push(Hit { start, end: colon, with, rule: rule_name(Part::HostAndPort) });
    }
}

/// Whether a domain is one that labels are named after.
fn is_label(domain: &str) -> bool {
    LABELS.iter().any(|label| if label.starts_with('.') { domain.ends_with(label) } else { domain == *label })
}

fn tells_a_host(name: &str, port: bool) -> bool {
    let labels: Vec<&str> = name.split('.').collect();
    let [first, .., second, last] = labels[..] else {
        // Two labels: the first is also the one before the last.
        let [first, last] = labels[..] else { return false };
        return sure_of(last).is_some_and(|sure| sure == Sure::Always || port || numbered(first));
    };
    match sure_of(last) {
        Some(Sure::Always | Sure::WithThreeLabels) => true,
        Some(Sure::WithNumberOrPort) => port || numbered(first),
        // `example.com.au`, `ml.example.ac.uk`.
        None => last.len() == 2 && ["com", "co", "ac", "org", "net", "edu", "gov"].contains(&second),
    }
}

fn sure_of(last: &str) -> Option<Sure> {
    LAST_LABELS.iter().find(|(label, _)| label.eq_ignore_ascii_case(last)).map(|(_, sure)| *sure)
}

fn numbered(label: &str) -> bool {
    label.bytes().any(|byte| byte.is_ascii_digit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Vec<&str> {
        let mut hits = Vec::new();
        line.match_indices('.').for_each(|(dot, _)| in_text(line, dot, &mut hits));
        hits.dedup();
        hits.iter().map(|hit| &line[hit.start..hit.end]).collect()
    }

    #[test]
    fn full_names_are_found_in_plain_text() {
        for name in [
            "db-3.acme.internal",
            "gpu7.local",
            "vllm.ml.svc.cluster.local",
            "api.acme.com",
            "ml.example.co.uk",
            "node-4.acme.net",
            "gpu.lan",
        ] {
            assert_eq!(found(&format!("lost {name}, retrying"))[..], [name]);
        }
        assert_eq!(found("to infer.acme.ai:8000"), ["infer.acme.ai"]);
        assert_eq!(found("gpu7.acme.com.log"), ["gpu7.acme.com"]);
        assert_eq!(
            found("gpu7.acme.com/gpu: 8, nvidia.com.acme.com/x"),
            ["gpu7.acme.com", "nvidia.com.acme.com"]
        );
    }

    #[test]
    fn modules_files_and_models_are_no_hosts() {
        for line in [
            "nvidia.com/gpu: 8",
            "Insufficient nvidia.com/gpu; cloud.google.com/gke-accelerator=nvidia-h100-80gb",
            "vpc.amazonaws.com/efa: 32, node.kubernetes.io/instance-type: p5.48xlarge",
            "vllm.v1.engine",
            "threading.local",
            "core.py:12",
            "scipy.io",
            "self.net",
            "torch.nn.net",
            "vllm.v1.io",
            "meta-llama/Llama-3.1-8B",
            "torch._inductor.local",
            "get.com()",
            "docs.vllm.ai",
            "github.com",
        ] {
            assert_eq!(found(line), Vec::<&str>::new(), "{line}");
        }
    }
}
