//! A model as an inventory of tensors and layers, read from its `config.json`.

mod family;
mod fields;
mod format;
mod layers;
mod parts;
mod pattern;
mod quant;
mod read;
mod roles;

pub mod known;

pub use format::{Format, UnknownFormat};
pub use known::UnknownModel;

/// The shape of one decoder: which tensors it has, how they are stored, what its layers remember.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelShape {
    /// `model_type` of the config, or the first architecture.
    pub model_type: String,
    /// Width of the residual stream, in elements.
    pub hidden: u64,
    /// Entries of the vocabulary.
    pub vocab: u64,
    /// Longest position the config allows, in tokens.
    pub max_positions: Option<u64>,
    /// What each layer remembers of the past, first layer first.
    pub layers: Vec<Layer>,
    /// Every weight tensor, with how it is stored.
    pub tensors: Vec<Tensor>,
    /// Widest activation of one token inside a layer, in elements (gate and up together).
    pub widest_activation: u64,
    /// KV dtype that the checkpoint asks for; engines follow it under `auto`.
    pub kv_scheme: Option<crate::KvDtype>,
    /// What was assumed or left out, in sentences for people.
    pub notes: Vec<String>,
}

/// What one layer remembers of the tokens it has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// Keys and values for each token.
    Attention {
        /// Query heads.
        heads: u64,
        /// Heads of keys and values.
        kv_heads: u64,
        /// Elements of a key in one head.
        key_dim: u64,
        /// Elements of a value in one head.
        value_dim: u64,
        /// Tokens it looks back, where bounded.
        window: Option<u64>,
    },
    /// One compressed vector for each token (multi-head latent attention).
    Latent {
        /// Query heads.
        heads: u64,
        /// Elements of the compressed vector.
        rank: u64,
        /// Elements of the shared rotary key.
        rope_dim: u64,
        /// Elements of a key in one head without compression.
        key_dim: u64,
        /// Elements of a value in one head without compression.
        value_dim: u64,
    },
    /// A state of constant size for each sequence (Mamba, gated delta net).
    State {
        /// Elements of the recurrent state.
        recurrent: u64,
        /// Elements of the convolution's memory.
        convolution: u64,
    },
    /// Nothing: a layer that is only a multilayer perceptron.
    Nothing,
}

/// Which part of the model a tensor belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Module {
    /// Token (and position) embedding: looked up, not multiplied.
    Embedding,
    /// Projections of attention, or of what stands in its place.
    Attention,
    /// Dense multilayer perceptron.
    Mlp,
    /// Experts that every token uses.
    SharedExpert,
    /// Experts of which each token uses a few.
    Expert,
    /// The gate that chooses experts.
    Router,
    /// Norms, biases and other vectors.
    Norm,
    /// Projection onto the vocabulary; with tied embeddings it is no tensor of its own.
    Head,
}

/// How a tensor is divided under tensor parallelism.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// Evenly over all ranks.
    Even,
    /// By KV heads: ranks beyond their number hold copies.
    KvHeads(u64),
    /// Each rank holds all of it.
    Copied,
}

/// One weight tensor, or several alike.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// Name as the checkpoint spells it, without `.weight`; `*` stands for the number of an expert.
    pub name: String,
    /// The part of the model it belongs to.
    pub module: Module,
    /// Output elements.
    pub rows: u64,
    /// Input elements; 1 for vectors.
    pub cols: u64,
    /// How many alike there are (experts).
    pub copies: u64,
    /// How many of those one token uses.
    pub used: u64,
    /// How it is divided over ranks.
    pub split: Split,
    /// How its elements are stored.
    pub format: Format,
}

impl Tensor {
    /// Elements of all copies, saturating.
    pub fn elements(&self) -> u64 {
        self.rows.saturating_mul(self.cols).saturating_mul(self.copies)
    }

    /// Elements that one token passes through, saturating.
    pub fn used_elements(&self) -> u64 {
        self.rows.saturating_mul(self.cols).saturating_mul(self.used)
    }
}

/// Parameters by part of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Parameters {
    /// Token and position embeddings.
    pub embedding: u64,
    /// Attention or recurrent mixers.
    pub attention: u64,
    /// Dense perceptrons.
    pub mlp: u64,
    /// Experts that every token uses.
    pub shared_experts: u64,
    /// All routed experts.
    pub experts: u64,
    /// The share of `experts` that one token uses.
    pub experts_used: u64,
    /// Gates that choose experts.
    pub routers: u64,
    /// Norms, biases and other vectors.
    pub norms: u64,
    /// The output projection, 0 where tied to the embedding.
    pub head: u64,
}

