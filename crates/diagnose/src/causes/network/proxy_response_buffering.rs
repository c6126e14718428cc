//! Something between server and client collects the stream and passes it on in large pieces.

use intriage_case::Seconds;

use super::between::{clients_are_later, pieces_come_together, probe_impact, probed, way_impact};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::clients::Clients;
use crate::evidence::Evidence;
use crate::paths::{Flow, Paths};
use crate::symptoms::Aspect;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "proxy-response-buffering",
    class: Class::Network,
    layer: Layer::Network,
    hurts: &[Aspect::Delivery, Aspect::Network],
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
        steps: "Stream one request straight to the engine and one through each hop, and note when every event arrives: intriage check URL --via HOP.",
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
    match &e.paths {
        // A hop seen to hold answers back, or hops alone; clients may come by others.
        Ok(paths) if e.clients.is_err() || paths.holding_back(e.thresholds).is_some() => by_probes(e, paths),
        _ => by_clients(e),
    }
}

/// The same question asked straight and through each hop: what differs is the hop's doing.
fn by_probes(e: &Evidence<'_>, paths: &Paths) -> Judgement {
    let Some(hop) = paths.holding_back(e.thresholds) else {
        let impact = probe_impact(&paths.direct.url, 0.0, paths.direct.last);
        return Weighing::new()
            .requires(some_hop_holds_back(paths))
            .refuted_by(direct_is_clumped(e, paths))
            .conclude(String::new(), impact);
    };
    let later = paths.later(hop);
    let says = format!(
        "{} holds answers back: through it the first text comes after {}, straight from the server after {}",
        hop.url,
        Seconds(hop.first),
        Seconds(paths.direct.first)
    );
    let mut weighing = Weighing::new()
        .requires(Test::Holds(cadence(hop)))
        .requires(Test::Holds(cadence(&paths.direct)))
        .refuted_by(direct_is_clumped(e, paths));
    if e.clients.is_ok() {
        weighing =
            weighing.supports(clients_are_later(e, &e.clients)).supports(pieces_come_together(e, &e.clients));
    }
    if let Some(encoding) = hop.encoding.as_ref().filter(|_| paths.direct.encoding.is_none()) {
        weighing = weighing.advise(
            format!(
                "at {}: proxy_buffering off, or take text/event-stream out of what it packs ({encoding})",
                hop.url
            ),
            "more bytes on the wire, hardly any for a stream of tokens",
        );
    }
    weighing.conclude(says, probe_impact(&hop.url, later, hop.set_up + hop.last))
}

/// How the pieces of an answer come on one way.
fn cadence(flow: &Flow) -> intriage_case::Fact {
    let packed = flow.encoding.as_ref().map_or(String::new(), |e| format!(", packed with {e}"));
    let way = if flow.direct { "straight from" } else { "through" };
    let reads = if flow.reads == 1.0 { "one read".to_owned() } else { format!("{} reads", flow.reads) };
    let says = format!(
        "{way} {} {} pieces of an answer come in {reads}, half of them within {} of the one before{packed}",
        flow.url,
        flow.pieces,
        Seconds(flow.gap)
    );
    probed(&flow.url, says, Seconds(flow.gap))
}

/// No hop is seen to hold anything back; one that did not answer may.
fn some_hop_holds_back(paths: &Paths) -> Test {
    if let Some((url, why)) = paths.silent.first() {
        return Test::Unknown(format!("no stream came through {url}: {why}"));
    }
    // The slowest to show anything is the likeliest to hold it back.
    let slowest = paths.hops.iter().max_by(|a, b| a.first.total_cmp(&b.first));
    Test::Fails(cadence(slowest.unwrap_or(&paths.direct)))
}

/// The server itself sends several tokens at a time.
fn direct_is_clumped(e: &Evidence<'_>, paths: &Paths) -> Test {
    Test::when(paths.direct.is_clumped(e.thresholds), cadence(&paths.direct))
}

fn by_clients(e: &Evidence<'_>) -> Judgement {
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

    /// Real vLLM on CPU and Debian's nginx with gzip for event streams: nothing until the end.
    fn behind_packing_nginx() -> Given {
        Given::vllm("0.32.0")
            .gauge(RequestsRunning, 1.0)
            .observed(LatencyTtft, &[(0.05, 20.0)])
            .observed(LatencyItl, &[(0.036, 600.0)])
            .probed("http://vllm:8000", 0.065, 0.037, 31)
            .probed("http://nginx", 1.2, 0.0, 1)
    }

    #[test]
    fn a_hop_that_lets_all_out_at_the_end_is_named_without_any_client() {
        let j = behind_packing_nginx().judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.says.starts_with("http://nginx holds answers back"), "{}", j.says);
        assert!(j.says.contains("after 1.20 s, straight from the server after 65.0 ms"), "{}", j.says);
        assert!(behind_packing_nginx().verdict().verdict.primary.cause.as_deref() == Some(CAUSE.id));
    }

    #[test]
    fn hops_through_which_text_flows_rule_it_out() {
        let flows = Given::vllm("0.32.0").probed("http://vllm:8000", 0.065, 0.037, 31).probed(
            "http://nginx",
            0.068,
            0.036,
            31,
        );
        let j = flows.judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::RuledOut, "{j:#?}");
    }

    #[test]
    fn a_server_that_sends_many_tokens_at_a_time_is_no_buffer() {
        let clumped =
            Given::vllm("0.32.0").probed("http://vllm:8000", 0.4, 0.0, 4).probed("http://nginx", 0.6, 0.0, 2);
        assert_eq!(clumped.judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn of_two_hops_the_one_nearer_to_the_server_is_named() {
        let outer = behind_packing_nginx().probed("http://gateway", 1.21, 0.0, 1);
        assert!(outer.judge(&CAUSE).says.starts_with("http://nginx "));
        let flows_first = Given::vllm("0.32.0")
            .probed("http://vllm:8000", 0.065, 0.037, 31)
            .probed("http://nginx", 0.066, 0.037, 31)
            .probed("http://gateway", 1.21, 0.0, 1);
        assert!(flows_first.judge(&CAUSE).says.starts_with("http://gateway "));
    }

    #[test]
    fn an_answer_of_a_fast_engine_that_comes_in_two_reads_was_held_back() {
        let fast = Given::vllm("0.32.0").probed("http://vllm:8000", 0.02, 0.003, 32).probed(
            "http://nginx",
            0.07,
            0.0,
            2,
        );
        assert_eq!(fast.judge(&CAUSE).outcome, Outcome::Confirmed);
    }

    #[test]
    fn a_hop_that_never_answers_leaves_it_open() {
        let silent = Given::vllm("0.32.0")
            .probed("http://vllm:8000", 0.065, 0.037, 31)
            .probed("http://nginx", 0.0, 0.0, 0)
            .but(|p| {
                p.streams.clear();
                p.error = Some("no connection".into());
            });
        let j = silent.judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
    }

    #[test]
    fn a_server_within_its_objectives_does_not_excuse_the_way_to_it() {
        let met = behind_packing_nginx().objective("ttft.mean=500ms");
        assert_eq!(met.verdict().verdict.primary.cause.as_deref(), Some(CAUSE.id));
    }

    #[test]
    fn without_a_client_it_cannot_be_seen() {
        let j = Given::vllm("0.28.0").observed(LatencyTtft, &[(0.022, 200.0)]).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
        assert!(j.missing[0].contains("--client"), "{:?}", j.missing);
    }
}
