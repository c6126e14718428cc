//! IP addresses, told from versions, times and C++ names.

use std::net::{Ipv4Addr, Ipv6Addr};

use memchr::memchr_iter;

use crate::hits::{Hit, With};
use crate::pseudonyms::Kind;
use crate::rules::Part;
use crate::scan::rule_name;

/// Adds the addresses in a line.
pub(crate) fn find(line: &str, hits: &mut Vec<Hit>) {
    let mut done = 0;
    for dot in memchr_iter(b'.', line.as_bytes()) {
        if dot >= done {
            done = version_four(line, dot, hits);
        }
    }
    done = 0;
    for colon in memchr_iter(b':', line.as_bytes()) {
        if colon >= done {
            done = version_six(line, colon, hits);
        }
    }
}

/// Whether an address says something about whose it is.
fn four_tells(address: Ipv4Addr) -> bool {
    let [first, ..] = address.octets();
    // 0.x.x.x is nobody's; from 224 on it is multicast or reserved.
    first != 0 && first < 224 && !address.is_loopback() && !address.is_link_local()
}

fn six_tells(address: Ipv6Addr) -> bool {
    match address.to_ipv4_mapped() {
        Some(four) => four_tells(four),
        None => {
            !address.is_loopback()
                && !address.is_unspecified()
                && !address.is_multicast()
                && !address.is_unicast_link_local()
        }
    }
}

fn push(start: usize, end: usize, hits: &mut Vec<Hit>) {
    hits.push(Hit { start, end, with: With::Pseudonym(Kind::Ip), rule: rule_name(Part::Address) });
}

/// Looks at the numbers around a dot; says where they end.
fn version_four(line: &str, dot: usize, hits: &mut Vec<Hit>) -> usize {
    let bytes = line.as_bytes();
    let part = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    let start = dot - bytes[..dot].iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let end = dot + bytes[dot..].iter().take_while(|byte| part(**byte)).count();
    let text = line[start..end].trim_end_matches('.');
    if let Ok(address) = text.parse::<Ipv4Addr>()
        && four_tells(address)
        && !is_a_version(line, start, start + text.len(), address)
        && !is_a_time(line, start, start + text.len())
    {
        push(start, start + text.len(), hits);
    }
    end.max(dot + 1)
}

