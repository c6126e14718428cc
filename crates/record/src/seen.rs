//! A request as the case keeps it: what the client saw, for the diagnosis.

use intriage_case::{ClientRequest, Millis, Nanos, Tokens};

use crate::event::{Finished, Outcome};
use crate::figures::{Figures, gaps};

/// A request as the case keeps it; the run began at `started`.
pub fn client_request(started: Millis, finished: &Finished) -> ClientRequest {
    let (request, figures) = (&finished.request, Figures::of(finished));
    let mut all: Vec<Nanos> = Vec::with_capacity(finished.chunks.len());
    gaps(finished, |gap, _| all.push(gap));
    all.sort_unstable();
    let seconds = |time: Option<Nanos>| time.map(Nanos::seconds);
    ClientRequest {
        sent: Millis(started.0 + request.sent.0 / 1_000_000),
        connect: seconds(figures.connect),
        headers: seconds(figures.ttfb),
        first: seconds(figures.ttft),
        last: seconds(figures.e2e),
        chunks: figures.chunks,
        gap_p50: seconds(all.get(all.len() / 2).copied()),
        gap_max: seconds(all.last().copied()),
        tokens: request.completion_tokens.map(|n| Tokens(f64::from(n))),
        prompt_tokens: request.prompt_tokens.map(|n| Tokens(f64::from(n))),
        status: (request.status != 0).then_some(request.status),
        error: (request.outcome != Outcome::Ok).then(|| {
            let words = request.outcome.words();
            if request.error.is_empty() { words.to_owned() } else { format!("{words}: {}", request.error) }
        }),
        ended: Some(request.ended.since(request.sent).seconds()),
        late: Some(figures.begun_late.seconds()),
        ..ClientRequest::default()
    }
}

#[cfg(test)]
mod tests {
    use intriage_case::Seconds;

    use super::*;
    use crate::event::ChunkKind::{Content, Empty};
    use crate::figures::tests::answer;

    #[test]
    fn the_client_saw_what_arrived() {
        let seen = client_request(
            Millis(1000),
            &answer(1, 100, &[(110, Empty), (150, Content), (160, Content), (190, Content)]),
        );
        assert_eq!(seen.sent, Millis(1100));
        assert_eq!((seen.first, seen.last), (Some(Seconds(0.05)), Some(Seconds(0.09))));
        assert_eq!((seen.chunks, seen.gap_max), (3, Some(Seconds(0.03))));
        assert_eq!((seen.status, seen.error), (Some(200), None));
        assert_eq!((seen.late, seen.attempt), (Some(Seconds(0.0)), None));
    }
}
