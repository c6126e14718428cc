//! Bytes of a log as text: what a rule cannot read it cannot redact.

use thiserror::Error;

/// Why bytes are not taken for text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum EncodingError {
    /// Two bytes a character, and nothing that says in which order.
    #[error(
        "it reads like UTF-16 without a mark that says so, and could not be redacted: convert it to UTF-8"
    )]
    NoMark,
    /// UTF-16 whose middle is missing, so that nobody knows where its characters begin behind the gap.
    #[error("it is UTF-16 and too long to be kept whole: convert it to UTF-8")]
    TooLong,
}

/// Bytes that are looked at to tell what a text is written in.
const LOOKED_AT: usize = 64 << 10;

/// The text of a log by its mark: UTF-8 without one. Bytes that are none are replaced. `cut` where its middle is missing.
pub(crate) fn decoded(bytes: Vec<u8>, cut: bool) -> Result<String, EncodingError> {
    let pairs = |bytes: &[u8], read: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| read([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match &bytes[..] {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] if cut => Err(EncodingError::TooLong),
        [0xff, 0xfe, rest @ ..] => Ok(pairs(rest, u16::from_le_bytes)),
        [0xfe, 0xff, rest @ ..] => Ok(pairs(rest, u16::from_be_bytes)),
        [0xef, 0xbb, 0xbf, rest @ ..] => Ok(String::from_utf8_lossy(rest).into_owned()),
        _ if is_wide(&bytes) => Err(EncodingError::NoMark),
        _ => {
            Ok(String::from_utf8(bytes)
                .unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
        }
    }
}

/// Whether every other byte is NUL, as UTF-16 writes letters. A log that was emptied while it was written begins with
/// NULs alone, and is none.
pub(crate) fn is_wide(bytes: &[u8]) -> bool {
    let near = &bytes[..bytes.len().min(LOOKED_AT)];
    // Apart by one byte each, so that it does not matter where the first character begins.
    let mixed = near.windows(2).filter(|pair| (pair[0] == 0) != (pair[1] == 0)).count();
    near.len() >= 8 && mixed * 2 > near.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn wide(text: &str, write: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(write).collect()
    }

    #[test]
    fn a_mark_tells_how_a_log_is_written() {
        let text = "password=hunter2 grüß\n";
        for (mark, write) in
            [(b"\xff\xfe", u16::to_le_bytes as fn(u16) -> [u8; 2]), (b"\xfe\xff", u16::to_be_bytes)]
        {
            let marked = [&mark[..], &wide(text, write)].concat();
            assert_eq!(decoded(marked.clone(), false).unwrap(), text);
            assert_eq!(decoded(marked, true), Err(EncodingError::TooLong));
            assert_eq!(decoded(wide(text, write), false), Err(EncodingError::NoMark));
        }
        assert_eq!(decoded([b"\xef\xbb\xbf", text.as_bytes()].concat(), false).unwrap(), text);
    }

    #[test]
    fn a_log_that_was_emptied_while_it_was_written_is_text() {
        let text = ["\0".repeat(5000).as_str(), "INFO ready\n"].concat();
        assert_eq!(decoded(text.clone().into_bytes(), false).unwrap(), text);
        assert_eq!(decoded(b"vllm\0serve\0m\0--port\x008000".to_vec(), false).unwrap().len(), 24);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived_and_utf8_stays(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "[ -~é]{0,80}") {
            let _ = decoded(bytes, false);
            prop_assert_eq!(decoded(text.clone().into_bytes(), false).unwrap(), text);
        }
    }
}
