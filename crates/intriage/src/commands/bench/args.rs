//! Arguments of `bench`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::{AccessArgs, duration};

pub(crate) const EXAMPLES: &str = "\
Examples:
  intriage bench http://127.0.0.1:8000 --max-concurrency 64 --num-prompts 3000 \\
      --random-input-len 64 --random-output-len 256 --ignore-eos
      closed loop: 64 requests in flight until 3000 have been answered
  intriage bench http://127.0.0.1:8000 --request-rate 20 --duration 60s --slo ttft.p99=500ms
      open loop: Poisson arrivals, whatever the server does; late sends and waiting are counted
  intriage bench http://127.0.0.1:8000 --search slo --slo ttft.p95=300ms --slo tpot.p95=40ms
      the highest rate that holds the objectives, and which one binds
  intriage bench http://127.0.0.1:8000 --sweep --random-output-len 128
      concurrency 1, 2, 4, … until throughput stops growing: the knee
  intriage bench http://127.0.0.1:8000 --request-rate 8 --duration 60s --check --save run.case
      the load, the server's own metrics beside it, and the diagnosis
  intriage bench http://127.0.0.1:8000 --trace mooncake.jsonl --record run.itr
      a trace replayed; every chunk of every answer kept in run.itr
  intriage bench show run.itr --definitions vllm
      what `vllm bench serve` would have said of the same requests, and why it differs

Every run ends with a certificate: VALID with ± on its times, or INVALID with the
reason (the client was too busy, sends were late, too few answers for a percentile of an
objective or of --metric-percentiles, no steady state, lengths or cache hits not as
declared). Exit codes: 0 done, 1 an objective is not held,
2 usage, 3 an objective was given and the run cannot tell, 4 nothing was answered.";

/// Arguments of `bench`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub(crate) command: Option<BenchCommand>,
    /// The server, such as http://127.0.0.1:8000.
    #[arg(required_unless_present = "base_url")]
    pub(crate) url: Option<String>,
    /// The same, as a flag.
    #[arg(long, value_name = "URL", conflicts_with = "url")]
    pub(crate) base_url: Option<String>,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) prompts: PromptArgs,
    #[command(flatten)]
    pub(crate) goals: GoalArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What can be done with results.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Print the figures of a recorded run (also of one that was killed), by any tool's definitions.
    Show(FilesArgs),
    /// Join the shards of a run, exactly: their raw events are put together before any figure is computed.
    Merge(MergeArgs),
    /// Read the result file of vLLM, SGLang, GuideLLM, AIPerf or inference-perf.
    Import(FilesArgs),
}

/// Recorded runs, or results of other tools.
#[derive(Debug, Args)]
pub(crate) struct FilesArgs {
    /// The file.
    pub(crate) file: PathBuf,
    /// What this tool would have said of the same requests (repeatable): vllm, guidellm, aiperf, sglang, inference-perf.
    #[arg(long, value_name = "TOOL")]
    pub(crate) definitions: Vec<String>,
    /// Output for people, for machines, or a row for every request.
    #[arg(long, default_value = "text")]
    pub(crate) format: BenchFormat,
    /// Keep what was read as a record of our own.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
}

/// Shards of a run.
#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// The records of the shards.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Output for people, for machines, or a row for every request.
    #[arg(long, default_value = "text")]
    pub(crate) format: BenchFormat,
    /// Keep the union as one record.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
}

/// Where to and how.
#[derive(Debug, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct TargetArgs {
    /// The model's name; without it the one the server offers.
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// The API: chat, completions, responses, llama.cpp or tgi.
    #[arg(long, visible_aliases = ["backend", "endpoint-type"], default_value = "chat")]
    pub(crate) api: String,
    /// Another path than the API's own.
    #[arg(long, value_name = "PATH")]
    pub(crate) endpoint: Option<String>,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
    /// Further fields of every request's body, as a JSON object; they win over ours.
    #[arg(long, value_name = "JSON")]
    pub(crate) extra_body: Option<String>,
    /// Speak HTTP/2: h2c, or by ALPN over TLS.
    #[arg(long)]
    pub(crate) http2: bool,
    /// A new connection for every request.
    #[arg(long)]
    pub(crate) no_keep_alive: bool,
    /// Do not ask /health beside the load (a few times at its beginning, then every second): the certificate then cannot tell
    /// how long the server takes to take a request up, unless it sends the head of its answers early.
    #[arg(long)]
    pub(crate) no_health_questions: bool,
    /// A request that has not ended by then has failed.
    #[arg(long, value_parser = duration, default_value = "10m")]
    pub(crate) timeout: Duration,
}

