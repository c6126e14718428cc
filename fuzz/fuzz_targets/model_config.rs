//! Any bytes are survived as a model's config, and what is read from them gives finite numbers.

#![no_main]

use intriage_case::Tokens;
use intriage_physics::{Deployment, KvDtype, ModelShape, StepLoad, gpu};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(model) = ModelShape::from_config_bytes(bytes) else { return };
    assert!(model.weight_bytes().get().is_finite());
    assert!(model.kv_bytes(Tokens(1e6), KvDtype::Int8).get().is_finite());
    let gpu = &gpu::all()[bytes.len() % gpu::all().len()];
    let time = Deployment::new(&model, gpu).on(8).step(&StepLoad::decode(64, Tokens(1e5)));
    assert!(time.bound <= time.expected.0 && time.expected.1.get().is_finite());
});
