//! Clients that give up ask again, and what they ask again keeps the server full.

use intriage_case::{Ratio, Signal};

use super::halves::Halves;
use crate::causes::network::seen;
use crate::causes::shared::{queue_impact, requests_wait};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::evidence::Evidence;
use crate::symptoms::Aspect;
use crate::thresholds::Limit;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "retry-storm",
    class: Class::Client,
    layer: Layer::Application,
    hurts: &[Aspect::Errors, Aspect::Aborts, Aspect::Queue],
    summary: "Clients repeat what was slow or failed, so that the server stays full although nobody wants more.",
    symptoms: &[
        "more requests arrive when answers become slower",
        "many requests are aborted",
        "the server does not recover until traffic is cut",
    ],
    confirmed_by: &[
        "more than 5 % of the requests repeat an earlier one while the server is full",
        "more than 2 % of the requests are given up, and arrivals grow while fewer finish",
    ],
    refuted_by: &[
        "fewer than 1 % of the requests repeat an earlier one",
        "hardly any request is given up or fails",
    ],
    look_alikes: &[
        LookAlike { cause: "offered-load-exceeds-capacity", tell: "there every request is wanted once" },
        LookAlike { cause: "burst-arrival-transient", tell: "there the burst is over and the queue drains" },
    ],
    probe: Probe {
        name: "retry-off",
        steps: "Switch retries off for one tenant, or cap them at the gateway, for ten minutes.",
        if_so: "Arrivals and the queue fall.",
        if_not: "Nothing changes.",
    },
    remedies: &[
        Remedy::any(
            "clients: exponential back-off with jitter, at most one retry in ten requests, none after the first token",
            "some requests fail that would have got through",
        ),
        Remedy::any(
            "gateway: refuse early with Retry-After, drop repeats, pass deadlines on so that work nobody waits for is aborted",
            "work at the gateway",
        ),
    ],
    effect: "Arrivals fall to what is really wanted, and the queue drains.",
    confirm: "The share of repeats falls below 1 % and requests.waiting to zero.",
    explains: &["offered-load-exceeds-capacity", "overload-shedding"],
    judge,
};

fn judge(e: &Evidence<'_>) -> Judgement {
    match repeats(e) {
        Some(share) => by_clients(e, share),
        None => by_server(e),
    }
}

/// Share of the clients' requests that repeat an earlier one; `None` where clients do not count their tries.
fn repeats(e: &Evidence<'_>) -> Option<Ratio> {
    let tries: Vec<u32> = e.observed.client.iter().filter_map(|r| r.attempt).collect();
    if (tries.len() as f64) < e.limit(Limit::MeanSample) {
        return None;
    }
    Ratio::of(tries.iter().filter(|n| **n > 1).count() as f64, tries.len() as f64)
}

fn by_clients(e: &Evidence<'_>, share: Ratio) -> Judgement {
    let says = format!("{share} of the requests repeat an earlier one while the server is full");
    let fact = seen(format!("{share} of the requests repeat an earlier one"), share);
    let mut w = Weighing::new()
        .refuted_by(Test::when(share.get() < e.limit(Limit::FewRepeats), fact.clone()))
        .requires(Test::when(share.get() > e.limit(Limit::Repeats), fact))
        .requires(server_is_full(e));
    // Without its repeats the load would fit: the queue is theirs.
    if fits_without(e, share) {
        w = w.explains(CAUSE.explains);
    }
    w.conclude(says, queue_impact(e))
}

/// What is wanted once is less than what the server finishes.
fn fits_without(e: &Evidence<'_>, repeats: Ratio) -> bool {
    let Some(halves) = Halves::of(e) else { return false };
    let (Some(arrive), Some(finish)) = (halves.of_arrivals(e), halves.of_completions(e)) else {
        return false;
    };
    (1.0 - repeats.get()) * arrive.after <= finish.after
}

/// Requests wait, or fail for want of room.
fn server_is_full(e: &Evidence<'_>) -> Test {
    let waits = requests_wait(e);
    if matches!(waits, Test::Holds(_)) {
        return waits;
    }
    match e.failed_share().filter(|f| f.get() > e.limit(Limit::ErrorShare)) {
        Some(failed) => {
            Test::Holds(e.fact(Signal::HttpResponses, format!("{failed} of the requests fail"), failed.get()))
        }
        None => waits,
    }
}

/// What the server alone shows: given up, more arriving, fewer finishing.
fn by_server(e: &Evidence<'_>) -> Judgement {
    let given_up = given_up(e);
    let says = format!(
        "clients give up {} of the requests, and more arrive while fewer finish: they seem to ask again",
        given_up.unwrap_or(Ratio(0.0))
    );
    Weighing::new()
        .requires(clients_give_up(e, given_up))
        .requires(load_turns_on_itself(e))
        .requires(server_is_full(e))
        .supports(Test::Unknown(
            "whether the same requests came again only their clients know (--client with `attempt`)".into(),
        ))
        .at_most_likely(0.45)
        .conclude(says, queue_impact(e))
}

fn given_up(e: &Evidence<'_>) -> Option<Ratio> {
    Ratio::of(e.delta_by(Signal::RequestsFinished, "abort")?, e.finished()?.get())
}

