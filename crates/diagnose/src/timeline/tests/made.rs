//! Windows made by hand: twelve scrapes, five seconds apart, from 22:13:20 on.

use std::fmt::Write as _;

use intriage_case::Requests;
use intriage_case::Signal::*;
use intriage_case::gpu::ClockReasons;

use super::{says, timeline_of};
use crate::testing::{Card, Given};
use crate::timeline::EventKind::{self, *};
use crate::timeline::{Event, Timeline};

fn of(given: &Given) -> Timeline {
    timeline_of(&given.case())
}

fn told(given: &Given) -> Vec<(EventKind, String)> {
    of(given).events.into_iter().map(|event| (event.kind, event.says)).collect()
}

fn only(given: &Given, kind: EventKind) -> Event {
    let timeline = of(given);
    let all: Vec<&Event> = timeline.of_kind(kind).collect();
    assert_eq!(all.len(), 1, "{:#?}", timeline.events);
    all[0].clone()
}

/// Seconds from the beginning of the window to the scrape at this part of it.
fn seconds(part: f64) -> f64 {
    (part * 11.0).round() * 5.0
}

/// What an engine has done by a scrape: so many gaps between tokens of 50 ms, and so many long ones.
#[derive(Default)]
struct Done {
    engine: u32,
    short: f64,
    long: f64,
    length: f64,
}

impl Done {
    /// Of a process that had given 1,000 tokens before.
    fn page(&self) -> String {
        let (name, engine) = ("vllm:inter_token_latency_seconds", self.engine);
        let (before, all) = (1000.0, 1000.0 + self.short + self.long);
        let mut page = format!("vllm:generation_tokens_total{{engine=\"{engine}\"}} {all}\n");
        for bound in [0.05, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, f64::INFINITY] {
            let long = if self.length <= bound { self.long } else { 0.0 };
            let le = if bound.is_finite() { bound.to_string() } else { "+Inf".into() };
            let count = before + self.short + long;
            let _ = writeln!(page, "{name}_bucket{{engine=\"{engine}\",le=\"{le}\"}} {count}");
        }
        let sum = 0.05 * (before + self.short) + self.long * self.length;
        let _ = writeln!(
            page,
            "{name}_sum{{engine=\"{engine}\"}} {sum}\n{name}_count{{engine=\"{engine}\"}} {all}"
        );
        page
    }
}

/// Four requests decode throughout, a token each every 50 ms, but for a stop in these seconds.
fn decoding(stop: std::ops::Range<f64>) -> Given {
    Given::vllm("0.28.0").gauge(RequestsRunning, 4.0).gauge(RequestsWaiting, 0.0).each_scrape(move |part| {
        let now = seconds(part);
        let stopped = (now.min(stop.end) - stop.start).max(0.0);
        let is_over = stop.end > stop.start && now >= stop.end;
        let long = if is_over { 4.0 } else { 0.0 };
        let gaps = (4.0 * (now - stopped) / 0.05).round();
        Done { short: gaps - long, long, length: stop.end - stop.start, ..Done::default() }.page()
    })
}

#[test]
fn a_stop_that_ended_inside_the_window_is_told_with_its_true_length() {
    // The scrapes show nothing between 22:13:45 and 22:13:50; the gaps and the missing tokens show the rest.
    assert_eq!(
        told(&decoding(22.0..30.0)),
        [(Standstill, "from 22:13:42, for 8 s, no token was produced while 4 requests were running".into())]
    );
    assert_eq!(only(&decoding(22.0..30.0), Standstill).size, Some(Requests(4.0).into()));
    assert_eq!(told(&decoding(0.0..0.0)), []);
}

#[test]
fn a_stop_between_two_scrapes_shows_in_the_gaps() {
    let stop = only(&decoding(20.3..24.6), Standstill);
    assert!(
        stop.says.contains("for 4.3 s, no token was produced while 4 requests were running"),
        "{}",
        stop.says
    );
    assert_eq!(told(&decoding(20.3..22.6)), [], "a stall of a step");
}