/// `v1.2.3.4`, `nccl-2.21.5.1`, `x==9.1.0.70`, `version 12.4.5.8`, `1.2.3.4+cu121`.
fn is_a_version(line: &str, start: usize, end: usize, address: Ipv4Addr) -> bool {
    let (before, after) = (&line[..start], &line.as_bytes()[end..]);
    match before.bytes().next_back() {
        // Private addresses stand in names: `ray-10.0.0.7`.
        Some(b'_' | b'-') if !address.is_private() => return true,
        Some(byte) if byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'+' => return true,
        _ => {}
    }
    if ["==", ">=", "<=", "~=", "!="].iter().any(|sign| before.ends_with(sign)) {
        return true;
    }
    match after {
        [b'_' | b'A'..=b'Z' | b'a'..=b'z', ..] => return true,
        // Private addresses come in ranges; versions have suffixes.
        [b'+' | b'-' | b'~', ..] if !address.is_private() => return true,
        _ => {}
    }
    // Only a few words back: the line may be long.
    let near = before.trim_end_matches([' ', '\t', ':', '=', '"', '\'', '(']);
    let word = near.rsplit(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_')).next();
    let word = word.unwrap_or_default().to_ascii_lowercase();
    VERSIONED.contains(&word.as_str())
        || word.ends_with("version")
        || ["nvidia-", "-cu11", "-cu12", "-cu13"].iter().any(|mark| word.contains(mark))
}

/// What has a version behind it: words for one, libraries and firmware with four numbers in theirs.
const VERSIONED: [&str; 36] = [
    "version",
    "ver",
    "release",
    "driver",
    "build",
    "v",
    "cudnn",
    "nccl",
    "cuda",
    "tensorrt",
    "cublas",
    "cufft",
    "curand",
    "cusolver",
    "cusparse",
    "cusparselt",
    "nvjitlink",
    "nvtx",
    "cupti",
    "nvrtc",
    "cufile",
    "nvshmem",
    "bios",
    "vbios",
    "firmware",
    "fw",
    "ofed",
    "mofed",
    "inforom",
    "bmc",
    "uefi",
    "efa",
    "libfabric",
    "ucx",
    "rocm",
    "hsa",
];

/// llama.cpp begins its lines with minutes, seconds, milliseconds, microseconds: `16.15.202.152 I slot`.
fn is_a_time(line: &str, start: usize, end: usize) -> bool {
    let after = &line.as_bytes()[end..];
    let begins = line[..start].chars().all(char::is_whitespace);
    begins && matches!(after, [b' ', b'I' | b'W' | b'E' | b'D' | b'T' | b'V', b' ', ..])
}

/// Looks at the hexadecimal groups around a colon; says where they end.
fn version_six(line: &str, colon: usize, hits: &mut Vec<Hit>) -> usize {
    let bytes = line.as_bytes();
    let start =
        colon - bytes[..colon].iter().rev().take(5).take_while(|byte| byte.is_ascii_hexdigit()).count();
    let part = |byte: &&u8| byte.is_ascii_hexdigit() || **byte == b':' || **byte == b'.';
    let end = colon + bytes[colon..].iter().take_while(part).count();
    let text = line[start..end].trim_end_matches('.');
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.';
    let apart = !start.checked_sub(1).is_some_and(|i| word(bytes[i]) || bytes[i] == b':')
        && !bytes.get(end).copied().is_some_and(|byte| word(byte) || byte == b':');
    if apart
        && text.bytes().filter(|byte| *byte == b':').count() >= 2
        && let Some(length) = six_length(text)
    {
        push(start, start + length, hits);
    }
    end.max(colon + 1)
}

/// The length of the address at the beginning, without a port that was put behind it.
fn six_length(text: &str) -> Option<usize> {
    let port = text.rfind(':')?;
    // uvicorn writes loopback with its port as ::1:5137.
    if text[..port] == *"::1" || text.len() > 60 {
        return None;
    }
    let whole = [text, &text[..port], text.trim_end_matches(':')]
        .into_iter()
        .find_map(|candidate| candidate.parse::<Ipv6Addr>().ok().map(|address| (candidate, address)));
    let (written, address) = whole?;
    // `c10::d` is a C++ name; an address has digits in two groups, or more groups.
    let groups: Vec<&str> = written.split(':').filter(|group| !group.is_empty()).collect();
    let with_digits = groups.iter().filter(|group| group.bytes().any(|byte| byte.is_ascii_digit())).count();
    (six_tells(address) && (with_digits >= 2 || groups.len() >= 3)).then_some(written.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Vec<&str> {
        let mut hits = Vec::new();
        find(line, &mut hits);
        hits.iter().map(|hit| &line[hit.start..hit.end]).collect()
    }

    #[test]
    fn addresses_are_found_with_ports_masks_and_brackets() {
        assert_eq!(found("10.0.0.7:8000 to 192.168.1.9/24."), ["10.0.0.7", "192.168.1.9"]);
        assert_eq!(
            found("tcp://192.0.2.2:37901 mq_connect_ip=192.0.2.3 (local)"),
            ["192.0.2.2", "192.0.2.3"]
        );
        assert_eq!(found("[2001:db8::7]:80 and fd00::1"), ["2001:db8::7", "fd00::1"]);
        assert_eq!(
            found("2001:db8:0:0:0:0:0:7 and 2001:db8::5:51372"),
            ["2001:db8:0:0:0:0:0:7", "2001:db8::5"]
        );
    }

    #[test]
    fn versions_times_and_names_are_no_addresses() {
        let lines = [
            "0.32.0.1",
            "version 12.4.5.8",
            "driver: 5.5.0.1",
            "cuBLAS 12.8.4.1",
            "cuFFT 11.3.3.83 cuRAND 10.3.9.90",
            "BIOS 1.4.0.12",
            "nvidia-cublas-cu12   12.4.5.8",
            "x==9.1.0.70",
            "v1.2.3.4",
            "1.2.3.4+cu121",
            "16.15.202.152 I slot launch",
            "0.10.200.100 W srv",
            "2026.11.15.1",
            "1.2.3.4.5",
            "03:55:17",
            "c10::d",
            "std::bad_alloc",
            "::1:5137",
            "at::cat",
            "256.1.1.1",
            "01.2.3.4",
            "pci 00000000:1B:00.0",
            "aa:bb:cc:dd:ee:ff",
        ];
        for line in lines {
            assert_eq!(found(line), Vec::<&str>::new(), "{line}");
        }
    }

    #[test]
    fn addresses_that_everybody_has_stay() {
        for line in [
            "127.0.0.1",
            "0.0.0.0",
            "169.254.169.254",
            "::1",
            "::",
            "fe80::1",
            "224.0.0.1",
            "255.255.255.255",
        ] {
            assert_eq!(found(line), Vec::<&str>::new(), "{line}");
        }
    }
}
