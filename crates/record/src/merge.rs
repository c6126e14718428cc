//! Shards of one run, joined exactly: their raw events on one time axis, under numbers of their own.

use intriage_case::{Millis, Nanos};
use thiserror::Error;

use crate::client::ClientFacts;
use crate::event::Finished;
use crate::header::Header;

/// Why runs cannot be joined.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MergeError {
    /// They did different things.
    #[error("run {number} is another kind of run: its {what} is {theirs}, that of the first {ours}")]
    Differs {
        /// Which one, from 1.
        number: usize,
        /// In what.
        what: &'static str,
        /// Its value.
        theirs: String,
        /// The first one's.
        ours: String,
    },
    /// One shard twice.
    #[error("run {number} is shard {shard} again")]
    Twice {
        /// Which one, from 1.
        number: usize,
        /// The shard, from 0.
        shard: u32,
    },
    /// One run twice.
    #[error("run {number} is run {first} again")]
    Same {
        /// Which one, from 1.
        number: usize,
        /// Which it is, from 1.
        first: usize,
    },
    /// None at all.
    #[error("there is no run to join")]
    Nothing,
}

/// Joins runs: first their headers, then their requests.
#[derive(Debug, Clone)]
pub struct Merger {
    /// The header of the union.
    pub header: Header,
    offsets: Vec<Nanos>,
    /// How the clients fared, all together, as far as they say.
    pub client: Option<ClientFacts>,
    next: u64,
}

impl Merger {
    /// From the headers of all runs, in the order their requests will be given.
    pub fn new(headers: &[Header]) -> Result<Self, MergeError> {
        let first = headers.first().ok_or(MergeError::Nothing)?;
        let mut shards = Vec::new();
        for (place, header) in headers.iter().enumerate() {
            let number = place + 1;
            let differs = |what, theirs: &str, ours: &str| {
                Err(MergeError::Differs { number, what, theirs: theirs.to_owned(), ours: ours.to_owned() })
            };
            if header.model != first.model {
                return differs("model", &header.model, &first.model);
            }
            if header.api != first.api {
                return differs("API", &header.api, &first.api);
            }
            if header.declared.arrival != first.declared.arrival {
                return differs(
                    "load",
                    &format!("{:?}", header.declared.arrival),
                    &format!("{:?}", first.declared.arrival),
                );
            }
            if header.declared.classes != first.declared.classes
                || header.declared.objectives != first.declared.objectives
                || header.declared.percentiles != first.declared.percentiles
            {
                return differs("classes, objectives or percentiles", "its own", "others");
            }
            // The salt is another one each run; a plan's shards share it.
            let same = |other: &Header| {
                (other.salt, other.started, other.declared.shard)
                    == (header.salt, header.started, header.declared.shard)
            };
            if let Some(first) = headers[..place].iter().position(same) {
                return Err(MergeError::Same { number, first: first + 1 });
            }
            if let Some((shard, _)) = header.declared.shard {
                if shards.contains(&shard) {
                    return Err(MergeError::Twice { number, shard });
                }
                shards.push(shard);
            }
        }
        let start = headers.iter().map(|h| h.started).min().unwrap_or(Millis(0));
        let offsets = headers.iter().map(|h| Nanos((h.started.0 - start.0) * 1_000_000)).collect();
        let mut header = first.clone();
        header.started = start;
        header.declared.shard = None;
        Ok(Self { header, offsets, client: None, next: 0 })
    }

    /// A request of run `place` (from 0) as part of the union.
    pub fn adopt(&mut self, place: usize, mut finished: Finished) -> Finished {
        let offset = self.offsets.get(place).copied().unwrap_or_default();
        let shift = |at: &mut Nanos| *at = *at + offset;
        let r = &mut finished.request;
        for at in [&mut r.planned, &mut r.sent, &mut r.written, &mut r.ended] {
            shift(at);
        }
        for at in [&mut r.dialled, &mut r.connected, &mut r.secured, &mut r.head].into_iter().flatten() {
            shift(at);
        }
        finished.chunks.iter_mut().for_each(|chunk| shift(&mut chunk.at));
        // Numbers of different runs may be the same.
        r.id = self.next;
        self.next += 1;
        finished
    }