#[test]
fn a_long_prompt_is_no_stop() {
    // The same silence, and behind it a prompt that takes 8 s at the pace of prompts here, or half a second.
    let prompt = |tokens: f64| {
        decoding(22.0..30.0)
            .counters(TokensPrompt, &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, tokens])
            .observed(LatencyPrefill, &[(0.5, 22.0)])
            .observed(TokensPromptEach, &[(100.0, 22.0)])
    };
    assert_eq!(says(&of(&prompt(1600.0)), Standstill), Vec::<String>::new());
    assert_eq!(says(&of(&prompt(100.0)), Standstill).len(), 1);
}

#[test]
fn one_engine_of_two_that_stops_is_named() {
    let two = Given::vllm("0.28.0").each_scrape(|part| {
        let now = seconds(part);
        let page = |engine: u32, seconds: f64| {
            let done = Done { engine, short: 80.0 * seconds, ..Done::default() };
            format!("vllm:num_requests_running{{engine=\"{engine}\"}} 4\n{}", done.page())
        };
        page(0, now) + &page(1, now.min(30.0))
    });
    assert_eq!(
        told(&two),
        [(Standstill, "from 22:13:50 to the end of the window (25 s) no token was produced by engine 1 while 4 requests were running".into())]
    );
}

#[test]
fn a_pause_that_shows_nobody_is_told_from_an_idle_time() {
    // Nobody runs from 20 to 35 s; then the same four go on, or four others come.
    let silent = |long: f64| {
        let running = [4.0, 4.0, 4.0, 4.0, 0.0, 0.0, 0.0, 0.0, 4.0];
        let given = Given::vllm("0.28.0").gauges(RequestsRunning, &running).gauge(RequestsWaiting, 0.0);
        given.each_scrape(move |part| {
            let now = seconds(part);
            let gaps = 80.0 * (now.min(20.0) + (now - 35.0).max(0.0));
            let long = if now > 36.0 { long } else { 0.0 };
            Done { short: gaps - long, long, length: 15.0, ..Done::default() }.page()
        })
    };
    let pause = only(&silent(4.0), Standstill);
    assert_eq!(
        pause.says,
        "from 22:13:40, for 15 s, no token was produced although requests were open: a gap between two tokens of 10.0 s and more ended with it"
    );
    assert_eq!(says(&of(&silent(0.0)), Standstill), Vec::<String>::new());
}

/// So many requests come and end in each interval, one more held for each of `held`.
fn arriving(each: &[f64], waiting: &[f64]) -> Given {
    let mut total = 100.0;
    let mut sums = vec![total];
    for (i, came) in each.iter().enumerate() {
        let queued = |i: usize| waiting.get(i).or(waiting.last()).copied().unwrap_or(0.0);
        total += came - (queued(i + 1) - queued(i));
        sums.push(total);
    }
    Given::vllm("0.28.0")
        .gauge(RequestsRunning, 8.0)
        .gauges(RequestsWaiting, waiting)
        .counters(RequestsFinished, &sums)
        .counters(TokensGenerated, &sums)
}

#[test]
fn requests_that_come_at_once_are_a_burst_until_the_queue_is_as_before() {
    let each = [10.0, 11.0, 9.0, 10.0, 160.0, 10.0, 9.0, 11.0, 10.0, 9.0, 11.0];
    let waiting = [0.0, 0.0, 0.0, 0.0, 0.0, 120.0, 80.0, 40.0, 0.0];
    let burst = only(&arriving(&each, &waiting), Burst);
    assert_eq!(
        burst.says,
        "at 22:13:40, 160 requests came within 5 s where 10 requests are usual; the queue was as before 20 s later"
    );
    assert_eq!((burst.seconds.get(), burst.size), (20.0, Some(Requests(160.0).into())));
    let never = only(&arriving(&each, &[0.0, 0.0, 0.0, 0.0, 0.0, 120.0]), Burst);
    assert!(never.open && never.says.contains("not as before when the window ended"), "{}", never.says);
}

