//! Every message takes long to arrive, whatever the server does.

use intriage_case::{Ratio, Seconds};

use super::between::{clients_are_later, pieces_come_together, probe_impact, seen, unseen, way_impact};
use super::blocked::Blocked;
use super::detours::{Detour, no_detour};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::clients::Clients;
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "network-path-latency",
    class: Class::Network,
    layer: Layer::Network,
    hurts: &[Aspect::Availability, Aspect::Network, Aspect::Delivery],
    summary: "Connecting, name look-up, a dead route, distance, loss or a hop that lets only some or none through adds time outside the server.",
    symptoms: &[
        "every request is late by about the same time",
        "the client's first token is far behind the server's",
        "new connections are worse than old ones",
    ],
    confirmed_by: &[
        "connecting and the head of the answer take most of what the client waits beyond the server",
        "on a warm connection the gap shrinks to one round trip",
        "an address that does not connect stands before one that does",
        "through a hop a stream begins only when another has ended, straight they run side by side",
        "through a hop every request fails, straight they are answered",
    ],
    refuted_by: &[
        "clients and server see the first token at about the same time",
        "the head of the answer comes at once and the text late",
        "pieces come in bursts",
    ],
    look_alikes: &[
        LookAlike { cause: "proxy-response-buffering", tell: "there pieces come in bursts" },
        LookAlike {
            cause: "frontend-input-processing-bound",
            tell: "that time is inside the server's own figure",
        },
    ],
    probe: Probe {
        name: "phases",
        steps: "Time name look-up, connect, TLS, the head of the answer and the first event, on a new and on a warm connection, from the client and from beside the server: intriage check URL --via HOP.",
        if_so: "The phases before the first event explain the gap, and beside the server it is gone.",
        if_not: "The gap is there on the server's own machine, too.",
    },
    remedies: &[
        Remedy::any("keep connections open and use them again; HTTP/2", "none"),
        Remedy::any("serve from a region nearer to the users", "hardware"),
        Remedy::any(
            "a hop's limit of connections or workers: raise it above the streams open at once",
            "memory of the hop",
        ),
        Remedy::any("look for a dead IPv6 route, a far resolver, packet loss or a wrong MTU", "time"),
    ],
    effect: "The constant part of the first-token time goes away.",
    confirm: "The client's first token comes one round trip after the server's.",
    explains: &[],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    if let Some(blocked) = Blocked::find(e) {
        return blocked.judge();
    }
    match (Detour::worst(e), &e.paths) {
        (Some(detour), _) => {
            let impact = probe_impact(&detour.url, detour.time, detour.whole);
            Weighing::new()
                .requires(Test::Holds(detour.fact))
                .advise(detour.change, detour.cost)
                .conclude(detour.says, impact)
        }
        (None, Ok(paths)) if e.clients.is_err() && paths.silent.is_empty() => {
            let impact = probe_impact(&paths.direct.url, 0.0, paths.direct.last);
            Weighing::new().requires(no_detour(paths)).conclude(String::new(), impact)
        }
        _ => by_clients(e),
    }
}

fn by_clients(e: &Evidence<'_>) -> Judgement {
    let clients = &e.clients;
    let later = clients.as_ref().map_or(0.0, Clients::later);
    let says = format!(
        "the way to the server takes {} of every first token, whatever the engine does",
        Seconds(later)
    );
    Weighing::new()
        .requires(clients_are_later(e, clients))
        .requires(phases_explain(e, clients))
        .refuted_by(pieces_come_together(e, clients))
        .conclude(says, way_impact(clients, later))
}

/// Connecting and the head of the answer take most of the gap.
fn phases_explain(e: &Evidence<'_>, clients: &Result<Clients, String>) -> Test {
    let clients = match clients {
        Ok(clients) => clients,
        Err(why) => return Test::Unknown(unseen(e, why)),
    };
    let says = format!(
        "the head of an answer alone takes {} to arrive, the first token {} longer than at the server",
        Seconds(clients.headers),
        Seconds(clients.later())
    );
    let explains =
        Ratio::of(clients.headers, clients.later()).is_some_and(|s| s.get() >= e.limit(Limit::PathShare));
    Test::when(explains, seen(says, Seconds(clients.headers)))
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::diagnosis::Outcome;
    use crate::testing::Given;

    fn far_away() -> Given {
        Given::vllm("0.28.0")
            .gauge(RequestsRunning, 4.0)
            .observed(LatencyTtft, &[(0.05, 200.0)])
            .observed(LatencyItl, &[(0.009, 20_000.0)])
            .client(100, 0.55, 0.503, 0.009)
    }

    #[test]
    fn a_head_as_late_as_the_first_token_is_the_way() {
        let j = far_away().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.says.contains("500 ms of every first token"), "{}", j.says);
    }

    #[test]
    fn a_client_beside_the_server_rules_it_out() {
        assert_eq!(far_away().client(100, 0.056, 0.003, 0.009).judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_quick_head_and_late_bunched_text_is_a_buffer() {
        assert_eq!(far_away().client(100, 0.9, 0.003, 0.0001).judge(&CAUSE).outcome, Outcome::RuledOut);
    }
}
