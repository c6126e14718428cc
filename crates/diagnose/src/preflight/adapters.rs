//! The rank of LoRA adapters against the limit.

use super::Said;
use super::facts::Facts;

/// The largest rank taken where nobody says otherwise. Source: vLLM's `config/lora.py`, 0.4 to 0.32.
const USUAL: f64 = 16.0;

pub(super) fn judge(facts: &Facts<'_>) -> Vec<Said> {
    let limit = facts.line.number(&["--max-lora-rank"]).unwrap_or(USUAL);
    let judged = facts.around.adapters.iter().map(|adapter| match adapter.rank {
        None => Said::Unknown(format!("the rank of {} cannot be read", adapter.name)),
        Some(rank) if rank as f64 > limit => Said::Wrong(
            "lora-rank-limit",
            format!("the adapter {} has rank {rank}, and the limit is {limit}", adapter.name),
            format!("--max-lora-rank {}", rank.next_power_of_two().max(8)),
        ),
        Some(rank) => Said::Fine(format!("{} has rank {rank}, the limit is {limit}", adapter.name)),
    });
    judged.collect()
}