/// How requests come.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct LoadArgs {
    /// Requests in flight. Alone: a closed loop (default 1). With a rate: a limit, and waiting for it is counted.
    #[arg(long, visible_alias = "concurrency", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) max_concurrency: Option<u32>,
    /// Requests a second, by the clock; `inf` sends all of --num-prompts at once.
    #[arg(long, visible_alias = "rate", value_name = "REQ/S", value_parser = rate, allow_negative_numbers = true)]
    pub(crate) request_rate: Option<f64>,
    /// How regular the arrivals at a rate are.
    #[arg(long, visible_alias = "arrival-pattern", value_name = "HOW")]
    pub(crate) arrival: Option<ArrivalArg>,
    /// Shape of a gamma distribution of the gaps, as vLLM has it: 1 is Poisson, less is burstier, more is smoother.
    #[arg(long, value_name = "SHAPE")]
    pub(crate) burstiness: Option<f64>,
    /// A crowd of SIZE at once every so often on top of the rate, as 10s:50.
    #[arg(long, value_name = "EVERY:SIZE", requires = "request_rate")]
    pub(crate) bursts: Option<String>,
    /// From one rate to another, as 1:50:60s, or 1:50:60s:exponential.
    #[arg(long, value_name = "FROM:TO:OVER", conflicts_with_all = ["request_rate", "steps", "trace"])]
    pub(crate) ramp: Option<String>,
    /// One rate after the other, as 5:30s,10:30s,20:30s; each is reported on its own.
    #[arg(long, value_name = "RATE:TIME,…", conflicts_with_all = ["request_rate", "trace"])]
    pub(crate) steps: Option<String>,
    /// Replay a trace: Mooncake JSON lines, BurstGPT or Azure CSV.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["request_rate", "dataset_path"])]
    pub(crate) trace: Option<PathBuf>,
    /// Replay so many times as fast.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, requires = "trace")]
    pub(crate) trace_speed: f64,
    /// Requests to send after the warm-up (sessions, where they have several turns); default 100 without --duration.
    #[arg(long, visible_alias = "request-count", value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) num_prompts: Option<u64>,
    /// Send for so long; what is then in flight may end.
    #[arg(long, visible_alias = "benchmark-duration", value_parser = duration)]
    pub(crate) duration: Option<Duration>,
    /// Requests that warm up, at the same load and without a pause after them.
    #[arg(long, visible_alias = "warmup-request-count", value_name = "N", default_value_t = 0)]
    pub(crate) num_warmups: u64,
    /// Time to warm up, likewise.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) warmup_duration: Option<Duration>,
    /// Most time to wait at the end for what is in flight.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10m")]
    pub(crate) drain: Duration,
    /// Event loops; default one for each 512 requests in flight, as cores allow.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) threads: Option<u32>,
    /// This is shard I of N (from 0), as 2/8: it sends its share of the same plan.
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<String>,
}

/// What requests say.
#[derive(Debug, Args)]
#[command(next_help_heading = "Prompts")]
pub(crate) struct PromptArgs {
    /// Tokens of a prompt, the chat template included where the server tells how long it is.
    #[arg(long, visible_alias = "isl", value_name = "TOKENS", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) random_input_len: u32,
    /// Tokens of an answer.
    #[arg(long, visible_alias = "osl", value_name = "TOKENS", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) random_output_len: u32,
    /// Lengths vary evenly by this share to both sides.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) random_range_ratio: f64,
    /// Prompts from a file: ShareGPT JSON, JSON lines with prompt or messages, or plain lines; `-` is standard input.
    #[arg(long, visible_alias = "prompts", value_name = "FILE")]
    pub(crate) dataset_path: Option<PathBuf>,
    /// Tokens that all prompts of a group begin with (part of the prompt length).
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) prefix_len: Option<u32>,
    /// Groups of prompts that begin alike.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) prefix_groups: u32,
    /// Share of prompt tokens that a prefix cache should find: chooses the prefix, and the run is INVALID if it does not come true.
    #[arg(long, value_name = "SHARE", conflicts_with = "prefix_len")]
    pub(crate) hit_ratio: Option<f64>,
    /// Turns of a session, as 5 or 2-8; the real answers go into the next turn.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) turns: String,
    /// Mean time a user thinks between turns (exponential).
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) think: Option<Duration>,
    /// A class of requests with its own lengths and objectives (repeatable), as chat:3,in=500,out=200,slo=ttft.p95=300ms.
    #[arg(long, value_name = "NAME:WEIGHT,…")]
    pub(crate) class: Vec<String>,
    /// Share of requests that the client gives up halfway.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) abort_share: f64,
    /// A tokenizer.json, for exact lengths where the server has no /tokenize.
    #[arg(long, value_name = "FILE")]
    pub(crate) tokenizer: Option<PathBuf>,
    /// Take a word for a token where the server has no /tokenize and no tokenizer is given, instead of learning from two
    /// requests of one token beforehand how many tokens a word and the template make.
    #[arg(long)]
    pub(crate) no_calibration: bool,
    /// Answers of exactly the length asked for.
    #[arg(long)]
    pub(crate) ignore_eos: bool,
    /// Ask for token counts with every chunk: exact gaps where a chunk holds several tokens (vLLM, SGLang).
    #[arg(long)]
    pub(crate) continuous_usage: bool,
    /// Decides lengths, arrivals and words.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Decides the words only; by default another one each run, so that no cache knows them.
    #[arg(long)]
    pub(crate) salt: Option<u64>,
}

