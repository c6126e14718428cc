//! Plans as an operator would read them, checked against recordings and against common sense.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

use intriage_case::{PerSecond, Ratio, Requests, Tokens};
use intriage_physics::{KvDtype, gpu, known};
use intriage_plan::{Ask, Deployed, EngineLimits, Headroom, Layout, Limit, Plan, Release, Traffic, plan};
use proptest::prelude::*;

const GIB: f64 = 1_073_741_824.0;

fn on(model: &str, card: &str) -> Deployed {
    Deployed {
        name: model.to_owned(),
        model: known::model(model).unwrap(),
        gpu: gpu::find(card).unwrap().gpu,
        tp: 1,
        pp: 1,
        layout: Layout::Asked,
        node: 8,
        kv: KvDtype::Bf16,
        weights: "bf16".to_owned(),
        utilisation: None,
        release: Release::default(),
    }
}

fn ask(deployed: Deployed, rate: f64, isl: f64, osl: f64) -> Ask {
    Ask {
        deployed: Some(deployed),
        measured: None,
        limits: EngineLimits::default(),
        traffic: Traffic::of(PerSecond(Requests(rate)), Tokens(isl), Tokens(osl)),
        objectives: ["ttft.p95=1s", "itl.p95=50ms"].map(|text| text.parse().unwrap()).to_vec(),
        headroom: Headroom::Spare(Ratio(0.25)),
        price: None,
        seed: 1,
    }
}

fn made(ask: &Ask) -> Plan {
    ask.check().unwrap();
    plan(ask, &mut || {})
}

fn rate_of(plan: &Plan) -> f64 {
    plan.fleet.as_ref().map_or(0.0, |fleet| fleet.per_instance.0.get())
}

/// Mean time between tokens at a rate, on the line between the points of the sweep.
fn itl_at(plan: &Plan, rate: f64) -> f64 {
    let sweep = &plan.capacity.as_ref().unwrap().sweep;
    let pair = sweep.windows(2).find(|w| w[0].rate.0.get() <= rate && rate <= w[1].rate.0.get()).unwrap();
    let (a, b) = (pair[0], pair[1]);
    let share = (rate - a.rate.0.get()) / (b.rate.0.get() - a.rate.0.get());
    a.itl_mean.get() + (b.itl_mean.get() - a.itl_mean.get()) * share
}

#[test]
fn physics_alone_comes_near_what_an_h200_did() {
    // Recorded means: 8.25 ms at 18.9 req/s of 542 in / 128 out, 6.24 ms at 30 req/s of 302 in / 100 out.
    for (name, recorded, rate, isl, osl) in [
        ("recordings/vllm-h200-healthy", 0.008_25, 18.9, 521.0, 128.0),
        ("h200/vllm-h200-healthy30", 0.006_24, 30.1, 302.0, 99.6),
    ] {
        let mut ask = ask(on("llama-3.1-8b", "h200"), rate, isl, osl);
        ask.traffic.variation = Ratio(0.0);
        let planned = itl_at(&made(&ask), rate);
        assert!((planned / recorded - 1.0).abs() < 0.35, "{name}: {planned} instead of {recorded}");
    }
}

/// The founding documents' example: 32B as 16 bit on one H100, 4.46 GiB for KV, 1.83 requests of 10,000 tokens.
#[test]
fn a_32b_model_leaves_an_h100_4_46_gib_and_1_83_requests() {
    let mut ask = ask(on("qwen2.5-32b", "h100"), 1.0, 1000.0, 1000.0);
    ask.objectives = vec!["ttft.p95=3s".parse().unwrap()];
    ask.deployed.as_mut().unwrap().release = Release::Before020;
    ask.limits.window = Some(10_000);
    let plan = made(&ask);
    let pool = plan.memory.as_ref().unwrap().parts.iter().find(|part| part.name == "KV pool").unwrap().bytes;
    assert!((pool.get() / GIB - 4.46).abs() < 0.01, "{pool}");
    let pool = plan.pool.unwrap();
    assert_eq!(pool.bytes_per_token.unwrap().get(), 262_144.0);
    assert!((pool.concurrency_full.get() - 1.83).abs() < 0.005, "{}", pool.concurrency_full);
    assert_eq!(plan.capacity.unwrap().binding.limit, Limit::KvPool);
}

