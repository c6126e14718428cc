//! Makes the recordings of the two founding cases: `cargo run -p intriage-simulate --example founding_cases -- fixtures/made`.
//!
//! Nobody has those machines any more. The engine is the simulated one; the cards are the survey of a real H200
//! (`crates/engines/tests/h200/busy`) with what each case says of them put in its place. What is made stands in
//! `truth.json` of each folder, so that nobody takes it for a recording of a machine.

use std::error::Error;
use std::path::{Path, PathBuf};

use intriage_case::{Ratio, Seconds, Tokens};
use intriage_simulate::workload::Traced;
use intriage_simulate::{
    Arrivals, Class, Identity, Lengths, Nanos, Random, Recording, Setup, StepTime, Window, Workload, rehearse,
};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("give the folder to write to")?);
    let survey = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engines/tests/h200/busy/gpu.json");
    let survey: Value = serde_json::from_slice(&std::fs::read(survey)?)?;
    let (link, thrash) = (slow_link(), five_days());
    let cards = survey_of(&survey, &link, &["Gen3 x8", "Gen5 x16"]);
    write(&folder.join("founding-case-1-pcie"), link, &cards, &SLOW_LINK)?;
    let cards = survey_of(&survey, &thrash, &["Gen5 x16"]);
    write(&folder.join("founding-case-2-five-days"), thrash, &cards, &FIVE_DAYS)
}

/// What goes with a recording: command line, log, truth.
struct Around {
    command_line: &'static str,
    log: &'static str,
    truth: &'static str,
}

const SLOW_LINK: Around = Around {
    command_line: "vllm serve RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic --tensor-parallel-size 2 --max-model-len 32768",
    log: "(APIServer pid=901) INFO 11-15 07:16:41 [core.py:120] Initializing a V1 LLM engine (v0.32.0) with config: model='RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic', tensor_parallel_size=2, pipeline_parallel_size=1, device_config=cuda, load_format=auto\n",
    truth: r#"{
 "cause": "pcie-link-downgrade",
 "accept": [],
 "status": "finding",
 "what": "founding case 1, scenario F28: 70B over two H100 PCIe without a bridge, GPU 0 at Gen3 x8 under load instead of Gen5 x16, 6.3 of 7.9 GB/s cross it",
 "made": "no such machine was at hand: simulated engine whose prompts and steps take what the slow link makes of them; cards are the survey of a real H200 with name, link, traffic and clocks of the case put in (crates/simulate/examples/founding_cases.rs)",
 "slo": "",
 "engine": "vllm",
 "version": "0.32.0 simulated",
 "flags": "--tensor-parallel-size 2",
 "gpu": "2 x NVIDIA H100 PCIe, made",
 "model": "Llama-3.3-70B fp8, made"
}
"#,
};

const FIVE_DAYS: Around = Around {
    command_line: "vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 32768",
    log: "(APIServer pid=901) INFO 11-15 07:16:41 [core.py:120] Initializing a V1 LLM engine (v0.32.0) with config: model='Qwen/Qwen2.5-7B-Instruct', tensor_parallel_size=1, pipeline_parallel_size=1, device_config=cuda, load_format=auto\n",
    truth: r#"{
 "cause": "preemption-thrash",
 "accept": ["workload-mix-shift"],
 "status": "finding",
 "what": "founding case 2, scenario F20: answers grow threefold, outgrow the KV pool and are thrown back; people called it fragmentation and restarted weekly",
 "made": "no such machine was at hand: simulated engine; the five days of the case pass in fifteen minutes, by a trace whose answers grow; the card is the survey of a real H200 at normal clocks (crates/simulate/examples/founding_cases.rs)",
 "slo": "",
 "engine": "vllm",
 "version": "0.32.0 simulated",
 "flags": "",
 "gpu": "NVIDIA H200, made",
 "model": "7B, made"
}
"#,
};

/// Case 1: a prompt of 3,000 tokens moves 7.9 GB between two cards, 1.2 s over what is left of the link.
fn slow_link() -> Recording {
    let mut setup = Setup::healthy(28);
    setup.identity = Identity {
        model: "llama-3.3-70b".into(),
        checkpoint: "RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic".into(),
        gpu: "NVIDIA H100 PCIe".into(),
        eager: false,
    };
    for engine in &mut setup.fleet.engines {
        engine.step = StepTime {
            base: Seconds(0.038),
            per_prompt_token: Seconds(0.5e-3),
            per_sequence: Seconds(0.3e-3),
            per_context_token: Seconds(45e-9),
            noise: Ratio(0.05),
            ..StepTime::constant(Seconds(0.0))
        };
    }
    let about = |mean: f64, most: u32| Lengths::LogNormal { mean: Tokens(mean), variation: Ratio(0.4), most };
    setup.workload = Workload {
        arrivals: traced(3, 360.0, |_| 0.3, |_| None),
        classes: vec![Class::plain(about(3000.0, 8000), about(180.0, 1000), 1024)],
    };
    rehearse(&setup, 28, Window { from: Seconds(30.0), length: Seconds(320.0), every: Seconds(16.0) })
}

/// What a token takes the simulated engine with some twenty answers in its batch, in seconds.
const A_TOKEN: f64 = 0.0075;
/// How many ask: their answers of 300 tokens fit into the pool, those of 900 do not.
const AGENTS: f64 = 24.0;

