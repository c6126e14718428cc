//! The scheduler's promises.

#![allow(clippy::unwrap_used, clippy::panic)]

use intriage_case::{Ratio, Seconds};
use proptest::prelude::*;

use super::*;
use crate::request::Content;

fn config() -> EngineConfig {
    EngineConfig {
        max_sequences: 8,
        token_budget: 256,
        chunked_prefill: true,
        plans_ahead: false,
        block_tokens: 16,
        pool_blocks: 64,
        prefix_cache: true,
        policy: Policy::Fcfs,
        context_window: 1024,
        queue_limit: None,
        max_adapters: 1,
        speculation: None,
        step: StepTime::constant(Seconds(0.010)),
    }
}

fn request(id: u64, prompt: u32, output: u32) -> Request {
    Request {
        id: RequestId(id),
        arrival: Nanos(0),
        prompt,
        output,
        max_tokens: output,
        finish: Finish::Stop,
        content: Content::Unique,
        priority: 0,
        adapter: None,
    }
}

/// What happened, in order.
#[derive(Default)]
struct Log {
    admitted: Vec<u64>,
    tokens: Vec<(u64, u32, Nanos)>,
    finished: Vec<(u64, u32, Finish)>,
    cached: Vec<u32>,
    preemptions: u32,
    drafted: (u32, u32),
    most_running: u32,
}

impl Sink for Log {
    fn admitted(&mut self, s: &Sequence, _: Nanos) {
        self.admitted.push(s.request.id.0);
        self.cached.push(s.cached);
    }
    fn tokens(&mut self, s: &Sequence, tokens: u32, _: Option<Nanos>, now: Nanos) {
        self.preemptions += s.unreported_preemptions;
        self.tokens.push((s.request.id.0, tokens, now));
    }
    fn speculated(&mut self, drafted: u32, accepted: u32) {
        self.drafted.0 += drafted;
        self.drafted.1 += accepted;
    }
    fn finished(&mut self, s: &Sequence, reason: Finish, _: Nanos) {
        self.finished.push((s.request.id.0, s.generated, reason));
    }
    fn stepped(&mut self, load: EngineLoad, _: Nanos) {
        self.most_running = self.most_running.max(load.running);
        assert!(load.blocks_held <= load.blocks);
    }
}

/// Runs until idle, at most so many steps.
fn drain(engine: &mut Engine, log: &mut Log, from: Nanos, most: u32) -> Nanos {
    let mut now = from;
    for _ in 0..most {
        let Some(end) = engine.begin_step(now, log) else { break };
        now = end;
        engine.end_step(now, log);
    }
    now
}

fn run_all(config: EngineConfig, requests: Vec<Request>) -> (Log, Nanos, Engine) {
    let mut engine = Engine::new(config, 1);
    let mut log = Log::default();
    for r in requests {
        engine.submit(r, Nanos(0)).unwrap();
    }
    // One token a step for forty prompts of 500 tokens that push each other out: far more than any test needs.
    let end = drain(&mut engine, &mut log, Nanos(0), 1_000_000);
    (log, end, engine)
}

#[test]
fn one_request_takes_one_step_for_its_prompt_and_one_a_token() {
    let (log, end, engine) = run_all(config(), vec![request(1, 100, 5)]);
    assert_eq!(log.tokens.len(), 5);
    assert_eq!(end, Nanos(50_000_000));
    assert_eq!(log.finished, vec![(1, 5, Finish::Stop)]);
    assert!(engine.is_idle() && engine.load().blocks_held == 0);
}

#[test]
fn a_long_prompt_is_cut_to_the_token_budget() {
    let (log, _, _) = run_all(config(), vec![request(1, 600, 2)]);
    assert_eq!(log.tokens[0].2, Nanos(30_000_000), "600 tokens are three steps of at most 256");
}

#[test]
fn decodes_go_before_new_prompts_in_the_budget() {
    let mut engine = Engine::new(config(), 1);
    let mut log = Log::default();
    engine.submit(request(1, 10, 50), Nanos(0)).unwrap();
    let now = drain(&mut engine, &mut log, Nanos(0), 3);
    engine.submit(request(2, 512, 2), now).unwrap();
    drain(&mut engine, &mut log, now, 2);
    assert_eq!(log.tokens.iter().filter(|t| t.0 == 1).count(), 5, "a token in every step");
    assert_eq!(log.tokens.iter().filter(|t| t.0 == 2).count(), 0, "255 + 255 of 512 tokens are computed");
}

