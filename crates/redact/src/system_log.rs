//! The host before a line of a system log.

use crate::hits::{Hit, With};
use crate::hosts::is_url_host;
use crate::pseudonyms::Kind;
use crate::rules::Part;
use crate::scan::rule_name;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// What stands between a time and a program in other logs.
const NO_HOSTS: [&str; 14] = [
    "info", "warn", "warning", "error", "debug", "trace", "fatal", "critical", "notice", "stdout", "stderr",
    "main", "level", "err",
];

/// Programs that write without their number.
const PROGRAMS: [&str; 7] = ["kernel", "systemd", "sudo", "su", "dockerd", "containerd", "kubelet"];

/// Looks behind the time at the beginning of a line: `Nov 16 07:40:20 HOST sshd[7]:`, `2026-11-16T07:40:20Z HOST kernel:`.
pub(crate) fn find(line: &str, hits: &mut Vec<Hit>) {
    // RFC 5424 puts `<34>1 ` before the time, RFC 3164 `<34>`.
    let open = line.strip_prefix('<').and_then(|rest| rest.split_once('>')).map_or(line, |(_, rest)| rest);
    let numbered = open.strip_prefix("1 ");
    let Some(behind) = behind_time(numbered.unwrap_or(open)) else { return };
    let (name, rest) = word(behind);
    let told = numbered.is_some() || is_program(word(rest).0);
    if !told || !is_url_host(name) || NO_HOSTS.contains(&name.to_ascii_lowercase().as_str()) {
        return;
    }
    let end = line.len() - rest.len();
    let with = With::Pseudonym(Kind::Host);
    hits.push(Hit { start: end - name.len(), end, with, rule: rule_name(Part::LogHost) });
}

/// The length of what a journal puts before a program's text: priority, time, host, program and the blank behind it.
pub(crate) fn length(line: &str) -> Option<usize> {
    let open = line.strip_prefix('<').and_then(|rest| rest.split_once('>')).map_or(line, |(_, rest)| rest);
    let (_, rest) = word(behind_time(open)?);
    let (program, text) = word(rest);
    is_program(program).then(|| line.len() - text.strip_prefix(' ').unwrap_or(text).len())
}

/// What follows a time, where the text begins with one.
fn behind_time(text: &str) -> Option<&str> {
    let (first, rest) = word(text);
    if let [b'1' | b'2', _, _, _, b'-', _, _, b'-', _, _, b'T', time @ ..] = first.as_bytes() {
        return is_clock(time).then_some(rest);
    }
    if !MONTHS.contains(&first) {
        return None;
    }
    let (day, rest) = word(rest);
    let (time, rest) = word(rest);
    (day.len() <= 2 && day.parse::<u8>().is_ok() && is_clock(time.as_bytes())).then_some(rest)
}

/// The first word, and what follows it.
fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start_matches(' ');
    text.split_at(text.find(' ').unwrap_or(text.len()))
}

/// `07:40:20`, and whatever follows.
pub(crate) fn is_clock(time: &[u8]) -> bool {
    let digit_or_colon =
        |(at, byte): (usize, &u8)| if at % 3 == 2 { *byte == b':' } else { byte.is_ascii_digit() };
    time.len() >= 8 && time.iter().take(8).enumerate().all(digit_or_colon)
}

/// `sshd[712]:`, or one of those that have no number: `kernel:`.
fn is_program(word: &str) -> bool {
    let Some(name) = word.strip_suffix(':') else { return false };
    match name.strip_suffix(']').and_then(|name| name.split_once('[')) {
        Some((name, number)) => !name.is_empty() && number.bytes().all(|b| b.is_ascii_digit()),
        None => PROGRAMS.contains(&name),
    }
}

#[cfg(test)]
mod tests {
    use crate::Redactor;

    #[test]
    fn every_form_of_a_system_log_hides_its_host() {
        for line in [
            "Nov  6 07:40:20 gpunode sshd[712]: Connection closed",
            "Nov 16 07:40:20.123456 gpunode systemd[1]: Started vLLM.",
            "2026-11-16T07:40:20+0000 gpunode kernel: NVRM: Xid",
            "2026-11-16T07:40:20.123456+00:00 gpunode vllm[7]: INFO 11-16 07:40:20 [core.py:12] x",
            "<34>Nov 16 07:40:20 gpunode su: failed",
            "<165>1 2026-11-16T07:40:20.003Z gpunode app 7 ID47 - text",
        ] {
            let redacted = Redactor::new().text(line).into_owned();
            assert_eq!(redacted, line.replace("gpunode", "host-1"));
            assert_eq!(Redactor::new().text(&redacted), redacted);
        }
    }

    #[test]
    fn other_logs_have_no_host_there() {
        for line in [
            "2026-11-16T07:40:20.123Z stdout F INFO 11-16 07:40:20 [core.py:12] x",
            "2026-11-16T07:40:20Z INFO kernel: x",
            "2026-11-16T07:40:20Z main vllm[7]: x",
            "2026-11-16T07:40:20Z generate text_generation_router: x",
            "Nov 16 07:40:20 gpunode",
            "Mar we go: x",
            "<>",
            "1 2026",
        ] {
            assert_eq!(Redactor::new().text(line), line);
        }
    }
}
