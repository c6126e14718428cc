//! `intriage simulate`: a simulated engine behind a real HTTP server.

use std::net::{Ipv4Addr, SocketAddr};

use intriage_case::Seconds;
use intriage_simulate::serve::drive::{self, Drive};
use intriage_simulate::serve::{self, Lag, Running, ServeConfig, ServeError, proxy};
use intriage_simulate::workload::trace;
use intriage_simulate::{Arrivals, Path, Setup, Stop, faults};

use super::{ground_truth, print};
use crate::cli::SimulateArgs;
use crate::failure::{Failure, Outcome};

pub(crate) fn run(args: &SimulateArgs) -> Result<Outcome, Failure> {
    if args.truth.ground_truth {
        return ground_truth::run(args);
    }
    if args.list {
        print::text(&faults::table())?;
        return Ok(Outcome::Fine);
    }
    let fault = faults::find(&args.fault).map_err(|e| Failure::Usage(e.to_string()))?;
    let mut setup = fault.setup(args.seed, args.strength);
    apply_flags(&mut setup, args);
    if let Some(path) = &args.trace {
        let file = |why: String| Failure::File { path: path.display().to_string(), why };
        let text = std::fs::read_to_string(path).map_err(|e| file(e.to_string()))?;
        let rows = trace::read(&text).map_err(|e| file(e.to_string()))?;
        let last = rows.last().map_or(Seconds(0.0), |row| row.at.seconds());
        anstream::eprintln!(
            "{}: {} requests over {last} are sent instead of the fault's own",
            path.display(),
            rows.len()
        );
        setup.workload.arrivals = Arrivals::Trace(rows);
    }
    let config = ServeConfig::of(&setup, args.seed);
    config.check().map_err(|e| Failure::Usage(e.to_string()))?;
    let asked = SocketAddr::new(args.host, args.port);
    // With something on the path, the path is what clients talk to.
    let direct = setup.path == Path::default();
    let address = if direct { asked } else { (Ipv4Addr::LOCALHOST, 0).into() };
    let mut relay = None;
    let mut failed = None;
    let lag = serve::run(config, address, args.duration, |url| {
        let shown = if direct { Ok(url.to_owned()) } else { relay_to(url, &setup, asked, &mut relay) };
        let announced = shown.map_err(Failure::from).and_then(|shown| {
            print::text(&format!("{shown}\n"))?;
            anstream::eprintln!("{}", introduction(&setup, &args.fault, fault.what));
            if args.load || args.trace.is_some() { start_load(&shown, &setup, args) } else { Ok(()) }
        });
        failed = announced.err();
        failed.is_none()
    })?;
    if let Some(failure) = failed {
        return Err(failure);
    }
    anstream::eprintln!("{}", farewell(lag));
    Ok(Outcome::Fine)
}

/// vLLM's flags change every engine.
fn apply_flags(setup: &mut Setup, args: &SimulateArgs) {
    if let Some(name) = &args.model {
        setup.identity.model.clone_from(name);
    }
    if let (Some(n), Some(first)) = (args.data_parallel_size, setup.fleet.engines.first().cloned()) {
        setup.fleet.engines = vec![first; n as usize];
    }
    for engine in &mut setup.fleet.engines {
        let limits = [
            (args.max_num_seqs, &mut engine.max_sequences),
            (args.max_num_batched_tokens, &mut engine.token_budget),
            (args.num_gpu_blocks, &mut engine.pool_blocks),
            (args.block_size, &mut engine.block_tokens),
            (args.max_model_len, &mut engine.context_window),
        ];
        for (asked, limit) in limits {
            *limit = asked.unwrap_or(*limit);
        }
        engine.queue_limit = args.max_num_queued_reqs.or(engine.queue_limit);
        engine.prefix_cache &= !args.no_enable_prefix_caching;
    }
}

/// Puts the deployment's path before the server; returns its URL.
fn relay_to(
    url: &str,
    setup: &Setup,
    address: SocketAddr,
    relay: &mut Option<Running<()>>,
) -> Result<String, ServeError> {
    let to = url.parse().map_err(std::io::Error::other)?;
    let started = proxy::start(setup.path, to, address)?;
    let url = started.url();
    *relay = Some(started);
    Ok(url)
}

/// Sends the deployment's own workload from a thread that ends with the program.
fn start_load(url: &str, setup: &Setup, args: &SimulateArgs) -> Result<(), Failure> {
    let drive = Drive {
        to: url.parse().map_err(|e| Failure::Internal(format!("{e}")))?,
        model: setup.identity.model.clone(),
        seed: args.seed,
        stop: Stop::after(Seconds(args.duration.map_or(f64::MAX, |d| d.as_secs_f64()))),
    };
    let workload = setup.workload.clone();
    let sending = move || {
        if let Err(why) = drive::run(&drive, &workload) {
            anstream::eprintln!("the load ended: {why}");
        }
    };
    std::thread::Builder::new().name("load".into()).spawn(sending).map_err(ServeError::Start)?;
    Ok(())
}

fn introduction(setup: &Setup, fault: &str, what: &str) -> String {
    let Some(engine) = setup.fleet.engines.first() else { return String::new() };
    let engines = setup.fleet.engines.len();
    let many = if engines > 1 { format!("{engines} engines, each with ") } else { String::new() };
    format!(
        "simulating {} on {}: {many}{} sequences, {} tokens a step, {} KV blocks of {} tokens, a window of {}\n\
         fault {fault}: {what}\n\
         Ctrl-C ends it.",
        setup.identity.checkpoint,
        setup.identity.gpu,
        engine.max_sequences,
        engine.token_budget,
        engine.pool_blocks,
        engine.block_tokens,
        engine.context_window,
    )
}

fn farewell(lag: Lag) -> String {
    let Lag { steps, late, worst } = lag;
    if late == 0 {
        return format!("ended after {steps} engine steps, none of them late");
    }
    format!(
        "ended after {steps} engine steps; {late} were more than 20 ms late, the worst {worst}: this machine was too busy"
    )
}
