//! From the pieces of one answer, stamped as they came, to its figures.

use std::time::Duration;

use intriage_case::{Bytes, Seconds, StreamSeen, Tokens};
use intriage_load::api::{Api, Reading};
use intriage_load::wire::Events;
use intriage_record::ChunkKind;

/// A piece with generated text: when it came and with which read of the connection.
#[derive(Debug, Clone, Copy)]
struct Piece {
    at: Duration,
    read: usize,
}

/// What has arrived of one answer.
#[derive(Debug)]
pub(super) struct Arrivals {
    events: Events,
    reading: Reading,
    pieces: Vec<Piece>,
}

impl Arrivals {
    /// Nothing yet, of an answer in this API.
    pub(super) fn new(api: Api) -> Self {
        Self { events: Events::default(), reading: Reading::new(api), pieces: Vec::new() }
    }

    /// A part of the body, the time at which it came, and the number of the read that brought it.
    pub(super) fn part(&mut self, at: Duration, read: usize, bytes: &[u8]) -> Result<(), String> {
        // What one read brought came together, in however many parts it is handed over.
        let at = self.pieces.last().filter(|last| last.read == read).map_or(at, |last| last.at);
        let (reading, pieces) = (&mut self.reading, &mut self.pieces);
        let whole = self.events.read(bytes, |event| {
            let (kind, _) = reading.event(event);
            if matches!(kind, ChunkKind::Content | ChunkKind::Reasoning | ChunkKind::Silent) {
                pieces.push(Piece { at, read });
            }
        });
        whole.map_err(|why| why.to_string())
    }

    /// The figures; `sizes` are those of the connection's reads, in bytes.
    pub(super) fn figures(&self, sizes: &[u32]) -> StreamSeen {
        let seconds = |d: Duration| Seconds(d.as_secs_f64());
        let gaps: Vec<f64> =
            self.pieces.windows(2).map(|w| w[1].at.saturating_sub(w[0].at).as_secs_f64()).collect();
        let mut reads: Vec<usize> = self.pieces.iter().map(|p| p.read).collect();
        reads.dedup();
        // Reads are numbered from one.
        let of_reads = reads.iter().filter_map(|read| sizes.get(read.checked_sub(1)?)).map(|n| f64::from(*n));
        StreamSeen {
            status: None,
            encoding: None,
            headers: None,
            first: self.pieces.first().map(|p| seconds(p.at)),
            last: self.pieces.last().map(|p| seconds(p.at)),
            chunks: u32::try_from(self.pieces.len()).unwrap_or(u32::MAX),
            tokens: self.reading.completion_tokens.map(|n| Tokens(f64::from(n))),
            gap_p50: median(gaps.clone()).map(Seconds),
            gap_max: gaps.into_iter().reduce(f64::max).map(Seconds),
            reads: u32::try_from(reads.len()).unwrap_or(u32::MAX),
            bytes_per_read_p50: median(of_reads.collect()).map(Bytes),
            error: Some(self.reading.error.clone()).filter(|e| !e.is_empty()),
        }
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const EVENT: &[u8] = b"data: {\"choices\":[{\"text\":\" word\"}]}\n\n";

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn pieces_that_come_one_by_one_have_the_gaps_between_them() {
        let mut arrivals = Arrivals::new(Api::Completions);
        for i in 0..5 {
            arrivals.part(ms(100 + 20 * i), i as usize + 1, EVENT).unwrap();
        }
        let seen = arrivals.figures(&[39; 5]);
        assert_eq!((seen.chunks, seen.reads, seen.bytes_per_read_p50), (5, 5, Some(Bytes(39.0))));
        assert_eq!((seen.first, seen.last), (Some(Seconds(0.1)), Some(Seconds(0.18))));
        assert_eq!(seen.gap_p50, Some(Seconds(0.02)));
    }

    #[test]
    fn pieces_of_one_read_came_together_however_they_are_cut() {
        let mut arrivals = Arrivals::new(Api::Completions);
        arrivals.part(ms(500), 2, &EVENT.repeat(3)).unwrap();
        arrivals.part(ms(501), 2, &EVENT.repeat(2)).unwrap();
        arrivals.part(ms(900), 3, EVENT).unwrap();
        let seen = arrivals.figures(&[120, 195, 39]);
        assert_eq!((seen.chunks, seen.reads), (6, 2));
        assert_eq!((seen.gap_p50, seen.gap_max), (Some(Seconds(0.0)), Some(Seconds(0.4))));
    }

    #[test]
    fn the_role_the_counts_and_the_end_are_no_text() {
        let mut arrivals = Arrivals::new(Api::Chat);
        for event in [
            "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n",
            "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n",
            "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1}}\n\n",
            "data: [DONE]\n\n",
        ] {
            arrivals.part(ms(1), 1, event.as_bytes()).unwrap();
        }
        let seen = arrivals.figures(&[]);
        assert_eq!((seen.chunks, seen.tokens, seen.gap_p50), (1, Some(Tokens(1.0)), None));
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_give_figures(parts in prop::collection::vec((0u64..50, 0usize..4, "(data: |\\{|\"|choices|text|:|\\[|\\]|\n){0,20}"), 0..20)) {
            let mut arrivals = Arrivals::new(Api::Completions);
            for (at, read, text) in &parts {
                arrivals.part(ms(*at), *read, text.as_bytes()).unwrap();
            }
            let seen = arrivals.figures(&[7, 8]);
            prop_assert!(seen.reads <= seen.chunks);
        }

        #[test]
        fn where_the_body_is_cut_changes_no_count(cut in 0usize..117) {
            let body = EVENT.repeat(3);
            let mut arrivals = Arrivals::new(Api::Completions);
            let (a, b) = body.split_at(cut.min(body.len()));
            arrivals.part(ms(1), 1, a).unwrap();
            arrivals.part(ms(2), 2, b).unwrap();
            prop_assert_eq!(arrivals.figures(&[]).chunks, 3);
        }
    }
}
