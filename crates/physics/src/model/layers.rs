//! The tensors of one layer, by kind of layer.

use super::format::Format;
use super::{Layer, Module, Split, Tensor};

/// Collects tensors while the layers are walked.
pub(super) struct Builder {
    pub(super) tensors: Vec<Tensor>,
    pub(super) base: Format,
    /// Widest activation of one token so far, in elements.
    pub(super) widest: u64,
}

impl Builder {
    pub(super) fn linear(&mut self, name: String, module: Module, [rows, cols]: [u64; 2], split: Split) {
        self.push(name, module, [rows, cols], split, 1, 1);
    }

    /// Biases, norms, gates a head: small, and never quantized.
    pub(super) fn vector(&mut self, name: String, elements: u64) {
        self.push(name, Module::Norm, [elements, 1], Split::Copied, 1, 1);
    }

    fn push(
        &mut self,
        name: String,
        module: Module,
        [rows, cols]: [u64; 2],
        split: Split,
        copies: u64,
        used: u64,
    ) {
        if rows > 0 && cols > 0 && copies > 0 {
            self.tensors.push(Tensor { name, module, rows, cols, copies, used, split, format: self.base });
        }
    }
}

/// Which projections carry a bias.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bias {
    None,
    /// Queries, keys and values.
    Qkv,
    /// Those and the output.
    All,
}

/// Norms of queries and keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QkNorm {
    None,
    /// One head's width, shared by the heads.
    Head,
    /// The full projection.
    Full,
}

/// Attention with heads, grouped or not.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attention {
    pub(super) hidden: u64,
    pub(super) heads: u64,
    pub(super) kv_heads: u64,
    pub(super) head_dim: u64,
    pub(super) bias: Bias,
    pub(super) qk_norm: QkNorm,
    /// The query projection also makes a gate of the output (Qwen3-Next).
    pub(super) output_gate: bool,
    /// One learned sink logit a head (gpt-oss).
    pub(super) sinks: bool,
    pub(super) window: Option<u64>,
}

impl Attention {
    pub(super) fn build(&self, out: &mut Builder, at: &str) -> Layer {
        let queries = self.heads.saturating_mul(self.head_dim);
        let keys = self.kv_heads.saturating_mul(self.head_dim);
        let q_rows = if self.output_gate { queries.saturating_mul(2) } else { queries };
        let by_kv = Split::KvHeads(self.kv_heads);
        out.linear(format!("{at}.q_proj"), Module::Attention, [q_rows, self.hidden], Split::Even);
        out.linear(format!("{at}.k_proj"), Module::Attention, [keys, self.hidden], by_kv);
        out.linear(format!("{at}.v_proj"), Module::Attention, [keys, self.hidden], by_kv);
        out.linear(format!("{at}.o_proj"), Module::Attention, [self.hidden, queries], Split::Even);
        if self.bias != Bias::None {
            out.vector(format!("{at}.qkv_bias"), q_rows.saturating_add(keys.saturating_mul(2)));
        }
        if self.bias == Bias::All {
            out.vector(format!("{at}.o_proj.bias"), self.hidden);
        }
        match self.qk_norm {
            QkNorm::None => {}
            QkNorm::Head => out.vector(format!("{at}.qk_norm"), self.head_dim.saturating_mul(2)),
            QkNorm::Full => out.vector(format!("{at}.qk_norm"), queries.saturating_add(keys)),
        }
        if self.sinks {
            out.vector(format!("{at}.sinks"), self.heads);
        }
        Layer::Attention {
            heads: self.heads,
            kv_heads: self.kv_heads,
            key_dim: self.head_dim,
            value_dim: self.head_dim,
            window: self.window,
        }
    }
}

/// Multi-head latent attention (DeepSeek V2 and V3, Kimi).
#[derive(Debug, Clone, Copy)]
pub(super) struct Latent {
    pub(super) hidden: u64,
    pub(super) heads: u64,
    pub(super) q_rank: Option<u64>,
    pub(super) kv_rank: u64,
    pub(super) nope_dim: u64,
    pub(super) rope_dim: u64,
    pub(super) value_dim: u64,
}

