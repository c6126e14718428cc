//! Settings as facts: what they are called, and how much each weighs.

use intriage_engines::Setting::{self, *};
use intriage_engines::{Observed, SettingValue, dialect};

use super::areas::{Area, Weight};
use super::facts::Entry;

/// Settings that change answers, or speed by much.
const HIGH: &[Setting] = &[
    MaxSequences,
    TokenBudget,
    ContextWindow,
    PrefixCaching,
    EagerMode,
    Device,
    TensorParallel,
    PipelineParallel,
    DataParallel,
    KvBlocksOverride,
    KvDtype,
    MemoryFraction,
    LoadFormat,
    Quantization,
    ChunkedPrefill,
    Speculation,
    Model,
    ContinuousBatching,
    GpuLayers,
    CpuOffload,
];

/// What follows from other settings and from the machine.
const LOW: &[Setting] = &[
    KvBlocks,
    KvBlocksPossible,
    KvCapacity,
    KvBytes,
    WeightBytes,
    GraphBytes,
    MaxConcurrency,
    GraphMaxBatch,
];

/// How long a start took is no setting.
const NO_SETTING: &[Setting] = &[InitSeconds, CompileSeconds, GpuModel];

pub(super) fn settings(observed: &Observed) -> Vec<Entry> {
    let flags = observed.identity.engine.map_or(&[][..], |engine| dialect(engine).flags);
    let name = |setting: Setting| {
        // A flag is what people type; what has none is named as it is here.
        let flag =
            flags.iter().filter(|f| f.setting == setting).flat_map(|f| f.names).find(|n| n.starts_with("--"));
        flag.map_or_else(|| words(&format!("{setting:?}")), |flag| (*flag).to_owned())
    };
    let in_force = observed.config.iter().filter(|(setting, _)| !NO_SETTING.contains(setting));
    in_force
        .map(|(setting, stated)| Entry {
            area: Area::Settings,
            what: name(setting),
            value: value(&stated.value),
            weight: weight(setting),
            unit: setting.unit(),
        })
        .collect()
}

fn weight(setting: Setting) -> Weight {
    match setting {
        s if HIGH.contains(&s) => Weight::High,
        s if LOW.contains(&s) => Weight::Low,
        _ => Weight::Medium,
    }
}

fn value(value: &SettingValue) -> String {
    match value {
        SettingValue::Number(n) => n.to_string(),
        SettingValue::Switch(true) => "on".into(),
        SettingValue::Switch(false) => "off".into(),
        SettingValue::Text(text) => text.clone(),
    }
}

/// `KvCapacity` is `kv capacity` to people.
fn words(name: &str) -> String {
    let mut words = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(c.to_lowercase());
    }
    words
}