/// What the plan chooses takes no more GPUs than any layout asked for by hand, and than any alternative of
/// the same precision.
#[test]
fn the_chosen_layout_takes_no_more_gpus_than_any_other() {
    for (model, card, tp, rate, isl, osl) in
        [("qwen3-32b", "a100", 2, 5.0, 1000.0, 500.0), ("llama-3.3-70b", "h100", 4, 3.0, 1000.0, 200.0)]
    {
        let mut deployed = on(model, card);
        deployed.layout = Layout::Chosen;
        let chosen = made(&ask(deployed, rate, isl, osl));
        let gpus = chosen.fleet.as_ref().unwrap().needed.gpus;
        assert_eq!(chosen.cheapest.as_ref().unwrap().gpus, gpus);
        for other in chosen.alternatives.iter().filter(|other| !other.lower_precision) {
            assert!(other.gpus.is_none_or(|other| other >= gpus), "{}: {:?}", other.change, other.gpus);
        }
        let by_hand = made(&ask(Deployed { tp, ..on(model, card) }, rate, isl, osl));
        let own = by_hand.fleet.as_ref().map_or(u64::MAX, |fleet| fleet.needed.gpus);
        assert!(gpus <= own, "{model}: {gpus} chosen, {own} with --tp {tp}");
        assert_eq!(by_hand.cheapest.unwrap().gpus, gpus, "{model} --tp {tp} names the cheapest");
    }
}

#[test]
fn a_model_too_large_for_a_node_gets_pipeline_stages() {
    let mut deployed = on("llama-3.1-405b", "a100");
    deployed.layout = Layout::Chosen;
    let mut ask = ask(deployed, 0.1, 500.0, 20.0);
    ask.objectives = vec!["itl.p95=1s".parse().unwrap()];
    let plan = made(&ask);
    assert!(plan.asked.pp >= 2 && plan.asked.tp == 8, "{:?}", plan.asked);
    assert!(plan.verdict.works, "{}", plan.verdict.answer);
    assert!(plan.verdict.answer.contains("--tp 8 --pp "), "{}", plan.verdict.answer);
    let weights = plan.memory.unwrap().parts[0].bytes.get() / GIB;
    assert!(weights < 80.0, "{weights} GiB of weights on each GPU");
}

#[test]
fn lower_precision_is_an_alternative_and_says_so() {
    let mut deployed = on("qwen3-32b", "a100");
    deployed.layout = Layout::Chosen;
    let plan = made(&ask(deployed, 5.0, 2000.0, 300.0));
    assert_eq!(plan.asked.weights.as_deref(), Some("bf16"));
    let lower: Vec<&str> =
        plan.alternatives.iter().filter(|a| a.lower_precision).map(|a| a.change.as_str()).collect();
    assert!(lower.iter().any(|change| change.starts_with("--quantization int8")), "{lower:?}");
    // An A100 has no FP8 units.
    assert!(!lower.iter().any(|change| change.contains("--quantization fp8")), "{lower:?}");
}

#[test]
fn replicas_with_a_shared_prefix_carry_a_caveat() {
    let mut ask = ask(on("llama-3.1-8b", "h100"), 100.0, 2000.0, 20.0);
    assert!(!made(&ask).notes.iter().any(|note| note.contains("split the prefix cache")));
    ask.traffic.prefix_share = Ratio(0.5);
    let plan = made(&ask);
    assert!(plan.fleet.unwrap().needed.instances > 1);
    assert!(plan.notes.iter().any(|note| note.contains("split the prefix cache")), "{:?}", plan.notes);
}

