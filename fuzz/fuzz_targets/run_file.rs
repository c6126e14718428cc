//! A run's file from a stranger is a run or an error, and what reads as one has figures and can be written and read again.
//!
//! The input is a file, and changes to a good one whose check sums are then made right: no fuzzer guesses a CRC.
#![no_main]

use std::sync::OnceLock;

use intriage_case::Nanos;
use intriage_record::file::{MAGIC, Writer, read};
use intriage_record::import::import;
use intriage_record::{ClientFacts, Figures, Header};
use libfuzzer_sys::fuzz_target;

static GOOD: OnceLock<Vec<u8>> = OnceLock::new();
const SOME: &str = include_str!("../../crates/record/tests/data/vllm-detailed.json");

fuzz_target!(|input: (Vec<u8>, Vec<(u16, u8)>)| {
    let (raw, changes) = input;
    survive(&raw);
    let mut bytes = GOOD.get_or_init(good_file).clone();
    for (place, to) in changes {
        let place = MAGIC.len() + usize::from(place);
        if let Some(byte) = bytes.get_mut(place) {
            *byte = to;
        }
    }
    mend(&mut bytes);
    survive(&bytes);
});

/// A few requests with their chunks.
fn good_file() -> Vec<u8> {
    let run = import("some", SOME.as_bytes()).unwrap().runs.remove(0);
    let mut writer = Writer::new(Vec::new(), &run.header).unwrap();
    for mut finished in run.requests.into_iter().take(3) {
        finished.request.head = Some(Nanos(finished.request.sent.0 + 1000));
        writer.chunks(finished.request.id, &finished.chunks).unwrap();
        writer.request(&finished.request).unwrap();
        writer.flush().unwrap();
    }
    writer.finish(&ClientFacts::default()).unwrap()
}

/// Puts the right check sum into every block that is whole.
fn mend(bytes: &mut [u8]) {
    let mut at = MAGIC.len();
    while let Some(head) = bytes.get(at..at + 9) {
        let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let Some(payload) = bytes.get(at + 9..(at + 9).saturating_add(length)) else { return };
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&[head[0]]);
        hasher.update(payload);
        let sum = hasher.finalize().to_le_bytes();
        bytes[at + 5..at + 9].copy_from_slice(&sum);
        at += 9 + length;
    }
}

fn survive(bytes: &[u8]) {
    let mut all = Vec::new();
    let Ok(file) = read(bytes, |_: &Header, finished| all.push(finished)) else { return };
    for finished in &all {
        let _ = Figures::of(finished).tpot();
    }
    let mut writer = Writer::new(Vec::new(), &file.header).unwrap();
    for finished in &all {
        writer.chunks(finished.request.id, &finished.chunks).unwrap();
        writer.request(&finished.request).unwrap();
    }
    let written = writer.finish(&ClientFacts::default()).unwrap();
    let mut again = 0;
    assert!(read(written.as_slice(), |_: &Header, _| again += 1).is_ok());
    assert_eq!(again, all.len());
}
