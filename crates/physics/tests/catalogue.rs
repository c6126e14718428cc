//! Every value that the root-cause catalogue (knowledge/causes.md §3) states for the physics.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use intriage_case::{Bytes, PerSecond, Ratio, Seconds, Tokens};
use intriage_physics::bounds::formulas;
use intriage_physics::{
    Counting, Deployment, FlopPerSecond, Gpu, KvDtype, Link, Math, ModelShape, gpu, known,
};

fn model(name: &str) -> ModelShape {
    known::model(name).unwrap()
}

fn card(name: &str) -> Gpu {
    gpu::find(name).unwrap().gpu
}

fn near(got: f64, want: f64, tolerance: f64, what: &str) {
    assert!((got - want).abs() <= tolerance, "{what}: got {got}, catalogue says {want}");
}

#[test]
fn kv_bytes_per_token() {
    for (name, bytes) in [
        ("llama-3.1-8b", 131_072.0),
        ("qwen2.5-32b", 262_144.0),
        ("llama-3.3-70b", 327_680.0),
        ("deepseek-v3", 70_272.0),
        ("qwen3-30b-a3b", 98_304.0),
    ] {
        assert_eq!(model(name).kv_bytes_per_token(KvDtype::Bf16).get(), bytes, "{name}");
    }
    // 656 bytes a layer in DeepSeek's own 8-bit layout.
    assert_eq!(model("deepseek-v3").kv_bytes_per_token(KvDtype::Fp8DsMla).get(), 61.0 * 656.0);
}

/// One row of the table for Llama-3.1-8B in bf16 on one GPU with a context of 1,000.
struct Row {
    gpu: &'static str,
    /// Milliseconds a token.
    decode: f64,
    /// Milliseconds for 1,000 prompt tokens.
    prefill: f64,
    /// Tokens a step at the ridge with 16-bit and with 4-bit weights; no bf16 on a T4.
    ridge: (Option<f64>, f64),
    fits: bool,
}

#[rustfmt::skip]
const TABLE: [Row; 11] = [
    Row { gpu: "nvidia-t4", decode: 50.60, prefill: 247.1, ridge: (None, 51.0), fits: false },
    Row { gpu: "nvidia-l4", decode: 53.97, prefill: 132.7, ridge: (Some(403.0), 101.0), fits: true },
    Row { gpu: "nvidia-a10g", decode: 26.99, prefill: 229.4, ridge: (Some(117.0), 29.0), fits: true },
    Row { gpu: "nvidia-a10", decode: 26.99, prefill: 128.5, ridge: (Some(208.0), 52.0), fits: true },
    Row { gpu: "nvidia-rtx-4090", decode: 16.06, prefill: 97.2, ridge: (Some(164.0), 41.0), fits: true },
    Row { gpu: "nvidia-l40s", decode: 18.74, prefill: 44.4, ridge: (Some(419.0), 105.0), fits: true },
    Row { gpu: "nvidia-a100-sxm4-80gb", decode: 7.94, prefill: 51.5, ridge: (Some(153.0), 38.0), fits: true },
    Row { gpu: "nvidia-h100-sxm5-80gb", decode: 4.83, prefill: 16.2, ridge: (Some(295.0), 74.0), fits: true },
    Row { gpu: "nvidia-h200-sxm", decode: 3.37, prefill: 16.2, ridge: (Some(206.0), 52.0), fits: true },
    Row { gpu: "nvidia-b200-sxm", decode: 2.02, prefill: 7.1, ridge: (Some(281.0), 70.0), fits: true },
    Row { gpu: "amd-mi300x", decode: 3.05, prefill: 12.3, ridge: (Some(247.0), 62.0), fits: true },
];

#[test]
fn the_gpu_table_for_llama_8b() {
    let llama = model("llama-3.1-8b");
    for Row { gpu: id, decode, prefill, ridge: (ridge_bf16, ridge_int4), fits } in TABLE {
        let gpu = card(id);
        // The table counts every parameter and leaves attention out.
        let on = Deployment::new(&llama, &gpu).counting(Counting::AllParameters);
        near(on.decode(1, Tokens(1000.0)).bound.get() * 1e3, decode, 0.006, id);
        let (math, peak) = gpu.math_for(Math::Bf16);
        let plain = formulas::prefill(llama.parameters().active(), 0, Tokens(1000.0), peak);
        near(plain.get() * 1e3, prefill, 0.06, id);
        match ridge_bf16 {
            Some(ridge) => near(on.ridge().get(), ridge, 0.6, id),
            None => assert_eq!(math, Math::Fp16, "{id} has no bf16"),
        }
        near(formulas::ridge_tokens(peak, Bytes(0.5), gpu.bandwidth).get(), ridge_int4, 0.6, id);
        assert_eq!(on.fits(Tokens(1000.0), Ratio(0.92)), fits, "{id}");
        // What must be touched is less than everything, and attention is not nothing.
        let touched = on.clone().counting(Counting::Touched);
        assert!(touched.decode(1, Tokens(1000.0)).bound < on.decode(1, Tokens(1000.0)).bound);
        assert!(on.prefill(Tokens(1000.0), Tokens(0.0)).bound > plain);
    }
}

