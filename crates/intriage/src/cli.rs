//! The command line: parses and hands over.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::commands;
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
    #[command(after_long_help = CHECK_EXAMPLES)]
    Check(Box<CheckArgs>),
    /// Say how many GPUs a load takes: memory, limits, the rate that holds the objectives, alternatives.
    #[command(after_long_help = PLAN_EXAMPLES)]
    Plan(Box<PlanArgs>),
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
    #[command(after_long_help = DEMO_EXAMPLES)]
    Demo(DemoArgs),
    /// Serve a simulated engine over HTTP: vLLM's API and metrics, healthy or broken in a known way.
    ///
    /// Every request is scheduled, batched and cached the way a real engine does it, in real time, without a
    /// GPU. Point a client, a load generator, Prometheus or `intriage check` at it. The first line on
    /// standard output is the URL; everything else goes to standard error. Ctrl-C ends it.
    #[command(after_long_help = SIMULATE_EXAMPLES)]
    Simulate(Box<SimulateArgs>),
    /// Judge every labelled recording below a folder and print truth, verdict and totals.
    Scoreboard {
        /// Folders of labelled recordings.
        #[arg(required = true)]
        folders: Vec<PathBuf>,
    },
    /// Print the JSON Schema of `check --format json` or of `plan --format json`.
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

const CHECK_EXAMPLES: &str = "\
Examples:
  intriage check http://127.0.0.1:8000
  intriage check http://127.0.0.1:8000 --slo ttft.p95=500ms --slo itl.p95=50ms
  intriage check https://llm.example --bearer-token-file token --log server.log --save incident.case
  intriage check incident.case --format json
  intriage check fixtures/recordings/vllm-h200-maxseqs4";

const DEMO_EXAMPLES: &str = "Examples:
  intriage demo                              a fault nobody told you
  intriage demo --list                       all faults
  intriage demo small-kv-pool --seed 7       this fault, this deployment
  intriage demo --seed 7 --instant           in virtual time, at once";

const SIMULATE_EXAMPLES: &str = "\
Examples:
  intriage simulate --port 8000
      a healthy 8B model on an H100; then, from another terminal:
      curl http://127.0.0.1:8000/v1/completions -d '{\"prompt\": \"Hello\", \"stream\": true}'
  intriage simulate --list
      what can be wrong with it
  intriage simulate --port 8000 --fault low-sequence-cap --load
      a server that is too small for the requests that are sent to it; `intriage check` should say so
  intriage simulate --max-num-seqs 4 --num-gpu-blocks 2000 --max-model-len 8192
      vLLM's own flags
  intriage simulate --duration 60s >url.txt &
      in a script: the URL is the first and only line of the file";

/// Arguments of `check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// A URL (scraped over a window), a folder of recordings, or a saved case.
    pub(crate) target: String,
    /// Time between scrapes of a URL, such as 1s or 500ms.
    #[arg(long, value_parser = duration, default_value = "1s")]
    pub(crate) interval: Duration,
    /// How long to watch a URL.
    #[arg(long, value_parser = duration, default_value = "30s")]
    pub(crate) window: Duration,
    /// Most time one scrape may take.
    #[arg(long, value_parser = duration, default_value = "10s")]
    pub(crate) timeout: Duration,
    /// Most MiB one scrape may have.
    #[arg(long, default_value_t = 64, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) max_scrape: u32,
    /// What the server is for; decides which conditions matter.
    #[arg(long)]
    pub(crate) profile: Option<ProfileArg>,
    /// An objective, such as ttft.p95=500ms, itl.mean=50ms or errors=0.5% (repeatable).
    #[arg(long, value_name = "OBJECTIVE")]
    pub(crate) slo: Vec<String>,
    /// Judge this served model only.
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// The server's command line or flags, where no log tells them.
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    pub(crate) engine_args: Option<String>,
    /// A server log (repeatable).
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Vec<PathBuf>,
    /// What the clients saw: one JSON object a line with sent (Unix ms) and, in seconds after it, connect,
    /// headers, first, last, gap_p50; chunks, tokens, status, error.
    #[arg(long, value_name = "FILE")]
    pub(crate) client: Option<PathBuf>,
    /// Save everything collected as a case file.
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// Do not replay the case with its remedies.
    #[arg(long)]
    pub(crate) no_predict: bool,
    /// Output for people or for machines.
    #[arg(long, default_value = "text")]
    pub(crate) format: Format,
    /// A file with a bearer token for the server.
    #[arg(long, value_name = "FILE")]
    pub(crate) bearer_token_file: Option<PathBuf>,
    /// An extra header, 'Name: value' (repeatable).
    #[arg(long, value_name = "HEADER")]
    pub(crate) header: Vec<String>,
    /// Accept any TLS certificate.
    #[arg(long)]
    pub(crate) insecure: bool,
    /// A CA certificate (PEM) to trust.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// The settings file (default: intriage.toml in this folder, if there is one).
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

const PLAN_EXAMPLES: &str = "\
Examples:
  intriage plan --model llama-3.1-8b --gpu h100 --isl 2000 --osl 300 --rate 100 \\
      --slo ttft.p95=1s --slo itl.p95=40ms --price 2.50
  intriage plan --from incident.case --rate 60 --growth 50%