/// What to find out.
#[derive(Debug, Args)]
#[command(next_help_heading = "Goals")]
#[command(group = clap::ArgGroup::new("watching").args(["check", "save"]).multiple(true))]
pub(crate) struct GoalArgs {
    /// An objective, such as ttft.p95=500ms, tpot.p99=50ms or errors=0.5% (repeatable). Each request's own figure decides its goodput.
    #[arg(long, value_name = "OBJECTIVE")]
    pub(crate) slo: Vec<String>,
    /// The same as vLLM writes it, in milliseconds: ttft:200 tpot:50 e2el:2000.
    #[arg(long, value_name = "NAME:MS", num_args = 1..)]
    pub(crate) goodput: Vec<String>,
    /// Percentiles that must be certified, of TTFT, ITL, TPOT and E2E, as 50,90,99: the run is INVALID if there are too few
    /// answers for one of them (p99 needs 1,000). Those of the objectives always must.
    #[arg(long, value_name = "P,…", value_delimiter = ',', value_parser = percentile)]
    pub(crate) metric_percentiles: Vec<f64>,
    /// Find the highest rate that holds the objectives.
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["request_rate", "ramp", "steps", "trace", "sweep"])]
    pub(crate) search: Option<SearchArg>,
    /// Find the knee: double the requests in flight until throughput stops growing.
    #[arg(long, conflicts_with_all = ["request_rate", "ramp", "steps", "trace"])]
    pub(crate) sweep: bool,
    /// Watch the server's own metrics meanwhile and end with the diagnosis.
    #[arg(long)]
    pub(crate) check: bool,
    /// Look at this machine's kernel and GPUs meanwhile: the server runs here.
    #[arg(long, requires = "watching")]
    pub(crate) host: bool,
    /// Where the metrics are, if not at the server's /metrics.
    #[arg(long, value_name = "URL", requires = "watching")]
    pub(crate) metrics_url: Option<String>,
    /// Save the case: metrics, what the client saw, and this run's figures.
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
}

/// What is printed and kept.
#[derive(Debug, Args)]
#[command(next_help_heading = "Results")]
pub(crate) struct OutputArgs {
    /// Output for people, for machines, or a row for every request.
    #[arg(long, default_value = "text")]
    pub(crate) format: BenchFormat,
    /// Keep the raw record: every request and every chunk, readable up to the end or the kill.
    #[arg(long, visible_alias = "save-result", value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Also what this tool would have said (repeatable): vllm, guidellm, aiperf, sglang, inference-perf.
    #[arg(long, value_name = "TOOL", value_delimiter = ',')]
    pub(crate) definitions: Vec<String>,
    /// Print the Kubernetes Indexed Job that runs this load in N shards, and end.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) kubernetes: Option<u32>,
    /// The image of that job.
    #[arg(long, value_name = "IMAGE", default_value = "intriage:latest", requires = "kubernetes")]
    pub(crate) image: String,
}

/// How regular arrivals are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalArg {
    /// Like a metronome.
    Constant,
    /// Independent users.
    Poisson,
    /// By --burstiness.
    Gamma,
}

/// What to search for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SearchArg {
    /// The highest rate that holds the objectives.
    Slo,
}

/// Output format of `bench`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchFormat {
    /// For people.
    Text,
    /// For machines: JSON with a published schema.
    Json,
    /// A row for every request.
    Csv,
}

fn percentile(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(percentile) if percentile > 0.0 && percentile < 100.0 => Ok(percentile),
        _ => Err(format!("{text:?} is not a percentile: a number above 0 and below 100, as 99")),
    }
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate > 0.0 && !rate.is_nan() => Ok(rate),
        _ => Err(format!("{text:?} is not a rate: a number above 0, or inf")),
    }
}