#[test]
fn llama_8b_on_one_h100() {
    let (llama, h100) = (model("llama-3.1-8b"), card("h100"));
    let on = Deployment::new(&llama, &h100).counting(Counting::AllParameters);
    near(on.decode(1, Tokens(1000.0)).bound.get() * 1e3, 4.833, 0.0005, "t_dec");
}

#[test]
fn llama_70b_in_8_bit_on_two_h100() {
    // The catalogue takes 70.6 billion parameters of one byte each.
    let h100 = card("h100");
    let two = |rate: f64| rate * 2.0;
    let bandwidth = PerSecond(Bytes(two(h100.bandwidth.0.get())));
    let decode = formulas::decode(Bytes(70.6e9), Bytes(1000.0 * 327_680.0), bandwidth);
    near(decode.get() * 1e3, 10.586, 0.0005, "t_dec");
    let peak = FlopPerSecond(two(h100.peak(Math::Fp8).unwrap().get()));
    let prefill = formulas::prefill(70_600_000_000, 0, Tokens(1000.0), peak);
    near(prefill.get() * 1e3, 35.675, 0.0005, "t_pre");

    // Counted tensor by tensor, embedding and head stay 16 bit, and the all-reduces come on top.
    let llama = model("llama-3.3-70b").with_weights("fp8").unwrap();
    let on = Deployment::new(&llama, &h100).on(2).counting(Counting::AllParameters);
    let step = on.decode(1, Tokens(1000.0));
    near(step.bandwidth.get() * 1e3, 10.586, 0.35, "t_dec of the real checkpoint");
    assert!(step.communication > Seconds(0.0));
    // Attention adds 0.7 ms, and embedding and head at half the rate 1.1 ms.
    near(
        on.prefill(Tokens(1000.0), Tokens(0.0)).compute.get() * 1e3,
        35.675 + 1.7,
        0.1,
        "t_pre of the real checkpoint",
    );
}

#[test]
fn experts_are_read_as_the_batch_grows() {
    // The catalogue's rounded inputs: 3.0 GB shared, 58.0 GB of experts, 8 of 128.
    for (batch, gigabytes) in [(1.0, 6.6), (16.0, 40.3), (64.0, 60.0)] {
        let read = formulas::moe_weight_bytes(Bytes(3.0e9), Bytes(58.0e9), 8, 128, Tokens(batch));
        near(read.get() / 1e9, gigabytes, 0.08, "formula");
        // Counted from the shape, the shared part is 3.08 GB.
        let read = model("qwen3-30b-a3b").weight_bytes_read(Tokens(batch));
        near(read.get() / 1e9, gigabytes, 0.15, "shape");
    }
}

#[test]
fn windows_bound_the_cache_of_gemma() {
    let gemma = model("gemma-3-27b");
    let held = gemma.kv_bytes(Tokens(32_768.0), KvDtype::Bf16);
    near(held.get() / 1e9, 3.12, 0.005, "windows");
    let full = gemma.kv_bytes_per_token(KvDtype::Bf16).get() * 32_768.0;
    near(full / 1e9, 16.6, 0.05, "full attention");
}

#[test]
fn the_all_reduces_cost_more_without_a_direct_link() {
    let (llama, h100) = (model("llama-3.3-70b"), card("h100"));
    let on =
        |link| Deployment::new(&llama, &h100).on(4).over(link).decode(8, Tokens(1000.0)).communication.get();
    // 2 · 80 · (5 µs + 1.5 · 8 · 8192 · 2 B / 450 GB/s)
    near(on(Link::Direct) * 1e6, 160.0 * (5.0 + 1.5 * 8.0 * 8192.0 * 2.0 / 450e3), 0.01, "direct");
    assert!(on(Link::Direct) < on(Link::PciePeer) && on(Link::PciePeer) < on(Link::ThroughHost));
}

