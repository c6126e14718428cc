//! A clock between client and server cuts streams, or an idle connection is closed as it is used again.

use intriage_case::{ClientRequest, Ratio, Requests, Seconds, Signal};
use intriage_engines::{Engine, Meaning};

use super::between::seen;
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::lately::{death, lately};
use crate::symptoms::{Aspect, Lost, lost_requests};
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "proxy-timeout-or-keepalive-race",
    class: Class::Network,
    layer: Layer::Network,
    hurts: &[Aspect::Errors, Aspect::Aborts, Aspect::Network],
    summary: "A proxy's or client's time-out cuts long answers, or the server closes an idle connection just as the proxy uses it again.",
    symptoms: &[
        "answers end after a round number of seconds: 60, 300",
        "now and then 502, 503 or a reset at healthy replicas, more often when there is little traffic",
    ],
    confirmed_by: &[
        "20 or more failed requests lasted the same time within 2 %",
        "only requests on connections used before are reset, new connections never",
        "the server counts aborted requests: it saw the cut",
    ],
    refuted_by: &[
        "failed requests lasted all sorts of times",
        "the engine died: then all streams end at one moment",
        "no client's request failed",
    ],
    look_alikes: &[
        LookAlike { cause: "engine-crash-5xx", tell: "there all streams end at once" },
        LookAlike { cause: "overload-shedding", tell: "there the refusal comes at once" },
        LookAlike {
            cause: "client-side-bottleneck",
            tell: "a busy client may run into its own time-out: look at both sides' settings",
        },
    ],
    probe: Probe {
        name: "slow-stream",
        steps: "Stream an answer longer than each time-out on the way, and use a connection again after 4, 6 and 30 s of idling.",
        if_so: "It is cut at the time-out, or reset after 6 s.",
        if_not: "Everything arrives.",
    },
    remedies: &[
        Remedy::any(
            "nginx: proxy_read_timeout above the longest silence of a stream; upstream keepalive_timeout below the server's",
            "connections stay open longer",
        ),
        Remedy::of(
            Engine::Vllm,
            "VLLM_HTTP_TIMEOUT_KEEP_ALIVE above the proxy's idle time (5 s otherwise)",
            "open sockets",
        ),
        Remedy::of(
            Engine::LlamaCpp,
            "-to above the longest answer, --sse-ping-interval 30 against idle time-outs",
            "none",
        ),
        Remedy::any("clients: try again only before the first token, and only what may be repeated", "none"),
    ],
    effect: "The cuts and sporadic 502s are gone.",
    confirm: "No client's request fails at that duration, and aborted requests stand still.",
    explains: &[],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let all = &e.observed.client;
    if let (true, Some(lost)) = (all.is_empty(), lost_requests(e)) {
        return given_up(e, &lost);
    }
    let failed: Vec<&ClientRequest> = all.iter().filter(|r| is_failure(r)).collect();
    let share = Ratio::of(failed.len() as f64, all.len() as f64).unwrap_or(Ratio(0.0));
    let impact = Impact {
        on: ImpactOn::Errors,
        share,
        time: None,
        says: format!("{share} of the clients' requests are cut"),
    };
    let w = Weighing::new().refuted_by(engine_died(e)).supports(server_saw_it(e));
    if let Some(race) = Race::of(e, all) {
        let says = format!(
            "connections are lost as they are used again: {} of {} requests on used connections, none of {} on new ones",
            race.lost, race.reused, race.fresh
        );
        let value = Ratio::of(race.lost as f64, race.reused as f64).unwrap_or(Ratio(1.0));
        let test = Test::Holds(seen(says.clone(), value));
        // How long a connection had idled is in no record: a probe tells.
        return w.requires(test).at_most_likely(0.6).conclude(says, impact);
    }
    let cut = Cut::of(e, &failed);
    let says = cut
        .as_ref()
        .ok()
        .and_then(|c| c.as_ref())
        .map_or(String::new(), |cut| format!("something on the way cuts requests after {}", cut.after));
    let w = w.requires(one_duration(e, all, &failed, cut.as_ref()));
    let sure = failed.len() as f64 >= e.limit(Limit::CutSample);
    if sure { w.conclude(says, impact) } else { w.at_most_likely(0.7).conclude(says, impact) }
}

