//! The command line: parses and hands over.

mod access;
mod case;
mod check;
mod collect;
mod config;
mod gpu;
mod host;
mod plan;
mod scoreboard;
mod simulate;
mod starting;
mod values;

use clap::{Parser, Subcommand, ValueEnum};

pub(crate) use self::access::AccessArgs;
pub(crate) use self::case::{CaseArgs, CaseCommand, DiffArgs, ExtractArgs, MergeArgs, RedactArgs, ShowArgs};
pub(crate) use self::check::{CheckArgs, ProfileArg};
pub(crate) use self::collect::CollectArgs;
pub(crate) use self::config::{ConfigArgs, ConfigFormat};
pub(crate) use self::gpu::GpuArgs;
pub(crate) use self::host::HostArgs;
pub(crate) use self::plan::PlanArgs;
pub(crate) use self::scoreboard::ScoreboardArgs;
pub(crate) use self::simulate::{DemoArgs, SimulateArgs};
pub(crate) use self::starting::StartingArgs;
pub(crate) use self::values::{Format, duration};

use crate::commands;
use crate::commands::bench::BenchArgs;
use crate::failure::{Failure, Outcome};

/// Where did the inference time go, why, and what to change.
///
/// Point it at a serving endpoint, a folder of recordings or a saved case. Exit codes: 0 nothing is
/// wrong, 1 something is, 2 usage, 3 cannot tell, 4 could not run.
#[derive(Debug, Parser)]
#[command(version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Observe a server (or evidence of one) and print the verdict.
    #[command(after_long_help = check::EXAMPLES)]
    Check(Box<CheckArgs>),
    /// Load a server and measure it: rates, traces, sweeps, SLO search; every run carries its own error bar.
    #[command(after_long_help = commands::bench::EXAMPLES)]
    Bench(Box<BenchArgs>),
    /// Say how many GPUs a load takes: memory, limits, the rate that holds the objectives, alternatives.
    #[command(after_long_help = plan::EXAMPLES)]
    Plan(Box<PlanArgs>),
    /// Collect evidence into one redacted file, for a colleague or for later: metrics, endpoints, logs, the machine.
    #[command(after_long_help = collect::EXAMPLES)]
    Collect(Box<CollectArgs>),
    /// Look into cases: show, redact, diff, merge, extract.
    #[command(after_long_help = case::EXAMPLES)]
    Case(CaseArgs),
    /// Judge a configuration before it is started, and compare the one asked for with the one in force.
    #[command(after_long_help = config::EXAMPLES)]
    Config(Box<ConfigArgs>),
    /// Look at this machine: GPUs, their links, clocks, heat and errors. Exit code 1 if something is broken.
    #[command(after_long_help = host::EXAMPLES)]
    Host(HostArgs),
    /// Print the runbook of a cause, or the list of causes.
    Explain {
        /// A cause, such as kv-capacity-limited-queue.
        cause: Option<String>,
    },
    /// See the whole thing without a GPU: break a simulated engine, watch it, name the fault, reveal the truth.
    ///
    /// Starts a simulated engine with a fault drawn by the seed, sends it the load of its users, watches it
    /// over HTTP as it would a stranger's server, prints the verdict, and then says what was done to it.
    /// Takes about 25 seconds.
    #[command(after_long_help = simulate::DEMO_EXAMPLES)]
    Demo(DemoArgs),
    /// Serve a simulated engine over HTTP: vLLM's API and metrics, healthy or broken in a known way.
    ///
    /// Every request is scheduled, batched and cached the way a real engine does it, in real time, without a
    /// GPU. Point a client, a load generator, Prometheus or `intriage check` at it. The first line on
    /// standard output is the URL; everything else goes to standard error. Ctrl-C ends it.
    #[command(after_long_help = simulate::SIMULATE_EXAMPLES)]
    Simulate(Box<SimulateArgs>),
    /// Judge every labelled recording below a folder, or drawn deployments, and print truth, verdict and totals.
    #[command(after_long_help = scoreboard::EXAMPLES)]
    Scoreboard(ScoreboardArgs),
    /// Print the JSON Schema of what a command prints with `--format json`.
    Schema {
        /// Which of them.
        #[arg(default_value = "diagnosis")]
        of: SchemaOf,
    },
    /// Print shell completions.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

/// What a schema can be printed of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// intriage.diagnosis/1.
    Diagnosis,
    /// intriage.plan/1.
    Plan,
    /// intriage.bench/1.
    Bench,
    /// intriage.health/1.
    Health,
    /// intriage.contents/1, of `case show`.
    Contents,
    /// intriage.difference/1, of `case diff`.
    Difference,
    /// intriage.config/1.
    Config,
    /// intriage.preflight/1, of `check --preflight`.
    Preflight,
}

/// Parses the command line and runs the command.
pub(crate) fn run() -> Result<Outcome, Failure> {
    // Not clap's own way out: it quotes what was typed, and that may be a password.
    let cli = Cli::try_parse().map_err(|error| Failure::CommandLine(Box::new(error)))?;
    match cli.command {
        Command::Check(args) => commands::check::run(&args),
        Command::Collect(args) => commands::collect::run(&args),
        Command::Case(args) => commands::case::run(&args),
        Command::Config(args) => commands::config::run(&args),
        Command::Host(args) => commands::host::run(&args),
        Command::Bench(args) => commands::bench::run(&args),
        Command::Explain { cause } => commands::explain::run(cause.as_deref()),
        Command::Demo(args) => commands::demo::run(&args),
        Command::Simulate(args) => commands::simulate::run(&args),
        Command::Scoreboard(args) => commands::scoreboard::run(&args),
        Command::Plan(args) => commands::plan::run(&args),
        Command::Schema { of } => commands::explain::schema(of),
        Command::Completions { shell } => commands::completions::run::<Cli>(shell),
    }
}
