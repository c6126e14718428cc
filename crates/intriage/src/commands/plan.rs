//! `intriage plan`: how many GPUs a load takes.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use intriage_case::{Objective, PerSecond, Ratio, Requests, Tokens};
use intriage_observe::open;
use intriage_physics::{KvDtype, ModelShape, UnknownModel, gpu, known};
use intriage_plan::{
    Ask, Deployed, EngineLimits, Headroom, Layout, Measured, Release, Traffic, plan, unsupported,
};

use super::print;
use crate::cli::PlanArgs;
use crate::failure::{Failure, Outcome};

/// A plan that takes longer says so.
const PATIENCE: Duration = Duration::from_secs(2);
const GIB: f64 = 1_073_741_824.0;
/// A `config.json` has some kilobytes; more is not read.
const MOST_CONFIG: u64 = 16 << 20;

pub(crate) fn run(args: &PlanArgs) -> Result<Outcome, Failure> {
    if args.list {
        return list();
    }
    let (ask, mut notes) = ask(args)?;
    ask.check().map_err(|e| Failure::Usage(e.to_string()))?;
    let started = Instant::now();
    let mut told = false;
    let mut plan = plan(&ask, &mut || {
        if !told && started.elapsed() > PATIENCE {
            told = true;
            anstream::eprintln!("simulating the instance and its alternatives under rising rates …");
        }
    });
    plan.notes.append(&mut notes);
    print::plan(&plan, args.format)?;
    Ok(if plan.verdict.works { Outcome::Fine } else { Outcome::Wrong })
}

/// The models and GPUs that need no file.
fn list() -> Result<Outcome, Failure> {
    let models: Vec<String> = known::names().map(|name| format!("  {name}")).collect();
    let cards = gpu::all().iter().map(|card| {
        let gib = card.memory.get() / GIB;
        format!("  {:<16} {gib:>5.0} GiB  {}", gpu::short(card), card.id)
    });
    let text = format!(
        "Models (--model; a config.json works too)\n{}\n\nGPUs (--gpu; 8xh200 means nodes of eight)\n{}\n",
        models.join("\n"),
        cards.collect::<Vec<_>>().join("\n")
    );
    print::text(&text)?;
    Ok(Outcome::Fine)
}

/// What the flags and the case ask for, with notes on how names were read.
fn ask(args: &PlanArgs) -> Result<(Ask, Vec<String>), Failure> {
    let mut notes = Vec::new();
    let seen = match args.case.as_ref().or(args.from.as_ref()) {
        None => None,
        Some(path) => {
            let why = |e: intriage_plan::MeasuredError| Failure::File {
                path: path.display().to_string(),
                why: format!("{e}; --model and --gpu plan from physics without a case"),
            };
            Some(Measured::read(&open(path)?).map_err(why)?)
        }
    };
    let (measured, seen) = seen.map_or((None, None), |(measured, traffic)| (Some(measured), Some(traffic)));
    missing(args, measured.as_ref())?;
    let deployed = deployed(args, measured.as_ref(), &mut notes)?;
    let or_seen = |given: Option<f64>, seen: Option<f64>| given.or(seen).unwrap_or(0.0);
    let rate = or_seen(args.rate, seen.as_ref().map(|t| t.rate.0.get()));
    let isl = or_seen(args.isl, seen.as_ref().map(|t| t.isl.get()));
    let osl = or_seen(args.osl, seen.as_ref().map(|t| t.osl.get()));
    let mut traffic = Traffic::of(PerSecond(Requests(rate)), Tokens(isl), Tokens(osl));
    if let Some(seen) = seen {
        // A length given by hand replaces the histogram of it.
        traffic.prompts = seen.prompts.filter(|_| args.isl.is_none() && args.cv.is_none());
        traffic.answers = seen.answers.filter(|_| args.osl.is_none() && args.cv.is_none());
        traffic.prefix_share = seen.prefix_share;
    }
    traffic.prefix_share = args.prefix_share.map_or(traffic.prefix_share, Ratio);
    traffic.variation = args.cv.map_or(traffic.variation, Ratio);
    let objectives = objectives(args, measured.as_ref(), &mut notes)?;
    let headroom = match (args.spare, args.growth) {
        (_, Some(growth)) => Headroom::Growth(Ratio(growth)),
        (spare, None) => Headroom::Spare(Ratio(spare.unwrap_or(0.25))),
    };
    let limits = EngineLimits {
        window: args.max_model_len,
        max_sequences: args.max_num_seqs,
        token_budget: args.max_num_batched_tokens,
    };
    let ask =
        Ask { deployed, measured, limits, traffic, objectives, headroom, price: args.price, seed: args.seed };
    Ok((ask, notes))
}

