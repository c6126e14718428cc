//! A hop through which no request gets, while straight to the server they do.

use intriage_case::{Events, Fact, PathProbe, Ratio, Route};

use super::between::probed;
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

/// The hop, and why nothing comes through.
pub(super) struct Blocked<'a> {
    hop: &'a PathProbe,
    why: String,
    direct: &'a str,
}

impl<'a> Blocked<'a> {
    /// The first such hop from the server outwards.
    pub(super) fn find(e: &Evidence<'a>) -> Option<Self> {
        let paths = &e.observed.paths;
        let streamed = |p: &&PathProbe| p.streams.iter().any(|s| s.error.is_none() && s.first.is_some());
        let direct = paths.iter().find(|p| p.route == Route::Direct).filter(streamed)?;
        let hops = paths.iter().filter(|p| p.route == Route::Via && !streamed(p));
        let mut blocked = hops.filter_map(|hop| Some(Self { hop, why: why(e, hop)?, direct: &direct.url }));
        blocked.next()
    }

    pub(super) fn judge(self) -> Judgement {
        let Self { hop, why, direct } = self;
        let says =
            format!("no request gets through {}: {why}; straight to {direct} they are answered", hop.url);
        let tries = Events(hop.streams.len().max(hop.addresses.len()) as f64);
        let fact: Fact =
            probed(&hop.url, format!("all {tries} tries through {} failed: {why}", hop.url), tries);
        let impact = Impact {
            on: ImpactOn::Availability,
            share: Ratio(1.0),
            time: None,
            says: "clients that come this way get no answer".into(),
        };
        Weighing::new()
            .requires(Test::Holds(fact))
            .advise(
                format!("mend {}, or send clients straight to {direct} until it is mended", hop.url),
                "what the hop adds (keys, limits, balancing) is missing meanwhile",
            )
            .conclude(says, impact)
    }
}

/// Why no request gets through a hop; `None` where it may only want a key, has no such route, or was asked too seldom.
fn why(e: &Evidence<'_>, hop: &PathProbe) -> Option<String> {
    let answered = hop.addresses.iter().any(|a| a.connect.is_some());
    if !answered && !hop.addresses.is_empty() {
        let error = hop.addresses.iter().find_map(|a| a.error.clone()).or_else(|| hop.error.clone());
        return Some(format!("no connection ({})", error.unwrap_or_else(|| "no answer".into())));
    }
    if hop.streams.is_empty() {
        // It takes connections and answers nothing; what was cut for want of time has no error.
        return hop.error.clone();
    }
    let failed: Vec<_> = hop.streams.iter().filter(|s| s.error.is_some()).collect();
    let server_side = |status: Option<u16>| status.is_none_or(|s| (500..600).contains(&s));
    let enough = failed.len() as f64 >= e.limit(Limit::FewestFailures);
    if enough && failed.iter().all(|s| server_side(s.status)) {
        return failed.last().and_then(|s| s.error.clone());
    }
    None
}

/// Hops that were given and showed nothing, for the notes.
pub(crate) fn silent_hops(e: &Evidence<'_>) -> Vec<String> {
    let silent = e.observed.paths.iter().filter(|p| {
        p.route == Route::Via && !p.streams.iter().any(|s| s.error.is_none() && s.first.is_some())
    });
    let told = silent.map(|hop| {
        let why = hop.streams.iter().rev().find_map(|s| s.error.clone()).or_else(|| hop.error.clone());
        format!("no stream came through {}: {}", hop.url, why.unwrap_or_else(|| "its time was over".into()))
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use intriage_case::{PathProbe, Seconds, StreamSeen};

    use super::super::network_path_latency::CAUSE;
    use crate::diagnosis::{Outcome, Status};
    use crate::testing::Given;

    fn through(change: impl Fn(&mut PathProbe)) -> Given {
        use intriage_case::Signal::{LatencyTtft, RequestsRunning, RequestsWaiting};
        Given::vllm("0.28.0")
            .gauge(RequestsRunning, 1.0)
            .gauge(RequestsWaiting, 0.0)
            .observed(LatencyTtft, &[(0.05, 20.0)])
            .probed("http://vllm:8000", 0.05, 0.009, 32)
            .probed("http://gateway", 0.05, 0.009, 32)
            .but(change)
    }

    fn answers(status: u16) -> impl Fn(&mut PathProbe) {
        move |probe| {
            let failed = StreamSeen {
                status: Some(status),
                error: Some(format!("answers {status}")),
                ..StreamSeen::default()
            };
            probe.streams = vec![failed.clone(), failed];
        }
    }

    #[test]
    fn a_gateway_that_answers_502_to_all_is_the_verdict() {
        let d = through(answers(502)).verdict();
        assert_eq!(d.verdict.status, Status::Finding, "{:#?}", d.verdict);
        assert_eq!(d.verdict.primary.cause.as_deref(), Some(CAUSE.id));
        assert!(
            d.verdict.answer.contains("No request gets through http://gateway: answers 502"),
            "{}",
            d.verdict.answer
        );
    }

    #[test]
    fn a_gateway_nobody_listens_at_is_the_verdict() {
        let j = through(|probe| {
            probe.streams.clear();
            for address in &mut probe.addresses {
                (address.connect, address.failed) = (None, Some(Seconds(0.001)));
                address.error = Some("connection refused".into());
            }
        })
        .judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.says.contains("no connection (connection refused)"), "{}", j.says);
    }

    #[test]
    fn a_gateway_that_takes_connections_and_is_silent_is_the_verdict_and_one_cut_for_time_is_not() {
        let silent = |error: Option<&str>| {
            let error = error.map(str::to_owned);
            through(move |probe| {
                probe.streams.clear();
                probe.error.clone_from(&error);
            })
        };
        let j = silent(Some("no answer to GET /v1/models within 3 s")).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(silent(None).verdict().findings.is_empty());
    }

    #[test]
    fn a_gateway_that_wants_a_key_may_be_fine_and_is_told() {
        let d = through(answers(401)).verdict();
        assert!(d.findings.is_empty(), "{:#?}", d.findings);
        assert!(
            d.notes.iter().any(|n| n.contains("no stream came through http://gateway: answers 401")),
            "{:?}",
            d.notes
        );
    }
}
