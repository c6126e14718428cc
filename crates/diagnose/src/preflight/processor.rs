//! What the processor must be able to do.

use super::Said;
use super::facts::Facts;

/// What vLLM's CPU build is compiled for on x86: AVX2 at least. Source: vLLM's `cmake/cpu_extension.cmake`.
const NEEDED: &str = "avx2";

pub(super) fn judge(facts: &Facts<'_>) -> Vec<Said> {
    let Some(cpu) = facts.around.cpu.as_ref().filter(|cpu| facts.on_cpu() && cpu.architecture == "x86_64")
    else {
        return Vec::new();
    };
    vec![if cpu.flags.iter().any(|flag| flag == NEEDED) {
        Said::Fine(format!("the processor has {NEEDED}"))
    } else {
        Said::Wrong(
            "cpu-instruction-set",
            format!("the processor has no {NEEDED}, and the package was compiled for it"),
            "another machine, or a build from source for this processor".into(),
        )
    }]
}