/// Everything that is missing or not known, in one error.
fn missing(args: &PlanArgs, measured: Option<&Measured>) -> Result<(), Failure> {
    let mut flags = Vec::new();
    let mut notes = Vec::new();
    match &args.model {
        None if measured.is_none() || args.gpu.is_some() => {
            flags.push("--model");
            notes.push(format!("models built in are {}", known::names().collect::<Vec<_>>().join(", ")));
        }
        None => {}
        Some(name) => match read_model(name) {
            Err(Failure::Usage(why)) => notes.push(why),
            Err(other) => return Err(other),
            Ok(_) => {}
        },
    }
    let card = args.gpu.as_ref().or(measured.and_then(|measured| measured.gpu.as_ref()));
    match card {
        None if measured.is_none() || args.model.is_some() => {
            flags.push("--gpu");
            let names: Vec<&str> = gpu::all().iter().map(gpu::short).collect();
            notes.push(format!("GPUs known are {}", names.join(", ")));
        }
        Some(name) if args.gpu.is_some() => {
            notes.extend(gpu::find_node(name).err().map(|e| format!("--gpu: {e}")));
        }
        _ => {}
    }
    if measured.is_none() {
        let lengths = [("--rate", args.rate), ("--isl", args.isl), ("--osl", args.osl)];
        flags.extend(lengths.into_iter().filter(|(_, given)| given.is_none()).map(|(flag, _)| flag));
    }
    if flags.is_empty() && notes.is_empty() {
        return Ok(());
    }
    let mut lines = Vec::new();
    if !flags.is_empty() {
        let verb = if flags.len() == 1 { "is" } else { "are" };
        lines.push(format!("{} {verb} needed, or a case to plan from (--from)", flags.join(", ")));
    }
    lines.append(&mut notes);
    Err(Failure::Usage(lines.join("\n  ")))
}

fn objectives(
    args: &PlanArgs,
    measured: Option<&Measured>,
    notes: &mut Vec<String>,
) -> Result<Vec<Objective>, Failure> {
    let parse = |text: &str| text.parse::<Objective>().map_err(|e| Failure::Usage(format!("--slo: {e}")));
    if !args.slo.is_empty() {
        return args.slo.iter().map(|text| parse(text)).collect();
    }
    if let Some(measured) = measured.filter(|measured| !measured.objectives.is_empty()) {
        return Ok(measured.objectives.clone());
    }
    notes.push("no objectives were given: people who chat are assumed (--slo)".into());
    ["ttft.p95=1s", "itl.p95=50ms"].into_iter().map(parse).collect()
}

