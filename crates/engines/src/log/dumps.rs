//! Lines that hold a whole configuration, as Python writes it.

use intriage_case::Source;

use crate::config::{Asked, Config, Role, field_list, from_fields};
use crate::dialect::Dialect;
use crate::vllm;

/// A line that holds a whole configuration.
pub(super) struct Dump {
    /// What stands directly before the first field.
    pub(super) text: &'static str,
    tells: Tells,
}

/// What the fields are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tells {
    /// What was asked for; the rest is left to the engine.
    Asked,
    /// Every argument of the parser, asked for or not.
    Parsed,
    /// Every argument as the engine completed it.
    Completed,
    /// What the engine made of it; much that can be set is not in it.
    Made,
}

/// In the order of trust: of two that name a setting the first counts.
pub(super) static DUMPS: &[Dump] = &[
    Dump { text: "non-default args: {", tells: Tells::Asked },
    Dump { text: "with config: ", tells: Tells::Made },
    Dump { text: "server_args=ServerArgs(", tells: Tells::Completed },
    Dump { text: "args: Namespace(", tells: Tells::Parsed },
];

impl Dump {
    /// Whether it is what the engine made of its arguments, and so comes behind them.
    pub(super) fn is_made(&self) -> bool {
        self.tells == Tells::Made
    }

    /// Adds what the fields behind the text say.
    pub(super) fn state(&self, dialect: &Dialect, fields: &str, source: &Source, config: &mut Config) {
        let fields = field_list(fields);
        let asked = Role::Asked(Asked::Log);
        if self.tells != Tells::Made {
            config.tell();
        }
        match self.tells {
            Tells::Asked => from_fields(dialect, fields, source, asked, config),
            Tells::Made | Tells::Completed => from_fields(dialect, fields, source, Role::Resolved, config),
            Tells::Parsed => {
                let (given, left): (Vec<_>, Vec<_>) =
                    fields.into_iter().partition(|(key, text)| vllm::is_given(key, text));
                from_fields(dialect, given, source, asked, config);
                // What is at the parser's default is in force; `auto` is yet to be decided.
                let settled = left.into_iter().filter(|(_, text)| text.trim_matches(['\'', '"']) != "auto");
                from_fields(dialect, settled, source, Role::Resolved, config);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use intriage_case::LogText;

    use super::*;
    use crate::config::SettingValue;
    use crate::log::{Known, read_logs};
    use crate::{Engine, Setting, dialect};

    fn read(text: &str) -> Config {
        let mut config = Config::default();
        let log = LogText { name: "server.log".into(), text: text.into() };
        read_logs(Some(dialect(Engine::Vllm)), [&log], Known::default(), &mut config);
        config
    }

    #[test]
    fn a_line_that_lists_the_arguments_tells_what_was_set_and_single_values_do_not() {
        for listing in ["INFO non-default args: {'host': 'x'}\n", "INFO args: Namespace(host='x')\n"] {
            assert!(read(listing).is_told(), "{listing}");
        }
        let config = read(
            "INFO [model.py:1788] Using max model len 8192\n\
             INFO Initializing a V1 LLM engine (v0.15.0) with config: model='a', load_format=LoadFormat.DUMMY\n",
        );
        assert!(!config.is_told());
        assert_eq!(config.text(Setting::LoadFormat), Some("dummy"));
    }

    #[test]
    fn releases_that_write_every_argument_down_ask_for_those_that_are_not_the_default() {
        let config = read(
            "INFO args: Namespace(model_tag='m', model='m', load_format=<LoadFormat.DUMMY: 'dummy'>, max_num_seqs=4, \
             gpu_memory_utilization=0.9, max_num_batched_tokens=None, kv_cache_dtype='auto', enforce_eager=False)\n\
             INFO model_runner.py:1067] Loading model weights took 2.5000 GB\n\
             INFO gpu_executor.py:122] # GPU blocks: 24816, # CPU blocks: 3276\n",
        );
        let asked = |setting| config.requested(setting, Asked::Log).map(|s| s.value.clone());
        assert_eq!(asked(Setting::MaxSequences), Some(SettingValue::Number(4.0)));
        assert_eq!(asked(Setting::LoadFormat), Some(SettingValue::Text("dummy".into())));
        assert_eq!(asked(Setting::MemoryFraction), None);
        assert_eq!(config.number(Setting::MemoryFraction), Some(0.9));
        assert_eq!(config.switch(Setting::EagerMode), Some(false));
        assert_eq!(config.all(Setting::TokenBudget), []);
        assert_eq!(config.all(Setting::KvDtype), []);
        assert_eq!(config.number(Setting::WeightBytes), Some(2.5 * 1_073_741_824.0));
        assert_eq!(config.number(Setting::KvBlocks), Some(24_816.0));
    }
}
