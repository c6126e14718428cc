//! The floor: what this card could do at best with this model, as far as the evidence tells both.

use intriage_case::{Bytes, Seconds, Signal, Tokens};
use intriage_engines::Setting;
use intriage_physics::bounds::formulas;
use intriage_physics::{Deployment, FlopPerSecond, Gpu, Math, ModelShape, gpu, known};

use crate::evidence::Evidence;
use crate::thresholds::Limit;

/// The least time of a decode step and of an average prompt, under this case's load.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Floor {
    /// The card, as it calls itself.
    pub(crate) gpu: String,
    /// Reading the weights once, in seconds.
    pub(crate) weights: f64,
    /// Reading the live context once, in seconds.
    pub(crate) context: f64,
    /// A whole decode step, in seconds.
    pub(crate) decode: f64,
    /// Computing an average prompt alone, in seconds.
    pub(crate) prefill: Option<f64>,
    /// Live tokens it was computed for.
    pub(crate) live: f64,
    /// Shares of the peak bandwidth that good software reaches, low and high.
    pub(crate) reached: (f64, f64),
    /// The lowest share of the peak FLOP/s that good software reaches while it computes prompts.
    pub(crate) reached_by_prompts: f64,
    /// Whether the card has a link of its own to its neighbours.
    pub(crate) linked: bool,
    /// How it was found.
    pub(crate) how: String,
}

/// What is known of the model.
enum Model {
    Shape(Box<ModelShape>),
    /// From the start-up log: bytes of weights and of KV per token on each GPU; taken as dense.
    Sizes {
        weights: Bytes,
        kv: Bytes,
    },
}

impl Floor {
    /// The floor of a case, or what is missing to know it.
    pub(crate) fn of(e: &Evidence<'_>) -> Result<Self, String> {
        if e.observed.config.text(Setting::Device) == Some("cpu") {
            return Err("the model runs on a CPU, for which no bound is kept".into());
        }
        let gpu = card(e)?;
        let model = model(e)?;
        let (running, live) = load(e).ok_or("how much context is live is not shown")?;
        let gpus = e.setting(Setting::TensorParallel).unwrap_or(1.0).max(1.0);
        let prompt = e.mean(Signal::TokensUncachedEach).or_else(|| e.mean(Signal::TokensPromptEach));
        let floor = match &model {
            Model::Shape(shape) => {
                let deployment = Deployment::new(shape, &gpu).on(gpus as u32);
                let batch = running.round().max(1.0);
                let empty = deployment.decode(batch as u32, Tokens(1.0));
                let step = deployment.decode(batch as u32, Tokens((live / batch).max(1.0)));
                let prefill = prompt.map(|p| deployment.prefill(Tokens(p), Tokens(0.0)).bound.get());
                let parts = (empty.bandwidth.get(), (step.bandwidth - empty.bandwidth).get());
                Self::new(&gpu, parts, step.bound.get(), prefill, live)
            }
            Model::Sizes { weights, kv } => {
                // Each GPU reads its own part: sizes and bandwidth are those of one.
                let read = |weights, kv| formulas::decode(weights, kv, gpu.bandwidth).get();
                let parts = (read(*weights, Bytes(0.0)), read(Bytes(0.0), Bytes(kv.get() * live)));
                let prefill = prompt.and_then(|p| prefill_of_sizes(e, &gpu, *weights, p));
                Self::new(&gpu, parts, parts.0 + parts.1, prefill, live)
            }
        };
        let floor = floor.shared_by(tokens_per_step(e));
        match e.account.itl {
            // The live context is read off gauges: a bound a little above what was measured is met, not refuted.
            Some(step) if step < floor.decode && step >= floor.decode * e.limit(Limit::BoundError) => {
                let over = floor.decode / step;
                Ok(floor.shared_by(over))
            }
            // A mixture of experts read as dense, a wrong name: whatever beats the bound refutes it.
            Some(step) if step < floor.decode => Err(format!(
                "the bound computed for {} ({}) lies above the measured {}, so the model or the card is not what it seems",
                floor.gpu,
                Seconds(floor.decode),
                Seconds(step)
            )),
            _ => Ok(floor),
        }
    }

    fn new(gpu: &Gpu, (weights, context): (f64, f64), decode: f64, prefill: Option<f64>, live: f64) -> Self {
        let name = gpu.device_names.first().unwrap_or(&gpu.id).clone();
        let bandwidth = gpu.bandwidth.0.get();
        let how = format!(
            "{} of weights and {} of context at {:.2} TB/s ({name})",
            Bytes(weights * bandwidth),
            Tokens(live.round()),
            bandwidth / 1e12
        );
        let reached = (gpu.mbu.0.get(), gpu.mbu.1.get());
        let reached_by_prompts = gpu.mfu.0.get();
        Self {
            gpu: name,
            weights,
            context,
            decode,
            prefill,
            live,
            reached,
            reached_by_prompts,
            linked: gpu.link.is_some(),
            how,
        }
    }

