//! Time lost on a way, as probes of it show: a dead address, slow phases, a hop that makes streams wait.

use intriage_case::{Fact, Family, Ratio, Seconds};

use super::between::probed;
use crate::evidence::Evidence;
use crate::paths::{Paths, dead_before_alive};
use crate::thresholds::Limit;
use crate::weighing::Test;

/// Time a probe lost on a way.
pub(super) struct Detour {
    /// The way.
    pub(super) url: String,
    /// Seconds lost.
    pub(super) time: f64,
    /// Seconds a short answer takes on this way.
    pub(super) whole: f64,
    /// The loss in one sentence.
    pub(super) says: String,
    /// What shows it.
    pub(super) fact: Fact,
    /// What to change there.
    pub(super) change: String,
    /// What that costs.
    pub(super) cost: &'static str,
}

impl Detour {
    /// The costliest one that was seen.
    pub(super) fn worst(e: &Evidence<'_>) -> Option<Self> {
        let all = [dead_address(e), slow_phases(e), waits_for_its_turn(e)];
        all.into_iter().flatten().max_by(|a, b| a.time.total_cmp(&b.time))
    }
}

/// A client that tries a name's addresses in order waits for a dead one first.
fn dead_address(e: &Evidence<'_>) -> Option<Detour> {
    let lost = e.observed.paths.iter().filter_map(|probe| Some((probe, dead_before_alive(probe)?)));
    let (probe, (family, lost)) = lost.max_by(|a, b| a.1.1.get().total_cmp(&b.1.1.get()))?;
    if lost.get() < e.limit(Limit::ClientGap) {
        return None;
    }
    let (dead, record) = match family {
        Family::V6 => ("IPv6", "AAAA"),
        Family::V4 => ("IPv4", "A"),
    };
    let answer = e.paths.as_ref().map_or(0.0, |p| p.direct.last);
    let says =
        format!("the {dead} route to {} is dead: a client that tries it first loses {lost}", probe.url);
    let fact = format!(
        "{} has {} A and {} AAAA: the {record} address does not connect within {lost}, another one does",
        probe.url, probe.resolved.a, probe.resolved.aaaa
    );
    Some(Detour {
        url: probe.url.clone(),
        time: lost.get(),
        whole: lost.get() + answer,
        says,
        fact: probed(&probe.url, fact, lost),
        change: format!(
            "mend the {dead} route to {}, or take its {record} record away until it is mended",
            probe.url
        ),
        cost: "clients that have nothing else no longer find it",
    })
}

/// Name, connection, handshake and the head of a small answer explain how much later a hop is.
fn slow_phases(e: &Evidence<'_>) -> Option<Detour> {
    let paths = e.paths.as_ref().ok()?;
    let held_back = paths.holding_back(e.thresholds).map(|hop| hop.url.as_str());
    let explained = paths.hops.iter().filter(|hop| Some(hop.url.as_str()) != held_back).filter_map(|hop| {
        let later = paths.later(hop);
        let head = match (hop.first_byte, paths.direct.first_byte) {
            (Some(through), Some(direct)) => through - direct,
            _ => hop.head - paths.direct.head,
        };
        let phases = hop.set_up - paths.direct.set_up + head;
        let most = Ratio::of(phases, later).is_some_and(|s| s.get() >= e.limit(Limit::PathShare));
        (later >= e.limit(Limit::ClientGap) && most).then_some((hop, later, head))
    });
    let (hop, later, head) = explained.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let says = format!("the way through {} takes {} of every first token", hop.url, Seconds(later));
    let fact = format!(
        "through {} name, connection and handshake take {} (straight {}), and the head of a small answer {} longer",
        hop.url,
        Seconds(hop.set_up),
        Seconds(paths.direct.set_up),
        Seconds(head.max(0.0))
    );
    let new_only = hop.set_up - paths.direct.set_up >= e.limit(Limit::PathShare) * later;
    Some(Detour {
        url: hop.url.clone(),
        time: later,
        whole: hop.set_up + hop.last,
        says,
        fact: probed(&hop.url, fact, Seconds(later)),
        change: if new_only {
            format!(
                "keep connections to {} open and use them again: a warm one is {} late",
                hop.url,
                Seconds(head.max(0.0))
            )
        } else {
            format!(
                "bring {} nearer to the server or to its clients: every message takes the detour",
                hop.url
            )
        },
        cost: if new_only { "none" } else { "another place for the hop" },
    })
}

/// A hop that lets only so many through at once, where the server itself takes all.
fn waits_for_its_turn(e: &Evidence<'_>) -> Option<Detour> {
    let paths = e.paths.as_ref().ok()?;
    let (0, _) = paths.direct.waited_for_turn(e.thresholds)? else { return None };
    let hop = paths.hops.iter().find(|h| h.waited_for_turn(e.thresholds).is_some_and(|(n, _)| n > 0))?;
    let (waited, longest) = hop.waited_for_turn(e.thresholds)?;
    let all = hop.held.len();
    let says = format!(
        "{} lets only {} of {all} streams through at once; the others wait for their turn, up to {}",
        hop.url,
        all - waited,
        Seconds(longest)
    );
    let fact = format!(
        "of {all} streams asked for at once through {}, {waited} began only when another had ended; straight all began at once",
        hop.url
    );
    Some(Detour {
        url: hop.url.clone(),
        time: longest,
        whole: longest + hop.last,
        says,
        fact: probed(&hop.url, fact, Seconds(longest)),
        change: format!(
            "raise the limit of connections or workers of {} above the streams open at once",
            hop.url
        ),
        cost: "memory of the hop; the engine gets the requests instead",
    })
}