fn clients_give_up(e: &Evidence<'_>, given_up: Option<Ratio>) -> Test {
    const CLIENTS_KNOW: &str =
        "whether requests came again only their clients know (--client with `attempt`)";
    let Some(share) = given_up else { return Test::Unknown(CLIENTS_KNOW.into()) };
    let fact =
        e.fact(Signal::RequestsFinished, format!("clients gave up {share} of the requests"), share.get());
    if share.get() > e.limit(Limit::GivenUp) {
        return Test::Holds(fact);
    }
    match e.failed_share() {
        // What fails fast is asked again without being given up.
        Some(failed) if failed.get() > e.limit(Limit::ErrorShare) => Test::Unknown(CLIENTS_KNOW.into()),
        _ => Test::Fails(fact),
    }
}

/// Arrivals grow from the first half of the window to the second, completions fall.
fn load_turns_on_itself(e: &Evidence<'_>) -> Test {
    let changes = Halves::of(e).and_then(|h| h.of_arrivals(e).zip(h.of_completions(e)));
    let Some((arrive, finish)) = changes else {
        return Test::Unknown("the window is too short to see arrivals grow while completions fall".into());
    };
    let says = format!(
        "requests arrive {:.2} times a second, then {:.2}; {:.2} finish, then {:.2}",
        arrive.before, arrive.after, finish.before, finish.after
    );
    let fact =
        e.derived(says, Ratio(1.0 + arrive.growth()), "first tokens, queue and finished requests, per half");
    let falls = finish.before - finish.after > finish.noise;
    Test::when(arrive.grew(e) && falls, fact)
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use super::CAUSE;
    use crate::diagnosis::Outcome;
    use crate::testing::{Given, Place};

    /// A full server; every n-th request is a repeat.
    fn full(nth: usize) -> Given {
        Given::vllm("0.28.0")
            .gauge(RequestsRunning, 32.0)
            .gauge(RequestsWaiting, 60.0)
            .counter(TokensGenerated, 60_000.0)
            .observed(LatencyTtft, &[(8.0, 300.0)])
            .observed(LatencyQueue, &[(7.0, 300.0)])
            .client(100, 8.0, 0.01, 0.03)
            .each_client(move |i, r| r.attempt = Some(if i % nth == 0 { 2 } else { 1 }))
    }

    #[test]
    fn a_fourth_of_repeats_at_a_full_server_is_a_storm() {
        assert_eq!(full(4).place_of(&CAUSE), Place::First);
        let j = full(4).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::Confirmed, "{j:#?}");
        assert!(j.says.starts_with("25 % of the requests repeat"), "{}", j.says);
    }

    #[test]
    fn unique_demand_is_the_look_alike_and_repeats_at_an_empty_server_do_no_harm() {
        let unique = full(4).each_client(|_, r| r.attempt = Some(1));
        assert_eq!(unique.judge(&CAUSE).outcome, Outcome::RuledOut);
        let empty = full(4).gauge(RequestsWaiting, 0.0).observed(LatencyQueue, &[(0.001, 500.0)]);
        assert_eq!(empty.judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    /// Nobody counts tries; the queue grows and so many are given up while completions change from half to half.
    fn seen_by_server(aborted: f64, finished: [f64; 3]) -> Given {
        let [start, middle, end] = finished;
        let done = move |part: f64| {
            let stops = if part < 0.5 {
                start + (middle - start) * 2.0 * part
            } else {
                middle + (end - middle) * (2.0 * part - 1.0)
            };
            format!(
                "vllm:request_success_total{{engine=\"0\",model_name=\"m\",finished_reason=\"stop\"}} {stops}\nvllm:request_success_total{{engine=\"0\",model_name=\"m\",finished_reason=\"abort\"}} {}\n",
                aborted * part
            )
        };
        Given::vllm("0.28.0")
            .gauge(RequestsRunning, 32.0)
            .gauges(
                RequestsWaiting,
                &[5.0, 6.0, 8.0, 9.0, 10.0, 12.0, 40.0, 90.0, 140.0, 190.0, 240.0, 300.0],
            )
            .counter(TokensGenerated, 60_000.0)
            .observed(LatencyTtft, &[(8.0, 300.0)])
            .observed(LatencyQueue, &[(7.0, 300.0)])
            .each_scrape(done)
    }

    #[test]
    fn given_up_and_more_of_them_while_fewer_finish_is_likely_at_most() {
        let j = seen_by_server(80.0, [0.0, 200.0, 260.0]).judge(&CAUSE);
        assert_eq!((j.outcome, j.confidence), (Outcome::Likely, 0.45), "{j:#?}");
    }

    #[test]
    fn patient_clients_and_a_level_server_rule_it_out() {
        assert_eq!(seen_by_server(0.0, [0.0, 200.0, 260.0]).judge(&CAUSE).outcome, Outcome::RuledOut);
        assert_eq!(seen_by_server(80.0, [0.0, 200.0, 400.0]).judge(&CAUSE).outcome, Outcome::RuledOut);
    }

    #[test]
    fn an_engine_that_counts_no_aborts_leaves_it_open() {
        let j = Given::vllm("0.28.0").gauge(RequestsRunning, 3.0).judge(&CAUSE);
        assert_eq!(j.outcome, Outcome::CannotTell);
    }
}