    /// The same step where it yields several tokens of a sequence.
    fn shared_by(mut self, tokens: f64) -> Self {
        for part in [&mut self.weights, &mut self.context, &mut self.decode] {
            *part /= tokens;
        }
        self
    }

    /// The most of the time that computing prompts can take, as a share: what the floor asks for at the
    /// lowest usual efficiency.
    pub(crate) fn most_prompt_time(&self, e: &Evidence<'_>) -> Option<f64> {
        let prompts = e.histogram(Signal::LatencyTtft)?.count();
        let time = e.busy_time().get();
        (time > 0.0)
            .then(|| (prompts * self.prefill.unwrap_or(f64::MAX) / self.reached_by_prompts / time).min(1.0))
    }
}

fn card(e: &Evidence<'_>) -> Result<Gpu, String> {
    let stated = e.observed.config.text(Setting::GpuModel);
    let name = e.observed.gpu.name.as_deref().or(stated).ok_or(
        "which GPU this is, is stated nowhere (nvidia-smi -q, or /server_info of vLLM in developer mode)",
    )?;
    let found = gpu::find(listed(name)).map_err(|e| e.to_string())?;
    // A card under full load may run below its highest clock; one whose clocks are locked could do better.
    let peak = found.gpu.peak_clock_mhz.unwrap_or(0.0);
    let free = clock_under_load(e).filter(|mhz| *mhz >= e.limit(Limit::LockedClock) * peak);
    Ok(free.map_or(found.gpu.clone(), |mhz| found.gpu.with_clock(mhz)))
}

/// Tokens a sequence gains in a step: one, and the drafted ones that were accepted.
fn tokens_per_step(e: &Evidence<'_>) -> f64 {
    let (drafts, accepted) = (e.delta(Signal::SpecDrafts), e.delta(Signal::SpecAcceptedTokens));
    1.0 + drafts
        .zip(accepted)
        .and_then(|(d, a)| intriage_case::Ratio::of(a, d))
        .map_or(0.0, |r| r.get().max(0.0))
}

/// The mean SM clock in MHz while kernels ran.
fn clock_under_load(e: &Evidence<'_>) -> Option<f64> {
    let busy = e.observed.gpu.samples.iter().filter(|s| s.util.is_some_and(|u| u.get() > 0.0));
    let clocks: Vec<f64> = busy.filter_map(|s| s.sm_clock).map(|clock| clock.get() / 1e6).collect();
    (!clocks.is_empty()).then(|| clocks.iter().sum::<f64>() / clocks.len() as f64)
}

/// The first card of a list such as `GPU 0: NVIDIA H100 80GB HBM3`, one a line.
fn listed(name: &str) -> &str {
    let first = name.lines().next().unwrap_or(name);
    first.split_once(": ").map_or(first, |(_, name)| name)
}

/// The model's own configuration, where the case has it and it can be computed with: it knows experts, sliding windows
/// and compressed attention, which sizes in a log do not tell.
fn configured(e: &Evidence<'_>) -> Option<ModelShape> {
    let files = e.observed.model.as_ref()?;
    let shape = ModelShape::from_config_json(files.config.as_deref()?).ok()?;
    let asked = e.observed.config.text(Setting::Quantization);
    // Said beside the configuration, where the shape does not look.
    let beside = files.quantization.as_deref().and_then(|how| how.strip_prefix("modelopt "));
    match (beside, &files.quantization, asked) {
        (Some(format), ..) => shape.with_weights(&format.to_ascii_lowercase()).ok(),
        // The checkpoint's own quantization is in the shape already; one that the server adds is not.
        (None, None, Some(format)) => shape.with_weights(format).ok(),
        _ => Some(shape),
    }
}

fn model(e: &Evidence<'_>) -> Result<Model, String> {
    if let Some(shape) = configured(e) {
        return Ok(Model::Shape(Box::new(shape)));
    }
    let (weights, pool) = (e.setting(Setting::WeightBytes), e.setting(Setting::KvBytes));
    // A pool cut by hand is smaller than the memory the log speaks of; the log also says what was possible.
    let tokens = if e.setting(Setting::KvBlocksOverride).is_some() {
        let blocks = e.setting(Setting::KvBlocksPossible);
        blocks.zip(e.setting(Setting::KvBlockSize)).map(|(blocks, size)| blocks * size)
    } else {
        e.setting(Setting::KvCapacity)
    };
    if let (Some(weights), Some(pool), Some(tokens)) = (weights, pool, tokens)
        && tokens > 0.0
    {
        return Ok(Model::Sizes { weights: Bytes(weights), kv: Bytes(pool / tokens) });
    }
    let names = e.observed.config.text(Setting::Model).into_iter();
    let names = names.chain(e.observed.identity.models.iter().map(String::as_str));
    let quantized = e.observed.config.text(Setting::Quantization);
    for name in names {
        let Ok(shape) = known::model(name) else { continue };
        let shape = match quantized {
            Some(format) => shape.with_weights(format).map_err(|e| e.to_string())?,
            None => shape,
        };
        return Ok(Model::Shape(Box::new(shape)));
    }
    Err("how large the model is, is not known: give --log with the start-up lines".into())
}

