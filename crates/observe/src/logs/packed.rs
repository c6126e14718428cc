//! Logs that were rotated away and packed with gzip, as they are read.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;
use intriage_case::Bytes;

/// What gzip begins with: its mark, and the only method there is.
const MARK: [u8; 3] = [0x1f, 0x8b, 8];

/// Most bytes that are unpacked of one log: a packed one can be a thousandth of what it holds.
pub(super) const MOST_UNPACKED: u64 = 4 << 30;

/// A log as it comes, with its packing taken off where it has one.
pub(super) enum Plain<R> {
    /// As it was written.
    Text(Begun<R>),
    /// Packed.
    Packed(Box<Unpacking<R>>),
}

/// What was read to tell a packed log from a plain one, and the rest.
pub(super) type Begun<R> = io::Chain<io::Cursor<Vec<u8>>, R>;

impl<R: Read> Plain<R> {
    /// Looks at the first bytes, no further than they look packed: somebody may wait for a pipe's next one.
    pub(super) fn of(mut from: R, most: u64) -> io::Result<Self> {
        let mut first = Vec::new();
        let mut byte = [0];
        while first.len() < MARK.len() && MARK.starts_with(&first) {
            match from.read(&mut byte) {
                Ok(0) => break,
                Ok(_) => first.push(byte[0]),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        let packed = first == MARK;
        let begun = io::Cursor::new(first).chain(from);
        Ok(if packed { Self::Packed(Box::new(Unpacking::new(begun, most))) } else { Self::Text(begun) })
    }
}

/// Takes gzip off, up to a limit and up to where it is damaged.
pub(super) struct Unpacking<R> {
    from: MultiGzDecoder<Begun<R>>,
    got: u64,
    most: u64,
    missing: Option<String>,
}

impl<R: Read> Unpacking<R> {
    fn new(from: Begun<R>, most: u64) -> Self {
        Self { from: MultiGzDecoder::new(from), got: 0, most, missing: None }
    }

    /// Why the end of the log is missing, once it was read; `None` where it came whole.
    pub(super) fn missing(&self) -> Option<&str> {
        self.missing.as_deref()
    }
}

impl<R: Read> Read for Unpacking<R> {
    /// The next bytes. Damage behind the first of them is the end: what came before it is evidence.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.missing.is_some() {
            return Ok(0);
        }
        if self.got >= self.most {
            let most = Bytes(self.most as f64);
            // Where it ends right here, nothing is missing.
            if self.from.read(&mut [0]).is_ok_and(|n| n > 0) {
                self.missing = Some(format!("unpacked it has more than {most}, and its end was not read"));
            }
            return Ok(0);
        }
        let room = usize::try_from(self.most - self.got).unwrap_or(usize::MAX).min(into.len());
        match self.from.read(&mut into[..room]) {
            Ok(n) => {
                self.got += n as u64;
                Ok(n)
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Err(e),
            Err(e) if self.got == 0 => {
                Err(io::Error::new(e.kind(), format!("its gzip is damaged from the start: {e}")))
            }
            Err(e) => {
                let got = Bytes(self.got as f64);
                self.missing =
                    Some(format!("its gzip is cut or damaged: the {got} before that are kept ({e})"));
                Ok(0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    /// What is read of these bytes, and why its end is missing.
    fn read(bytes: &[u8], most: u64) -> io::Result<(Vec<u8>, Option<String>)> {
        let mut all = Vec::new();
        match Plain::of(bytes, most)? {
            Plain::Text(mut from) => from.read_to_end(&mut all).map(|_| (all, None)),
            Plain::Packed(mut from) => {
                from.read_to_end(&mut all)?;
                Ok((all, from.missing().map(str::to_owned)))
            }
        }
    }

    #[test]
    fn a_packed_log_is_unpacked_and_parts_put_together_are_one() {
        let lines = b"INFO ready\n".repeat(1000);
        let both = [packed(&lines), packed(b"INFO more\n")].concat();
        let (text, missing) = read(&both, 1 << 20).unwrap();
        assert_eq!((text, missing), ([&lines[..], b"INFO more\n"].concat(), None));
    }

    #[test]
    fn a_limit_ends_it_with_a_word_and_the_exact_length_does_not() {
        let zeros = packed(&vec![b'0'; 100_000]);
        let (text, missing) = read(&zeros, 5000).unwrap();
        assert_eq!(text.len(), 5000);
        assert!(missing.unwrap().contains("more than"));
        assert_eq!(read(&zeros, 100_000).unwrap().1, None);
    }

    #[test]
    fn what_stands_before_the_damage_is_kept() {
        let lines: Vec<u8> = (0..20_000).flat_map(|n| format!("line {n}\n").into_bytes()).collect();
        let whole = packed(&lines);
        let (text, missing) = read(&whole[..whole.len() / 2], 1 << 30).unwrap();
        assert!(!text.is_empty() && lines.starts_with(&text));
        assert!(missing.unwrap().contains("cut or damaged"));
        let error = read(&whole[..5], 1 << 30).unwrap_err().to_string();
        assert!(error.contains("damaged from the start"), "{error}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived_within_the_limit(bytes in prop::collection::vec(any::<u8>(), 0..200), marked: bool, most in 0u64..100) {
            let all = if marked { [&MARK[..], &bytes].concat() } else { bytes };
            match read(&all, most) {
                Ok((text, _)) if all.starts_with(&MARK) => prop_assert!(text.len() as u64 <= most),
                Ok((text, missing)) => prop_assert_eq!((text, missing), (all, None)),
                Err(_) => prop_assert!(all.starts_with(&MARK)),
            }
        }

        #[test]
        fn any_damage_leaves_a_beginning(text in prop::collection::vec(any::<u8>(), 1..400), at in 0usize..400, to: u8) {
            let mut all = packed(&text);
            let at = at % all.len();
            all[at] = to;
            if let Ok((read, _)) = read(&all, 1000) {
                prop_assert!(read.len() <= 1000);
            }
        }
    }
}
