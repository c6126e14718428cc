//! vLLM's defaults by release and hardware, for settings nothing else states.

use intriage_case::{Bytes, Source};

use crate::config::{Setting, SettingValue};
use crate::observed::Observed;
use crate::version::{Version, VersionRange};

/// What the engine runs on, as far as defaults care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hardware {
    Cpu,
    /// At least 70 GiB and not an A100: H100, H200, MI300X, B200.
    LargeGpu,
    OtherGpu,
}

/// One default: where it holds and what it is.
struct Default {
    setting: Setting,
    hardware: Option<Hardware>,
    range: VersionRange,
    value: f64,
}

const fn default(
    setting: Setting,
    hardware: Option<Hardware>,
    since: &'static str,
    until: &'static str,
    value: f64,
) -> Default {
    Default { setting, hardware, range: VersionRange { since, until }, value }
}

const CPU: Option<Hardware> = Some(Hardware::Cpu);
const LARGE: Option<Hardware> = Some(Hardware::LargeGpu);
const OTHER: Option<Hardware> = Some(Hardware::OtherGpu);

/// API-server defaults, from the sources of each release.
const NUMBERS: &[Default] = &[
    default(Setting::MaxSequences, None, "", "0.7.3", 256.0),
    default(Setting::MaxSequences, None, "0.8.0", "0.8.3", 1024.0),
    default(Setting::MaxSequences, CPU, "0.10.0", "", 128.0),
    default(Setting::MaxSequences, LARGE, "0.8.4", "", 1024.0),
    default(Setting::MaxSequences, OTHER, "0.8.4", "", 256.0),
    default(Setting::TokenBudget, CPU, "0.10.0", "", 2048.0),
    default(Setting::TokenBudget, LARGE, "0.8.4", "", 8192.0),
    default(Setting::TokenBudget, OTHER, "0.8.4", "", 2048.0),
    default(Setting::MemoryFraction, None, "", "0.19.1", 0.90),
    default(Setting::MemoryFraction, None, "0.20.0", "", 0.92),
    // Largest captured decode batch; 1024 on datacentre Blackwell.
    default(Setting::GraphMaxBatch, LARGE, "0.8.0", "", 512.0),
    default(Setting::GraphMaxBatch, OTHER, "0.8.0", "", 512.0),
];

/// Adds the defaults that apply to this release and hardware; `told` says that a command line was given.
pub(crate) fn state_defaults(observed: &mut Observed, told: bool) {
    let Some(version) = observed.identity.release().cloned() else { return };
    let hardware = hardware(observed);
    for row in NUMBERS {
        let fits = row.hardware.is_none() || row.hardware == hardware;
        if fits && row.range.holds(&version) {
            let source = Source::Default { rule: rule(&version, hardware) };
            observed.config.state(row.setting, SettingValue::Number(row.value), source);
        }
    }
    let v1 = Version::parse("0.8.0").is_some_and(|v| version >= v);
    for setting in [Setting::PrefixCaching, Setting::ChunkedPrefill] {
        let source = Source::Default { rule: rule(&version, hardware) };
        observed.config.state(setting, SettingValue::Switch(v1), source);
    }
    let source = || Source::Default { rule: rule(&version, hardware) };
    // Switched on by itself unless something forbids it; CPU builds differ from release to release.
    let ahead = Version::parse("0.14.0").is_some_and(|v| version >= v);
    if ahead && matches!(hardware, Some(Hardware::LargeGpu | Hardware::OtherGpu)) {
        observed.config.state(Setting::AsyncScheduling, SettingValue::Switch(true), source());
    }
    observed.config.state(Setting::EagerMode, SettingValue::Switch(false), source());
    // A load format nobody names is the default, but only if somebody named the others.
    if observed.config.is_told() || told {
        observed.config.state(Setting::LoadFormat, SettingValue::Text("auto".into()), source());
    }
}

fn rule(version: &Version, hardware: Option<Hardware>) -> String {
    let on = match hardware {
        Some(Hardware::Cpu) => " on CPU",
        Some(Hardware::LargeGpu) => " on a large GPU",
        Some(Hardware::OtherGpu) => " on this GPU",
        None => "",
    };
    format!("vLLM {}{on}", version.short())
}

fn hardware(observed: &Observed) -> Option<Hardware> {
    if observed.config.text(Setting::Device) == Some("cpu") {
        return Some(Hardware::Cpu);
    }
    let Bytes(memory) = observed.gpu.memory?;
    let a100 = observed.gpu.name.as_deref().is_some_and(|n| n.contains("A100"));
    let large = memory >= 70.0 * 1_073_741_824.0 && !a100;
    Some(if large { Hardware::LargeGpu } else { Hardware::OtherGpu })
}
