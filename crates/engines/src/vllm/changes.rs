//! Defaults vLLM changed from one release to the next: what an upgrade changes without a word on the command line.

use super::defaults::default_at;
use crate::Setting;
use crate::dialect::Engine;
use crate::observed::Observed;
use crate::version::Version;

/// A default that differs between two releases.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedDefault {
    /// What it sets, where that is a setting known here.
    pub setting: Option<Setting>,
    /// The flag or variable that pins it.
    pub flag: &'static str,
    /// What it was.
    pub was: String,
    /// What it is.
    pub is: String,
    /// What that does.
    pub effect: &'static str,
}

/// A setting whose defaults by release stand in the table of defaults.
struct Numbered {
    setting: Setting,
    flag: &'static str,
    effect: &'static str,
}

const NUMBERED: &[Numbered] = &[
    Numbered {
        setting: Setting::MemoryFraction,
        flag: "--gpu-memory-utilization",
        effect: "the KV pool has another size",
    },
    Numbered {
        setting: Setting::MaxSequences,
        flag: "--max-num-seqs",
        effect: "another number of sequences runs at once",
    },
    Numbered {
        setting: Setting::TokenBudget,
        flag: "--max-num-batched-tokens",
        effect: "steps are longer or shorter",
    },
];

/// A change that is no number of that table: first release with the new one (engines.md 1.6 to 1.8).
/// Memory fraction, generation config, request log and cascade attention were seen to change in its tags.
struct Named {
    since: &'static str,
    setting: Option<Setting>,
    flag: &'static str,
    was: &'static str,
    is: &'static str,
    effect: &'static str,
}

const NAMED: &[Named] = &[
    Named {
        since: "0.8.0",
        setting: Some(Setting::PrefixCaching),
        flag: "--enable-prefix-caching",
        was: "off",
        is: "on",
        effect: "repeated prompts are not computed again",
    },
    Named {
        since: "0.8.0",
        setting: Some(Setting::ChunkedPrefill),
        flag: "--enable-chunked-prefill",
        was: "off up to 32k",
        is: "on",
        effect: "prompts are cut and mixed with decoding",
    },
    Named {
        since: "0.8.0",
        setting: None,
        flag: "--generation-config",
        was: "vllm",
        is: "auto",
        effect: "the model's own sampling parameters apply",
    },
    Named {
        since: "0.10.1",
        setting: None,
        flag: "--enable-log-requests",
        was: "on",
        is: "off",
        effect: "requests are no longer in the log",
    },
    Named {
        since: "0.14.0",
        setting: Some(Setting::AsyncScheduling),
        flag: "--async-scheduling",
        was: "off",
        is: "on where nothing forbids it",
        effect: "scheduling overlaps with the GPU's work",
    },
    Named {
        since: "0.15.0",
        setting: Some(Setting::ApiServers),
        flag: "--api-server-count",
        was: "1",
        is: "the data-parallel size",
        effect: "the front end is several processes",
    },
    Named {
        since: "0.18.0",
        setting: None,
        flag: "--disable-cascade-attn",
        was: "off",
        is: "on",
        effect: "shared prefixes are attended to as any other",
    },
    Named {
        since: "0.20.0",
        setting: None,
        flag: "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS",
        was: "0",
        is: "1",
        effect: "CUDA graphs count as used memory, so the KV pool is smaller",
    },
];

/// What changes between two releases on the hardware of this case, whatever was asked for.
pub fn changed_defaults(observed: &Observed, old: &Version, new: &Version) -> Vec<ChangedDefault> {
    if observed.identity.engine != Some(Engine::Vllm) {
        return Vec::new();
    }
    let numbered = NUMBERED.iter().filter_map(|row| {
        let (was, is) = (default_at(observed, row.setting, old)?, default_at(observed, row.setting, new)?);
        (was != is).then(|| ChangedDefault {
            setting: Some(row.setting),
            flag: row.flag,
            was: was.to_string(),
            is: is.to_string(),
            effect: row.effect,
        })
    });
    let named = NAMED
        .iter()
        .filter(|row| Version::parse(row.since).is_some_and(|since| (*old < since) != (*new < since)));
    let named = named.map(|row| {
        // Going back is a change, too, the other way round.
        let (was, is) = if old <= new { (row.was, row.is) } else { (row.is, row.was) };
        ChangedDefault {
            setting: row.setting,
            flag: row.flag,
            was: was.into(),
            is: is.into(),
            effect: row.effect,
        }
    });
    numbered.chain(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::Identity;

    #[test]
    fn an_upgrade_over_0_20_takes_more_memory_and_counts_graphs() {
        let v = |text| Version::parse(text).unwrap();
        let identity = Identity { engine: Some(Engine::Vllm), ..Identity::default() };
        let observed = Observed { identity, ..Observed::default() };
        let flags = |old, new| -> Vec<&str> {
            changed_defaults(&observed, &v(old), &v(new)).iter().map(|c| c.flag).collect()
        };
        assert_eq!(
            flags("0.19.1", "0.20.0"),
            ["--gpu-memory-utilization", "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS"]
        );
        assert_eq!(flags("0.21.0", "0.32.0"), [""; 0]);
        assert_eq!(flags("0.20.0", "0.19.1").len(), 2);
    }
}
