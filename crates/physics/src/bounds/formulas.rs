//! The lower bounds as formulas on stated inputs.

use intriage_case::{Bytes, PerSecond, Seconds, Tokens};

use crate::bytes::expert_share;
use crate::gpu::FlopPerSecond;

/// Least time to multiply `tokens` tokens with `active` parameters and to let each attend to those
/// before it: (2·P·T + 2·L·d·T²) / peak.
///
/// `attention_width` is heads × head size, summed over the layers; 0 leaves attention out, which is
/// fair below some 8,000 tokens. `peak` is that of all GPUs together.
pub fn prefill(active: u64, attention_width: u64, tokens: Tokens, peak: FlopPerSecond) -> Seconds {
    let tokens = tokens.get();
    let flop = 2.0 * active as f64 * tokens + 2.0 * attention_width as f64 * tokens * tokens;
    Seconds(over(flop, peak.get()))
}

/// Least time to read the weights and all live keys and values once: one decode step.
///
/// `bandwidth` is that of all GPUs together.
pub fn decode(weights_read: Bytes, kv_read: Bytes, bandwidth: PerSecond<Bytes>) -> Seconds {
    Seconds(over((weights_read + kv_read).get(), bandwidth.0.get()))
}

/// Least time to multiply `tokens` tokens with `active` parameters.
pub fn compute(active: u64, tokens: Tokens, peak: FlopPerSecond) -> Seconds {
    Seconds(over(2.0 * active as f64 * tokens.get(), peak.get()))
}

/// Weight bytes that a step of `tokens` tokens reads from a mixture of experts, each token using
/// `used` of `experts`.
pub fn moe_weight_bytes(
    shared: Bytes,
    experts_total: Bytes,
    used: u64,
    experts: u64,
    tokens: Tokens,
) -> Bytes {
    let picked = used as f64 / experts.max(1) as f64;
    Bytes(shared.get() + experts_total.get() * expert_share(picked, tokens.get()))
}

/// Tokens in one step at which reading weights of `bytes_each` takes as long as multiplying them.
pub fn ridge_tokens(peak: FlopPerSecond, bytes_each: Bytes, bandwidth: PerSecond<Bytes>) -> Tokens {
    Tokens(over(peak.get() * bytes_each.get(), 2.0 * bandwidth.0.get()))
}

/// Time of the two all-reduces a layer that tensor parallelism needs.
///
/// `hidden_bytes` is one token's residual stream; a ring moves 2(n−1)/n of it over each link.
pub fn tensor_parallel(
    layers: u64,
    gpus: u32,
    latency: Seconds,
    tokens: Tokens,
    hidden_bytes: Bytes,
    link: PerSecond<Bytes>,
) -> Seconds {
    if gpus < 2 {
        return Seconds(0.0);
    }
    let n = f64::from(gpus);
    let moved = 2.0 * (n - 1.0) / n * tokens.get() * hidden_bytes.get();
    Seconds(2.0 * layers as f64 * (latency.get() + over(moved, link.0.get())))
}

/// A share of nothing is nothing; work at no rate never ends.
fn over(work: f64, rate: f64) -> f64 {
    if work <= 0.0 {
        0.0
    } else if rate > 0.0 {
        work / rate
    } else {
        f64::INFINITY
    }
}
