//! Bucket limits as vLLM 0.32 has them (seen on a live server).

/// Time to first token, in seconds.
pub(super) const TTFT: &[f64] = &[
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0,
    80.0, 160.0, 640.0, 2560.0,
];
/// Gaps between tokens, in seconds.
pub(super) const ITL: &[f64] = &[
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
];
/// Phases of a request, in seconds.
pub(super) const PHASE: &[f64] = &[
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0,
    960.0, 1920.0, 7680.0,
];
/// Tokens in a step.
pub(super) const STEP_TOKENS: &[f64] =
    &[1.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16384.0];
/// Answers a request asks for.
pub(super) const ANSWERS: &[f64] = &[1.0, 2.0, 5.0, 10.0, 20.0];
/// Preemptions of a request.
pub(super) const PREEMPTIONS: &[f64] = &[1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 20.0];

/// Lengths in tokens: 1, 2, 5, 10 … as far as the context window.
pub(super) fn lengths(window: u32) -> Vec<f64> {
    let steps = (0..10).flat_map(|power| [1.0, 2.0, 5.0].map(|m| m * 10_f64.powi(power)));
    steps.take_while(|limit| *limit <= f64::from(window)).collect()
}
