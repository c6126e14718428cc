//! Where the memory of one GPU goes, and what is left for keys and values.

use intriage_case::{Bytes, Ratio, Requests, Tokens};

use crate::bounds::Deployment;

/// How an engine divides the memory of a GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Policy {
    /// vLLM: a share of the total, less all that is not KV.
    Vllm {
        /// `--gpu-memory-utilization`.
        utilisation: Ratio,
        /// Whether CUDA graphs are charged to that share: documented from 0.20 on, though a recorded
        /// start of 0.26.0 left its 0.98 GiB of graphs outside. The engine's start-up line decides.
        graphs_counted: bool,
    },
    /// SGLang: a share of the total for weights and KV; everything else lives in the rest.
    Sglang {
        /// `--mem-fraction-static`.
        static_fraction: Ratio,
    },
    /// TensorRT-LLM: a share of what is free after loading.
    TrtLlm {
        /// `free_gpu_memory_fraction`.
        free_fraction: Ratio,
    },
    /// llama.cpp: the whole context is allocated at start, fit or not.
    LlamaCpp {
        /// `--ctx-size`, of all slots together.
        context: Tokens,
        /// `--parallel`.
        slots: u32,
        /// Whether slots share the context instead of each owning its part.
        unified: bool,
    },
    /// TGI: all that is left after a warm-up.
    Tgi {
        /// `--cuda-memory-fraction`.
        memory_fraction: Ratio,
    },
}

impl Policy {
    /// vLLM's default of a release: 0.9 without graphs before 0.20.0, 0.92 with them from then on.
    pub const fn vllm(from_0_20: bool) -> Self {
        Self::Vllm { utilisation: Ratio(if from_0_20 { 0.92 } else { 0.9 }), graphs_counted: from_0_20 }
    }

    /// SGLang with `kept` bytes left for activations and graphs; its own choice keeps 5 to 8 GB.
    pub fn sglang_keeping(kept: Bytes, total: Bytes) -> Self {
        let share = Ratio::of(total.get() - kept.get(), total.get());
        Self::Sglang { static_fraction: Ratio(share.map_or(0.0, |share| share.get().clamp(0.0, 1.0))) }
    }

    /// TensorRT-LLM's default: 0.9 of what is free.
    pub const fn trt_llm() -> Self {
        Self::TrtLlm { free_fraction: Ratio(0.9) }
    }

    /// TGI's default: all of it.
    pub const fn tgi() -> Self {
        Self::Tgi { memory_fraction: Ratio(1.0) }
    }
}

/// What one GPU holds besides keys and values, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spending {
    /// Weights on this GPU.
    pub weights: Bytes,
    /// Peak of activations, logits and sampling.
    pub activations: Bytes,
    /// Captured CUDA graphs.
    pub graphs: Bytes,
    /// CUDA context, NCCL and other memory that the framework does not manage.
    pub non_torch: Bytes,
    /// Other processes on the GPU.
    pub other_processes: Bytes,
}

impl Spending {
    /// Weights as counted, activations as estimated, and a quarter of a GiB for the CUDA context.
    ///
    /// Graphs and other processes are 0 here: only a look at the machine can say.
    pub fn estimate(deployment: &Deployment<'_>, batched_tokens: Tokens, sequences: u32) -> Self {
        Self::estimate_with(deployment, batched_tokens, sequences, Sampling::Fused)
    }

    /// The same with the sampler of an older release.
    pub fn estimate_with(
        deployment: &Deployment<'_>,
        batched_tokens: Tokens,
        sequences: u32,
        sampling: Sampling,
    ) -> Self {
        Self {
            weights: deployment.model.weight_bytes_per_gpu(deployment.tp),
            activations: activations_with(deployment, batched_tokens, sequences, sampling),
            non_torch: Bytes(0.25 * GIB),
            ..Self::default()
        }
    }

    fn engine(&self) -> f64 {
        (self.weights + self.activations + self.graphs + self.non_torch).get()
    }
}

const GIB: f64 = 1_073_741_824.0;