impl Latent {
    pub(super) fn build(&self, out: &mut Builder, at: &str) -> Layer {
        let key_dim = self.nope_dim.saturating_add(self.rope_dim);
        let queries = self.heads.saturating_mul(key_dim);
        if let Some(rank) = self.q_rank {
            out.linear(format!("{at}.q_a_proj"), Module::Attention, [rank, self.hidden], Split::Copied);
            out.vector(format!("{at}.q_a_layernorm"), rank);
            out.linear(format!("{at}.q_b_proj"), Module::Attention, [queries, rank], Split::Even);
        } else {
            out.linear(format!("{at}.q_proj"), Module::Attention, [queries, self.hidden], Split::Even);
        }
        let latent = self.kv_rank.saturating_add(self.rope_dim);
        out.linear(
            format!("{at}.kv_a_proj_with_mqa"),
            Module::Attention,
            [latent, self.hidden],
            Split::Copied,
        );
        out.vector(format!("{at}.kv_a_layernorm"), self.kv_rank);
        let up = self.heads.saturating_mul(self.nope_dim.saturating_add(self.value_dim));
        out.linear(format!("{at}.kv_b_proj"), Module::Attention, [up, self.kv_rank], Split::Even);
        let values = self.heads.saturating_mul(self.value_dim);
        out.linear(format!("{at}.o_proj"), Module::Attention, [self.hidden, values], Split::Even);
        Layer::Latent {
            heads: self.heads,
            rank: self.kv_rank,
            rope_dim: self.rope_dim,
            key_dim,
            value_dim: self.value_dim,
        }
    }
}

/// Gated delta net, the linear attention of Qwen3-Next.
#[derive(Debug, Clone, Copy)]
pub(super) struct DeltaNet {
    pub(super) hidden: u64,
    pub(super) key_heads: u64,
    pub(super) value_heads: u64,
    pub(super) key_dim: u64,
    pub(super) value_dim: u64,
    pub(super) kernel: u64,
}

impl DeltaNet {
    pub(super) fn build(&self, out: &mut Builder, at: &str) -> Layer {
        let keys = self.key_heads.saturating_mul(self.key_dim);
        let values = self.value_heads.saturating_mul(self.value_dim);
        let mixed = keys.saturating_mul(2).saturating_add(values);
        out.linear(
            format!("{at}.in_proj_qkvz"),
            Module::Attention,
            [mixed.saturating_add(values), self.hidden],
            Split::Even,
        );
        let gates = self.value_heads.saturating_mul(2);
        out.linear(format!("{at}.in_proj_ba"), Module::Attention, [gates, self.hidden], Split::Even);
        out.linear(format!("{at}.out_proj"), Module::Attention, [self.hidden, values], Split::Even);
        out.vector(format!("{at}.conv1d"), mixed.saturating_mul(self.kernel));
        out.vector(format!("{at}.dt_bias_and_a_log"), gates);
        out.vector(format!("{at}.norm"), self.value_dim);
        Layer::State {
            recurrent: self.value_heads.saturating_mul(self.key_dim).saturating_mul(self.value_dim),
            convolution: mixed.saturating_mul(self.kernel.saturating_sub(1)),
        }
    }
}

/// A Mamba mixer of the first or second kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mamba {
    pub(super) hidden: u64,
    pub(super) inner: u64,
    pub(super) state: u64,
    pub(super) kernel: u64,
    pub(super) kind: MambaKind,
}

/// What differs between the two kinds of Mamba.
#[derive(Debug, Clone, Copy)]
pub(super) enum MambaKind {
    /// Step sizes through a low rank; `norms` where Jamba adds three.
    First { step_rank: u64, norms: bool },
    /// Heads that share a step size.
    Second { heads: u64, groups: u64 },
}

