//! vLLM's defaults by release and hardware, for settings nothing else states.

use intriage_case::{Bytes, Source};

use crate::config::{Said, Setting, SettingValue};
use crate::log::{LogEvent, Meaning};
use crate::observed::Observed;
use crate::version::{Version, VersionRange};

/// What the engine runs on, as far as defaults care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hardware {
    Cpu,
    /// At least 160 GiB: B200, MI300X.
    HugeGpu,
    /// At least 70 GiB and not an A100: H100, H200.
    LargeGpu,
    OtherGpu,
}

/// One default: where it holds and what it is.
struct Default {
    setting: Setting,
    hardware: Option<Hardware>,
    range: VersionRange,
    value: f64,
    /// Whether it is so much for each rank of the engine.
    each_rank: bool,
}

impl Default {
    const fn each_rank(mut self) -> Self {
        self.each_rank = true;
        self
    }

    /// What it is for an engine of so many ranks.
    fn of(&self, ranks: f64) -> f64 {
        if self.each_rank { self.value * ranks } else { self.value }
    }
}

const fn default(
    setting: Setting,
    hardware: Option<Hardware>,
    since: &'static str,
    until: &'static str,
    value: f64,
) -> Default {
    Default { setting, hardware, range: VersionRange { since, until }, value, each_rank: false }
}

const CPU: Option<Hardware> = Some(Hardware::Cpu);
const HUGE: Option<Hardware> = Some(Hardware::HugeGpu);
const LARGE: Option<Hardware> = Some(Hardware::LargeGpu);
const OTHER: Option<Hardware> = Some(Hardware::OtherGpu);

/// API-server defaults, from the sources of each release (engines.md 1.8). Of two rows that fit the first counts.
const NUMBERS: &[Default] = &[
    default(Setting::MaxSequences, None, "", "0.7.3", 256.0),
    default(Setting::MaxSequences, None, "0.8.0", "0.8.3", 1024.0),
    default(Setting::MaxSequences, CPU, "0.10.0", "", 128.0).each_rank(),
    default(Setting::MaxSequences, LARGE, "0.8.4", "", 1024.0),
    default(Setting::MaxSequences, OTHER, "0.8.4", "", 256.0),
    default(Setting::TokenBudget, CPU, "0.10.0", "", 2048.0).each_rank(),
    default(Setting::TokenBudget, HUGE, "0.28.0", "", 16_384.0),
    default(Setting::TokenBudget, LARGE, "0.8.4", "", 8192.0),
    default(Setting::TokenBudget, OTHER, "0.8.4", "", 2048.0),
    default(Setting::MemoryFraction, None, "", "0.19.1", 0.90),
    default(Setting::MemoryFraction, None, "0.20.0", "", 0.92),
    // Largest captured decode batch; 1024 on datacentre Blackwell.
    default(Setting::GraphMaxBatch, LARGE, "0.8.0", "", 512.0),
    default(Setting::GraphMaxBatch, OTHER, "0.8.0", "", 512.0),
];

/// A default that no cause asks about but whoever compares configurations does.
struct Other {
    setting: Setting,
    hardware: Option<Hardware>,
    range: VersionRange,
    value: Value,
}