#[test]
fn where_steps_are_planned_ahead_a_newcomer_is_computed_one_step_later() {
    let first_token = |plans_ahead| {
        let mut engine = Engine::new(EngineConfig { plans_ahead, ..config() }, 1);
        let mut log = Log::default();
        engine.submit(request(1, 10, 50), Nanos(0)).unwrap();
        let now = drain(&mut engine, &mut log, Nanos(0), 3);
        engine.submit(request(2, 100, 2), now).unwrap();
        drain(&mut engine, &mut log, now, 5);
        let (_, _, at) = log.tokens.iter().find(|t| t.0 == 2).unwrap();
        at.since(now)
    };
    assert_eq!(first_token(false), Nanos(10_000_000));
    assert_eq!(first_token(true), Nanos(20_000_000));
    let (log, _, _) = run_all(EngineConfig { plans_ahead: true, ..config() }, vec![request(1, 600, 2)]);
    assert_eq!(log.tokens[0].2, Nanos(30_000_000), "an idle engine begins at once");
}

#[test]
fn a_run_can_begin_in_the_middle_of_an_answer() {
    let mut engine = Engine::new(EngineConfig { max_sequences: 1, ..config() }, 1);
    let mut log = Log::default();
    assert!(engine.resume(request(1, 100, 20), 15, Nanos(0)));
    assert!(!engine.resume(request(2, 100, 20), 15, Nanos(0)), "the batch is full");
    assert_eq!(engine.load().blocks_held, 8, "114 tokens are computed, the last one is not");
    assert_eq!(drain(&mut engine, &mut log, Nanos(0), 100), Nanos(50_000_000));
    assert_eq!(log.finished, vec![(1, 20, Finish::Stop)]);
    assert_eq!(engine.load().blocks_held, 0);
}

#[test]
fn the_sequence_cap_holds_and_the_rest_wait_in_order() {
    let config = EngineConfig { max_sequences: 2, ..config() };
    let (log, _, _) = run_all(config, (1..=6).map(|i| request(i, 16, 4)).collect());
    assert_eq!(log.most_running, 2);
    assert_eq!(log.admitted, vec![1, 2, 3, 4, 5, 6]);
}

#[test]
fn a_head_that_does_not_fit_holds_up_the_small_ones_behind_it() {
    let mut engine = Engine::new(EngineConfig { token_budget: 4096, ..config() }, 1);
    let mut log = Log::default();
    for r in [request(1, 600, 50), request(2, 600, 5), request(3, 16, 5)] {
        engine.submit(r, Nanos(0)).unwrap();
    }
    drain(&mut engine, &mut log, Nanos(0), 10);
    assert_eq!(log.admitted, vec![1], "38 of 64 blocks are held, the second needs 38");
}

#[test]
fn the_last_to_come_is_thrown_back_and_computed_again() {
    // Two requests of 30 blocks each fit; as they grow to 38 blocks each they do not.
    let config = EngineConfig { token_budget: 4096, ..config() };
    let (log, _, engine) = run_all(config, vec![request(1, 480, 120), request(2, 480, 120)]);
    assert!(log.preemptions > 0);
    assert_eq!(log.finished[0], (1, 120, Finish::Stop));
    assert_eq!(log.finished[1], (2, 120, Finish::Stop));
    assert_eq!(engine.load().blocks_held, 0);
}

#[test]
fn a_second_prompt_that_begins_alike_finds_whole_blocks() {
    let alike =
        |id| Request { content: Content::Shared { prefix: 9, tokens: 100, own: 0 }, ..request(id, 120, 2) };
    let (log, _, _) = run_all(EngineConfig { max_sequences: 1, ..config() }, vec![alike(1), alike(2)]);
    assert_eq!(log.cached, vec![0, 96]);
    let off = EngineConfig { max_sequences: 1, prefix_cache: false, ..config() };
    assert_eq!(run_all(off, vec![alike(1), alike(2)]).0.cached, vec![0, 0]);
}

#[test]
fn priority_lets_the_important_pass() {
    let config = EngineConfig { policy: Policy::Priority, max_sequences: 1, ..config() };
    let urgent = Request { priority: -1, ..request(3, 16, 2) };
    let (log, _, _) = run_all(config, vec![request(1, 16, 2), request(2, 16, 2), urgent]);
    assert_eq!(log.admitted, vec![3, 1, 2]);
}

#[test]
fn requests_for_an_adapter_without_a_slot_wait_aside() {
    let with = |id, adapter| Request { adapter: Some(adapter), ..request(id, 16, 8) };
    let mut engine = Engine::new(config(), 1);
    let mut log = Log::default();
    for r in [with(1, 1), with(2, 2), request(3, 16, 8)] {
        engine.submit(r, Nanos(0)).unwrap();
    }
    drain(&mut engine, &mut log, Nanos(0), 1);
    assert_eq!(log.admitted, vec![1, 3]);
    assert_eq!(engine.load().deferred, 1);
}

