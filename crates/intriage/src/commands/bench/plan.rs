//! From the command line to a run's specification.

use std::sync::Arc;
use std::time::Duration;

use intriage_case::{Nanos, Objective, PerSecond, Ratio, Requests, Seconds};
use intriage_load::arrivals::{Curve, Distribution, Shape, trace};
use intriage_load::prompts::{Class, HitRatio, Prefix, Think};
use intriage_load::{BesideLoad, Counting, Load, Prompts, Protocol, Server, Spec};
use intriage_observe::{Access, Address, tls_config};
use intriage_simulate::Lengths;
use intriage_simulate::workload::Traced;

use super::super::access::access_with_key;
use super::args::{ArrivalArg, BenchArgs};
use crate::cli::duration;
use crate::failure::Failure;

/// Prompts without `--num-prompts` and `--duration`.
const PROMPTS: u64 = 100;

/// The run the command line asks for.
pub(super) fn spec(args: &BenchArgs) -> Result<Spec, Failure> {
    let address = address(args)?;
    let access = access_with_key(&args.target.access)?;
    let rows = trace_rows(args)?;
    let (load, stages) = load(args, rows.as_ref())?;
    let prompts = prompts(args, rows.as_ref())?;
    let trace_length = rows.map(|rows| rows.len() as u64);
    let unlimited =
        args.load.duration.is_some() || args.load.steps.is_some() || args.prompts.dataset_path.is_some();
    let sessions = args.load.num_prompts.or(trace_length).or((!unlimited).then_some(PROMPTS));
    let threads = args.load.threads.unwrap_or_else(|| threads(&load));
    Ok(Spec {
        shown_url: address.to_string(),
        server: server(&address, &access)?,
        api: args.target.api.parse().map_err(|e| Failure::Usage(format!("{e}")))?,
        path: args.target.endpoint.clone(),
        model: args.target.model.clone(),
        load,
        prompts,
        counting: match (&args.prompts.tokenizer, args.prompts.no_calibration) {
            (Some(path), _) => Counting::Tokenizer(path.clone()),
            (None, true) => Counting::Assume,
            (None, false) => Counting::Server,
        },
        hit_ratio: args.prompts.hit_ratio.map(Ratio),
        sessions,
        duration: args.load.duration.map(nanos),
        warmup_sessions: args.load.num_warmups,
        warmup_time: args.load.warmup_duration.map_or(Nanos::ZERO, nanos),
        stages,
        ignore_eos: args.prompts.ignore_eos,
        continuous_usage: args.prompts.continuous_usage,
        beside: if args.target.no_health_questions { BesideLoad::Nothing } else { BesideLoad::Health },
        extra: extra(args)?,
        objectives: objectives(args)?,
        percentiles: args.goals.metric_percentiles.clone(),
        seed: args.prompts.seed,
        salt: args.prompts.salt.unwrap_or_else(fresh_salt),
        threads,
        keep_alive: !args.target.no_keep_alive,
        protocol: if args.target.http2 { Protocol::Http2 } else { Protocol::Http1 },
        timeout: nanos(args.target.timeout),
        drain: nanos(args.load.drain),
        shard: shard(args)?,
        command: command_line(),
    })
}

