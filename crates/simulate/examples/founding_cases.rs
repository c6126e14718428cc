//! Makes the recordings of the two founding cases: `cargo run -p intriage-simulate --example founding_cases -- fixtures/made`.
//!
//! Nobody has those machines any more. The engine is the simulated one; the cards are the survey of a real H200
//! (`crates/engines/tests/h200/busy`) with what each case says of them put in its place. What is made stands in
//! `truth.json` of each folder, so that nobody takes it for a recording of a machine.

use std::error::Error;
use std::path::{Path, PathBuf};

use intriage_simulate::founding::{FIVE_DAYS_WINDOW, SLOW_LINK_WINDOW, five_days, slow_link};
use intriage_simulate::{Recording, rehearse};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("give the folder to write to")?);
    let survey = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engines/tests/h200/busy/gpu.json");
    let survey: Value = serde_json::from_slice(&std::fs::read(survey)?)?;
    let link = rehearse(&slow_link(28), 28, SLOW_LINK_WINDOW);
    let thrash = rehearse(&five_days(20, AGENTS), 20, FIVE_DAYS_WINDOW);
    let cards = survey_of(&survey, &link, &["Gen3 x8", "Gen5 x16"]);
    write(&folder.join("founding-case-1-pcie"), link, &cards, &SLOW_LINK)?;
    let cards = survey_of(&survey, &thrash, &["Gen5 x16"]);
    write(&folder.join("founding-case-2-five-days"), thrash, &cards, &FIVE_DAYS)
}

/// How many agents case 2 has: about as many tokens a second as the case tells.
const AGENTS: u32 = 7;

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
 "made": "no such machine was at hand: simulated engine whose prompts and steps take what the slow link makes of them; cards are the survey of a real H200 with name, link, traffic and clocks of the case put in (crates/simulate/src/founding.rs)",
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
    command_line: "vllm serve meta-llama/Llama-3.1-8B-Instruct --max-model-len 32768",
    log: "(APIServer pid=901) INFO 11-15 07:16:41 [core.py:120] Initializing a V1 LLM engine (v0.32.0) with config: model='meta-llama/Llama-3.1-8B-Instruct', tensor_parallel_size=1, pipeline_parallel_size=1, device_config=cuda, load_format=auto\n",
    truth: r#"{
 "cause": "preemption-thrash",
 "accept": [],
 "status": "finding",
 "what": "founding case 2, scenario F20: agents' answers grow from 400 tokens to 1,100, outgrow the KV pool and are thrown back, 0 a minute on the first day, over 20 on the fourth; people called it fragmentation and restarted weekly",
 "made": "no such machine was at hand: simulated engine; the five days of the case pass in fifteen minutes; first tokens are stable until the third day and wait 0.7 s on the fifth, throughput stays at 770 to 800 tokens/s, where the case tells of stable first tokens and a third less throughput; the card is the survey of a real H200 at normal clocks with the name and memory of an H100 (crates/simulate/src/founding.rs)",
 "slo": "",
 "engine": "vllm",
 "version": "0.32.0 simulated",
 "flags": "",
 "gpu": "NVIDIA H100 80GB HBM3, made",
 "model": "Llama-3.1-8B, made"
}
"#,
};

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
            card["name"] = json!("NVIDIA H100 80GB HBM3");
            card["memory"] = json!(85_520_809_984_u64);
            card["memory_used"] = json!(78_383_153_152_u64);
            if links.len() > 1 {
                card["name"] = json!("NVIDIA H100 PCIe");
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