/// Without a client's record: requests that got a first token and never ended. Something in front of the server, or its
/// users, hangs up; a record of the clients tells which.
fn given_up(e: &Evidence<'_>, lost: &Lost) -> Judgement {
    let share = lost.share();
    let says = format!(
        "{} of {} were given up after their first token: a time-out on the way, or clients that leave",
        Requests(lost.requests.round()),
        Requests(lost.begun)
    );
    let many = lost.requests >= e.limit(Limit::FewestAborts) && share.get() > e.limit(Limit::AbortShare);
    let impact = Impact {
        on: ImpactOn::E2e,
        share,
        time: None,
        says: format!("{share} of the requests are given up"),
    };
    let unknown = "no client's record of the requests was given (--client FILE): who hangs up, and after how long, is not known";
    let w = Weighing::new()
        .refuted_by(engine_died(e))
        .supports(Test::Unknown(unknown.into()))
        .at_most_likely(0.4);
    let test = if many {
        Test::Holds(e.fact(Signal::RequestsFinished, says.clone(), lost.requests))
    } else {
        Test::Unknown(unknown.into())
    };
    w.requires(test).conclude(says, impact)
}

/// Failed, and not refused on purpose; a client's time-out counts.
fn is_failure(request: &ClientRequest) -> bool {
    let refused = request.status.is_some_and(|s| (400..500).contains(&s));
    (request.error.is_some() || request.status.is_some_and(|s| s >= 500)) && !refused
}

/// Milliseconds within which requests end together.
const TOGETHER: u64 = 100;

/// Requests cut after one duration.
struct Cut {
    after: Seconds,
    /// Share of the failed ones that lasted so long.
    share: Ratio,
}

impl Cut {
    /// The duration most failed requests share; `None` where they share none.
    fn of(e: &Evidence<'_>, failed: &[&ClientRequest]) -> Result<Option<Self>, String> {
        let known = failed.iter().filter_map(|r| Some((r.sent, r.ended.or(r.last)?.get())));
        let mut lasted: Vec<f64> = known.clone().map(|(_, seconds)| seconds).collect();
        // Broken off together at one moment is no clock of each.
        let mut moments: Vec<u64> =
            known.map(|(sent, seconds)| sent.0.saturating_add((seconds * 1e3) as u64)).collect();
        moments.sort_unstable();
        moments.dedup_by(|b, a| *b - *a < TOGETHER);
        let few = moments.len().min(lasted.len()) as f64;
        if few < e.limit(Limit::CutFew) {
            return Err(format!(
                "requests failed at {} moments: {:.0} of known duration show a pattern (`ended` in the client's record)",
                moments.len(),
                e.limit(Limit::CutFew)
            ));
        }
        lasted.sort_by(f64::total_cmp);
        let middle = lasted[lasted.len() / 2];
        let near =
            lasted.iter().filter(|t| (*t - middle).abs() <= e.limit(Limit::CutSpread) * middle).count();
        let share = Ratio::of(near as f64, lasted.len() as f64).unwrap_or(Ratio(0.0));
        let cut = middle >= e.limit(Limit::ShortestCut) && share.get() >= e.limit(Limit::Sustained);
        Ok(cut.then_some(Self { after: Seconds(middle), share }))
    }
}

fn one_duration(
    e: &Evidence<'_>,
    all: &[ClientRequest],
    failed: &[&ClientRequest],
    cut: Result<&Option<Cut>, &String>,
) -> Test {
    if all.is_empty() {
        return Test::Unknown("no client's record of the requests was given (--client FILE)".into());
    }
    let share = Ratio::of(failed.len() as f64, all.len() as f64).unwrap_or(Ratio(0.0));
    if share.get() < e.limit(Limit::ErrorShare) {
        return Test::Fails(seen(format!("{share} of the clients' requests failed"), share));
    }
    match cut {
        Err(why) => Test::Unknown(why.clone()),
        Ok(None) => Test::Fails(seen("failed requests lasted all sorts of times".into(), share)),
        Ok(Some(cut)) => {
            let spread = Ratio(e.limit(Limit::CutSpread));
            let says = format!(
                "{} of {} failed requests lasted {} within {spread}",
                cut.share,
                failed.len(),
                cut.after
            );
            Test::Holds(seen(says, cut.after))
        }
    }
}

/// Connections lost at once, all of them used before.
struct Race {
    lost: usize,
    reused: usize,
    fresh: usize,
}

impl Race {
    fn of(e: &Evidence<'_>, all: &[ClientRequest]) -> Option<Self> {
        let at_once = |r: &&ClientRequest| {
            let early = r.ended.or(r.last).is_some_and(|t| t.get() < e.limit(Limit::ShortestCut));
            is_failure(r) && r.first.is_none() && early && r.status.is_none_or(|s| s == 502)
        };
        let (fresh, reused): (Vec<&ClientRequest>, Vec<&ClientRequest>) =
            all.iter().partition(|r| r.connect.is_some());
        let lost = reused.iter().copied().filter(|r| at_once(r)).count();
        let least = e.limit(Limit::ResetSample);
        let shows = lost as f64 >= least
            && fresh.len() as f64 >= least
            && lost < reused.len()
            && !fresh.iter().any(at_once);
        shows.then_some(Self { lost, reused: reused.len(), fresh: fresh.len() })
    }
}