/// What the slowest hop showed instead.
pub(super) fn no_detour(paths: &Paths) -> Test {
    let slowest = paths.hops.iter().max_by(|a, b| paths.later(a).total_cmp(&paths.later(b)));
    let hop = slowest.unwrap_or(&paths.direct);
    let says = format!(
        "through {} name, connection and handshake take {}, the first text comes {} later than straight",
        hop.url,
        Seconds(hop.set_up),
        Seconds(paths.later(hop))
    );
    Test::Fails(probed(&hop.url, says, Seconds(paths.later(hop))))
}

#[cfg(test)]
mod tests {
    use intriage_case::{AddressSeen, Family, PathProbe, Seconds, StreamSeen};

    use super::super::network_path_latency::CAUSE;
    use crate::diagnosis::Outcome;
    use crate::testing::Given;

    fn straight() -> Given {
        Given::vllm("0.28.0").probed("http://vllm:8000", 0.05, 0.009, 32)
    }

    fn dead_ipv6(probe: &mut PathProbe) {
        probe.resolved.aaaa = 1;
        let dead = AddressSeen {
            family: Family::V6,
            address: "2001:db8::7".into(),
            connect: None,
            failed: Some(Seconds(5.0)),
            error: Some("no answer within 5 s".into()),
        };
        probe.addresses.insert(0, dead);
    }

    #[test]
    fn a_dead_ipv6_route_before_a_living_ipv4_one_is_named() {
        let j = straight().probed("https://llm.example", 0.051, 0.009, 32).but(dead_ipv6).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.says.contains("the IPv6 route to https://llm.example is dead"), "{}", j.says);
        assert!(j.advice[0].change.contains("AAAA record"), "{:?}", j.advice);
    }

    #[test]
    fn an_address_that_refuses_at_once_costs_nothing() {
        // localhost has ::1 first, and many engines listen on 127.0.0.1 alone.
        let refused = straight().probed("http://localhost", 0.051, 0.009, 32).but(|p| {
            dead_ipv6(p);
            p.addresses[0].failed = Some(Seconds(0.0001));
        });
        assert_eq!(refused.judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_dead_address_after_a_living_one_costs_nothing() {
        let last = straight().probed("https://llm.example", 0.051, 0.009, 32).but(|p| {
            dead_ipv6(p);
            p.addresses.swap(0, 1);
        });
        assert_eq!(last.judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn a_slow_resolver_on_the_way_through_a_hop_is_named() {
        let slow = straight()
            .probed("http://gateway", 0.052, 0.009, 32)
            .but(|p| p.resolved.took = Seconds(1.5))
            .judge(&CAUSE);
        assert_eq!(slow.outcome, Outcome::Confirmed, "{slow:#?}");
        assert!(slow.says.contains("through http://gateway takes 1.50 s"), "{}", slow.says);
    }

    #[test]
    fn a_long_way_shows_in_the_head_of_a_small_answer() {
        let far =
            straight().probed("http://gateway", 0.45, 0.009, 32).but(|p| p.first_byte = Some(Seconds(0.403)));
        assert_eq!(far.judge(&CAUSE).outcome, Outcome::Confirmed);
        let late_text_only = straight().probed("http://gateway", 0.45, 0.009, 32);
        assert_eq!(late_text_only.judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    /// Four streams asked for at once; each begins and ends at these times.
    fn held(times: &[(f64, f64)]) -> Vec<StreamSeen> {
        let seen = |&(first, last): &(f64, f64)| StreamSeen {
            first: Some(Seconds(first)),
            last: Some(Seconds(last)),
            ..StreamSeen::default()
        };
        times.iter().map(seen).collect()
    }

    fn pools(direct: &[(f64, f64)], through: &[(f64, f64)]) -> Outcome {
        let (direct, through) = (held(direct), held(through));
        straight()
            .but(|p| p.held.clone_from(&direct))
            .probed("http://gateway", 0.051, 0.009, 32)
            .but(|p| p.held.clone_from(&through))
            .judge(&CAUSE)
            .outcome
    }

    #[test]
    fn a_hop_that_lets_two_through_at_a_time_is_named() {
        let side_by_side = [(0.1, 1.0), (0.1, 1.0), (0.12, 1.1), (0.1, 1.0)];
        let in_turn = [(0.1, 1.0), (0.1, 1.0), (1.1, 2.0), (1.1, 2.0)];
        assert_eq!(pools(&side_by_side, &in_turn), Outcome::Confirmed);
        assert_eq!(pools(&in_turn, &in_turn), Outcome::RuledOut, "the engine itself takes two at a time");
        let held_back = [(1.0, 1.0), (1.0, 1.0), (1.1, 1.1), (1.0, 1.0)];
        assert_eq!(pools(&side_by_side, &held_back), Outcome::RuledOut, "a buffer is no queue");
    }
}