/// Case 2: the agents are as many as before, their answers grow from 300 tokens to 900, and the pool is what it was.
fn five_days() -> Recording {
    let mut setup = Setup::healthy(20);
    setup.identity.model = "qwen2.5-7b".into();
    setup.identity.checkpoint = "Qwen/Qwen2.5-7B-Instruct".into();
    setup.identity.gpu = "NVIDIA H200".into();
    for engine in &mut setup.fleet.engines {
        engine.pool_blocks = 1000;
    }
    let (length, mut random) = (900.0, Random::new(20, "answers"));
    // They grow in the first third and stay long: the window shows the turn and what came of it.
    let mean = move |at: f64| 300.0 + 600.0 * (3.0 * at / length).clamp(0.0, 1.0);
    // So many agents, each asking again when it has its answer: longer answers, fewer requests.
    let rate = move |at: f64| AGENTS / (mean(at) * A_TOKEN);
    let grown = move |at: f64| {
        let answer = mean(at) * (0.5 + random.unit());
        Some((150 + (random.unit() * 100.0) as u32, answer as u32))
    };
    setup.workload = Workload {
        arrivals: traced(4, length, rate, grown),
        classes: vec![Class::plain(Lengths::Fixed(200), Lengths::Fixed(300), 2048)],
    };
    rehearse(&setup, 20, Window { from: Seconds(30.0), length: Seconds(860.0), every: Seconds(20.0) })
}

/// Independent arrivals at a rate, each with the lengths of its moment.
fn traced(
    seed: u64,
    length: f64,
    per_second: impl Fn(f64) -> f64,
    mut lengths: impl FnMut(f64) -> Option<(u32, u32)>,
) -> Arrivals {
    let mut random = Random::new(seed, "arrivals");
    let (mut at, mut all) = (0.0, Vec::new());
    while at < length {
        at += -(1.0 - random.unit()).ln() / per_second(at);
        all.push(Traced { at: Nanos::from_seconds(Seconds(at)), lengths: lengths(at), blocks: Vec::new() });
    }
    Arrivals::Trace(all)
}

/// The survey of the real card as these cards would have given it, in the middle of the recording.
fn survey_of(real: &Value, recording: &Recording, links: &[&str]) -> Value {
    let started = recording
        .iter()
        .find_map(|(name, _)| name.strip_prefix("metrics/")?.strip_suffix(".txt")?.parse::<u64>().ok());
    let started = started.unwrap_or(0) + 60_000;
    let mut survey = real.clone();
    let (mut cards, mut before, mut samples) = (Vec::new(), Vec::new(), Vec::new());
    for (index, link) in links.iter().enumerate() {
        let (generation, lanes) = if *link == "Gen3 x8" { (3, 8) } else { (5, 16) };
        let with = |card: &Value| {
            let mut card = card.clone();
            card["index"] = json!(index);
            card["uuid"] = json!(format!("GPU-00000000-0000-0000-0000-00000000000{index}"));
            card["pci"] = json!(format!("00000000:{}:00.0", 17 + 20 * index));
            card["pcie_generation"]["now"] = json!(generation);
            card["pcie_width"]["now"] = json!(lanes);
            card["sm_clock"]["now"] = json!(1_755e6);
            card["reasons"] = json!(0);
            card["util"] = json!(0.8);
            card["power"] = json!(410.0);
            card["processes"] = Value::Null;
            if links.len() > 1 {
                card["name"] = json!("NVIDIA H100 PCIe");
                card["memory"] = json!(85_520_809_984_u64);
                card["memory_used"] = json!(78_383_153_152_u64);
                card["sm_clock"]["most"] = json!(1_755e6);
                card["power_limits"]["enforced"] = json!(350.0);
                card["power_limits"]["default"] = json!(350.0);
                card["power"] = json!(262.0);
            }
            card
        };
        cards.push(with(&real["cards"][0]));
        before.push(with(&real["before"][0]));
        for i in 0..200_u64 {
            let rate = if links.len() > 1 { 6.3e9 } else { 0.05e9 };
            samples.push(json!({
                "at": started + i * 100, "index": index, "util": 0.8, "memory_util": 0.4, "sm_clock": 1_755e6,
                "memory_clock": real["samples"][0]["memory_clock"], "temperature": real["samples"][0]["temperature"],
                "power": cards[index]["power"], "reasons": 0, "pcie_generation": generation, "pcie_width": lanes,
                "pcie_sent": rate * i as f64 / 10.0, "pcie_received": rate * i as f64 / 10.0,
            }));
        }
    }
    samples.sort_by_key(|s| s["at"].as_u64());
    survey["cards"] = Value::Array(cards);
    survey["before"] = Value::Array(before);
    survey["samples"] = Value::Array(samples);
    survey
}

fn write(folder: &Path, recording: Recording, survey: &Value, around: &Around) -> Result<(), Box<dyn Error>> {
    // The simulated engine tells of itself in developer mode, and knows nothing of groups of GPUs.
    let kept = |name: &str| name.starts_with("metrics/") || name == "endpoints/version.json";
    let mut files: Recording = recording.into_iter().filter(|(name, _)| kept(name)).collect();
    files.push(("gpu.json".into(), serde_json::to_vec(survey)?));
    for (name, text) in
        [("cmdline.txt", around.command_line), ("server.log", around.log), ("truth.json", around.truth)]
    {
        files.push((name.into(), text.as_bytes().to_vec()));
    }
    for (name, bytes) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(folder))?;
        std::fs::write(path, bytes)?;
    }
    Ok(())
}
