//! Whether there is a GPU where the engine needs one.

use super::Said;
use super::facts::Facts;

pub(super) fn judge(facts: &Facts<'_>) -> Vec<Said> {
    if facts.on_cpu() {
        return vec![Said::Fine("the installed package runs on the processor".into())];
    }
    match (&facts.around.gpus, &facts.around.no_gpus) {
        (Some(cards), _) if !cards.is_empty() => Vec::new(),
        // An engine that is no package of Python's may run on either.
        _ if facts.package().is_none() => Vec::new(),
        (_, why) => {
            let why = why.clone().unwrap_or_else(|| "none is here".into());
            vec![Said::Unknown(format!("no GPU is seen: {why}"))]
        }
    }
}
