//! A model on its GPUs.

use intriage_case::Ratio;
use intriage_physics::model::Layer;
use intriage_physics::{Gpu, KvDtype, ModelShape};

use crate::ask::{AskError, number};

/// A model on a number of GPUs.
#[derive(Debug, Clone)]
pub struct Deployed {
    /// What the model is called.
    pub name: String,
    /// Its shape.
    pub model: ModelShape,
    /// Each of the GPUs.
    pub gpu: Gpu,
    /// GPUs that share every layer (tensor parallel).
    pub tp: u32,
    /// Groups of such GPUs that each hold a part of the layers (pipeline parallel).
    pub pp: u32,
    /// Whether `tp` and `pp` were asked for or are the plan's to choose.
    pub layout: Layout,
    /// GPUs of one node; tensor parallelism stays within it.
    pub node: u32,
    /// How keys and values are stored.
    pub kv: KvDtype,
    /// What weights are stored as: `bf16`, `fp8`, `int4`, …
    pub weights: String,
    /// Share of the memory that the engine may take.
    pub utilisation: Option<Ratio>,
    /// The release whose memory accounting applies.
    pub release: Release,
}

/// Who decides over how many GPUs one instance spreads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// The user: `tp` and `pp` are as asked.
    Asked,
    /// The plan: the layout that takes the fewest GPUs.
    Chosen,
}

/// How vLLM divides the memory, by release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Release {
    /// Before 0.20: 0.9 of the memory by default, CUDA graphs outside, sampling by a full sort.
    Before020,
    /// 0.20 and later: 0.92 by default, CUDA graphs inside.
    #[default]
    From020,
}

impl Deployed {
    /// Refuses layouts that cannot be.
    pub(crate) fn check(&self) -> Result<(), AskError> {
        number("--tp", f64::from(self.tp), 1.0..=1024.0, "1 to 1,024 GPUs are possible")?;
        number("--pp", f64::from(self.pp), 1.0..=1024.0, "1 to 1,024 stages are possible")?;
        number("--gpu", f64::from(self.node), 1.0..=1024.0, "a node has 1 to 1,024 GPUs")?;
        if self.pp as usize > self.model.layers.len().max(1) {
            return Err(AskError::Stages { pp: self.pp, layers: self.model.layers.len() });
        }
        if let Some(utilisation) = self.utilisation {
            let wanted = "a share of the memory above 0 and up to 1 is needed, such as 0.92";
            number("--utilization", utilisation.get(), 0.01..=1.0, wanted)?;
        }
        let heads = self.heads();
        if !self.divides(self.tp) {
            let possible: Vec<String> =
                (1..=64).filter(|tp| self.divides(*tp)).map(|tp| tp.to_string()).collect();
            return Err(AskError::Heads { tp: self.tp, heads, possible: possible.join(", ") });
        }
        Ok(())
    }

    /// GPUs of one instance.
    pub(crate) fn gpus(&self) -> u32 {
        self.tp.saturating_mul(self.pp.max(1))
    }

    /// Whether so many GPUs can share the heads: evenly, KV heads copied where there are fewer.
    pub(crate) fn divides(&self, tp: u32) -> bool {
        let tp = u64::from(tp);
        self.model.layers.iter().all(|layer| match *layer {
            Layer::Attention { heads, kv_heads, .. } => {
                heads.is_multiple_of(tp)
                    && (kv_heads.is_multiple_of(tp) || tp.is_multiple_of(kv_heads.max(1)))
            }
            Layer::Latent { heads, .. } => heads.is_multiple_of(tp),
            Layer::State { .. } | Layer::Nothing => true,
        })
    }

    fn heads(&self) -> u64 {
        let of = |layer: &Layer| match *layer {
            Layer::Attention { heads, .. } | Layer::Latent { heads, .. } => Some(heads),
            Layer::State { .. } | Layer::Nothing => None,
        };
        self.model.layers.iter().find_map(of).unwrap_or(1)
    }
}
