//! Whether a log that was read can be read by anybody: packed and foreign bytes pass for a log in which nothing happened.

/// What packed files begin with, as it is after bytes that are no UTF-8 were replaced, and what to do.
const PACKED: [(&str, &str); 6] = [
    ("\u{1f}\u{fffd}\u{8}", "it is packed with gzip: unpack it with gunzip -k, and give that"),
    ("(\u{fffd}/\u{fffd}", "it is packed with zstd: unpack it with zstd -d, and give that"),
    ("\u{fffd}7zXZ", "it is packed with xz: unpack it with xz -dk, and give that"),
    ("BZh", "it is packed with bzip2: unpack it with bunzip2 -k, and give that"),
    ("PK\u{3}\u{4}", "it is a zip: unpack it, and give the log in it"),
    ("\u{fffd}\u{fffd}", "it is no UTF-8 (is it UTF-16?): convert it with iconv, and give that"),
];

/// How much of a text is looked at, in characters.
const LOOK: usize = 64 << 10;

/// Of so many characters one may be none of a text: a broken byte or two in a log are usual.
const ONE_IN: usize = 5;

/// Why nobody can read a log, and what to do about it; `None` for one that is text.
pub fn why_illegible(text: &str) -> Option<&'static str> {
    if text.trim().is_empty() {
        return Some("it is empty");
    }
    let is_strange = |c: &char| {
        *c == '\u{fffd}' || (c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\u{1b}' | '\u{8}'))
    };
    let all = text.chars().take(LOOK).count();
    let strange = text.chars().take(LOOK).filter(is_strange).count();
    if strange * ONE_IN <= all {
        return None;
    }
    let packed = PACKED.iter().find(|(start, _)| text.starts_with(start));
    Some(packed.map_or("it is no text", |(_, what)| what))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told(bytes: &[u8]) -> Option<&'static str> {
        why_illegible(&String::from_utf8_lossy(bytes))
    }

    fn gzipped(text: &str) -> Vec<u8> {
        use std::io::Write as _;
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        packed.write_all(text.as_bytes()).unwrap();
        packed.finish().unwrap()
    }

    #[test]
    fn packed_empty_and_foreign_bytes_are_no_log() {
        let lines: String = (0..200).map(|n| ["INFO ", &n.to_string(), " requests\n"].concat()).collect();
        assert!(told(&gzipped(&lines)).unwrap().contains("gunzip"));
        assert_eq!(told(b""), Some("it is empty"));
        let utf16: Vec<u8> = [0xff, 0xfe].into_iter().chain(lines.bytes().flat_map(|b| [b, 0])).collect();
        assert!(told(&utf16).unwrap().contains("UTF-16"));
        let noise: Vec<u8> = (0..4000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 23) as u8).collect();
        assert_eq!(told(&noise), Some("it is no text"));
    }

    #[test]
    fn a_log_with_colours_bars_and_a_broken_byte_is_a_log() {
        for log in [
            &b"\x1b[36m(EngineCore)\x1b[0m INFO ready\r\n"[..],
            b"Loading: 10%\x08\x08\x0899%\n",
            b"INFO caf\xe9 is served\n",
            "INFO 你好 ready ▌▌▌\n".as_bytes(),
            b"BZhang joined\n",
        ] {
            assert_eq!(told(log), None, "{}", String::from_utf8_lossy(log));
        }
    }

    proptest! {
        /// Lines of letters in any language are a log.
        #[test]
        fn letters_are_legible(text in "[\\p{L}\\p{N} .:\\[\\]]{1,200}\\n") {
            prop_assume!(!text.trim().is_empty());
            prop_assert_eq!(why_illegible(&text), None);
        }
    }
}
