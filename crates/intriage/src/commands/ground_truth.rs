//! `intriage simulate --ground-truth`: tokens on schedule, and a log of when each of them left.

use crate::cli::SimulateArgs;
use crate::failure::{Failure, Outcome};

#[cfg(not(target_os = "linux"))]
pub(crate) fn run(_: &SimulateArgs) -> Result<Outcome, Failure> {
    Err(Failure::Usage("--ground-truth needs Linux: its clockwork is epoll and timerfd".into()))
}

#[cfg(target_os = "linux")]
pub(crate) fn run(args: &SimulateArgs) -> Result<Outcome, Failure> {
    use std::net::SocketAddr;

    use intriage_truth::{Config, Interrupt, Truth, TruthError};

    let config = Config::default()
        .with(&args.truth.schedule)
        .map_err(|e| Failure::Usage(format!("--schedule: {e}")))?;
    let interrupt = Interrupt::hold().map_err(TruthError::Start)?;
    let what = introduction(&config);
    let server = Truth::start(config, SocketAddr::new(args.host, args.port))?;
    let url = format!("http://{}", server.address());
    super::print::text(&format!("{url}\n"))?;
    anstream::eprintln!(
        "ground truth on {url}: {what}\n\
         GET {url}/truth/log: one JSON line a request; POST {url}/truth/reset: forget it;\n\
         GET {url}/truth/config?KEY=VALUE: change what it does; Ctrl-C ends it."
    );
    interrupt.wait(args.duration).map_err(TruthError::Start)?;
    let log = server.log()?;
    let tokens: u64 = log.iter().map(|served| u64::from(served.tokens)).sum();
    let aborted = log.iter().filter(|served| served.aborted).count();
    anstream::eprintln!(
        "ended after {} requests ({aborted} given up by clients) and {tokens} tokens",
        log.len()
    );
    Ok(Outcome::Fine)
}

#[cfg(target_os = "linux")]
fn introduction(config: &intriage_truth::Config) -> String {
    let pace = match config.mode {
        intriage_truth::Mode::Flood => "every token as fast as the socket takes it".to_owned(),
        intriage_truth::Mode::Paced => format!(
            "{:?} to the first token, {:?} between tokens, each later by up to {:?}",
            config.ttft, config.itl, config.jitter
        ),
    };
    let fault = config.fault.map_or_else(String::new, |fault| {
        format!("; {} at every {}. request", fault.name(), config.fault_every)
    });
    format!("{pace}; {} tokens unless a request says otherwise{fault}", config.default_tokens)
}