#[test]
fn chance_and_clients_that_ask_anew_are_no_burst() {
    let poisson = [10.0, 14.0, 5.0, 8.0, 19.0, 10.0, 6.0, 12.0, 10.0, 9.0, 16.0];
    assert_eq!(told(&arriving(&poisson, &[0.0])), []);
    // Sixteen at once, who are all answered at once and ask again.
    let waves = [0.0, 0.0, 16.0, 0.0, 0.0, 0.0, 16.0, 0.0, 0.0, 0.0, 16.0];
    assert_eq!(says(&of(&arriving(&waves, &[0.0])), Burst), Vec::<String>::new());
}

#[test]
fn clumps_that_come_all_the_time_are_a_burst_only_where_they_wait() {
    let each = [10.0, 30.0, 9.0, 3.0, 31.0, 10.0, 2.0, 30.0, 11.0, 4.0, 9.0];
    assert_eq!(says(&of(&arriving(&each, &[0.0])), Burst), Vec::<String>::new());
    let waiting = [0.0, 0.0, 12.0, 0.0, 0.0, 12.0, 0.0, 0.0, 12.0, 0.0];
    let found = says(&of(&arriving(&each, &waiting)), Burst);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[1].contains("31 requests came within 5 s"), "{found:?}");
}

#[test]
fn what_comes_out_of_a_standstill_is_no_burst() {
    // Twenty an interval; in the stop nobody is counted, and behind it those of three intervals at once.
    let each = [20.0, 20.0, 20.0, 20.0, 0.0, 0.0, 60.0, 20.0, 20.0, 20.0, 20.0];
    let mut finished = 100.0;
    let finished: Vec<f64> = [0.0]
        .iter()
        .chain(&each)
        .map(|n| {
            finished += n;
            finished
        })
        .collect();
    let stopped = decoding(20.0..30.0).counters(RequestsFinished, &finished);
    let kinds: Vec<EventKind> = told(&stopped).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, [Standstill]);
}

#[test]
fn slow_first_answers_of_a_new_process_are_its_warm_up() {
    let first_tokens = |slow: f64| {
        let page = |part: f64| {
            let answers = (seconds(part) / 5.0 - 1.0).max(0.0) * 10.0;
            let sum = answers.min(10.0) * slow + (answers - 10.0).max(0.0) * 0.1;
            format!(
                "vllm:time_to_first_token_seconds_sum {sum}\nvllm:time_to_first_token_seconds_count {answers}\n"
            )
        };
        Given::vllm("0.28.0").gauges(RequestsRunning, &[0.0, 4.0]).each_scrape(page)
    };
    let slow = only(&first_tokens(7.0), WarmUp);
    assert_eq!(
        slow.says,
        "from 22:13:23 to 22:13:30 the first 10 requests were slow: the first token came after 7.00 s, later on 100 ms; the server was warming up"
    );
    assert_eq!(told(&first_tokens(0.2)), []);
}

#[test]
fn a_rate_that_changes_and_stays_is_a_step() {
    let each = [10.0, 12.0, 9.0, 11.0, 10.0, 41.0, 39.0, 40.0, 42.0, 38.0, 40.0];
    let step = only(&arriving(&each, &[0.0]), LoadStep);
    assert_eq!(step.says, "from 22:13:45 to the end of the window (30 s) 8 req/s came instead of 2.1 req/s");
}

