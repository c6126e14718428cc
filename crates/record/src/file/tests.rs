#![allow(clippy::unwrap_used)]
use intriage_case::{Millis, Nanos};
use proptest::prelude::*;

use super::*;
use crate::client::ClientFacts;
use crate::event::{Chunk, ChunkKind, Finish, Finished, Outcome, Request};
use crate::header::{Declared, Header};

fn header() -> Header {
    Header {
        intriage: "0".to_owned(),
        started: Millis(1_794_000_000_000),
        url: "http://127.0.0.1:8000".to_owned(),
        model: "m".to_owned(),
        api: "chat".to_owned(),
        protocol: "HTTP/1.1".to_owned(),
        seed: 1,
        salt: 2,
        declared: Declared::default(),
        ..Header::default()
    }
}

fn any_time() -> impl Strategy<Value = Nanos> {
    any::<u64>().prop_map(Nanos)
}

prop_compose! {
    fn any_chunk()(at in any_time(), lag: u32, bytes: u32, kind in 0usize..8, tokens in 0u16..8000) -> Chunk {
        Chunk { at, lag, bytes, kind: ChunkKind::ALL[kind], tokens }
    }
}

prop_compose! {
    fn any_request()(
        (id, session, turn, class, stage, warmup) in any::<(u64, u64, u32, u16, u16, bool)>(),
        (connection, nth, status, output, shared) in any::<(u32, u32, u16, u32, u32)>(),
        (planned, sent, written, ended) in (any_time(), any_time(), any_time(), any_time()),
        (dialled, connected, secured, head) in (
            proptest::option::of(any_time()), proptest::option::of(any_time()),
            proptest::option::of(any_time()), proptest::option::of(any_time())),
        (input, prompt_tokens, completion_tokens, cached_tokens) in any::<(Option<u32>, Option<u32>, Option<u32>, Option<u32>)>(),
        (bytes_sent, bytes_received) in any::<(u64, u64)>(),
        outcome in 0usize..18, finish in 0usize..4, answer_id in ".{0,20}", error in ".{0,40}",
    ) -> Request {
        Request {
            id, class, stage, session, turn, warmup, connection, nth, planned, dialled, connected, secured, sent, written,
            head, ended, status, outcome: Outcome::ALL[outcome], finish: Finish::ALL[finish], input, output, shared,
            prompt_tokens, completion_tokens, cached_tokens, bytes_sent, bytes_received, answer_id, error,
        }
    }
}

fn written(all: &[Finished]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &header()).unwrap();
    for finished in all {
        // Chunks in two parts, as a long answer's are.
        let (early, late) = finished.chunks.split_at(finished.chunks.len() / 2);
        writer.chunks(finished.request.id, early).unwrap();
        if finished.request.id % 3 == 0 {
            writer.flush().unwrap();
        }
        writer.chunks(finished.request.id, late).unwrap();
        writer.request(&finished.request).unwrap();
    }
    writer.finish(&ClientFacts::default()).unwrap()
}

/// Distinct ids, as in a run.
fn any_run() -> impl Strategy<Value = Vec<Finished>> {
    proptest::collection::vec((any_request(), proptest::collection::vec(any_chunk(), 0..20)), 0..20).prop_map(
        |all| {
            let numbered = all.into_iter().enumerate();
            numbered
                .map(|(i, (request, chunks))| Finished {
                    request: Request { id: i as u64, ..request },
                    chunks,
                })
                .collect()
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(all in any_run()) {
        let bytes = written(&all);
        let mut again = Vec::new();
        let file = read(bytes.as_slice(), |_, finished| again.push(finished)).unwrap();
        prop_assert_eq!(again, all);
        prop_assert_eq!(file.client, Some(ClientFacts::default()));
        prop_assert!(!file.cut && file.in_flight.is_empty());
    }

    #[test]
    fn a_killed_run_is_readable_up_to_the_kill(all in any_run(), kept in 0.0f64..1.0) {
        let bytes = written(&all);
        let first_block = bytes.iter().skip(MAGIC.len()).take(9).count() + MAGIC.len();
        let kept = first_block + ((bytes.len() - first_block) as f64 * kept) as usize;
        let mut again = Vec::new();
        match read(&bytes[..kept], |_, finished| again.push(finished)) {
            Ok(file) => prop_assert!(file.client.is_none()),
            // Cut inside the header: there is nothing to read.
            Err(why) => prop_assert!(why.to_string().contains("before its header"), "{why}"),
        }
        prop_assert!(again.len() <= all.len());
        prop_assert_eq!(again.as_slice(), &all[..again.len()]);
    }

    #[test]
    fn junk_is_refused_without_a_panic(mut bytes in any_run().prop_map(|all| written(&all)), at: prop::sample::Index, to: u8) {
        let at = at.index(bytes.len());
        let before = std::mem::replace(&mut bytes[at], to);
        let outcome = read(bytes.as_slice(), |_, _| ());
        prop_assert!(before == to || outcome.is_err() || outcome.is_ok_and(|f| f.cut || f.client.is_none()));
    }
}

#[test]
fn other_files_are_named_as_such() {
    for junk in [&b""[..], b"PK\x03\x04", b"INTRIAGE-RUN 2\nxxxxxxxxxxxxxxxxx"] {
        assert!(matches!(read(junk, |_, _| ()), Err(ReadError::NotARun)));
    }
}

#[test]
fn a_false_length_costs_no_memory() {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&[b'h', 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    let said = read(bytes.as_slice(), |_, _| ()).unwrap_err().to_string();
    assert!(said.contains("at byte 15") && said.contains("more than a block"), "{said}");
}
