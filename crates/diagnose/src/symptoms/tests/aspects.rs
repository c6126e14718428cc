//! Every aspect hurts, is fine, and is unseen.

use intriage_case::Signal::*;
use intriage_case::Watts;
use intriage_case::gpu::ClockReasons;

use super::{symptom, told, well, well_somewhere};
use crate::symptoms::{Aspect, Harm, Symptoms, Yardstick};
use crate::testing::{Card, Given};

/// What hurts by this yardstick, what is fine, and what shows nothing of it.
fn judged(aspect: Aspect, by: Yardstick, hurts: &Given, fine: &Given, unseen: &Given) {
    let bad = symptom(hurts, aspect);
    assert_eq!((bad.harm, bad.yardstick), (Harm::Hurts, Some(by)), "{bad:#?}");
    let good = symptom(fine, aspect);
    assert_eq!(good.harm, Harm::Fine, "{good:#?}");
    let nothing = symptom(unseen, aspect);
    assert_eq!((nothing.harm, nothing.yardstick), (Harm::Unseen, None), "{nothing:#?}");
    assert!(!nothing.says.is_empty(), "what is unseen says what would show it");
}

#[test]
fn a_server_that_is_well_has_no_part_that_hurts() {
    for seen in well().with_evidence(|e| Symptoms::of(e).0) {
        assert_ne!(seen.harm, Harm::Hurts, "{seen:#?}");
    }
}

#[test]
fn availability_is_told_by_a_server_that_stops_answering() {
    let gone = well().last_scrapes_fail(4, "connection refused");
    assert_eq!(told(&gone, Aspect::Availability).harm, Harm::Hurts);
    assert_eq!(symptom(&well(), Aspect::Availability).harm, Harm::Fine);
    assert_eq!(symptom(&well().without_scrapes(), Aspect::Availability).harm, Harm::Unseen);
}

#[test]
fn a_standstill_inside_the_window_is_a_lack_of_service() {
    let hung = Given::vllm("0.28.0")
        .gauge(RequestsRunning, 37.0)
        .gauge(RequestsWaiting, 112.0)
        .gauge(KvUsage, 0.7)
        .counters(TokensGenerated, &[9000.0, 9500.0, 9600.0])
        .counters(TokensPrompt, &[90_000.0])
        .gaps(&[0.02, 0.02]);
    let seen = symptom(&hung, Aspect::Availability);
    assert_eq!((seen.harm, seen.yardstick), (Harm::Hurts, Some(Yardstick::CalmPart)), "{seen:#?}");
    assert!(seen.start.is_some() && seen.end.is_some() && seen.share.get() > 0.5, "{seen:#?}");
}

#[test]
fn errors_are_a_share_of_the_answers() {
    let failing = well().answered("5xx", 50.0);
    judged(Aspect::Errors, Yardstick::Share, &failing, &well(), &well().without(HttpResponses));
    assert_eq!(symptom(&failing, Aspect::Errors).margin().map(f64::round), Some(18.0), "9.1 % of 0.5 %");
    let promised = failing.objective("errors=20%");
    assert_eq!(symptom(&promised, Aspect::Errors).harm, Harm::Fine, "a stated share comes first");
    let strict = well().answered("5xx", 1.0).objective("errors=0.1%");
    assert_eq!(symptom(&strict, Aspect::Errors).yardstick, Some(Yardstick::Objective));
    assert_eq!(symptom(&strict, Aspect::Errors).harm, Harm::Hurts);
}

/// So many got a first token and so many ended while the batch stayed as large as it was.
fn begun_and_ended(begun: f64, ended: f64) -> Given {
    let first = |t| [(t, begun)];
    well().observed(LatencyTtft, &first(0.05)).finished("stop", ended).answered("2xx", begun)
}

#[test]
fn requests_that_began_and_never_ended_were_given_up() {
    let halves = begun_and_ended(91.0, 43.0);
    judged(
        Aspect::Aborts,
        Yardstick::Share,
        &halves,
        &begun_and_ended(91.0, 90.0),
        &well().without(LatencyTtft),
    );
    // Forty-eight less the eight that were in the batch when the window began.
    assert!(symptom(&halves, Aspect::Aborts).says.starts_with("40 requests of 91 requests"), "at the least");
}

#[test]
fn a_growing_batch_holds_those_that_have_not_ended() {
    let growing: Vec<f64> = (0..12).map(|i| 8.0 + 4.0 * f64::from(i)).collect();
    let filling = begun_and_ended(91.0, 43.0).gauges(RequestsRunning, &growing);
    assert_eq!(symptom(&filling, Aspect::Aborts).harm, Harm::Fine);
}