pub(super) fn nanos(time: Duration) -> Nanos {
    Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// The server's address, a path that names the API cut off.
pub(super) fn address(args: &BenchArgs) -> Result<Address, Failure> {
    let text = args.url.as_ref().or(args.base_url.as_ref()).map_or("", String::as_str);
    let mut address: Address = text.parse().map_err(|e| Failure::Usage(format!("{e}")))?;
    for end in ["/chat/completions", "/completions", "/responses", "/v1"] {
        if let Some(front) = address.path.strip_suffix(end) {
            address.path = front.to_owned();
        }
    }
    Ok(address)
}

fn server(address: &Address, access: &Access) -> Result<Server, Failure> {
    let tls = if address.tls {
        let config = tls_config(access).map_err(|e| Failure::Usage(e.to_string()))?;
        Some(config)
    } else {
        None
    };
    Ok(Server {
        host: address.host.clone(),
        port: address.port,
        prefix: address.path.clone(),
        tls,
        headers: access.headers.clone(),
    })
}

type Rows = Arc<[Traced]>;

fn trace_rows(args: &BenchArgs) -> Result<Option<Rows>, Failure> {
    let Some(path) = &args.load.trace else { return Ok(None) };
    let rows = trace::open(path)
        .map_err(|e| Failure::File { path: path.display().to_string(), why: e.to_string() })?;
    Ok(Some(rows.into()))
}

fn load(args: &BenchArgs, rows: Option<&Rows>) -> Result<(Load, Vec<(Nanos, String)>), Failure> {
    let load = &args.load;
    let rate = |r: f64| PerSecond(Requests(r));
    let usage = |flag: &str, how: &str| Failure::Usage(format!("{flag} is written {how}"));
    let max_in_flight = load.max_concurrency;
    let open = |shape| (Load::Open { shape, max_in_flight }, Vec::new());
    if let Some(rows) = rows {
        return Ok(open(Shape::Trace { rows: Arc::clone(rows), speed: load.trace_speed }));
    }
    let distribution = match (load.arrival, load.burstiness) {
        (Some(ArrivalArg::Constant), None) => Distribution::Constant,
        (Some(ArrivalArg::Poisson) | None, None) => Distribution::Poisson,
        (Some(ArrivalArg::Gamma) | None, Some(shape)) => Distribution::Gamma(shape),
        (Some(ArrivalArg::Gamma), None) => {
            return Err(Failure::Usage("--arrival gamma needs --burstiness SHAPE".into()));
        }
        (Some(_), Some(_)) => {
            return Err(Failure::Usage("--burstiness goes with --arrival gamma only".into()));
        }
    };
    if let Some(text) = &load.ramp {
        let how = "FROM:TO:OVER or FROM:TO:OVER:exponential, as 1:50:60s";
        let parts: Vec<&str> = text.split(':').collect();
        let curve = match parts.get(3) {
            None | Some(&"linear") => Curve::Linear,
            Some(&"exponential") => Curve::Exponential,
            Some(_) => return Err(usage("--ramp", how)),
        };
        let number =
            |i: usize| parts.get(i).and_then(|t| t.parse::<f64>().ok()).ok_or_else(|| usage("--ramp", how));
        let over = parts.get(2).ok_or_else(|| usage("--ramp", how))?;
        let over = duration(over).map_err(|e| Failure::Usage(format!("--ramp: {e}")))?;
        let over = Seconds(over.as_secs_f64());
        return Ok(open(Shape::Ramp {
            from: rate(number(0)?),
            to: rate(number(1)?),
            over,
            curve,
            distribution,
        }));
    }
    if let Some(text) = &load.steps {
        return steps(text, distribution, max_in_flight);
    }
    let Some(requests) = load.request_rate else {
        return Ok((Load::Closed { concurrency: load.max_concurrency.unwrap_or(1) }, Vec::new()));
    };
    if let Some(text) = &load.bursts {
        let how = "EVERY:SIZE, as 10s:50";
        let (every, size) = text.split_once(':').ok_or_else(|| usage("--bursts", how))?;
        let every = duration(every).map_err(|e| Failure::Usage(format!("--bursts: {e}")))?;
        let size = size.parse().map_err(|_| usage("--bursts", how))?;
        return Ok(open(Shape::Bursts { rate: rate(requests), every: Seconds(every.as_secs_f64()), size }));
    }
    Ok(open(match distribution {
        Distribution::Constant => Shape::Constant { rate: rate(requests) },
        Distribution::Poisson => Shape::Poisson { rate: rate(requests) },
        Distribution::Gamma(burstiness) => Shape::Gamma { rate: rate(requests), burstiness },
    }))
}

fn steps(
    text: &str,
    distribution: Distribution,
    max_in_flight: Option<u32>,
) -> Result<(Load, Vec<(Nanos, String)>), Failure> {
    let bad = || Failure::Usage("--steps is written RATE:TIME,RATE:TIME, as 5:30s,10:30s".into());
    let (mut steps, mut stages, mut end) = (Vec::new(), Vec::new(), Nanos::ZERO);
    for step in text.split(',') {
        let (rate, time) = step.trim().split_once(':').ok_or_else(bad)?;
        let rate: f64 = rate.parse().map_err(|_| bad())?;
        let time = duration(time).map_err(|e| Failure::Usage(format!("--steps: {e}")))?;
        end = end + nanos(time);
        steps.push((PerSecond(Requests(rate)), Seconds(time.as_secs_f64())));
        stages.push((end, format!("{rate} req/s")));
    }
    Ok((Load::Open { shape: Shape::Steps { steps, distribution }, max_in_flight }, stages))
}

fn prompts(args: &BenchArgs, rows: Option<&Rows>) -> Result<Prompts, Failure> {
    let p = &args.prompts;
    let (least, most) = turns(&p.turns)?;
    if let Some(rows) = rows.filter(|rows| rows.iter().all(|r| r.lengths.is_some())) {
        return Ok(Prompts::Trace(Arc::clone(rows)));
    }
    if let Some(path) = &p.dataset_path {
        let repeat = args.load.num_prompts.is_some() || args.load.duration.is_some();
        return Ok(Prompts::File {
            path: path.clone(),
            output: p.random_output_len,
            repeat,
            turns: most as usize,
        });
    }
    let share = share("--random-range-ratio", p.random_range_ratio)?;
    let mut plain = Class::plain(
        "all",
        Lengths::around(p.random_input_len, share),
        Lengths::around(p.random_output_len, share),
    );
    plain.turns = (least, most);
    plain.think = Think::Exponential(Seconds(p.think.map_or(0.0, |t| t.as_secs_f64())));
    plain.abort_share = self::share("--abort-share", p.abort_share)?;
    let mut classes = p.class.iter().map(|text| class(text, &plain)).collect::<Result<Vec<_>, _>>()?;
    if classes.is_empty() {
        classes.push(plain);
    }
    for class in &mut classes {
        class.prefix = prefix(args, class)?;
    }
    Ok(Prompts::Synthetic(classes))
}

fn prefix(args: &BenchArgs, class: &Class) -> Result<Option<Prefix>, Failure> {
    let p = &args.prompts;
    if let Some(ratio) = p.hit_ratio {
        let wish = HitRatio {
            ratio: share("--hit-ratio", ratio)?,
            input: &class.input,
            groups: p.prefix_groups,
            requests: args.load.num_prompts.unwrap_or(10_000),
            own: 16,
            block: 16,
        };
        return Prefix::for_hit_ratio(&wish)
            .map(Some)
            .map_err(|e| Failure::Usage(format!("--hit-ratio: {e}")));
    }
    Ok(p.prefix_len.map(|tokens| Prefix { tokens, groups: p.prefix_groups, share: Ratio(1.0) }))
}

/// `chat:3,in=500,out=200,slo=ttft.p95=300ms`.
fn class(text: &str, like: &Class) -> Result<Class, Failure> {
    let how = |what: &str| {
        Failure::Usage(format!(
            "--class {text:?}: {what}; write NAME:WEIGHT,in=TOKENS,out=TOKENS,slo=OBJECTIVE"
        ))
    };
    let mut parts = text.split(',');
    let (name, weight) =
        parts.next().and_then(|p| p.split_once(':')).ok_or_else(|| how("it has no weight"))?;
    let mut class = Class { name: name.to_owned(), ..like.clone() };
    class.weight = weight.parse().map_err(|_| how("its weight is not a number"))?;
    for part in parts {
        let (key, value) = part.split_once('=').ok_or_else(|| how(&format!("{part:?} says nothing")))?;
        let number = || value.parse::<u32>().map_err(|_| how(&format!("{value:?} is not a number")));
        match key {
            "in" | "input" => class.input = Lengths::Fixed(number()?),
            "out" | "output" => class.output = Lengths::Fixed(number()?),
            "slo" => {
                value.parse::<Objective>().map_err(|e| Failure::Usage(e.to_string()))?;
                class.objectives.push(value.to_owned());
            }
            other => return Err(how(&format!("{other:?} is unknown"))),
        }
    }
    Ok(class)
}

fn turns(text: &str) -> Result<(u32, u32), Failure> {
    let bad =
        || Failure::Usage(format!("--turns {text:?}: write a number such as 5, or a range such as 2-8"));
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    let (least, most) = (least.parse().map_err(|_| bad())?, most.parse().map_err(|_| bad())?);
    if least == 0 || most < least || most > 1000 { Err(bad()) } else { Ok((least, most)) }
}

fn share(flag: &str, value: f64) -> Result<Ratio, Failure> {
    if (0.0..=1.0).contains(&value) {
        Ok(Ratio(value))
    } else {
        Err(Failure::Usage(format!("{flag} is a share between 0 and 1, not {value}")))
    }
}

/// Objectives of `--slo`, and of `--goodput` in vLLM's words.
pub(super) fn objectives(args: &BenchArgs) -> Result<Vec<Objective>, Failure> {
    let mut all = Vec::new();
    for text in &args.goals.slo {
        all.push(
            text.parse().map_err(|e: intriage_case::ObjectiveParseError| Failure::Usage(e.to_string()))?,
        );
    }
    for text in args.goals.goodput.iter().flat_map(|t| t.split_whitespace()) {
        let (name, ms) = text.split_once(':').ok_or_else(|| {
            Failure::Usage(format!("--goodput {text:?}: write NAME:MILLISECONDS, as ttft:200"))
        })?;
        let objective = format!("{name}.p99={ms}ms");
        all.push(
            objective
                .parse()
                .map_err(|e: intriage_case::ObjectiveParseError| Failure::Usage(e.to_string()))?,
        );
    }
    Ok(all)
}

fn extra(args: &BenchArgs) -> Result<serde_json::Map<String, serde_json::Value>, Failure> {
    let Some(text) = &args.target.extra_body else { return Ok(serde_json::Map::new()) };
    serde_json::from_str(text).map_err(|e| Failure::Usage(format!("--extra-body is not a JSON object: {e}")))
}

fn shard(args: &BenchArgs) -> Result<(u32, u32), Failure> {
    let Some(text) = &args.load.shard else { return Ok((0, 1)) };
    let bad = || Failure::Usage(format!("--shard {text:?}: write I/N with I from 0 to N-1, as 2/8"));
    let (index, of) = text.split_once('/').ok_or_else(bad)?;
    let (index, of): (u32, u32) = (index.parse().map_err(|_| bad())?, of.parse().map_err(|_| bad())?);
    if index < of { Ok((index, of)) } else { Err(bad()) }
}

/// One loop for each 512 requests in flight, one core left for the rest.
fn threads(load: &Load) -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(1));
    let flying = match load {
        Load::Closed { concurrency } => *concurrency,
        Load::Open { .. } => 1,
    };
    flying.div_ceil(512).clamp(1, cores.saturating_sub(1).max(1))
}

fn fresh_salt() -> u64 {
    intriage_load::wall_clock().0 ^ (u64::from(std::process::id()) << 42)
}

/// The command line for the record: what may be a key is masked.
fn command_line() -> Vec<String> {
    let words: Vec<String> = std::env::args().collect();
    let mut masked = Vec::with_capacity(words.len());
    let mut hide = false;
    for word in words {
        if hide {
            masked.push("***".to_owned());
            hide = false;
            continue;
        }
        hide = word == "--header" || word == "--extra-body";
        let secret = word.starts_with("--header=") || word.starts_with("--extra-body=");
        masked.push(if secret {
            format!("{}=***", word.split('=').next().unwrap_or_default())
        } else {
            word
        });
    }
    masked
}
