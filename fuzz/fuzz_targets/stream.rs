//! An answer cut anywhere means the same as in one piece: HTTP, events, and what the events carry.

#![no_main]

use intriage_load::api::{Api, Reading};
use intriage_load::wire::{Answer, Events};
use intriage_record::ChunkKind;
use libfuzzer_sys::fuzz_target;

/// What an answer in these pieces means: the kinds and tokens of its events, and whether it was refused.
fn meaning(api: Api, pieces: &[&[u8]]) -> (Vec<(ChunkKind, u16, usize)>, bool, u16) {
    let (mut answer, mut events, mut reading) = (Answer::default(), Events::default(), Reading::new(api));
    let mut seen = Vec::new();
    let mut refused = false;
    for piece in pieces {
        let read = answer.read(piece, |_, part| {
            let whole = events.read(part, |event| {
                let (kind, tokens) = reading.event(event);
                seen.push((kind, tokens, event.bytes));
            });
            refused |= whole.is_err();
        });
        refused |= read.is_err();
        if refused {
            break;
        }
    }
    (seen, refused, answer.head.status)
}

fuzz_target!(|input: (u8, u16, &[u8])| {
    let (which, cut, bytes) = input;
    let api = [Api::Chat, Api::Completions, Api::Responses, Api::LlamaCpp, Api::Tgi][usize::from(which) % 5];
    // Half of the time the head is right, so that the body is reached.
    let mut whole = Vec::new();
    if which & 0x80 != 0 {
        whole.extend_from_slice(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n");
    }
    whole.extend_from_slice(bytes);
    let at = usize::from(cut).min(whole.len());
    let (first, second) = whole.split_at(at);
    let (one, two) = (meaning(api, &[&whole]), meaning(api, &[first, second]));
    assert_eq!((one.1, one.2), (two.1, two.2));
    if !one.1 {
        assert_eq!(one.0, two.0);
    }
});
