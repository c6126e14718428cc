//! Something between server and client collects the stream and passes it on in large pieces.

use intriage_case::Seconds;

use super::between::{clients_are_later, pieces_come_together, way_impact};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::clients::Clients;
use crate::evidence::Evidence;
use crate::weighing::{Judgement, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "proxy-response-buffering",
    class: Class::Network,
    layer: Layer::Network,
    summary: "A proxy, a gateway or the client's own library holds the stream back and lets tokens through in bursts, or all at the end.",
    symptoms: &[
        "users see nothing for a while and then a block of text",
        "the client's first token comes hardly before its last",
        "the server's own figures are fine",
    ],
    confirmed_by: &[
        "pieces reach the client closer together than the server makes tokens, and the first one late",
        "the same request straight to the server comes token by token",
        "reads at the client are multiples of 4, 8 or 16 KiB",
    ],
    refuted_by: &[
        "straight to the server the pieces are bunched, too: then it is the server's stream interval or its parser",
        "pieces come at the pace at which tokens are made",
    ],
    look_alikes: &[
        LookAlike {
            cause: "network-path-latency",
            tell: "there every piece is late by the same time, and none are bunched",
        },
        LookAlike {
            cause: "prefill-decode-interference",
            tell: "there the server's own token gaps are uneven",
        },
        LookAlike {
            cause: "speculation-ineffective",
            tell: "speculation puts several tokens in one piece at the server",
        },
    ],
    probe: Probe {
        name: "direct-and-through",
        steps: "Stream one request straight to the engine and one through each hop, and note when every event arrives.",
        if_so: "Straight it flows, through one hop it comes in bursts: that hop buffers.",
        if_not: "Both flow, or both come in bursts.",
    },
    remedies: &[
        Remedy::any(
            "nginx: proxy_buffering off; proxy_http_version 1.1; gzip off for text/event-stream",
            "more connections to the engine stay open",
        ),
        Remedy::any(
            "let the engine or a middleware send X-Accel-Buffering: no",
            "only nginx and its like obey it",
        ),
        Remedy::any(
            "Envoy and other gateways: no buffering filters on this route, flush at once",
            "filters that need the whole body no longer see it",
        ),
    ],
    effect: "The client's first token comes one network round trip after the server's, and text flows.",
    confirm: "The client's median gap between pieces comes up to latency.itl.",
    explains: &[],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    let clients = &e.clients;
    let later = clients.as_ref().map_or(0.0, Clients::later);
    let says = format!(
        "answers are held back on their way: clients see the first token {} after the server gave it, and then many at once",
        Seconds(later)
    );
    Weighing::new()
        .requires(clients_are_later(e, clients))
        .requires(pieces_come_together(e, clients))
        .conclude(says, way_impact(clients, later))
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::diagnosis::Outcome;
    use crate::testing::Given;

    /// Scenario F26: the server gives the first token after 22 ms and one every 5.5 ms.
    fn behind_nginx() -> Given {
        Given::vllm("0.28.0")
            .gauge(RequestsRunning, 4.0)
            .observed(LatencyTtft, &[(0.022, 200.0)])
            .observed(LatencyItl, &[(0.0055, 20_000.0)])
            .client(100, 0.287, 0.003, 0.0016)
    }

    #[test]
    fn tokens_that_come_faster_than_they_are_made_were_held_back() {
        let j = behind_nginx().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.says.contains("265 ms after the server"), "{}", j.says);
    }

    #[test]
    fn a_long_way_is_the_look_alike() {
        let j = behind_nginx().client(100, 0.287, 0.26, 0.0055).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut);
        assert!(j.against[0].says.contains("a token takes"), "{:?}", j.against);
    }

    #[test]
    fn without_a_client_it_cannot_be_seen() {
        let j = Given::vllm("0.28.0").observed(LatencyTtft, &[(0.022, 200.0)]).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("--client"), "{:?}", j.missing);
    }
}