#[test]
fn the_expected_range_is_that_of_good_software() {
    let (llama, h100) = (model("llama-3.1-8b"), card("h100"));
    let on = Deployment::new(&llama, &h100);
    let decode = on.decode(1, Tokens(1000.0));
    let times =
        |part: (Seconds, Seconds), bound: Seconds| (part.0.get() / bound.get(), part.1.get() / bound.get());
    // 1.2 to 2 times for decode, 1.5 to 3 times for prefill.
    let (low, high) = times(decode.expected, decode.bound);
    assert!((1.1..1.3).contains(&low) && (1.7..2.0).contains(&high), "{low} {high}");
    let prefill = on.prefill(Tokens(4000.0), Tokens(0.0));
    assert!(prefill.compute_bound() && !decode.compute_bound());
    let (low, high) = times(prefill.expected, prefill.bound);
    assert!((1.5..1.6).contains(&low) && (2.7..3.0).contains(&high), "{low} {high}");
}

#[test]
fn a_large_batch_turns_compute_bound_at_the_ridge() {
    let (llama, h100) = (model("llama-3.1-8b"), card("h100"));
    let on = Deployment::new(&llama, &h100).counting(Counting::AllParameters);
    let ridge = on.ridge().get() as u32;
    assert!(!on.decode(ridge - 2, Tokens(0.0)).compute_bound());
    assert!(on.decode(ridge + 2, Tokens(0.0)).compute_bound());
}

#[test]
fn copies_of_kv_where_heads_run_out() {
    let context = Tokens(1000.0);
    let per_gpu = |model: &ModelShape, tp| model.kv_bytes_per_gpu(context, KvDtype::Bf16, tp).get();
    let llama = model("llama-3.1-8b");
    assert_eq!(per_gpu(&llama, 8), per_gpu(&llama, 1) / 8.0);
    assert_eq!(per_gpu(&llama, 16), per_gpu(&llama, 8), "8 KV heads on 16 GPUs are copied");
    let deepseek = model("deepseek-v3");
    assert_eq!(per_gpu(&deepseek, 8), per_gpu(&deepseek, 1), "latent KV is on every rank");
    assert!(llama.weight_bytes_per_gpu(2).get() > llama.weight_bytes().get() / 2.0);
    assert!(llama.weight_bytes_per_gpu(2).get() < llama.weight_bytes().get() / 2.0 * 1.001);
}

#[test]
fn eight_bit_kv_halves_the_cache_and_scales_add_a_little() {
    let llama = model("llama-3.1-8b");
    let bytes = |kv| llama.kv_bytes_per_token(kv).get();
    assert_eq!(bytes(KvDtype::Fp8), 65_536.0);
    assert_eq!(bytes(KvDtype::Int8), 65_536.0 + 32.0 * 8.0 * 2.0 * 4.0);
    assert_eq!(bytes(KvDtype::Q8_0), 65_536.0 * 34.0 / 32.0);
    assert_eq!(KvDtype::parse("auto", &llama).unwrap(), KvDtype::Bf16);
    assert_eq!(KvDtype::parse("FP8_E4M3", &llama).unwrap(), KvDtype::Fp8);
    assert!(KvDtype::parse("fp9", &llama).unwrap_err().to_string().contains("auto, bf16"));
}

#[test]
fn recurrent_layers_hold_a_constant_state() {
    let hybrid = model("qwen3-next-80b-a3b");
    let at = |context| hybrid.kv_bytes(Tokens(context), KvDtype::Bf16).get();
    // 36 of 48 layers keep (32 heads · 128 · 128 + 3 · 8192) elements whatever the length.
    let state = 36.0 * (32.0 * 128.0 * 128.0 + 3.0 * 8192.0) * 2.0;
    assert_eq!(hybrid.state_bytes(1).get(), state);
    assert_eq!(at(0.0), state);
    assert_eq!(at(1000.0) - at(0.0), 1000.0 * 12.0 * 2.0 * 2.0 * 256.0 * 2.0);
}

/// Llama-3.1-8B with a vocabulary of 49,152 on one H200 under vLLM 0.26.0, as `fixtures/h200` recorded it.
#[test]
fn recorded_runs_lie_between_the_bound_and_what_it_explains() {
    let config = r#"{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 49152}"#;
    let (llama, h200) = (ModelShape::from_config_json(config).unwrap(), card("NVIDIA H200"));
    let on = Deployment::new(&llama, &h200);
    // vllm-h200-maxseqs8: 8 sequences of 400 in, 150 out, TPOT p50 5.7 ms.
    let times = on.decode(8, Tokens(475.0)).times_bound(Seconds(5.7e-3)).unwrap().get();
    assert!((1.0..2.0).contains(&times), "decode took {times} bounds");
    // vllm-h200-longprompt9k: prompts of 9,000 tokens, some 34,000 tokens a second.
    let times =
        on.prefill(Tokens(9000.0), Tokens(0.0)).times_bound(Seconds(9000.0 / 34_000.0)).unwrap().get();
    assert!((1.0..2.0).contains(&times), "prefill took {times} bounds");
}
