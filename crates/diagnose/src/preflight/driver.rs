//! The driver against the CUDA release the engine was built with.

use super::Said;
use super::facts::Facts;

pub(super) fn judge(facts: &Facts<'_>) -> Vec<Said> {
    if facts.on_cpu() {
        return Vec::new();
    }
    let (Some(speaks), Some(built)) =
        (facts.around.driver_cuda.as_deref(), facts.package().and_then(|package| package.cuda.as_deref()))
    else {
        return Vec::new();
    };
    // Minor releases of one major release run on the drivers of that release (CUDA's minor version compatibility).
    let major = |version: &str| version.split('.').next().and_then(|n| n.parse::<u32>().ok());
    match (major(speaks), major(built)) {
        (Some(has), Some(needs)) if has < needs => vec![Said::Wrong(
            "driver-cuda-mismatch",
            format!("PyTorch was built for CUDA {built}, and the driver speaks CUDA {speaks} at most"),
            format!("a newer driver, or the wheel that is built for CUDA {has}"),
        )],
        (Some(_), Some(_)) => {
            vec![Said::Fine(format!("the driver speaks CUDA {speaks}, PyTorch was built for {built}"))]
        }
        _ => vec![Said::Unknown(format!(
            "CUDA {speaks} of the driver and {built} of PyTorch cannot be compared"
        ))],
    }
}