/// How an engine draws tokens from the logits; it decides the bytes that a start sets aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sampling {
    /// 32-bit logits, probabilities, a sorted copy and 64-bit indices: 20 bytes, vLLM from 0.20 on.
    #[default]
    Fused,
    /// Logits of 16 and of 32 bit, sorted with their indices, the probabilities of both, their sums, masks
    /// and noise: 38 bytes. Fitted to one start before 0.20: a 32B model (vocabulary 152,064) on one H100,
    /// 1,024 sequences, 4.46 GiB left for keys and values.
    BySorting,
}

impl Sampling {
    /// Bytes for one entry of the vocabulary and one sequence.
    const fn bytes(self) -> f64 {
        match self {
            Self::Fused => 20.0,
            Self::BySorting => 38.0,
        }
    }
}

/// Estimate of the peak of activations: the larger of one forward pass and one sampling pass.
///
/// A pass holds gate, up and their product, and four residual streams, all 16 bit. Checked against
/// one vLLM 0.26 start (0.93 GiB for 8,192 tokens and 1,024 sequences of an 8B model); other
/// engines and models may differ by half.
pub fn activations(deployment: &Deployment<'_>, batched_tokens: Tokens, sequences: u32) -> Bytes {
    activations_with(deployment, batched_tokens, sequences, Sampling::Fused)
}

fn activations_with(
    deployment: &Deployment<'_>,
    batched_tokens: Tokens,
    sequences: u32,
    sampling: Sampling,
) -> Bytes {
    let model = deployment.model;
    let inner = 1.5 * model.widest_activation as f64 / f64::from(deployment.tp.max(1));
    let forward = batched_tokens.get().max(0.0) * 2.0 * (inner + 4.0 * model.hidden as f64);
    let sampling = f64::from(sequences) * model.vocab as f64 * sampling.bytes();
    Bytes(forward.max(sampling))
}

/// The memory of one GPU, divided.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// All of the GPU's memory.
    pub total: Bytes,
    /// What it is spent on besides keys and values.
    pub spending: Spending,
    /// Bytes for keys and values; 0 where nothing is left.
    pub kv_pool: Bytes,
    /// Bytes that are missing for the engine to start, 0 where it starts.
    pub short_by: Bytes,
    /// Bytes that nobody has claimed: the margin against running out while serving.
    pub unclaimed: Bytes,
}

impl Budget {
    /// Divides the memory of each GPU of a deployment the way an engine would.
    pub fn of(deployment: &Deployment<'_>, policy: Policy, spending: Spending) -> Self {
        let total = deployment.gpu.memory.get();
        let free = total - spending.other_processes.get();
        // What is left for the pool, and what the engine misses where that is less than nothing.
        let (pool, short) = match policy {
            Policy::Vllm { utilisation, graphs_counted } => {
                let claimed = utilisation.get() * total;
                let graphs = if graphs_counted { 0.0 } else { spending.graphs.get() };
                // Other processes do not shrink the pool; they keep the engine from starting.
                (claimed - (spending.engine() - graphs), claimed - free)
            }
            Policy::Sglang { static_fraction } => {
                let pool = static_fraction.get() * total - spending.weights.get();
                let rest = spending.engine() - spending.weights.get();
                (pool, pool.max(0.0) + spending.weights.get() + rest - free)
            }
            Policy::TrtLlm { free_fraction } => (free_fraction.get() * (free - spending.engine()), 0.0),
            Policy::Tgi { memory_fraction } => {
                let claimed = memory_fraction.get() * total;
                (claimed.min(free) - spending.engine(), 0.0)
            }
            Policy::LlamaCpp { context, slots, unified } => {
                let each = if unified { context } else { Tokens(context.get() / f64::from(slots.max(1))) };
                let sequences = if unified { 1.0 } else { f64::from(slots.max(1)) };
                let kv = deployment.model.kv_bytes_per_gpu(each, deployment.kv, deployment.tp);
                let pool = kv.get() * sequences;
                (pool, pool + spending.engine() - free)
            }
        };
        let kv_pool = if pool.is_finite() { pool.max(0.0) } else { 0.0 };
        let short_by = short.max(-pool).max(0.0);
        let unclaimed = (free - spending.engine() - kv_pool).max(0.0);
        Self {
            total: Bytes(total),
            spending,
            kv_pool: Bytes(kv_pool),
            short_by: Bytes(if short_by.is_finite() { short_by } else { 0.0 }),
            unclaimed: Bytes(unclaimed),
        }
    }

