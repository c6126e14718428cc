//! Takes the gzip off an answer as it arrives: clients accept it, and a proxy that packs may hold a stream back for it.

use std::io::Write as _;

use flate2::write::GzDecoder;

/// Packed bytes unpacked in one go: they become a thousand times as many at most.
const STEP: usize = 1024;

/// An answer's bytes, packed or not, within a limit.
#[derive(Debug)]
pub(super) struct Unpack {
    gzip: Option<GzDecoder<Vec<u8>>>,
    left: usize,
}

impl Unpack {
    /// For an answer with this `Content-Encoding`, of which at most so many bytes are wanted.
    pub(super) fn new(encoding: Option<&str>, most_bytes: usize) -> Result<Self, String> {
        let gzip = match encoding {
            None | Some("identity") => None,
            Some("gzip" | "x-gzip") => Some(GzDecoder::new(Vec::new())),
            Some(other) => {
                return Err(format!("the answer is packed with {other:?}, which was not asked for"));
            }
        };
        Ok(Self { gzip, left: most_bytes })
    }

    /// Hands on what these bytes hold; packed ones may need more to say anything.
    pub(super) fn read(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<(), String> {
        let Some(gzip) = &mut self.gzip else {
            self.left = self.left.checked_sub(bytes.len()).ok_or_else(too_large)?;
            return each(bytes);
        };
        let broken = |why: std::io::Error| format!("the answer's gzip is broken: {why}");
        for step in bytes.chunks(STEP) {
            gzip.write_all(step).map_err(broken)?;
            gzip.flush().map_err(broken)?;
            let plain = std::mem::take(gzip.get_mut());
            self.left = self.left.checked_sub(plain.len()).ok_or_else(too_large)?;
            each(&plain)?;
        }
        Ok(())
    }
}

fn too_large() -> String {
    "the answer is larger than wanted; reading stopped".into()
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    fn packed(parts: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let mut pieces = Vec::new();
        for part in parts {
            encoder.write_all(part).unwrap();
            encoder.flush().unwrap();
            pieces.push(std::mem::take(encoder.get_mut()));
        }
        pieces.push(encoder.finish().unwrap());
        pieces
    }

    fn read_all(unpack: &mut Unpack, pieces: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, String> {
        pieces
            .iter()
            .map(|piece| {
                let mut plain = Vec::new();
                unpack.read(piece, |part| {
                    plain.extend_from_slice(part);
                    Ok(())
                })?;
                Ok(plain)
            })
            .collect()
    }

    #[test]
    fn a_flushed_piece_is_read_when_it_comes_and_not_at_the_end() {
        let pieces = packed(&[b"data: one\n\n", b"data: two\n\n"]);
        let read = read_all(&mut Unpack::new(Some("gzip"), 1000).unwrap(), &pieces).unwrap();
        assert_eq!(read, [b"data: one\n\n".to_vec(), b"data: two\n\n".to_vec(), Vec::new()]);
    }

    #[test]
    fn a_small_answer_that_unpacks_to_a_large_one_is_stopped() {
        let pieces = packed(&[&vec![b'x'; 3 << 20]]);
        let error = read_all(&mut Unpack::new(Some("gzip"), 1 << 20).unwrap(), &pieces).unwrap_err();
        assert!(error.contains("larger"), "{error}");
        assert!(read_all(&mut Unpack::new(None, 3).unwrap(), &[b"four".to_vec()]).is_err());
    }

    #[test]
    fn an_encoding_nobody_asked_for_is_named() {
        assert!(Unpack::new(Some("br"), 1).unwrap_err().contains("br"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read_all(&mut Unpack::new(Some("gzip"), 1000).unwrap(), &[bytes]);
        }

        #[test]
        fn a_damaged_answer_brings_nothing_down(at in 0usize..60, with in any::<u8>()) {
            let mut piece = packed(&[b"data: one\n\ndata: two\n\ndata: three\n\n"]).concat();
            if let Some(byte) = piece.get_mut(at) {
                *byte = with;
            }
            let _ = read_all(&mut Unpack::new(Some("gzip"), 1000).unwrap(), &[piece]);
        }
    }
}
