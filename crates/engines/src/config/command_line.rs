//! The command line somebody started the server with.

use serde_json::Value;

use super::SettingValue;
use crate::Setting;
use crate::dialect::{Dialect, Flag, FlagValue};

/// A flag found on a command line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Given {
    pub(crate) setting: Setting,
    pub(crate) value: SettingValue,
    /// Which word it is, counted from 0.
    pub(crate) word: usize,
}

/// The words of a command line, as a shell splits them; a broken one is split at its spaces.
pub(crate) fn words(line: &str) -> Vec<String> {
    shlex::split(line).unwrap_or_else(|| line.split_whitespace().map(str::to_owned).collect())
}

/// Whether a shell would take the line as it is: every quote is closed.
pub fn is_whole_command_line(line: &str) -> bool {
    shlex::split(line).is_some()
}

/// The flags the dialect knows, in order; everything else is left alone.
pub(crate) fn flags(dialect: &Dialect, words: &[String]) -> Vec<Given> {
    let mut found = Vec::new();
    let mut words = words.iter().map(String::as_str).enumerate().peekable();
    while let Some((at, word)) = words.next() {
        if !word.starts_with('-') {
            continue;
        }
        let (name, attached) = word.split_once('=').map_or((word, None), |(n, v)| (n, Some(v)));
        let Some(flag) = find(dialect, name) else { continue };
        let value = match flag.value {
            FlagValue::Switch(on) => {
                let explicit = attached.and_then(SettingValue::read).and_then(|v| v.switch());
                Some(SettingValue::Switch(explicit.map_or(on, |given| given == on)))
            }
            FlagValue::Text if flag.setting == Setting::ServedModel && attached.is_none() => {
                let mut names = Vec::new();
                while let Some((_, name)) = words.next_if(|(_, next)| !is_flag(next)) {
                    names.push(name);
                }
                (!names.is_empty()).then(|| SettingValue::Text(names.join(", ")))
            }
            FlagValue::Number | FlagValue::Text => {
                let text = attached.or_else(|| words.next_if(|(_, next)| !is_flag(next)).map(|(_, v)| v));
                text.and_then(|t| read_value(flag, t))
            }
        };
        let Some(value) = value else { continue };
        found.extend(parts(dialect, &value).map(|(setting, value)| Given { setting, value, word: at }));
        found.push(Given { setting: flag.setting, value, word: at });
    }
    found
}

/// Whether a setting stands for this flag.
pub(super) fn is_known(dialect: &Dialect, name: &str) -> bool {
    find(dialect, name).is_some()
}

/// vLLM takes `--max_num_seqs` for `--max-num-seqs`. Fields of its dumps are found under dashes, too: some were flags once.
fn find<'a>(dialect: &'a Dialect, name: &str) -> Option<&'a Flag> {
    let bare = name.trim_start_matches('-');
    if let Some((whole, part)) = bare.split_once('.') {
        // `--speculative-config.num_speculative_tokens 5` is a part of a flag; its `.model` is not the model served.
        let known = find(dialect, &format!("--{whole}")).is_some();
        return dialect.flags.iter().find(|f| known && f.names.contains(&part));
    }
    let (dashed, field) = (format!("--{}", bare.replace('_', "-")), bare.replace('-', "_"));
    dialect.flags.iter().find(|f| f.names.iter().any(|n| *n == name || *n == dashed || *n == field))
}

/// What a flag's JSON sets besides: `--speculative-config '{"num_speculative_tokens": 5}'`.
fn parts(dialect: &Dialect, value: &SettingValue) -> impl Iterator<Item = (Setting, SettingValue)> {
    let object = value.text().filter(|text| text.starts_with('{'));
    let map = object.and_then(|text| serde_json::from_str::<serde_json::Map<String, Value>>(text).ok());
    map.into_iter().flatten().filter_map(|(key, value)| {
        let flag = dialect.flags.iter().find(|f| f.names.contains(&key.as_str()))?;
        Some((flag.setting, SettingValue::Number(value.as_f64()?)))
    })
}

pub(super) fn is_flag(word: &str) -> bool {
    word.starts_with('-') && word.parse::<f64>().is_err()
}

/// `16k` and `1K` are human-readable sizes in vLLM: decimal for lower case, binary for upper case.
fn read_value(flag: &Flag, text: &str) -> Option<SettingValue> {
    if flag.value == FlagValue::Text {
        return Some(SettingValue::Text(text.to_owned()));
    }
    let scale = match text.chars().last()? {
        'k' => 1e3,
        'K' => 1024.0,
        'm' => 1e6,
        'M' => 1_048_576.0,
        'g' => 1e9,
        'G' => 1_073_741_824.0,
        _ => return SettingValue::read(text),
    };
    Some(SettingValue::Number(text[..text.len() - 1].parse::<f64>().ok()? * scale))
}