    /// Sequences of `length` tokens that the pool holds at once; engines print it as «maximum concurrency».
    pub fn concurrency(&self, deployment: &Deployment<'_>, length: Tokens) -> Requests {
        concurrency(self.kv_pool, deployment, length)
    }

    /// Tokens that the pool holds in sequences of `length` tokens.
    ///
    /// Without windows and states the length does not matter.
    pub fn tokens(&self, deployment: &Deployment<'_>, length: Tokens) -> Tokens {
        Tokens(self.concurrency(deployment, length).get() * length.get())
    }

    /// The division as lines to print, largest idea first.
    pub fn lines(&self) -> [(&'static str, Bytes); 7] {
        [
            ("weights", self.spending.weights),
            ("KV cache", self.kv_pool),
            ("activations", self.spending.activations),
            ("CUDA graphs", self.spending.graphs),
            ("CUDA context, NCCL", self.spending.non_torch),
            ("other processes", self.spending.other_processes),
            ("unclaimed", self.unclaimed),
        ]
    }
}

/// Sequences of `length` tokens that a pool of this size on each GPU holds at once; 0 for a length of 0.
pub fn concurrency(pool: Bytes, deployment: &Deployment<'_>, length: Tokens) -> Requests {
    let each = deployment.model.kv_bytes_per_gpu(length, deployment.kv, deployment.tp).get();
    Requests(if each > 0.0 { pool.get().max(0.0) / each } else { 0.0 })
}

/// The same where all sequences begin with `shared` tokens that the pool holds once.
pub fn concurrency_sharing(
    pool: Bytes,
    deployment: &Deployment<'_>,
    length: Tokens,
    shared: Tokens,
) -> Requests {
    let held = |tokens| deployment.model.kv_bytes_per_gpu(tokens, deployment.kv, deployment.tp).get();
    let shared = Tokens(shared.get().clamp(0.0, length.get().max(0.0)));
    // States are each sequence's own, whatever it shares.
    let once = held(shared) - held(Tokens(0.0));
    let own = held(length) - once;
    Requests(if own > 0.0 { (pool.get() - once).max(0.0) / own } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ModelShape, gpu, known};

    fn gib(bytes: f64) -> Bytes {
        Bytes(bytes * GIB)
    }

    /// An 8B Llama with a small vocabulary, as started on one H200 by vLLM 0.26.0
    /// (`fixtures/h200/vllm-h200-healthy30/server.log`).
    fn recorded() -> (ModelShape, gpu::Gpu) {
        let config = r#"{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
            "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 49152, "torch_dtype": "bfloat16"}"#;
        let mut h200 = gpu::find("h200").unwrap().gpu;
        h200.memory = gib(139.8);
        (ModelShape::from_config_json(config).unwrap(), h200)
    }

    #[test]
    fn a_recorded_start_of_vllm_comes_out() {
        let (model, h200) = recorded();
        let on = Deployment::new(&model, &h200);
        let weights = model.weight_bytes();
        assert!((weights.get() / GIB - 13.8).abs() < 0.06, "{weights}");
        // The engine's own words: 13.8 GiB weights, 0.93 activation, 0.22 non-torch, graphs outside.
        let spending = Spending {
            weights: gib(13.8),
            activations: gib(0.93),
            non_torch: gib(0.22),
            graphs: gib(0.98),
            ..Spending::default()
        };
        let policy = Policy::Vllm { utilisation: Ratio(0.92), graphs_counted: false };
        let budget = Budget::of(&on, policy, spending);
        assert!((budget.kv_pool.get() / GIB - 113.66).abs() < 0.02, "{}", budget.kv_pool);
        let exact = Budget { kv_pool: gib(113.66), ..budget };
        assert!((exact.tokens(&on, Tokens(16384.0)).get() - 931_104.0).abs() < 50.0);
        assert!((exact.concurrency(&on, Tokens(16384.0)).get() - 56.83).abs() < 0.005);
        assert_eq!(budget.short_by, Bytes(0.0));
    }

    #[test]
    fn the_estimate_of_activations_is_near_the_recorded_one() {
        let (model, h200) = recorded();
        let estimate = activations(&Deployment::new(&model, &h200), Tokens(8192.0), 1024).get() / GIB;
        assert!((estimate / 0.93 - 1.0).abs() < 0.05, "{estimate} GiB");
    }

    #[test]
    fn the_founding_example_leaves_room_for_two_users() {
        let model = known::model("qwen2.5-32b").unwrap();
        let mut h100 = gpu::find("h100").unwrap().gpu;
        // What CUDA calls total on an 80 GB H100.
        h100.memory = gib(79.19);
        let on = Deployment::new(&model, &h100);
        // The article gives the pool, from which the concurrency must follow …
        let users = concurrency(gib(4.46), &on, Tokens(10_000.0));
        assert!((users.get() - 1.83).abs() < 0.005, "{users}");
        // … and not what filled the rest. At 0.9 of 79.19 GiB and 61.0 GiB of weights it was 5.8 GiB.
        let spending = Spending {
            weights: model.weight_bytes(),
            activations: gib(4.2),
            graphs: gib(1.0),
            non_torch: gib(0.58),
            ..Spending::default()
        };
        let policy = Policy::Vllm { utilisation: Ratio(0.9), graphs_counted: true };
        let budget = Budget::of(&on, policy, spending);
        assert!((budget.kv_pool.get() / GIB - 4.46).abs() < 0.05, "{}", budget.kv_pool);
        assert!((budget.concurrency(&on, Tokens(10_000.0)).get() - 1.83).abs() < 0.02);
    }

    #[test]
    fn each_engine_divides_in_its_own_way() {
        let model = known::model("llama-3.1-8b").unwrap();
        let mut h100 = gpu::find("h100").unwrap().gpu;
        h100.memory = gib(80.0);
        let on = Deployment::new(&model, &h100);
        let spending = Spending {
            weights: gib(15.0),
            activations: gib(2.0),
            graphs: gib(1.0),
            non_torch: gib(0.5),
            other_processes: gib(4.0),
        };
        let pool = |policy| Budget::of(&on, policy, spending).kv_pool.get() / GIB;
        assert!((pool(Policy::vllm(true)) - (0.92 * 80.0 - 18.5)).abs() < 1e-9);
        assert!((pool(Policy::vllm(false)) - (0.9 * 80.0 - 17.5)).abs() < 1e-9);
        assert!((pool(Policy::sglang_keeping(gib(8.0), gib(80.0))) - (72.0 - 15.0)).abs() < 1e-9);
        assert!((pool(Policy::trt_llm()) - 0.9 * (76.0 - 18.5)).abs() < 1e-9);
        assert!((pool(Policy::tgi()) - (76.0 - 18.5)).abs() < 1e-9);
        let llama_cpp = Policy::LlamaCpp { context: Tokens(32_768.0), slots: 4, unified: false };
        assert!((pool(llama_cpp) - 4.0).abs() < 1e-9);
    }

    #[test]
    fn a_shared_prefix_is_held_once() {
        let (model, h200) = recorded();
        let on = Deployment::new(&model, &h200);
        let pool = Bytes(10_000.0 * 131_072.0);
        assert_eq!(concurrency(pool, &on, Tokens(1000.0)), Requests(10.0));
        assert_eq!(concurrency_sharing(pool, &on, Tokens(1000.0), Tokens(500.0)), Requests(19.0));
        assert_eq!(concurrency_sharing(pool, &on, Tokens(1000.0), Tokens(0.0)), Requests(10.0));
        assert_eq!(concurrency_sharing(pool, &on, Tokens(0.0), Tokens(500.0)), Requests(0.0));
    }

    #[test]
    fn what_does_not_fit_says_by_how_much() {
        let model = known::model("llama-3.3-70b").unwrap();
        let h100 = gpu::find("h100").unwrap().gpu;
        let on = Deployment::new(&model, &h100);
        let budget = Budget::of(&on, Policy::vllm(true), Spending::estimate(&on, Tokens(8192.0), 256));
        assert_eq!(budget.kv_pool, Bytes(0.0));
        assert!(budget.short_by.get() > 50.0 * GIB);
        // Another process takes what vLLM would claim: it refuses to start.
        let small = known::model("llama-3.1-8b").unwrap();
        let on = Deployment::new(&small, &h100);
        let crowded = Spending { other_processes: gib(20.0), ..Spending::default() };
        assert!(Budget::of(&on, Policy::vllm(true), crowded).short_by.get() > 13.0 * GIB);
    }
}