The first plans from physics: how the memory divides, how fast steps can be, and by simulation the rate \
at which one instance still holds the objectives. The second takes lengths, limits and speed from a \
recording; with --model it also divides the memory and compares alternatives. A plan that cannot work \
exits with 1.";

/// Arguments of `plan`.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// A saved case or a folder of recordings to take rate, lengths, limits and speed from.
    pub(crate) case: Option<PathBuf>,
    /// The same, as a flag.
    #[arg(long, value_name = "CASE", conflicts_with = "case")]
    pub(crate) from: Option<PathBuf>,
    /// A model by name, such as llama-3.1-8b, or its config.json (or the folder that holds it).
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// A GPU, such as h100, h200, l40s or mi300x.
    #[arg(long)]
    pub(crate) gpu: Option<String>,
    /// GPUs of one instance (tensor parallel).
    #[arg(long, allow_negative_numbers = true, value_name = "GPUS")]
    pub(crate) tp: Option<u32>,
    /// Mean prompt length in tokens.
    #[arg(long, allow_negative_numbers = true, value_name = "TOKENS")]
    pub(crate) isl: Option<f64>,
    /// Mean answer length in tokens.
    #[arg(long, allow_negative_numbers = true, value_name = "TOKENS")]
    pub(crate) osl: Option<f64>,
    /// Requests a second at peak, all instances together.
    #[arg(long, allow_negative_numbers = true, value_name = "REQ/S")]
    pub(crate) rate: Option<f64>,
    /// An objective, such as ttft.p95=1s or itl.p95=40ms (repeatable; default: those two with 50ms).
    #[arg(long, value_name = "OBJECTIVE")]
    pub(crate) slo: Vec<String>,
    /// How weights are stored, whatever the config says: bf16, fp8, int4, awq, nvfp4, Q4_K_M, …
    #[arg(long, value_name = "FORMAT")]
    pub(crate) quantization: Option<String>,
    /// How keys and values are stored.
    #[arg(long, default_value = "auto", value_name = "DTYPE")]
    pub(crate) kv_dtype: String,
    /// Share of GPU memory that the engine may take [default: 0.92].
    #[arg(long, allow_negative_numbers = true, value_name = "SHARE", value_parser = share)]
    pub(crate) utilization: Option<f64>,
    /// Longest prompt and answer together [default: the model's, as far as the pool holds it].
    #[arg(long, allow_negative_numbers = true, value_name = "TOKENS")]
    pub(crate) max_model_len: Option<u32>,
    /// Sequences in one step at most [default: vLLM's for the GPU].
    #[arg(long, allow_negative_numbers = true, value_name = "N")]
    pub(crate) max_num_seqs: Option<u32>,
    /// Tokens in one step at most [default: vLLM's for the GPU].
    #[arg(long, allow_negative_numbers = true, value_name = "N")]
    pub(crate) max_num_batched_tokens: Option<u32>,
    /// Share of an average prompt that the prefix cache holds, such as 0.6 or 60%.
    #[arg(long, allow_negative_numbers = true, value_name = "SHARE", value_parser = share)]
    pub(crate) prefix_share: Option<f64>,
    /// Coefficient of variation of lengths; 0 makes all alike [default: 0.5].
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) cv: Option<f64>,
    /// Share of the capacity that stays spare at peak [default: 25%].
    #[arg(long, allow_negative_numbers = true, value_name = "SHARE", value_parser = share, conflicts_with = "growth")]
    pub(crate) spare: Option<f64>,
    /// Growth in demand to leave room for, instead of spare capacity.
    #[arg(long, allow_negative_numbers = true, value_name = "SHARE", value_parser = growth)]
    pub(crate) growth: Option<f64>,
    /// Price of one GPU for an hour, in any currency.
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) price: Option<f64>,
    /// Decides every random draw; the same seed gives the same plan.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Output for people or for machines (schema intriage.plan/1).
    #[arg(long, default_value = "text")]
    pub(crate) format: Format,
}

/// `25%` or `0.25`.
fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |percent| (percent, 0.01));
    let number = number.trim().parse::<f64>();
    number.map(|n| n * scale).map_err(|_| format!("{text:?} is not a share: write 25% or 0.25"))
}

/// A share too, of which more than ten is a forgotten percent sign.
fn growth(text: &str) -> Result<f64, String> {
    let value = share(text)?;
    if value > 10.0 && !text.ends_with('%') {
        return Err(format!("{text} would be {:.0} %: write {text}% or {:.2}", value * 100.0, value / 100.0));
    }
    Ok(value)
}

/// What a schema can be printed of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// intriage.diagnosis/1.
    Diagnosis,
    /// intriage.plan/1.
    Plan,
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// The fault, by name; without one the seed draws it.
    pub(crate) fault: Option<String>,
    /// List the faults and end.
    #[arg(long)]
    pub(crate) list: bool,
    /// Decides the fault, the deployment and its load; the same seed gives the same case.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// How wrong it is: 1 is a plain case, 2 a severe one.
    #[arg(long, default_value_t = 1.0, value_parser = strength)]
    pub(crate) strength: f64,
    /// Run in virtual time, without sockets and without waiting.
    #[arg(long)]
    pub(crate) instant: bool,
    /// Output for people or for machines.
    #[arg(long, default_value = "text")]
    pub(crate) format: Format,
}

