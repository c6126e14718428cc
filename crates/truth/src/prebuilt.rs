//! Whole streamed answers kept ready for floods: only the id differs between two of them.

use std::collections::HashMap;

use memchr::memmem;

use crate::answer::{Answer, Spent};
use crate::http;
use crate::plan::STREAM_HEAD;

/// Bytes kept in all.
const KEEP: usize = 64 << 20;

/// Answers by what decides their bytes.
#[derive(Debug, Default)]
pub(crate) struct Prebuilt {
    answers: HashMap<Answer, Ready>,
    bytes: usize,
    /// Unix second of the answers; all of them name it.
    second: u64,
}

#[derive(Debug)]
struct Ready {
    bytes: Vec<u8>,
    /// Where the id stands.
    places: Vec<usize>,
}

impl Prebuilt {
    /// The bytes of this answer, to be written at once.
    pub(crate) fn bytes(&mut self, mut answer: Answer) -> &[u8] {
        // The key must not know the id, which goes in last.
        let id = std::mem::replace(&mut answer.id, PLACE.to_owned());
        if answer.created != self.second || self.bytes > KEEP {
            self.answers.clear();
            self.bytes = 0;
            self.second = answer.created;
        }
        let kept = &mut self.bytes;
        let ready = self.answers.entry(answer).or_insert_with_key(|answer| {
            let ready = build(answer);
            *kept += ready.bytes.len();
            ready
        });
        for at in &ready.places {
            if let Some(place) = ready.bytes.get_mut(*at..*at + PLACE.len())
                && id.len() == PLACE.len()
            {
                place.copy_from_slice(id.as_bytes());
            }
        }
        &ready.bytes
    }
}

/// Stands for an id: as long as one, and in no text of an answer.
const PLACE: &str = "@@@@@@@@@@@@@@@@";

fn build(answer: &Answer) -> Ready {
    let mut bytes = STREAM_HEAD.as_bytes().to_vec();
    // Each event is an HTTP chunk of its own, as servers that generate one token after the other send them.
    let mut event = Vec::new();
    let mut send = |event: &mut Vec<u8>| {
        http::chunk(event, &mut bytes);
        event.clear();
    };
    answer.open(&mut event);
    send(&mut event);
    let mut given = 0;
    while given < answer.want {
        let count = answer.event_tokens(given).max(1);
        answer.tokens(given, count, &mut event);
        send(&mut event);
        given += count;
    }
    answer.close(Spent::default(), &mut event);
    send(&mut event);
    bytes.extend_from_slice(b"0\r\n\r\n");
    let places = memmem::find_iter(&bytes, PLACE).collect();
    Ready { bytes, places }
}