/// A dead engine ends all streams at one moment.
fn engine_died(e: &Evidence<'_>) -> Test {
    if let Some(event) = death(e) {
        let mut fact = seen(format!("the log says: {}", event.excerpt), Ratio(1.0));
        fact.source = event.source();
        fact.value = None;
        return Test::Holds(fact);
    }
    let restarts = e.restarts();
    if restarts > 0 {
        return Test::Holds(e.fact(Signal::TokensGenerated, "the engine restarted in the window", 1.0));
    }
    Test::Unknown("no sign that the engine died".into())
}

/// The server counted or wrote down that clients went away.
fn server_saw_it(e: &Evidence<'_>) -> Test {
    if let Some(n) = e.delta_by(Signal::RequestsFinished, "abort").filter(|n| *n > 0.0) {
        return Test::Holds(e.fact(
            Signal::RequestsFinished,
            format!("the server counts {n:.0} aborted requests"),
            n,
        ));
    }
    match lately(e, Meaning::RequestAborted) {
        Some(event) => {
            let mut fact = seen(format!("the log tells of {} aborted requests", event.count), Ratio(1.0));
            fact.source = event.source();
            fact.value = None;
            Test::Holds(fact)
        }
        None => Test::Unknown("the server tells of no aborted request".into()),
    }
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::*;
    use crate::diagnosis::Outcome;
    use crate::testing::Given;

    /// Every third of 100 requests is cut after a time that `lasted` gives.
    fn cut_after(lasted: impl Fn(usize) -> f64) -> Given {
        Given::vllm("0.28.0")
            .gauge(RequestsRunning, 8.0)
            .observed(LatencyTtft, &[(0.2, 90.0)])
            .finished("abort", 33.0)
            .client(100, 0.22, 0.01, 0.03)
            .each_client(|i, r| {
                if i % 3 == 0 {
                    r.error = Some("the connection closed before the answer was complete".into());
                    r.ended = Some(Seconds(lasted(i)));
                }
            })
    }

    #[test]
    fn streams_that_all_end_after_a_minute_were_cut_by_a_clock() {
        let j = cut_after(|i| 60.0 + 0.002 * i as f64).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.says.contains("after 60"), "{}", j.says);
    }

    #[test]
    fn failures_of_all_lengths_and_a_dead_engine_are_something_else() {
        assert_eq!(cut_after(|i| 1.0 + i as f64).judge(&CAUSE).outcome, Outcome::RuledOut);
        let died = cut_after(|_| 60.0)
            .log("ERROR 11-15 06:25:31 [core.py:1512] EngineCore encountered a fatal error.\n");
        assert_eq!(died.judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn refusals_at_once_are_no_time_out() {
        let shed = cut_after(|_| 0.004).each_client(|_, r| {
            if r.error.is_some() {
                r.status = Some(503);
            }
        });
        assert_eq!(shed.judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn resets_only_on_connections_used_before_are_a_race() {
        let race = Given::vllm("0.28.0")
            .gauge(RequestsRunning, 1.0)
            .client(100, 0.2, 0.01, 0.03)
            .each_client(|i, r| {
                r.connect = (i % 4 == 0).then_some(Seconds(0.001));
                if i % 10 == 1 {
                    r.error = Some("the connection was reset".into());
                    (r.status, r.first, r.last, r.ended) = (None, None, None, Some(Seconds(0.003)));
                }
            });
        let j = race.judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Likely, "{j:#?}");
        assert!(j.says.contains("used again"), "{}", j.says);
    }

    #[test]
    fn healthy_clients_rule_it_out_and_no_clients_leave_it_open() {
        let healthy = Given::vllm("0.28.0").gauge(RequestsRunning, 1.0).client(100, 0.2, 0.01, 0.03);
        assert_eq!(healthy.judge(&CAUSE).outcome, Outcome::RuledOut);
        let none = Given::vllm("0.28.0").gauge(RequestsRunning, 1.0).judge(&CAUSE);
        assert_eq!(none.outcome, Outcome::CannotTell);
        assert!(none.missing[0].contains("--client"), "{:?}", none.missing);
    }
}
