//! `intriage demo`: break a simulated engine, watch it as a stranger would, say what is wrong, reveal the truth.

use std::net::Ipv4Addr;
use std::thread::JoinHandle;
use std::time::Duration;

use intriage_case::{Case, ClientRequest, Objective, Profile, Seconds, Target, layout};
use intriage_diagnose::{Diagnosis, Thresholds, diagnose_observed};
use intriage_engines::read;
use intriage_observe::{Access, Address, Limits, now};
use intriage_simulate::faults::{self, Fault};
use intriage_simulate::serve::drive::{self, Drive};
use intriage_simulate::serve::{self, ServeConfig, ServeError, proxy};
use intriage_simulate::{Path, Setup, Stop, Window, rehearse};
use intriage_whatif::predict;
use serde::Serialize;

use super::print;
use super::watching::watching;
use crate::cli::{DemoArgs, Format};
use crate::failure::{Failure, Outcome};

/// What is watched of the deployment's life.
const WINDOW: Window = Window { from: Seconds(2.0), length: Seconds(20.0), every: Seconds(1.0) };

pub(crate) fn run(args: &DemoArgs) -> Result<Outcome, Failure> {
    if args.list {
        print::text(&faults::table())?;
        return Ok(Outcome::Fine);
    }
    let seed = args.seed.unwrap_or_else(|| now().0 % 10_000);
    let fault = match &args.fault {
        Some(name) => faults::find(name).map_err(|e| Failure::Usage(e.to_string()))?,
        None => faults::draw(seed),
    };
    let setup = fault.setup(seed, args.strength);
    let mut case = if args.instant { rehearsed(&setup, seed) } else { watched(&setup, seed)? };
    case.target = Target { name: "demo".into() };
    state_intent(&mut case, &setup)?;
    let observed = read(&case);
    let mut diagnosis = diagnose_observed(&observed, &case, &Thresholds::default());
    predict(&observed, &diagnosis).tell(&mut diagnosis);
    let truth = Truth::of(fault, seed, &diagnosis);
    let watched_for = diagnosis.window.seconds.0;
    let stopped = watched_for < WINDOW.length.0 / 2.0;
    match args.format {
        Format::Text => {
            print::diagnosis(&diagnosis, Format::Text)?;
            print::text(&truth.text(args, stopped))?;
        }
        Format::Json => {
            let shown = Shown { schema: "intriage.demo/1", truth, diagnosis };
            let json = serde_json::to_string_pretty(&shown).map_err(|e| Failure::Internal(e.to_string()))?;
            print::text(&format!("{json}\n"))?;
        }
    }
    // The demo worked; the finding in it is not the user's.
    Ok(Outcome::Fine)
}

/// What was done to the engine, and whether the verdict says so.
#[derive(Debug, Serialize)]
struct Truth {
    /// The fault.
    fault: &'static str,
    /// What was done.
    what: &'static str,
    /// What decided the deployment.
    seed: u64,
    /// The cause that is true, or null where nothing is wrong.
    cause: Option<&'static str>,
    /// Other answers that are just as true.
    accept: &'static [&'static str],
    /// Whether the verdict names it.
    named: bool,
}

#[derive(Debug, Serialize)]
struct Shown {
    schema: &'static str,
    truth: Truth,
    diagnosis: Diagnosis,
}

impl Truth {
    fn of(fault: &Fault, seed: u64, diagnosis: &Diagnosis) -> Self {
        let named = fault.is_named_by(diagnosis.verdict.primary.cause.as_deref())
            && Outcome::from(diagnosis.verdict.status)
                == fault.cause.map_or(Outcome::Fine, |_| Outcome::Wrong);
        Self { fault: fault.name, what: fault.what, seed, cause: fault.cause, accept: fault.accept, named }
    }

    fn text(&self, args: &DemoArgs, stopped: bool) -> String {
        let verdict = match (self.named, stopped) {
            (true, _) => "The verdict says so.",
            (false, true) => "Stopped early, there was too little to see.",
            (false, false) => "The verdict missed it: please report this line.",
        };
        let cause = self.cause.map_or(String::new(), |c| format!(" ({c})"));
        let strength =
            if args.strength == 1.0 { String::new() } else { format!(" --strength {}", args.strength) };
        let instant = if args.instant { " --instant" } else { "" };
        format!(
            "\nThe truth: {}{cause}.\n{verdict}\nAgain: intriage demo {} --seed {}{strength}{instant}\n",
            self.what, self.fault, self.seed
        )
    }
}

/// The objectives the deployment's users would state.
fn state_intent(case: &mut Case, setup: &Setup) -> Result<(), Failure> {
    let stated = setup.objectives.iter().map(|text| text.parse::<Objective>());
    case.intent.objectives =
        stated.collect::<Result<_, _>>().map_err(|e| Failure::Internal(e.to_string()))?;
    case.intent.profile = if setup.batch { Profile::Batch } else { Profile::Interactive };
    Ok(())
}

/// In virtual time: the recording an observer would have made.
fn rehearsed(setup: &Setup, seed: u64) -> Case {
    let mut case = Case::default();
    for (name, bytes) in rehearse(setup, seed, WINDOW) {
        layout::add(&mut case, &name, bytes);
    }
    case
}

/// In real time, over sockets.
fn watched(setup: &Setup, seed: u64) -> Result<Case, Failure> {
    let any = (Ipv4Addr::LOCALHOST, 0).into();
    let server = serve::start(ServeConfig::of(setup, seed), any)?;
    let relay = if setup.path == Path::default() {
        None
    } else {
        Some(proxy::start(setup.path, target(&server.url())?, any)?)
    };
    let clients_see = relay.as_ref().map_or_else(|| server.url(), serve::Running::url);
    let load = start_load(&clients_see, setup, seed)?;
    anstream::eprintln!(
        "A simulated engine is up at {}, and something may be wrong with it.\n\
         Its users send requests; it is watched as if it were a stranger's server.",
        server.url()
    );
    std::thread::sleep(Duration::from_secs_f64(WINDOW.from.0));
    let case = observe(&server.url());
    drop(relay);
    drop(server);
    let mut case = case?;
    case.client = load.join().map_err(|_| Failure::Internal("the load fell over".into()))??;
    Ok(case)
}

fn target(url: &str) -> Result<drive::Target, Failure> {
    url.parse().map_err(|e: drive::BadTarget| Failure::Internal(e.to_string()))
}

type Load = JoinHandle<Result<Vec<ClientRequest>, ServeError>>;

/// Sends the deployment's workload for as long as it is watched.
fn start_load(url: &str, setup: &Setup, seed: u64) -> Result<Load, Failure> {
    let drive = Drive {
        to: target(url)?,
        model: setup.identity.model.clone(),
        seed,
        stop: Stop::after(Seconds(WINDOW.from.0 + WINDOW.length.0)),
    };
    let workload = setup.workload.clone();
    let sending = move || Ok(drive::run(&drive, &workload)?);
    Ok(std::thread::Builder::new().name("load".into()).spawn(sending).map_err(ServeError::Start)?)
}

fn observe(url: &str) -> Result<Case, Failure> {
    let address: Address = url.parse().map_err(|e| Failure::Internal(format!("{e}")))?;
    let plan = intriage_observe::Watch {
        address,
        access: Access::default(),
        interval: Duration::from_secs_f64(WINDOW.every.0),
        window: Duration::from_secs_f64(WINDOW.length.0),
        limits: Limits { bytes: 32 << 20, time: Duration::from_secs(5) },
        until: None,
        budget: None,
    };
    watching(&plan)
}