/// The model on its GPUs; [`missing`] has looked for the flags already.
fn deployed(
    args: &PlanArgs,
    measured: Option<&Measured>,
    notes: &mut Vec<String>,
) -> Result<Option<Deployed>, Failure> {
    let usage = |text: String| Failure::Usage(text);
    let card = args.gpu.as_ref().or(measured.and_then(|measured| measured.gpu.as_ref()));
    let (Some(name), Some(card)) = (&args.model, card) else { return Ok(None) };
    let (name, mut model) = read_model(name)?;
    let (node, found) = gpu::find_node(card).map_err(|e| usage(format!("--gpu: {e}")))?;
    notes.extend(found.note);
    let mut weights = stored_as(&model);
    if let Some(format) = &args.quantization {
        model = model.with_weights(format).map_err(|e| usage(format!("--quantization: {e}")))?;
        weights.clone_from(format);
        if let Some(why) = unsupported(&found.gpu, format) {
            return Err(usage(format!("--quantization {format}: {why}")));
        }
    } else if weights == "bf16"
        && let Some(why) = unsupported(&found.gpu, &weights)
    {
        model = model.with_weights("fp16").map_err(|e| usage(format!("--quantization: {e}")))?;
        "fp16".clone_into(&mut weights);
        notes.push(format!("the checkpoint is bf16 and {why}; planned as fp16, which can overflow where bf16 does not: check the answers"));
    } else if let Some(why) = unsupported(&found.gpu, &weights) {
        notes.push(format!(
            "the checkpoint is {weights} and {why}; planned with weights unpacked to 16 bit in every step"
        ));
    }
    let kv = KvDtype::parse(&args.kv_dtype, &model).map_err(|e| usage(format!("--kv-dtype: {e}")))?;
    let asked = args.tp.or(measured.map(|measured| measured.gpus));
    let layout = if asked.is_some() || args.pp.is_some() { Layout::Asked } else { Layout::Chosen };
    Ok(Some(Deployed {
        name,
        model,
        gpu: found.gpu,
        tp: asked.unwrap_or(1),
        pp: args.pp.unwrap_or(1),
        layout,
        node: node.unwrap_or(8),
        kv,
        weights,
        utilisation: args.utilization.map(Ratio),
        release: release(args)?,
    }))
}

/// The release of vLLM, as far as it changes how memory is divided.
fn release(args: &PlanArgs) -> Result<Release, Failure> {
    let Some(text) = &args.vllm_version else { return Ok(Release::default()) };
    let mut numbers = text.trim().trim_start_matches('v').split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(0)), Some(Ok(minor))) if minor < 20 => Ok(Release::Before020),
        (Some(Ok(_)), Some(Ok(_))) => Ok(Release::From020),
        _ => Err(Failure::Usage(format!("--vllm-version {text:?}: a release such as 0.11 is needed"))),
    }
}

/// A built-in model, or one from its config.json.
fn read_model(name: &str) -> Result<(String, ModelShape), Failure> {
    let path = Path::new(name);
    let file = if path.is_dir() { path.join("config.json") } else { PathBuf::from(path) };
    let is_json = file.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
    if !is_json && !file.is_file() {
        return match known::model(name) {
            Ok(model) => Ok((name.to_owned(), model)),
            Err(UnknownModel::BuiltIn(e)) => Err(Failure::Internal(e.to_string())),
            Err(unknown) => Err(Failure::Usage(format!("--model: {unknown}"))),
        };
    }
    let bad = |why: String| Failure::File { path: file.display().to_string(), why };
    let size = std::fs::metadata(&file).map_err(|e| bad(e.to_string()))?.len();
    if size > MOST_CONFIG {
        return Err(bad(format!("{size} bytes are no config.json")));
    }
    let text = std::fs::read_to_string(&file).map_err(|e| bad(e.to_string()))?;
    let model = ModelShape::from_config_json(&text).map_err(|e| bad(e.to_string()))?;
    let folder = file.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    Ok((folder.unwrap_or_else(|| model.model_type.clone()), model))
}

/// The name of the format that most weights are stored in.
fn stored_as(model: &ModelShape) -> String {
    let bulk = model.tensors.iter().max_by_key(|tensor| tensor.elements());
    match bulk.map(|tensor| tensor.format.bits) {
        Some(bits) if bits <= 5.0 => "int4",
        Some(bits) if bits <= 9.0 => "fp8",
        Some(bits) if bits > 20.0 => "fp32",
        _ => "bf16",
    }
    .to_owned()
}
