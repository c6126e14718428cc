//! A model's files from a stranger are survived: what can be read is told in a line, and goes through a case unchanged.
#![no_main]

use intriage_case::{Case, layout, model};
use intriage_engines::read_model;
use intriage_engines::host::model_argument;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let _ = model_argument(&text);
    // Files parted by a byte that is in no text.
    let mut case = Case::default();
    let names = model::KEPT.into_iter().chain([model::SUMMARY]);
    for (name, part) in names.zip(bytes.split(|byte| *byte == 0xff)) {
        layout::add(&mut case, &format!("model/{name}"), part.to_vec());
    }
    let Some(files) = &case.model else { return };
    let model = read_model(files);
    assert!(model.config.is_none() || model.configured);
    let _ = model.line();
    let mut again = Case::default();
    for (name, bytes) in layout::files(&case) {
        assert!(layout::add(&mut again, &name, bytes), "{name}");
    }
    assert_eq!(again.model, case.model);
});