    /// How the client of one of the runs fared: the union is no better than its worst.
    pub fn client(&mut self, facts: &ClientFacts) {
        let Some(all) = &mut self.client else {
            self.client = Some(facts.clone());
            return;
        };
        let most = |a: Option<Nanos>, b: Option<Nanos>| a.max(b);
        all.elapsed = if facts.elapsed > all.elapsed { facts.elapsed } else { all.elapsed };
        all.threads.extend_from_slice(&facts.threads);
        all.kernel_stamps &= facts.kernel_stamps;
        all.file_limit = all.file_limit.min(facts.file_limit);
        all.peak_memory =
            if facts.peak_memory > all.peak_memory { facts.peak_memory } else { all.peak_memory };
        all.cpu = all.cpu + facts.cpu;
        all.stolen = match (all.stolen, facts.stolen) {
            (Some(a), Some(b)) => Some(if a > b { a } else { b }),
            (a, b) => a.or(b),
        };
        all.interrupted |= facts.interrupted;
        all.round_trip = most(all.round_trip, facts.round_trip);
        all.server_hits = all.server_hits.or(facts.server_hits);
        // Every shard's requests must be covered: the worst counts.
        all.front_end = [all.front_end, facts.front_end].into_iter().flatten().max_by_key(|f| f.most);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::event::ChunkKind::Content;
    use crate::figures::tests::answer;
    use crate::header::Declared;
    use crate::{Summary, Tally};

    fn header(started: u64, shard: u32) -> Header {
        Header {
            started: Millis(started),
            model: "m".to_owned(),
            api: "chat".to_owned(),
            declared: Declared { shard: Some((shard, 2)), ..Declared::default() },
            ..Header::default()
        }
    }

    #[test]
    fn shards_joined_are_the_run_in_one() {
        // The same requests once in one run, once split over two clients of which the second started 2 s later.
        let all: Vec<Finished> = (0..200)
            .map(|i| answer(i, 5000 + i * 10, &[(5050 + i * 11, Content), (5060 + i * 12, Content)]))
            .collect();
        let mut whole = Tally::new(Declared::default());
        for finished in &all {
            whole.add(finished);
        }
        let headers = [header(10_000, 0), header(12_000, 1)];
        let mut merger = Merger::new(&headers).unwrap();
        let mut joined = Tally::new(merger.header.declared.clone());
        for finished in &all {
            let shard = (finished.request.id % 2) as usize;
            let mut alone = finished.clone();
            let earlier = |at: &mut Nanos| *at = Nanos(at.0 - 2_000_000_000 * shard as u64);
            earlier(&mut alone.request.planned);
            earlier(&mut alone.request.sent);
            earlier(&mut alone.request.written);
            earlier(&mut alone.request.ended);
            alone.chunks.iter_mut().for_each(|c| earlier(&mut c.at));
            joined.add(&merger.adopt(shard, alone));
        }
        let of = |tally: &Tally| Summary::of(&merger.header, tally, None);
        assert_eq!(of(&joined), of(&whole));
    }

    #[test]
    fn what_does_not_belong_together_is_not_joined() {
        let mut other = header(0, 1);
        other.model = "n".to_owned();
        let said = Merger::new(&[header(0, 0), other]).unwrap_err().to_string();
        assert!(said.contains("run 2") && said.contains("model"), "{said}");
        assert!(matches!(Merger::new(&[header(0, 1), header(5, 1)]), Err(MergeError::Twice { .. })));
        let same = Merger::new(&[header(0, 0), header(0, 1), header(0, 0)]).unwrap_err();
        assert_eq!(same, MergeError::Same { number: 3, first: 1 });
        assert!(matches!(Merger::new(&[]), Err(MergeError::Nothing)));
    }
}