#[test]
fn requests_thrown_back_wait_and_are_not_given_up() {
    // A pool too small for eight: seven began, five of them wait again, and the engine counts no preemption.
    let shrinking: Vec<f64> = vec![0.0, 4.0, 7.0, 7.0, 6.0, 5.0, 4.0, 3.0];
    let growing = [0.0, 0.0, 1.0, 1.0, 2.0, 3.0, 4.0, 5.0];
    let back =
        begun_and_ended(7.0, 0.0).gauges(RequestsRunning, &shrinking).gauges(RequestsWaiting, &growing);
    assert_eq!(symptom(&back, Aspect::Aborts).harm, Harm::Fine);
    let gone = back.gauge(RequestsWaiting, 0.0);
    assert_eq!(symptom(&gone, Aspect::Aborts).harm, Harm::Hurts, "those that left the batch are nowhere");
}

/// A batch of eight with so many waiting, each for so long.
fn queued(waiting: f64, seconds: f64) -> Given {
    well()
        .gauge(RequestsWaiting, waiting)
        .observed(LatencyTtft, &[(seconds + 0.05, 500.0)])
        .observed(LatencyQueue, &[(seconds, 500.0)])
}

#[test]
fn a_queue_hurts_from_a_twentieth_of_a_second() {
    let nothing = well().without(LatencyQueue).without(RequestsWaiting);
    judged(Aspect::Queue, Yardstick::Share, &queued(20.0, 2.0), &queued(0.2, 0.01), &nothing);
}

#[test]
fn a_queue_in_a_part_of_the_window_is_not_hidden_by_the_rest() {
    let stretch = well().gauges(RequestsWaiting, &[0.0, 0.0, 0.0, 0.0, 60.0, 60.0, 60.0, 0.0]);
    let seen = symptom(&stretch, Aspect::Queue);
    assert_eq!((seen.harm, seen.yardstick), (Harm::Hurts, Some(Yardstick::CalmPart)), "{seen:#?}");
    let (start, end) = (seen.start.expect("it has a beginning"), seen.end.expect("and an end"));
    assert!(end.since(start).get() < 30.0, "{seen:#?}");
}

#[test]
fn a_prefill_hurts_by_its_floor_or_by_what_chat_services_promise() {
    let slow = |ttft: f64| {
        well().observed(LatencyTtft, &[(ttft, 500.0)]).observed(LatencyPrefill, &[(ttft - 0.01, 500.0)])
    };
    judged(Aspect::Prefill, Yardstick::Floor, &slow(0.6), &well(), &well_somewhere());
    assert_eq!(symptom(&slow(3.0), Aspect::Prefill).yardstick, Some(Yardstick::Published));
}

#[test]
fn a_prefix_cache_that_is_off_is_prefill_nobody_need_wait_for() {
    let off = |prompts: &[(f64, f64)]| {
        well_somewhere()
            .flags("--no-enable-prefix-caching")
            .observed(TokensPromptEach, prompts)
            .observed(LatencyTtft, &[(0.6, 500.0)])
            .observed(LatencyPrefill, &[(0.55, 500.0)])
    };
    assert_eq!(symptom(&off(&[(4000.0, 500.0)]), Aspect::Prefill).harm, Harm::Hurts);
    let different = off(&[(300.0, 250.0), (15_000.0, 250.0)]);
    assert_eq!(
        symptom(&different, Aspect::Prefill).harm,
        Harm::Unseen,
        "nothing says that they share a beginning"
    );
}

#[test]
fn the_front_end_has_what_queue_prefill_and_a_step_leave() {
    let late = well().observed(LatencyTtft, &[(0.5, 500.0)]);
    judged(Aspect::FrontEnd, Yardstick::Share, &late, &well(), &well().without(LatencyTtft));
}

#[test]
fn a_step_hurts_by_what_the_card_needs_for_it() {
    let slow = well().observed(LatencyItl, &[(0.05, 100_000.0)]);
    judged(Aspect::DecodeStep, Yardstick::Floor, &slow, &well(), &well_somewhere());
    let unknown_card = well_somewhere().on_gpu().observed(LatencyItl, &[(0.3, 100_000.0)]);
    assert_eq!(symptom(&unknown_card, Aspect::DecodeStep).yardstick, Some(Yardstick::Published));
    assert_eq!(symptom(&unknown_card, Aspect::DecodeStep).harm, Harm::Hurts);
}