impl Parameters {
    /// All stored parameters.
    pub fn total(&self) -> u64 {
        self.dense().saturating_add(self.experts)
    }

    /// Parameters that one token uses: all but the experts it is not sent to.
    pub fn active(&self) -> u64 {
        self.dense().saturating_add(self.experts_used)
    }

    fn dense(&self) -> u64 {
        [self.embedding, self.attention, self.mlp, self.shared_experts, self.routers, self.norms, self.head]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}

impl ModelShape {
    /// Parameters by part of the model, counted tensor by tensor.
    pub fn parameters(&self) -> Parameters {
        let mut sum = Parameters::default();
        for tensor in &self.tensors {
            let part = match tensor.module {
                Module::Embedding => &mut sum.embedding,
                Module::Attention => &mut sum.attention,
                Module::Mlp => &mut sum.mlp,
                Module::SharedExpert => &mut sum.shared_experts,
                Module::Expert => {
                    sum.experts_used = sum.experts_used.saturating_add(tensor.used_elements());
                    &mut sum.experts
                }
                Module::Router => &mut sum.routers,
                Module::Norm => &mut sum.norms,
                Module::Head => &mut sum.head,
            };
            *part = part.saturating_add(tensor.elements());
        }
        sum
    }

    /// True where the output projection is the embedding table.
    pub fn tied_embeddings(&self) -> bool {
        !self.tensors.iter().any(|tensor| tensor.module == Module::Head)
    }

    /// Routed experts in one layer and how many a token uses, where there are any.
    pub fn experts(&self) -> Option<(u64, u64)> {
        let expert = self.tensors.iter().find(|tensor| tensor.module == Module::Expert)?;
        Some((expert.copies, expert.used))
    }

    /// The same model with its linear weights stored otherwise, as by `--quantization` or a GGUF file.
    ///
    /// GGUF types also cover the embedding; all others leave embedding, head, routers and norms as
    /// they are.
    pub fn with_weights(&self, name: &str) -> Result<Self, UnknownFormat> {
        let format = Format::named(name)?;
        let mut model = self.clone();
        for tensor in &mut model.tensors {
            let covered = match tensor.module {
                Module::Attention | Module::Mlp | Module::SharedExpert | Module::Expert => tensor.cols > 1,
                Module::Embedding | Module::Head => format.covers_embeddings(),
                Module::Router | Module::Norm => false,
            };
            if covered {
                tensor.format = format;
            }
        }
        model.notes.push(format!("weights counted as {name}, whatever the config says"));
        Ok(model)
    }
}

/// Why a config could not be read as a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The text is no JSON.
    #[error("config.json is not JSON: {0}")]
    NotJson(String),
    /// The text is JSON but no object.
    #[error("config.json holds {found}, expected an object with hidden_size, num_hidden_layers, …")]
    NotAnObject {
        /// What it holds.
        found: &'static str,
    },
    /// A field that the model cannot do without.
    #[error("config.json has no `{field}` (also looked for: {others}); it has: {present}")]
    Missing {
        /// The field's usual name.
        field: String,
        /// The other names it goes by.
        others: String,
        /// The fields that are there.
        present: String,
    },
    /// A field with a value that cannot be.
    #[error("config.json: `{field}` is {found}, expected {wanted}")]
    Bad {
        /// The field.
        field: String,
        /// Its value, shortened.
        found: String,
        /// What would be right.
        wanted: String,
    },
    /// No head size is given and none can be derived.
    #[error(
        "config.json: hidden_size {hidden} is not divisible by num_attention_heads {heads}, and no head_dim is given"
    )]
    NotDivisible {
        /// `hidden_size`.
        hidden: u64,
        /// `num_attention_heads`.
        heads: u64,
    },
    /// A quantization method that is not in the table.
    #[error("config.json: quantization method `{method}` is not known; known are {known}")]
    UnknownQuantization {
        /// The method as written.
        method: String,
        /// The methods in the table.
        known: String,
    },
    /// The fields are plausible one by one, the model they describe is not.
    #[error("config.json describes {parameters} parameters or more; no such model exists")]
    TooLarge {
        /// The count, where it stopped.
        parameters: u64,
    },
}
