//! The client is the limit: it sends late, reads late, or measures itself.

use intriage_case::{ClientRequest, Ratio, Requests, Seconds, Signal};

use crate::causes::network::{clients_are_later, pieces_come_together, seen, way_impact};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::clients::Clients;
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "client-side-bottleneck",
    class: Class::Client,
    layer: Layer::Application,
    hurts: &[Aspect::Client, Aspect::Throughput, Aspect::Network, Aspect::Delivery],
    summary: "The load generator or the consumer is the limit: its event loop is full, its pool too small, or it reads too slowly.",
    symptoms: &[
        "measured times grow with the client's concurrency, the server's do not",
        "requests a second stop at a round number",
        "another client sees good times at the same moment",
    ],
    confirmed_by: &[
        "requests leave the client later than planned",
        "clients see the first token far later than the server gives it, although the head of the answer comes at once",
        "a second client sees good times meanwhile",
    ],
    refuted_by: &[
        "clients and server see the first token at about the same time",
        "the way explains the difference: late heads, or text in bursts",
        "requests wait in the server",
    ],
    look_alikes: &[
        LookAlike {
            cause: "proxy-response-buffering",
            tell: "there text comes in bursts, and straight to the server it flows",
        },
        LookAlike { cause: "network-path-latency", tell: "there connecting or the head takes the time" },
        LookAlike { cause: "offered-load-exceeds-capacity", tell: "there requests wait in the server" },
    ],
    probe: Probe {
        name: "two-clients",
        steps: "Send half of the load from another machine at the same time, or the same load with intriage bench, which certifies itself.",
        if_so: "Times fall, or twice as many requests a second get through.",
        if_not: "Nothing changes.",
    },
    remedies: &[
        Remedy::any(
            "more client processes, a larger connection pool, larger read buffers (aiohttp: read_bufsize, TCPConnector limit)",
            "cores of the client",
        ),
        Remedy::any(
            "measure with a schedule of planned sends and count from the plan (intriage bench)",
            "none",
        ),
    ],
    effect: "The client's figures come down to the server's.",
    confirm: "The client's first token comes one round trip after the server's.",
    explains: &[],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    match Sends::of(e) {
        Some(sends) if sends.late.get() >= e.limit(Limit::SendLag) => sends_late(e, &sends),
        _ => reads_late(e),
    }
}

/// Requests whose planned instant is known.
struct Sends {
    count: usize,
    /// Mean time they left after it.
    late: Seconds,
    /// Mean time until their last text, from the send.
    lasted: f64,
}

impl Sends {
    fn of(e: &Evidence<'_>) -> Option<Self> {
        let known: Vec<(&ClientRequest, f64)> =
            e.observed.client.iter().filter_map(|r| Some((r, r.late?.get()))).collect();
        if (known.len() as f64) < e.limit(Limit::MeanSample) {
            return None;
        }
        let mean = |values: &dyn Fn(&(&ClientRequest, f64)) -> f64| {
            known.iter().map(values).sum::<f64>() / known.len() as f64
        };
        let lasted = mean(&|(r, _)| r.last.map_or(0.0, Seconds::get));
        Some(Self { count: known.len(), late: Seconds(mean(&|(_, late)| *late)), lasted })
    }
}

/// The client's own account: it did not keep its plan.
fn sends_late(e: &Evidence<'_>, sends: &Sends) -> Judgement {
    let says = format!(
        "the client sends {} later than it planned, on average of {} requests",
        sends.late, sends.count
    );
    let share = Ratio::of(sends.late.get(), sends.late.get() + sends.lasted).unwrap_or(Ratio(0.0));
    let impact = Impact {
        on: ImpactOn::Ttft,
        share,
        time: Some(sends.late),
        says: format!(
            "{} per request before it is sent, {share} of what is measured from the plan",
            sends.late
        ),
    };
    Weighing::new()
        .requires(Test::Holds(seen(says.clone(), sends.late)))
        .supports(nobody_waits(e))
        .conclude(says, impact)
}

/// The server is done long before the client says so, and the way is not why.
fn reads_late(e: &Evidence<'_>) -> Judgement {
    let clients = &e.clients;
    let later = clients.as_ref().map_or(0.0, Clients::later);
    let says = format!(
        "clients see the first token {} after the server gave it, and neither connecting nor a buffer explains it",
        Seconds(later)
    );
    let mut w = Weighing::new()
        .requires(clients_are_later(e, clients))
        .requires(head_came_early(e, clients))
        .requires(text_flows(e, clients))
        .supports(nobody_waits(e));
    w = match another_client(e, clients) {
        Some(test) => w.supports(test),
        // Where in the client the time goes, and that it is the client, a second one tells.
        None => w.at_most_likely(0.6),
    };
    w.conclude(says, way_impact(clients, later))
}