#[test]
fn a_deferred_request_that_is_given_up_no_longer_counts() {
    let with = |id, adapter| Request { adapter: Some(adapter), ..request(id, 16, 8) };
    let mut engine = Engine::new(config(), 1);
    let mut log = Log::default();
    for r in [with(1, 1), with(2, 2), with(3, 3)] {
        engine.submit(r, Nanos(0)).unwrap();
    }
    let now = drain(&mut engine, &mut log, Nanos(0), 1);
    assert_eq!(engine.load().deferred, 2);
    engine.abort(RequestId(2), now, &mut log);
    engine.abort(RequestId(3), now, &mut log);
    assert_eq!((engine.load().waiting, engine.load().deferred), (0, 0));
}

#[test]
fn speculation_gives_several_tokens_a_step() {
    let speculation = Some(Speculation { draft_tokens: 3, acceptance: Ratio(0.7) });
    let (log, _, _) = run_all(EngineConfig { speculation, ..config() }, vec![request(1, 16, 400)]);
    assert_eq!(log.finished, vec![(1, 400, Finish::Stop)]);
    // (1 - 0.7^4) / 0.3 = 2.53 tokens a step.
    let per_step = 399.0 / (log.tokens.len() - 1) as f64;
    assert!((per_step - 2.53).abs() < 0.3, "{per_step} tokens a step");
    assert!(log.drafted.1 < log.drafted.0);
}

#[test]
fn what_cannot_be_served_is_refused_with_the_reason() {
    let mut engine = Engine::new(EngineConfig { queue_limit: Some(1), ..config() }, 1);
    assert_eq!(
        engine.submit(request(1, 1024, 1), Nanos(0)),
        Err(Refusal::TooLong { prompt: 1024, window: 1024 })
    );
    engine.submit(request(2, 16, 1), Nanos(0)).unwrap();
    assert_eq!(engine.submit(request(3, 16, 1), Nanos(0)), Err(Refusal::QueueFull { limit: 1 }));
}

#[test]
fn an_answer_that_would_leave_the_window_ends_by_length() {
    let (log, _, _) = run_all(config(), vec![request(1, 1000, 500)]);
    assert_eq!(log.finished, vec![(1, 24, Finish::Length)]);
}

#[test]
fn given_up_requests_leave_wherever_they_are() {
    let mut engine = Engine::new(EngineConfig { max_sequences: 1, ..config() }, 1);
    let mut log = Log::default();
    for i in 1..=3 {
        engine.submit(request(i, 16, 100), Nanos(0)).unwrap();
    }
    let now = drain(&mut engine, &mut log, Nanos(0), 2);
    engine.abort(RequestId(1), now, &mut log);
    engine.abort(RequestId(2), now, &mut log);
    engine.submit(request(4, 16, 1), now).unwrap();
    engine.abort(RequestId(4), now, &mut log);
    drain(&mut engine, &mut log, now, 1000);
    let aborted: Vec<u64> = log.finished.iter().filter(|f| f.2 == Finish::Abort).map(|f| f.0).collect();
    assert_eq!(aborted, vec![2, 4, 1]);
    assert!(engine.is_idle() && engine.load().blocks_held == 0);
}

proptest! {
    /// Whatever is asked, everybody is answered in full and no block is lost.
    #[test]
    fn every_request_is_answered_in_full(
        lengths in proptest::collection::vec((1_u32..500, 1_u32..80, 0_u64..4), 1..40),
        cap in 1_u32..12, budget in 1_u32..600, blocks in 40_u32..120, chunked: bool, cache: bool,
        priority: bool, ahead: bool, drafts in 0_u32..4,
    ) {
        let speculation = (drafts > 0).then_some(Speculation { draft_tokens: drafts, acceptance: Ratio(0.5) });
        let policy = if priority { Policy::Priority } else { Policy::Fcfs };
        let config = EngineConfig {
            max_sequences: cap, token_budget: budget, pool_blocks: blocks, chunked_prefill: chunked,
            plans_ahead: ahead, prefix_cache: cache, speculation, policy, ..config()
        };
        let requests: Vec<Request> = lengths.iter().zip(1..).map(|(&(prompt, output, prefix), id)| Request {
            content: Content::Shared { prefix, tokens: prompt / 2, own: prefix },
            priority: (prefix as i32) % 3,
            ..request(id, prompt, output)
        }).collect();
        let wanted = requests.len();
        let (log, _, engine) = run_all(config, requests.clone());
        prop_assert_eq!(log.finished.len(), wanted);
        for (id, generated, _) in log.finished {
            prop_assert_eq!(generated, requests[id as usize - 1].output);
        }
        prop_assert_eq!(engine.load().blocks_held, 0);
    }
}
