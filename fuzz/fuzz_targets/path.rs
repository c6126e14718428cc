//! A probed stream, packed or not, means the same wherever it is cut, and no packing brings the reader down.
#![no_main]

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use intriage_observe::figures_of;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, u16, &[u8])| {
    let (how, cut, bytes) = input;
    let packs = how & 1 != 0;
    let mut body = bytes.to_vec();
    if how & 2 != 0 {
        // Packed well, so that what is inside is reached.
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        body = encoder.finish().unwrap();
    }
    let encoding = packs.then_some("gzip");
    let (first, second) = body.split_at(usize::from(cut).min(body.len()));
    let (one, two) = (figures_of(encoding, &[&body]), figures_of(encoding, &[first, second]));
    assert_eq!(one.is_err(), two.is_err());
    if let (Ok(one), Ok(two)) = (one, two) {
        assert_eq!((one.chunks, one.tokens, one.error), (two.chunks, two.tokens, two.error));
    }
});