#[test]
fn more_bandwidth_never_moves_the_knee_down() {
    let mut last = (0.0, 0.0);
    for factor in [0.5, 1.0, 3.0] {
        let mut deployed = on("llama-3.1-8b", "h100");
        deployed.gpu.bandwidth = PerSecond(intriage_case::Bytes(deployed.gpu.bandwidth.0.get() * factor));
        let plan = made(&ask(deployed, 10.0, 512.0, 128.0));
        let now = (plan.capacity.as_ref().unwrap().knee.unwrap().0.get(), rate_of(&plan));
        assert!(now.0 >= last.0 && now.1 >= last.1, "×{factor}: {now:?} after {last:?}");
        last = now;
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_nearly_the_same_plan() {
    let mut ask = ask(on("llama-3.1-8b", "h100"), 100.0, 2000.0, 300.0);
    let bytes = |plan: &Plan| serde_json::to_string(plan).unwrap();
    let first = made(&ask);
    assert_eq!(bytes(&first), bytes(&made(&ask)));
    ask.seed = 2;
    let other = made(&ask);
    assert_ne!(bytes(&first), bytes(&other));
    assert!((rate_of(&other) / rate_of(&first) - 1.0).abs() < 0.15);
}

#[test]
fn what_does_not_fit_says_by_how_much_and_what_would() {
    let plan = made(&ask(on("llama-3.3-70b", "h100"), 10.0, 2000.0, 300.0));
    assert!(!plan.verdict.works && plan.fleet.is_none());
    assert!(plan.verdict.answer.contains("does not fit one GPU of 79.2 GiB"), "{}", plan.verdict.answer);
    assert!(plan.memory.unwrap().short_by.get() > 50.0 * GIB);
    assert!(plan.verdict.instead.iter().any(|way| way.starts_with("--tp 4")), "{:?}", plan.verdict.instead);
}

#[test]
fn an_objective_below_physics_is_told_with_the_bound() {
    let mut ask = ask(on("qwen2.5-32b", "h100"), 1.0, 500.0, 100.0);
    ask.objectives = vec!["itl.p95=5ms".parse().unwrap()];
    let plan = made(&ask);
    assert!(!plan.verdict.works);
    assert!(plan.verdict.answer.contains("below what physics allows at any rate"), "{}", plan.verdict.answer);
    // Between the bound and what is expected, the simulation says no.
    ask.objectives = vec!["itl.p95=22ms".parse().unwrap()];
    let plan = made(&ask);
    assert!(plan.verdict.answer.contains("no rate holds the objectives"), "{}", plan.verdict.answer);
    assert!(plan.verdict.instead.iter().any(|way| way.starts_with("--quantization fp8")));
}

#[test]
fn each_limit_can_be_the_one_that_binds() {
    let limit = |ask: &Ask| made(ask).capacity.unwrap().binding.limit;
    let mut few = ask(on("llama-3.1-8b", "h100"), 10.0, 512.0, 128.0);
    few.limits.max_sequences = Some(4);
    assert_eq!(limit(&few), Limit::SequenceCap);
    let mut long = ask(on("llama-3.1-8b", "h100"), 10.0, 8000.0, 20.0);
    long.objectives = vec!["ttft.p95=2s".parse().unwrap()];
    assert_eq!(limit(&long), Limit::PromptWork);
    assert_eq!(limit(&ask(on("llama-3.1-8b", "h100"), 10.0, 2000.0, 300.0)), Limit::Pace);
}

#[test]
fn a_smaller_token_budget_is_offered_where_prompts_break_the_pace() {
    let plan = made(&ask(on("llama-3.1-8b", "h100"), 100.0, 2000.0, 300.0));
    let gentle = plan.alternatives.iter().find(|a| a.change.starts_with("--max-num-batched-tokens")).unwrap();
    assert!(gentle.per_instance.unwrap().0.get() > rate_of(&plan));
}

#[test]
fn a_shared_prefix_saves_prompt_work() {
    let mut ask = ask(on("llama-3.1-8b", "h100"), 10.0, 4000.0, 100.0);
    let without = rate_of(&made(&ask));
    ask.traffic.prefix_share = Ratio(0.8);
    assert!(rate_of(&made(&ask)) > 1.5 * without);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2))]

    /// Whatever is asked within the flags' ranges, a plan is finite and repeats itself in JSON.
    #[test]
    fn any_sensible_question_has_a_finite_answer(
        rate in 0.001_f64..1e5, isl in 1.0_f64..20_000.0, osl in 1.0_f64..400.0, share in 0.0_f64..0.99,
        cv in 0.0_f64..3.0, tp in 0_u32..4, model in 0_usize..5, sequences in 1_u32..2000, budget in 1_u32..20_000,
    ) {
        let names = ["llama-3.2-1b", "qwen3-30b-a3b", "gemma-3-4b", "deepseek-v2-lite", "gpt-oss-20b"];
        let mut ask = ask(on(names[model], "h100"), rate, isl, osl);
        ask.deployed.as_mut().unwrap().tp = 1 << tp;
        ask.traffic.prefix_share = Ratio(share);
        ask.traffic.variation = Ratio(cv);
        ask.limits.max_sequences = Some(sequences);
        ask.limits.token_budget = Some(budget);
        if ask.check().is_ok() {
            let text = serde_json::to_string(&plan(&ask, &mut || {})).unwrap();
            // serde_json writes what is not finite as null; only options may be null.
            prop_assert!(!text.contains("\"rate\":null") && !text.contains("\"itl_mean\":null"), "{}", text);
        }
    }
}