#[cfg(test)]
mod tests {
    use intriage_case::Source;
    use proptest::prelude::*;

    use super::*;
    use crate::config::asked::from_command_line;
    use crate::config::{Asked, Config};
    use crate::{Engine, Setting, dialect};

    fn vllm(line: &str) -> Config {
        let mut config = Config::default();
        from_command_line(
            dialect(Engine::Vllm),
            &words(line),
            Asked::Flags,
            |_| Source::CommandLine,
            &mut config,
        );
        config
    }

    #[test]
    fn flags_are_read_in_every_spelling() {
        for line in
            ["--max-num-seqs 4", "--max-num-seqs=4", "--max_num_seqs 4", "vllm serve 'a b' --max-num-seqs 4"]
        {
            assert_eq!(vllm(line).number(Setting::MaxSequences), Some(4.0), "{line}");
        }
        assert_eq!(vllm("--max-model-len 16k").number(Setting::ContextWindow), Some(16_000.0));
        assert_eq!(vllm("--enforce-eager").switch(Setting::EagerMode), Some(true));
        assert_eq!(vllm("--no-enable-prefix-caching").switch(Setting::PrefixCaching), Some(false));
        assert_eq!(vllm("--enable-prefix-caching").switch(Setting::PrefixCaching), Some(true));
    }

    #[test]
    fn of_a_flag_given_twice_the_last_counts() {
        let config = vllm("vllm serve m --max-num-seqs 32 --max_num_seqs 2");
        assert_eq!(config.number(Setting::MaxSequences), Some(2.0));
        assert_eq!(config.replaced(Setting::MaxSequences)[0].value, SettingValue::Number(32.0));
        assert!(vllm("--max-num-seqs 2 --max-num-seqs 2").replaced(Setting::MaxSequences).is_empty());
        assert_eq!(vllm("--kv-cache-memory-bytes 4G").number(Setting::KvBytes), Some(4_294_967_296.0));
    }

    #[test]
    fn a_part_of_a_flag_is_read_in_every_spelling() {
        for line in [
            "--speculative-config '{\"method\": \"ngram\", \"num_speculative_tokens\": 5}'",
            "--speculative-config.num_speculative_tokens 5",
            "--speculative_model [ngram] --num_speculative_tokens 5",
        ] {
            assert_eq!(vllm(line).number(Setting::SpeculativeTokens), Some(5.0), "{line}");
        }
        assert_eq!(vllm("--speculative-config.model draft").text(Setting::Model), None);
        let broken = vllm("--speculative-config '{\"num_speculative_tokens\": 5' --max-num-seqs 4");
        assert_eq!(broken.number(Setting::SpeculativeTokens), None);
        assert_eq!(broken.number(Setting::MaxSequences), Some(4.0));
    }

    #[test]
    fn a_broken_command_line_is_read_as_far_as_it_goes() {
        assert_eq!(vllm("vllm serve 'oops --max-num-seqs 4").number(Setting::MaxSequences), Some(4.0));
        assert_eq!(vllm("--max-num-seqs").number(Setting::MaxSequences), None);
        assert_eq!(vllm("--max-num-seqs --enforce-eager").switch(Setting::EagerMode), Some(true));
        assert_eq!(vllm("--max-num-seqs many").number(Setting::MaxSequences), None);
    }

    proptest! {
        #[test]
        fn any_command_line_is_survived(line in "(--[a-z_.]{0,12}|[ ='\"{}:,0-9]|speculative-config|num_speculative_tokens|\\PC){0,60}") {
            for engine in Engine::ALL {
                let words = words(&line);
                let given = flags(dialect(*engine), &words);
                prop_assert!(given.iter().all(|flag| flag.word < words.len()));
            }
        }

        #[test]
        fn a_depth_is_read_wherever_it_stands_in_its_json(depth in 1_u32..64, before in "[a-z]{1,8}", after in 0_u32..9) {
            let json = format!("{{\"{before}\": \"x\", \"num_speculative_tokens\": {depth}, \"z\": {after}}}");
            let line = format!("vllm serve m --speculative-config '{json}'");
            prop_assert_eq!(vllm(&line).number(Setting::SpeculativeTokens), Some(f64::from(depth)));
        }
    }
}