#[derive(Clone, Copy)]
enum Value {
    Number(f64),
    Text(&'static str),
    Switch(bool),
}

/// First and last release with this default, read off vLLM's tags up to 0.27.1 and the package of 0.32.0.
const fn other(
    setting: Setting,
    hardware: Option<Hardware>,
    since: &'static str,
    until: &'static str,
    value: Value,
) -> Other {
    Other { setting, hardware, range: VersionRange { since, until }, value }
}

const OTHERS: &[Other] = &[
    // `config/parallel.py`, before 0.8.5 `engine/arg_utils.py`.
    other(Setting::TensorParallel, None, "0.1.0", "", Value::Number(1.0)),
    other(Setting::PipelineParallel, None, "0.1.0", "", Value::Number(1.0)),
    other(Setting::DataParallel, None, "0.8.0", "", Value::Number(1.0)),
    // `config/cache.py`.
    other(Setting::KvDtype, None, "0.3.0", "", Value::Text("auto")),
    // `config/scheduler.py`.
    other(Setting::SchedulingPolicy, None, "0.6.3", "", Value::Text("fcfs")),
    other(Setting::LongPrefillThreshold, None, "0.7.3", "", Value::Number(0.0)),
    other(Setting::StreamInterval, None, "0.11.1", "", Value::Number(1.0)),
    // `platforms/cpu.py`; from 0.8.3 to 0.11.0 it depended on a library. MLA and a few models have another.
    other(Setting::KvBlockSize, CPU, "0.6.5", "0.8.2", Value::Number(16.0)),
    other(Setting::KvBlockSize, CPU, "0.11.1", "", Value::Number(128.0)),
    // `platforms/cuda.py` up to 0.17.1, then `config/cache.py`; attention backends for MLA prefer 64 or 128.
    other(Setting::KvBlockSize, LARGE, "0.1.0", "", Value::Number(16.0)),
    other(Setting::KvBlockSize, OTHER, "0.1.0", "", Value::Number(16.0)),
    // `platforms/cpu.py` sets it, whatever was asked for.
    other(Setting::AsyncScheduling, CPU, "0.14.0", "", Value::Switch(false)),
];

/// Defaults for whoever compares configurations, beside those in the configuration already.
pub(crate) fn other_defaults(observed: &Observed) -> Vec<(Setting, Said)> {
    let Some(version) = &release(observed) else { return Vec::new() };
    let hardware = hardware(observed);
    let fits = OTHERS.iter().filter(|row| fits(row.hardware, hardware) && row.range.holds(version));
    fits.map(|row| {
        let value = match row.value {
            Value::Number(number) => SettingValue::Number(number),
            Value::Text(text) => SettingValue::Text(text.to_owned()),
            Value::Switch(on) => SettingValue::Switch(on),
        };
        (row.setting, Said { value, from: Source::Default { rule: rule(version, hardware) } })
    })
    .collect()
}

/// The default of a setting at a release, on the hardware of this case.
pub(super) fn default_at(observed: &Observed, setting: Setting, version: &Version) -> Option<f64> {
    let hardware = hardware(observed);
    let mut rows = NUMBERS.iter().filter(|row| row.setting == setting && row.range.holds(version));
    rows.find(|row| fits(row.hardware, hardware)).map(|row| row.of(ranks(observed)))
}

/// GPUs, or memory nodes on a CPU, that share the model.
fn ranks(observed: &Observed) -> f64 {
    let of = |setting| observed.config.number(setting).filter(|n| *n >= 1.0).unwrap_or(1.0);
    of(Setting::TensorParallel) * of(Setting::PipelineParallel)
}

/// What holds for large GPUs holds for huge ones, too, unless they have a row of their own.
fn fits(row: Option<Hardware>, hardware: Option<Hardware>) -> bool {
    row.is_none() || row == hardware || (row == LARGE && hardware == HUGE)
}

/// Adds the defaults that apply to this release and hardware.
pub(crate) fn state_defaults(observed: &mut Observed) {
    let Some(version) = release(observed) else { return };
    let (hardware, ranks) = (hardware(observed), ranks(observed));
    for row in NUMBERS {
        if fits(row.hardware, hardware) && row.range.holds(&version) {
            let source = Source::Default { rule: rule(&version, hardware) };
            observed.config.state(row.setting, SettingValue::Number(row.of(ranks)), source);
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
    if ahead && matches!(hardware, Some(Hardware::HugeGpu | Hardware::LargeGpu | Hardware::OtherGpu)) {
        observed.config.state(Setting::AsyncScheduling, SettingValue::Switch(true), source());
    }
    // A log cut at its start has no arguments, and still tells what came of them.
    if let Some(said) = observed.log.first(Meaning::GraphsOff).map(LogEvent::source) {
        observed.config.state(Setting::EagerMode, SettingValue::Switch(true), said);
    }
    observed.config.state(Setting::EagerMode, SettingValue::Switch(false), source());
    // A load format nobody names is the default, but only if somebody named the others.
    if observed.config.is_told() {
        observed.config.state(Setting::LoadFormat, SettingValue::Text("auto".into()), source());
    }
}

/// The release whose defaults apply: one that fell back to its older engine has those of the last release that had no other.
fn release(observed: &Observed) -> Option<Version> {
    let fell_back = |event: &LogEvent| {
        event.meaning == Meaning::FlagOverridden && event.excerpt.contains("Falling back to V0")
    };
    if observed.log.events.iter().any(fell_back) {
        return Version::parse("0.7.3");
    }
    observed.identity.release().cloned()
}

fn rule(version: &Version, hardware: Option<Hardware>) -> String {
    let on = match hardware {
        Some(Hardware::Cpu) => " on CPU",
        Some(Hardware::HugeGpu | Hardware::LargeGpu) => " on a large GPU",
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
    let gib = memory / 1_073_741_824.0;
    Some(match gib {
        _ if gib >= 160.0 => Hardware::HugeGpu,
        _ if gib >= 70.0 && !a100 => Hardware::LargeGpu,
        _ => Hardware::OtherGpu,
    })
}

#[cfg(test)]
mod tests {
    use intriage_case::{Case, LogText};

    use super::*;
    use crate::observed::read;

    fn cpu(version: &str, flags: &str) -> Observed {
        let mut case =
            Case { command_line: Some(format!("vllm serve m --device cpu {flags}")), ..Case::default() };
        case.endpoints.insert("/version".into(), format!("{{\"version\":\"{version}\"}}"));
        read(&case)
    }

    fn listed(observed: &Observed, setting: Setting) -> Option<SettingValue> {
        other_defaults(observed).into_iter().find(|(of, _)| *of == setting).map(|(_, said)| said.value)
    }

    #[test]
    fn a_release_without_a_setting_has_no_default_of_it() {
        assert_eq!(listed(&cpu("0.32.0", ""), Setting::StreamInterval), Some(SettingValue::Number(1.0)));
        assert_eq!(listed(&cpu("0.11.0", ""), Setting::StreamInterval), None);
        assert_eq!(listed(&cpu("0.7.3", ""), Setting::DataParallel), None);
    }

    #[test]
    fn the_block_of_a_cpu_changed_and_once_depended_on_a_library() {
        let block = |version| listed(&cpu(version, ""), Setting::KvBlockSize);
        assert_eq!(block("0.8.2"), Some(SettingValue::Number(16.0)));
        assert_eq!(block("0.9.2"), None);
        assert_eq!(block("0.32.0"), Some(SettingValue::Number(128.0)));
    }

    #[test]
    fn a_server_that_fell_back_to_v0_has_its_defaults() {
        let mut case =
            Case { command_line: Some("vllm serve m --preemption-mode swap".into()), ..Case::default() };
        case.endpoints.insert("/version".into(), "{\"version\":\"0.8.5\"}".into());
        assert_eq!(read(&case).config.switch(Setting::PrefixCaching), Some(true));
        let text = "--preemption-mode is not supported by the V1 Engine. Falling back to V0. \n".into();
        case.logs = vec![LogText { name: "server.log".into(), text }];
        assert_eq!(read(&case).config.switch(Setting::PrefixCaching), Some(false));
        assert_eq!(read(&case).config.number(Setting::MaxSequences), Some(256.0));
    }

    #[test]
    fn a_log_that_says_graphs_are_off_beats_the_default() {
        let mut case = Case::default();
        case.endpoints.insert("/version".into(), "{\"version\":\"0.26.0\"}".into());
        let text = "INFO vllm\nINFO [vllm.py:1392] Cudagraph is disabled under eager mode\n".into();
        case.logs = vec![LogText { name: "server.log".into(), text }];
        assert_eq!(read(&case).config.switch(Setting::EagerMode), Some(true));
    }

    #[test]
    fn a_cpu_takes_as_much_for_each_rank() {
        let two = cpu("0.32.0", "-tp 2");
        assert_eq!(two.config.number(Setting::MaxSequences), Some(256.0));
        assert_eq!(two.config.number(Setting::TokenBudget), Some(4096.0));
        assert_eq!(cpu("0.32.0", "").config.number(Setting::MaxSequences), Some(128.0));
    }
}