/// Arguments of `simulate`.
#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// The port; 0 takes any that is free.
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    /// The address to listen on.
    #[arg(long, default_value = "127.0.0.1")]
    pub(crate) host: std::net::IpAddr,
    /// What is wrong with the deployment; `--list` has the names.
    #[arg(long, value_name = "NAME", default_value = "healthy")]
    pub(crate) fault: String,
    /// How wrong it is: 1 is a plain case, 2 a severe one.
    #[arg(long, default_value_t = 1.0, value_parser = strength)]
    pub(crate) strength: f64,
    /// Send the requests that belong to the fault, too.
    #[arg(long)]
    pub(crate) load: bool,
    /// Send the requests of this trace instead: JSON lines with timestamp (ms), input_length, output_length and,
    /// where known, hash_ids of 512-token blocks, as the Mooncake traces have them.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// End after this time, such as 60s; without it on Ctrl-C.
    #[arg(long, value_parser = duration)]
    pub(crate) duration: Option<Duration>,
    /// Decides speeds, lengths and words: the same seed gives the same deployment.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// List the faults and end.
    #[arg(long)]
    pub(crate) list: bool,
    /// The name the model is served under.
    #[arg(long, value_name = "NAME", help_heading = "Engine (vLLM's flags)")]
    pub(crate) model: Option<String>,
    /// Most sequences in a step.
    #[arg(long, value_name = "N", help_heading = "Engine (vLLM's flags)", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_num_seqs: Option<u32>,
    /// Most tokens in a step.
    #[arg(long, value_name = "N", help_heading = "Engine (vLLM's flags)", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_num_batched_tokens: Option<u32>,
    /// Blocks of the KV pool.
    #[arg(long, visible_alias = "num-gpu-blocks-override", value_name = "N", help_heading = "Engine (vLLM's flags)", value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub(crate) num_gpu_blocks: Option<u32>,
    /// Tokens in a KV block.
    #[arg(long, value_name = "N", help_heading = "Engine (vLLM's flags)", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) block_size: Option<u32>,
    /// Longest prompt and answer together, in tokens.
    #[arg(long, value_name = "N", help_heading = "Engine (vLLM's flags)", value_parser = clap::value_parser!(u32).range(2..))]
    pub(crate) max_model_len: Option<u32>,
    /// Compute prompts that begin alike anew each time.
    #[arg(long, help_heading = "Engine (vLLM's flags)")]
    pub(crate) no_enable_prefix_caching: bool,
    /// Engines behind the address.
    #[arg(long, value_name = "N", help_heading = "Engine (vLLM's flags)", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) data_parallel_size: Option<u32>,
    /// Requests that may wait; more are refused with 503.
    #[arg(long, value_name = "N", help_heading = "Engine (vLLM's flags)")]
    pub(crate) max_num_queued_reqs: Option<u32>,
}

/// Output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For machines: JSON with a published schema.
    Json,
}

/// Workload profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileArg {
    /// People wait for tokens.
    Interactive,
    /// A job wants throughput; a standing queue is its plan.
    Batch,
    /// People wait, and arrivals come in bursts.
    Bursty,
}

/// A positive number that is not absurd.
fn strength(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(strength) if (0.1..=10.0).contains(&strength) => Ok(strength),
        _ => Err(format!("{text:?} is not a strength: between 0.1 and 10, where 1 is a plain case")),
    }
}

/// `1s`, `500ms`, `2m`.
fn duration(text: &str) -> Result<Duration, String> {
    let hint = || format!("{text:?} is not a time: write 500ms, 30s or 2m");
    let (number, scale) = [("ms", 1e-3), ("s", 1.0), ("m", 60.0)]
        .into_iter()
        .find_map(|(unit, scale)| text.strip_suffix(unit).map(|n| (n, scale)))
        .ok_or_else(hint)?;
    let seconds = number.trim().parse::<f64>().map_err(|_| hint())? * scale;
    if !(0.01..=86_400.0).contains(&seconds) {
        return Err(format!("{text:?} is out of range: between 10ms and 24 hours"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// Parses the command line and runs the command.
pub(crate) fn run() -> Result<Outcome, Failure> {
    match Cli::parse().command {
        Command::Check(args) => commands::check::run(&args),
        Command::Explain { cause } => commands::explain::run(cause.as_deref()),
        Command::Demo(args) => commands::demo::run(&args),
        Command::Simulate(args) => commands::simulate::run(&args),
        Command::Scoreboard { folders } => commands::scoreboard::run(&folders),
        Command::Plan(args) => commands::plan::run(&args),
        Command::Schema { of } => commands::explain::schema(of),
        Command::Completions { shell } => commands::completions::run::<Cli>(shell),
    }
}