/// Connecting and the head of the answer are quick: the time is lost behind them.
fn head_came_early(e: &Evidence<'_>, clients: &Result<Clients, String>) -> Test {
    let clients = match clients {
        Ok(clients) => clients,
        Err(why) => return Test::Unknown(why.clone()),
    };
    let says = format!("the head of an answer comes after {}", Seconds(clients.headers));
    let share = Ratio::of(clients.headers, clients.later()).unwrap_or(Ratio(1.0));
    Test::when(share.get() < 1.0 - e.limit(Limit::PathShare), seen(says, Seconds(clients.headers)))
}

/// Text comes at the pace at which it is made: nothing held it back on the way.
fn text_flows(e: &Evidence<'_>, clients: &Result<Clients, String>) -> Test {
    match pieces_come_together(e, clients) {
        Test::Holds(fact) => Test::Fails(fact),
        Test::Fails(fact) => Test::Holds(fact),
        unknown @ Test::Unknown(_) => unknown,
    }
}

fn nobody_waits(e: &Evidence<'_>) -> Test {
    let Some(waiting) = e.mean_busy(Signal::RequestsWaiting) else {
        return Test::Unknown("how many wait in the server is not known".into());
    };
    let says = format!("{} waiting in the server on average", Requests(waiting));
    Test::when(waiting < e.limit(Limit::NobodyWaits), e.fact(Signal::RequestsWaiting, says, waiting))
}

/// Our own probe is a second client: it went straight to the server, at the same time.
fn another_client(e: &Evidence<'_>, clients: &Result<Clients, String>) -> Option<Test> {
    let (Ok(paths), Ok(clients)) = (&e.paths, clients) else { return None };
    let first = paths.direct.first;
    let says = format!("a second client sees the first token after {}", Seconds(first));
    Some(Test::when(first - clients.server_ttft < e.limit(Limit::ClientGap), seen(says, Seconds(first))))
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::*;
    use crate::diagnosis::Outcome;
    use crate::testing::Given;

    /// The server gives the first token after 1.3 s; this client says otherwise.
    fn client(first: f64, headers: f64, gap: f64) -> Given {
        Given::vllm("0.19.0")
            .gauge(RequestsRunning, 8.0)
            .gauge(RequestsWaiting, 0.0)
            .observed(LatencyTtft, &[(1.3, 100.0)])
            .observed(LatencyItl, &[(0.02, 20_000.0)])
            .client(100, first, headers, gap)
    }

    #[test]
    fn a_client_that_reads_late_is_likely_and_a_second_one_confirms_it() {
        let j = client(9.0, 0.01, 0.02).judge(&CAUSE);
        assert_eq!((j.outcome, j.confidence), (Outcome::Likely, 0.6), "{j:#?}");
        let two = client(9.0, 0.01, 0.02).probed("http://vllm:8000", 1.32, 0.02, 31).probed(
            "http://nginx",
            1.33,
            0.02,
            31,
        );
        assert_eq!(two.judge(&CAUSE).outcome, Outcome::Confirmed);
    }

    #[test]
    fn late_heads_and_bursts_are_the_way_and_not_the_client() {
        assert_eq!(client(9.0, 7.6, 0.02).judge(&CAUSE).outcome, Outcome::RuledOut);
        assert_eq!(client(9.0, 0.01, 0.001).judge(&CAUSE).outcome, Outcome::RuledOut);
        assert_eq!(client(1.31, 0.01, 0.02).judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_client_behind_its_own_plan_says_so_itself() {
        let j = client(1.31, 0.01, 0.02).each_client(|_, r| r.late = Some(Seconds(0.4))).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.says.contains("sends 400 ms later than it planned"), "{}", j.says);
        let kept = client(1.31, 0.01, 0.02).each_client(|_, r| r.late = Some(Seconds(0.0004)));
        assert_eq!(kept.judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn without_a_record_nobody_can_tell() {
        let j = Given::vllm("0.19.0").gauge(RequestsRunning, 8.0).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
    }
}