#[test]
fn a_load_that_starts_or_ends_inside_the_window_is_told() {
    let each = [0.0, 0.0, 0.0, 0.0, 20.0, 22.0, 19.0, 21.0, 0.0, 0.0, 0.0];
    let running = [0.0, 0.0, 0.0, 0.0, 0.0, 8.0, 8.0, 8.0, 0.0];
    let given = arriving(&each, &[0.0]).gauges(RequestsRunning, &running);
    let kinds: Vec<EventKind> = told(&given).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, [LoadStart, LoadEnd]);
    assert_eq!(
        only(&given, LoadStart).says,
        "traffic began at 22:13:40, 20 s after the beginning of the window"
    );
    assert_eq!(only(&given, LoadEnd).says, "traffic ended at 22:14:00, 15 s before the end of the window");
}

#[test]
fn counters_that_fall_are_a_restart_and_missing_scrapes_are_no_answer() {
    let given = Given::vllm("0.28.0")
        .gauge(RequestsRunning, 4.0)
        .counters(TokensGenerated, &[900.0, 1000.0, 1100.0, 20.0, 120.0, 220.0]);
    assert_eq!(
        only(&given, Restart).says,
        "between 22:13:30 and 22:13:35 the counters began anew: the server was started again"
    );
    let mut case = given.case();
    case.scrapes.drain(5..8);
    let hole = &says(&timeline_of(&case), NoAnswer)[0];
    assert!(hole.starts_with("between 22:13:40 and 22:14:00 (20 s) there is no scrape"), "{hole}");
    let gone = only(&given.last_scrapes_fail(3, "connection refused"), NoAnswer);
    assert!(gone.open && gone.says.contains("(3 looks failed: connection refused)"), "{}", gone.says);
}

#[test]
fn tokens_that_become_slower_under_the_same_load_are_a_slowdown() {
    let half = |n: f64| vec![n; 6];
    let slower = |running: &[f64], more_prompts: f64| {
        let prompts = |i: i32| 1e4 * f64::from(i) + more_prompts * f64::from((i - 6).max(0));
        let prompts: Vec<f64> = (0..12).map(prompts).collect();
        Given::vllm("0.28.0")
            .gauges(RequestsRunning, running)
            .gauge(RequestsWaiting, 0.0)
            .counters(TokensPrompt, &prompts)
            .observed_in_halves(LatencyItl, &[(0.02, 5500.0)], &[(0.06, 5500.0)])
    };
    let same = only(&slower(&half(8.0), 0.0), SlowTokens);
    assert_eq!(
        (same.usual.map(|q| q.to_string()), same.size.map(|q| q.to_string())),
        (Some("20.0 ms".into()), Some("60.0 ms".into()))
    );
    assert!(same.says.contains("and the load does not explain it") && same.open, "{}", same.says);
    // Three times the batch, or three times the prompts.
    let larger = [half(8.0), half(24.0)].concat();
    assert_eq!(says(&of(&slower(&larger, 0.0)), SlowTokens), Vec::<String>::new());
    assert_eq!(says(&of(&slower(&half(8.0), 3e4)), SlowTokens), Vec::<String>::new());
    // Requests pile up because they are slow: at first the batch is as before.
    let piled = [half(8.0), vec![8.0, 14.0, 20.0, 24.0, 24.0, 24.0]].concat();
    assert_eq!(says(&of(&slower(&piled, 0.0)), SlowTokens).len(), 1);
}

#[test]
fn a_clock_that_falls_while_the_card_works_is_a_throttle() {
    let given = Given::vllm("0.28.0").on_gpu().gauge(RequestsRunning, 8.0);
    let slow = only(&given.clone().cards(&[Card::h100().busy(0.99, 600.0, ClockReasons(0))]), Throttle);
    assert!(
        slow.says.contains("GPU 0 ran at as little as 600 MHz of 1980 MHz, 30 % while it worked"),
        "{}",
        slow.says
    );
    let fine = given.clone().cards(&[Card::h100().busy(0.99, 1900.0, ClockReasons::POWER_CAP)]);
    assert_eq!(told(&fine), []);
    let idle = given.cards(&[Card::h100().busy(0.02, 345.0, ClockReasons::IDLE)]);
    assert_eq!(told(&idle), []);
}