impl Mamba {
    pub(super) fn build(&self, out: &mut Builder, at: &str) -> Layer {
        let inner = self.inner;
        let mixed = match self.kind {
            MambaKind::First { step_rank, norms } => {
                out.linear(
                    format!("{at}.in_proj"),
                    Module::Attention,
                    [inner.saturating_mul(2), self.hidden],
                    Split::Even,
                );
                let steps = step_rank.saturating_add(self.state.saturating_mul(2));
                out.linear(format!("{at}.x_proj"), Module::Attention, [steps, inner], Split::Even);
                out.linear(format!("{at}.dt_proj"), Module::Attention, [inner, step_rank], Split::Even);
                out.vector(format!("{at}.a_log"), inner.saturating_mul(self.state));
                // The bias of the step size, and D.
                out.vector(format!("{at}.dt_bias_and_d"), inner.saturating_mul(2));
                if norms {
                    out.vector(format!("{at}.dt_b_c_norms"), steps);
                }
                inner
            }
            MambaKind::Second { heads, groups } => {
                let mixed = inner.saturating_add(groups.saturating_mul(self.state).saturating_mul(2));
                let rows = inner.saturating_add(mixed).saturating_add(heads);
                out.linear(format!("{at}.in_proj"), Module::Attention, [rows, self.hidden], Split::Even);
                out.vector(format!("{at}.a_log_d_dt_bias"), heads.saturating_mul(3));
                out.vector(format!("{at}.norm"), inner);
                mixed
            }
        };
        out.vector(format!("{at}.conv1d"), mixed.saturating_mul(self.kernel.saturating_add(1)));
        out.linear(format!("{at}.out_proj"), Module::Attention, [self.hidden, inner], Split::Even);
        Layer::State {
            recurrent: inner.saturating_mul(self.state),
            convolution: mixed.saturating_mul(self.kernel.saturating_sub(1)),
        }
    }
}

/// A multilayer perceptron, dense or as an expert.
#[derive(Debug, Clone, Copy)]
pub(super) struct Perceptron {
    pub(super) hidden: u64,
    pub(super) inner: u64,
    /// Three matrices with a gate, or two without.
    pub(super) gated: bool,
    pub(super) bias: bool,
}

impl Perceptron {
    pub(super) fn dense(&self, out: &mut Builder, at: &str) {
        self.build(out, at, Module::Mlp, 1, 1);
    }

    pub(super) fn build(&self, out: &mut Builder, at: &str, module: Module, copies: u64, used: u64) {
        let (up, down) = ([self.inner, self.hidden], [self.hidden, self.inner]);
        let ups: &[&str] = if self.gated { &["gate_proj", "up_proj"] } else { &["up_proj"] };
        for name in ups {
            out.push(format!("{at}.{name}"), module, up, Split::Even, copies, used);
        }
        out.push(format!("{at}.down_proj"), module, down, Split::Even, copies, used);
        if self.bias {
            let bias = self.inner.saturating_mul(ups.len() as u64).saturating_add(self.hidden);
            out.vector(format!("{at}.bias"), bias.saturating_mul(copies));
        }
        let width = self.inner.saturating_mul(ups.len() as u64).saturating_mul(used.max(1));
        out.widest = out.widest.max(width);
    }
}

/// A mixture of experts in one layer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mixture {
    pub(super) expert: Perceptron,
    pub(super) experts: u64,
    pub(super) used: u64,
    /// Width of the experts that every token uses, 0 for none.
    pub(super) shared_inner: u64,
    /// A gate on the shared expert (Qwen).
    pub(super) shared_gate: bool,
    /// A bias on the router's logits.
    pub(super) router_bias: bool,
}

impl Mixture {
    pub(super) fn build(&self, out: &mut Builder, at: &str) {
        let hidden = self.expert.hidden;
        out.linear(format!("{at}.gate"), Module::Router, [self.experts, hidden], Split::Copied);
        if self.router_bias {
            out.vector(format!("{at}.gate.bias"), self.experts);
        }
        self.expert.build(out, &format!("{at}.experts.*"), Module::Expert, self.experts, self.used);
        if self.shared_inner > 0 {
            let shared = Perceptron { inner: self.shared_inner, bias: false, ..self.expert };
            shared.build(out, &format!("{at}.shared_experts"), Module::SharedExpert, 1, 1);
        }
        if self.shared_gate {
            out.linear(format!("{at}.shared_expert_gate"), Module::Router, [1, hidden], Split::Copied);
        }
    }
}
