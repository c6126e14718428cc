//! The configuration: what each source states, and what is most likely in force.

mod command_line;
mod json;
mod python;
mod setting;

use std::collections::BTreeMap;

use intriage_case::Source;

pub use setting::{Setting, SettingValue};

pub(crate) use command_line::from_command_line;
pub(crate) use json::from_json;
pub(crate) use python::{field_list, from_fields};

/// One source's word on a setting.
#[derive(Debug, Clone, PartialEq)]
pub struct Stated {
    /// The value.
    pub value: SettingValue,
    /// Who says so.
    pub source: Source,
}

/// All statements by setting, the most trustworthy first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Config {
    stated: BTreeMap<Setting, Vec<Stated>>,
}

impl Config {
    /// Adds a statement; sources are ranked, so the order of calls does not matter.
    pub(crate) fn state(&mut self, setting: Setting, value: SettingValue, source: Source) {
        let all = self.stated.entry(setting).or_default();
        let place = all.partition_point(|s| trust(&s.source) <= trust(&source));
        all.insert(place, Stated { value, source });
    }

    /// The value most likely in force.
    pub fn get(&self, setting: Setting) -> Option<&Stated> {
        self.stated.get(&setting)?.first()
    }

    /// Everything said about a setting, the most trustworthy first.
    pub fn all(&self, setting: Setting) -> &[Stated] {
        self.stated.get(&setting).map_or(&[], Vec::as_slice)
    }

    /// The number in force.
    pub fn number(&self, setting: Setting) -> Option<f64> {
        self.get(setting)?.value.number()
    }

    /// The switch in force.
    pub fn switch(&self, setting: Setting) -> Option<bool> {
        self.get(setting)?.value.switch()
    }

    /// The text in force.
    pub fn text(&self, setting: Setting) -> Option<&str> {
        self.get(setting)?.value.text()
    }

    /// Whether somebody set it, rather than the engine's default applying.
    pub fn was_chosen(&self, setting: Setting) -> bool {
        self.get(setting).is_some_and(|s| !matches!(s.source, Source::Default { .. }))
    }

    /// Whether a command line or a start-up log tells what was set by hand: then what neither names
    /// is the engine's default.
    pub fn is_told(&self) -> bool {
        self.stated.values().flatten().any(|s| matches!(s.source, Source::CommandLine | Source::Log { .. }))
    }

    /// Every setting with what is in force.
    pub fn iter(&self) -> impl Iterator<Item = (Setting, &Stated)> {
        self.stated.iter().filter_map(|(setting, all)| Some((*setting, all.first()?)))
    }
}

/// What the running process shows beats what its log said at start, which beats what was asked for.
fn trust(source: &Source) -> u8 {
    match source {
        Source::Metric { .. } => 0,
        Source::Endpoint { .. } => 1,
        Source::Log { .. } => 2,
        Source::CommandLine => 3,
        Source::Default { .. } => 5,
        Source::Derived { .. }
        | Source::Gpu { .. }
        | Source::Kernel { .. }
        | Source::Scrape
        | Source::Client
        | Source::Probe { .. } => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_process_shows_beats_what_was_asked_for() {
        let mut config = Config::default();
        let metric = Source::Metric { name: "vllm:cache_config_info".into() };
        config.state(
            Setting::PrefixCaching,
            SettingValue::Switch(true),
            Source::Default { rule: "vLLM 0.32".into() },
        );
        assert!(!config.was_chosen(Setting::PrefixCaching));
        config.state(Setting::PrefixCaching, SettingValue::Switch(false), metric);
        config.state(Setting::PrefixCaching, SettingValue::Switch(true), Source::CommandLine);
        assert_eq!(config.switch(Setting::PrefixCaching), Some(false));
        assert_eq!(config.all(Setting::PrefixCaching).len(), 3);
    }
}
