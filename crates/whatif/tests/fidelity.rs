//! scratch
#![allow(clippy::unwrap_used, missing_docs)]
use std::path::Path;
#[test]
fn table() {
    for folder in ["recordings", "h200"] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(folder);
        let mut all: Vec<_> = std::fs::read_dir(root).unwrap().map(|e| e.unwrap().path()).collect();
        all.sort();
        for path in all {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if !name.contains("vllm") { continue }
            let case = intriage_observe::open(&path).unwrap();
            let observed = intriage_engines::read(&case);
            let t = std::time::Instant::now();
            match intriage_whatif::calibrate(&observed) {
                Err(e) => println!("{name}: {e} {:?}", t.elapsed()),
                Ok(c) => {
                    let s = c.engine().step;
                    let f = c.fit();
                    println!("{name}: ttft {} / {}  itl {} / {} tok {:.0}/{:.0} front {} ahead {} base {} b {:.1}us c {:.1}us d {:.1}ns rate {:.1} burst {:?} old {} {:?}",
                    f.ttft_measured, f.ttft_replayed, f.itl_measured, f.itl_replayed, f.tokens_measured, f.tokens_replayed, c.front(), c.engine().plans_ahead, s.base, s.per_prompt_token.0*1e6, s.per_sequence.0*1e6, s.per_context_token.0*1e9, c.rate().0.0, c.traffic().burstiness(), c.traffic().oldest, t.elapsed());
                }
            }
        }
    }
}