#[test]
fn stalls_hurt_by_their_share_of_a_token() {
    let torn = well().observed(LatencyItl, &[(0.009, 95_000.0), (0.24, 5000.0)]);
    let nothing = well().without(LatencyItl);
    judged(Aspect::Stalls, Yardstick::Floor, &torn, &well(), &nothing);
    let somewhere = well_somewhere().observed(LatencyItl, &[(0.009, 95_000.0), (0.24, 5000.0)]);
    judged(Aspect::Stalls, Yardstick::Share, &somewhere, &well_somewhere(), &nothing);
}

#[test]
fn prompts_in_the_steps_hurt_by_their_share_of_a_token() {
    // Steps of 2,000 tokens, nine of ten of them prompt, take 60 ms.
    let mixed = |gap| {
        well_somewhere()
            .observed(LatencyItl, &[(gap, 20_000.0)])
            .observed(TokensPerStep, &[(2000.0, 1000.0)])
            .counter(TokensPrompt, 900_000.0)
    };
    judged(Aspect::Interference, Yardstick::Share, &mixed(0.06), &mixed(0.003), &well().without(LatencyItl));
}

#[test]
fn the_host_gap_is_what_no_kernel_fills() {
    let waiting = well().observed(LatencyItl, &[(0.05, 100_000.0)]).gpu_busy(35);
    judged(Aspect::HostGap, Yardstick::Floor, &waiting, &well().gpu_busy(95), &well_somewhere());
}

#[test]
fn preemptions_hurt_from_one_in_a_hundred_requests() {
    let often = well().counter(RequestsPreempted, 30.0);
    let once = well().counter(RequestsPreempted, 1.0);
    judged(Aspect::Preemption, Yardstick::Share, &often, &once, &well().without(RequestsPreempted));
}

#[test]
fn only_a_batch_job_is_judged_by_how_full_the_server_is() {
    let starved = well().batch();
    let full = well().batch().gauge(RequestsRunning, 200.0);
    judged(
        Aspect::Throughput,
        Yardstick::Profile,
        &starved,
        &full,
        &starved.clone().without(RequestsRunning),
    );
    assert_eq!(
        symptom(&well(), Aspect::Throughput).harm,
        Harm::Fine,
        "eight users are few, and nobody minds"
    );
}

#[test]
fn answers_that_never_stop_hurt_unless_the_weights_are_made_up() {
    let endless = |given: Given| {
        given.finished("stop", 0.0).finished("length", 500.0).observed(TokensMaxParam, &[(300.0, 500.0)])
    };
    let dummy = well_somewhere().flags("--load-format dummy");
    judged(
        Aspect::AnswerLengths,
        Yardstick::Share,
        &endless(well()),
        &endless(dummy),
        &endless(well_somewhere().flags("")),
    );
}

#[test]
fn a_low_clock_hurts_unless_full_load_explains_it() {
    let card = |card: Card| well().cards(&[card]);
    let slow = card(Card::h100().busy(0.9, 1200.0, ClockReasons(0)));
    let fast = card(Card::h100().busy(0.9, 1950.0, ClockReasons(0)));
    judged(Aspect::GpuClock, Yardstick::Floor, &slow, &fast, &well());
    let harm = |given: &Given| symptom(given, Aspect::GpuClock).harm;
    // What it draws, or the bit at its own limit, shows full load.
    let drawing = Card::h100().busy(0.99, 1500.0, ClockReasons(0)).drawing(Watts(690.0));
    assert_eq!(harm(&card(drawing)), Harm::Fine);
    assert_eq!(harm(&card(Card::h100().busy(0.99, 1500.0, ClockReasons::POWER_CAP))), Harm::Fine);
    // At a lowered limit it draws all it may and is held below its kind.
    let lowered = Card::h100().limited(Watts(400.0)).busy(0.99, 1300.0, ClockReasons::POWER_CAP);
    assert_eq!(harm(&card(lowered.drawing(Watts(398.0)))), Harm::Hurts);
}

#[test]
fn the_way_and_the_delivery_are_what_clients_wait_beyond_the_server() {
    let far = well().client(100, 0.9, 0.85, 0.009);
    judged(Aspect::Network, Yardstick::Share, &far, &well().client(100, 0.06, 0.01, 0.009), &well());
    let held_back = well().client(100, 0.9, 0.002, 0.009);
    judged(Aspect::Delivery, Yardstick::Share, &held_back, &far, &well());
    assert_eq!(symptom(&far, Aspect::Client).harm, Harm::Unseen);
}