#[test]
fn a_plan_does_not_hang_on_its_seed() {
    let gpus: Vec<u64> = (1..=4)
        .map(|seed| {
            let mut ask = ask(on("llama-3.1-8b", "h100"), 100.0, 2000.0, 300.0);
            ask.objectives = vec!["itl.p95=40ms".parse().unwrap()];
            ask.seed = seed;
            made(&ask).fleet.unwrap().needed.gpus
        })
        .collect();
    let (fewest, most) = (gpus.iter().min().unwrap(), gpus.iter().max().unwrap());
    assert!(most - fewest <= 2, "{gpus:?}");
}

#[test]
fn a_shared_beginning_is_counted_once_wherever_the_pool_is_told() {
    let mut ask = ask(on("llama-3.1-8b", "h100"), 5.0, 2000.0, 100.0);
    let alone = made(&ask).pool.unwrap();
    ask.traffic.prefix_share = Ratio(0.6);
    let plan = made(&ask);
    let pool = plan.pool.unwrap();
    let ceilings = &plan.capacity.as_ref().unwrap().ceilings;
    let ceiling = ceilings.iter().find(|c| c.of == intriage_plan::CeilingOf::KvPool).unwrap();
    assert_eq!(ceiling.batch, pool.concurrency_live);
    assert!((pool.shared.get() - 1200.0).abs() < 1e-6);
    assert!(pool.concurrency_live > alone.concurrency_live && pool.tokens == alone.tokens);
}

#[test]
fn alternatives_come_cheapest_first_and_advice_names_a_budget_that_helps() {
    let mut ask = ask(on("llama-3.1-8b", "h100"), 100.0, 2000.0, 300.0);
    ask.objectives = vec!["itl.p95=40ms".parse().unwrap()];
    let plan = made(&ask);
    let gpus: Vec<u64> = plan.alternatives.iter().map(|a| a.gpus.unwrap_or(u64::MAX)).collect();
    assert!(gpus.is_sorted(), "{gpus:?}");
    let says = &plan.capacity.as_ref().unwrap().binding.says;
    let advised = plan.alternatives.iter().find(|a| says.contains(&a.change)).unwrap();
    assert!(advised.per_instance.unwrap().0.get() > rate_of(&plan), "{says}");
}
