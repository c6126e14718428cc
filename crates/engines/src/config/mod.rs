//! The configuration: what each source states, and what is most likely in force.

mod asked;
mod beside;
mod choose;
mod command_line;
mod compare;
mod environment;
mod in_use;
mod json;
mod manifest;
mod meant;
mod plain;
mod program;
mod python;
mod setting;
mod starts;
mod table;
mod verdict;

use std::collections::BTreeMap;

use intriage_case::Source;

pub use asked::Asked;
pub use command_line::is_whole_command_line;
pub use manifest::{
    Launch, ManifestError, ManifestTexts, Passage, Place, Variable, Word, Writing, manifest_texts,
    read_manifest,
};
pub use setting::{Setting, SettingValue};
pub use starts::{MeantStart, MeantStarts, MeantVariable, meant_starts};
pub use table::{ConfigAnswer, ConfigRow, ConfigTable, RowVerdict, Said, Start};

pub(crate) use asked::ask;
pub(crate) use compare::compare;
pub(crate) use environment::{VariableChange, VariableRow};
pub(crate) use json::from_json;
pub(crate) use program::engine_words;
pub(crate) use python::{Role, field_list, from_fields};

/// One source's word on a setting.
#[derive(Debug, Clone, PartialEq)]
pub struct Stated {
    /// The value.
    pub value: SettingValue,
    /// Who says so.
    pub source: Source,
    /// Who asked for it, where it was asked for rather than seen.
    pub asked: Option<Asked>,
}

/// All statements by setting, the most trustworthy first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Config {
    stated: BTreeMap<Setting, Vec<Stated>>,
    /// What manifests ask for: a wish, which tells nothing of the server that runs.
    wished: BTreeMap<Setting, Vec<Stated>>,
    /// Values that a later word of the same command line replaced.
    replaced: BTreeMap<Setting, Vec<Stated>>,
    /// Whether somebody listed all that was set.
    told: bool,
}

impl Config {
    /// Adds a statement; sources are ranked, so the order of calls does not matter.
    pub(crate) fn state(&mut self, setting: Setting, value: SettingValue, source: Source) {
        self.put(setting, Stated { value, source, asked: None });
    }

    /// Adds what somebody asked for.
    pub(crate) fn request(&mut self, setting: Setting, value: SettingValue, source: Source, by: Asked) {
        self.put(setting, Stated { value, source, asked: Some(by) });
    }

    /// Keeps what a later word of the same command line replaced.
    pub(crate) fn replace(&mut self, setting: Setting, value: SettingValue, source: Source, by: Asked) {
        self.replaced.entry(setting).or_default().push(Stated { value, source, asked: Some(by) });
    }

    fn put(&mut self, setting: Setting, stated: Stated) {
        let of = if is_wish(&stated) { &mut self.wished } else { &mut self.stated };
        let all = of.entry(setting).or_default();
        let place = all.partition_point(|s| trust(s) <= trust(&stated));
        all.insert(place, stated);
    }

    /// What was asked for and replaced by a later word of the same command line.
    pub fn replaced(&self, setting: Setting) -> &[Stated] {
        self.replaced.get(&setting).map_or(&[], Vec::as_slice)
    }

    /// What somebody of this kind asked for.
    pub fn requested(&self, setting: Setting, by: Asked) -> Option<&Stated> {
        self.wished(setting).iter().chain(self.all(setting)).find(|s| s.asked == Some(by))
    }

    /// Whether anybody asked for it, be it only in a manifest.
    pub fn is_asked(&self, setting: Setting) -> bool {
        self.wished(setting).iter().chain(self.all(setting)).any(|s| s.asked.is_some())
    }

    fn wished(&self, setting: Setting) -> &[Stated] {
        self.wished.get(&setting).map_or(&[], Vec::as_slice)
    }

    /// What the engine itself says it made of it; the most trustworthy first.
    pub fn resolved(&self, setting: Setting) -> impl Iterator<Item = &Stated> {
        let seen = |s: &&Stated| s.asked.is_none() && !matches!(s.source, Source::Default { .. });
        self.all(setting).iter().filter(seen)
    }

    /// What the tables say the engine does where nobody asks.
    pub fn default_of(&self, setting: Setting) -> Option<&Stated> {
        self.all(setting).iter().find(|s| matches!(s.source, Source::Default { .. }))
    }

    /// Whether anybody of this kind asked for anything.
    pub fn has_asked(&self, by: Asked) -> bool {
        self.wished.values().chain(self.stated.values()).flatten().any(|s| s.asked == Some(by))
    }

    /// The value most likely in force; what only a manifest says never is.
    pub fn get(&self, setting: Setting) -> Option<&Stated> {
        self.stated.get(&setting)?.first()
    }

    /// Everything said of the running server about a setting, the most trustworthy first.
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

    /// Notes that somebody listed all that was set by hand.
    pub(crate) fn tell(&mut self) {
        self.told = true;
    }

    /// Whether a command line, the log's line of arguments or an endpoint lists what was set by hand: then what it does
    /// not name is the engine's default. Single values, such as those of a log cut at its start, list nothing.
    pub fn is_told(&self) -> bool {
        self.told
    }

    /// Every source anybody named, to be changed.
    pub(crate) fn sources(&mut self) -> impl Iterator<Item = &mut Source> {
        let all = [&mut self.stated, &mut self.wished, &mut self.replaced];
        all.into_iter().flat_map(|map| map.values_mut().flatten()).map(|stated| &mut stated.source)
    }

    /// Every setting with what is in force.
    pub fn iter(&self) -> impl Iterator<Item = (Setting, &Stated)> {
        self.stated.iter().filter_map(|(setting, all)| Some((*setting, all.first()?)))
    }
}

/// What a manifest asks for was not necessarily done.
fn is_wish(stated: &Stated) -> bool {
    matches!(stated.asked, Some(Asked::Manifest | Asked::ManifestVariable))
}

/// What the running process shows beats what its log said at start, which beats what was asked for.
fn trust(stated: &Stated) -> u8 {
    if let Some(by) = stated.asked {
        return by.trust();
    }
    match &stated.source {
        Source::Metric { .. } => 0,
        Source::Endpoint { .. } => 1,
        Source::Log { .. } => 2,
        Source::Default { .. } => 9,
        _ => 8,
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
        config.request(Setting::PrefixCaching, SettingValue::Switch(true), Source::CommandLine, Asked::Flags);
        assert_eq!(config.switch(Setting::PrefixCaching), Some(false));
        assert_eq!(config.all(Setting::PrefixCaching).len(), 3);
    }

    #[test]
    fn what_a_manifest_asks_for_is_not_in_force() {
        let mut config = Config::default();
        let from = Source::Manifest { file: "vllm.service".into(), line: 3 };
        config.request(Setting::MaxSequences, SettingValue::Number(64.0), from, Asked::Manifest);
        assert_eq!(config.number(Setting::MaxSequences), None);
        assert!(!config.was_chosen(Setting::MaxSequences) && !config.is_told());
        assert_eq!(config.iter().count(), 0);
        assert!(config.has_asked(Asked::Manifest) && config.is_asked(Setting::MaxSequences));
        assert!(config.requested(Setting::MaxSequences, Asked::Manifest).is_some());
    }
}
