//! What a prefix cache should find of a synthetic load.

use std::collections::HashMap;

use intriage_case::Ratio;

use super::synthetic::Synthetic;

/// Requests looked at; what comes after them is like them.
const LOOKED_AT: u64 = 1_000_000;

impl Synthetic {
    /// Prompt tokens that a cache of unlimited size finds in whole blocks, of all prompt tokens of the first so many
    /// requests.
    ///
    /// The first request of each group finds nothing, later ones what the longest before them left. A later turn
    /// finds all of the turn before, its answer taken to be as long as asked for. Sessions count as coming one
    /// after the other; those that overlap find a little less. The chat template counts among the prompt's tokens
    /// and not among those found.
    pub fn expected_hit_ratio(&self, block: u32, requests: u64) -> Ratio {
        let block = u64::from(block.max(1));
        let whole = |tokens: u64| tokens / block * block;
        let mut left_by: HashMap<(u16, u32), u32> = HashMap::new();
        let (mut found, mut all) = (0_u64, 0_u64);
        let mut left = requests.min(LOOKED_AT);
        for index in 0.. {
            if left == 0 {
                break;
            }
            let plan = self.plan(index);
            let mut before = 0;
            for (number, turn) in plan.turns.iter().take(left as usize).enumerate() {
                let mut prompt = before + u64::from(turn.input);
                if number == 0 {
                    prompt += u64::from(self.template());
                    if let Some(group) = plan.group {
                        let longest = left_by.entry((plan.class, group)).or_default();
                        found += whole(u64::from(plan.shared.min(*longest)));
                        *longest = plan.shared.max(*longest);
                    }
                } else {
                    found += whole(before);
                }
                all += prompt;
                before = prompt + u64::from(turn.output);
            }
            left = left.saturating_sub(plan.turns.len() as u64);
        }
        Ratio::of(found as f64, all as f64).unwrap_or_default()
    }
}