/// Requests that run and tokens of context they hold, on average.
fn load(e: &Evidence<'_>) -> Option<(f64, f64)> {
    let running = e.mean_busy(Signal::RequestsRunning)?;
    let usage = e.mean_busy(Signal::KvUsage)?;
    Some((running, usage * e.setting(Setting::KvCapacity)?))
}

/// Only where the weights are plain 16-bit numbers do their bytes tell how many there are.
fn prefill_of_sizes(e: &Evidence<'_>, gpu: &Gpu, weights: Bytes, prompt: f64) -> Option<f64> {
    if e.observed.config.text(Setting::Quantization).is_some() {
        return None;
    }
    let FlopPerSecond(peak) = gpu.peak(Math::Bf16)?;
    let parameters = (weights.get() / 2.0) as u64;
    Some(formulas::prefill(parameters, 0, Tokens(prompt), FlopPerSecond(peak)).get())
}

#[cfg(test)]
mod tests {
    use intriage_case::Signal::*;

    use crate::testing::Given;

    const START: &str = "INFO [core.py:1] Initializing a V1 LLM engine (v0.26.0) with config: model='/m', device_config=cuda, load_format=auto\n\
        INFO [gpu_model_runner.py:1] Model loading took 14.99 GiB memory and 2.1 seconds\n\
        INFO [gpu_worker.py:1] Available KV cache memory: 113.6 GiB\n";

    fn eight_b() -> Given {
        Given::vllm("0.26.0")
            .log(START)
            .pool(930_000.0)
            .gauge(RequestsRunning, 10.0)
            .gauge(KvUsage, 0.01)
            .observed(LatencyItl, &[(0.008, 10_000.0)])
            .observed(TokensPromptEach, &[(512.0, 100.0)])
    }

    fn floor(given: &Given) -> Result<super::Floor, String> {
        given.with_evidence(|e| e.floor.clone())
    }

    #[test]
    fn sizes_in_the_log_are_enough_to_know_the_floor() {
        let floor = floor(&eight_b().smi_q("NVIDIA H200")).unwrap();
        // 16.1 GB / 4.8 TB/s, and 9,300 tokens of 131 kB.
        assert!((floor.weights - 3.35e-3).abs() < 0.05e-3, "{floor:?}");
        assert!((floor.context - 0.25e-3).abs() < 0.02e-3, "{floor:?}");
        assert!(floor.prefill.is_some_and(|p| (7e-3..10e-3).contains(&p)), "{floor:?}");
    }

    #[test]
    fn the_models_own_configuration_is_enough_and_comes_before_sizes_in_a_log() {
        const CONFIG: &str = r#"{"model_type":"llama","hidden_size":4096,"num_hidden_layers":32,
            "num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":14336,"vocab_size":128256,
            "torch_dtype":"bfloat16"}"#;
        let given = Given::vllm("0.26.0")
            .smi_q("NVIDIA H200")
            .pool(930_000.0)
            .gauge(RequestsRunning, 10.0)
            .gauge(KvUsage, 0.01)
            .observed(LatencyItl, &[(0.008, 10_000.0)])
            .observed(TokensPromptEach, &[(512.0, 100.0)]);
        assert!(floor(&given).unwrap_err().contains("how large the model is"));
        // 8.03e9 parameters of 2 bytes, less the embedding that is looked up, at 4.8 TB/s.
        let known = floor(&given.model_config(CONFIG)).unwrap();
        assert!((known.weights - 3.13e-3).abs() < 0.05e-3, "{known:?}");
        let smaller = eight_b().smi_q("NVIDIA H200").model_config(&CONFIG.replace("14336", "7168"));
        let half = floor(&smaller).unwrap();
        assert!(half.weights < 2.5e-3, "{half:?}");
        let damaged = floor(&eight_b().smi_q("NVIDIA H200").model_config("{}")).unwrap();
        assert!((damaged.weights - 3.35e-3).abs() < 0.05e-3, "{damaged:?}");
    }

    #[test]
    fn a_pace_that_beats_the_bound_refutes_the_bound() {
        let impossible = eight_b().smi_q("NVIDIA H200").observed(LatencyItl, &[(0.002, 10_000.0)]);
        assert!(floor(&impossible).unwrap_err().contains("not what it seems"));
    }

    #[test]
    fn what_is_missing_is_said() {
        assert!(floor(&eight_b()).unwrap_err().contains("which GPU"));
        let unknown = Given::vllm("0.26.0").smi_q("NVIDIA H200").gauge(RequestsRunning, 1.0);
        assert!(floor(&unknown).unwrap_err().contains("how large the model is"));
        assert!(floor(&eight_b().smi_q("Voodoo 2")).unwrap_err().contains("not known"));
    }
}
