//! The command line somebody started the server with.

use intriage_case::Source;

use super::{Config, SettingValue};
use crate::dialect::{Dialect, Flag, FlagValue};

/// Reads the flags the dialect knows; everything else is left alone.
pub(crate) fn from_command_line(dialect: &Dialect, line: &str, config: &mut Config) {
    let words = shlex::split(line).unwrap_or_else(|| line.split_whitespace().map(str::to_owned).collect());
    let mut words = words.iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
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
            FlagValue::Number | FlagValue::Text => {
                let text = attached.or_else(|| words.next_if(|next| !is_flag(next)));
                text.and_then(|t| read_value(flag, t))
            }
        };
        if let Some(value) = value {
            config.state(flag.setting, value, Source::CommandLine);
        }
    }
}

/// vLLM takes `--max_num_seqs` for `--max-num-seqs`.
fn find<'a>(dialect: &'a Dialect, name: &str) -> Option<&'a Flag> {
    let dashed = format!("--{}", name.trim_start_matches('-').replace('_', "-"));
    dialect.flags.iter().find(|f| f.names.iter().any(|n| *n == name || *n == dashed))
}

fn is_flag(word: &str) -> bool {
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
        _ => return SettingValue::read(text),
    };
    Some(SettingValue::Number(text[..text.len() - 1].parse::<f64>().ok()? * scale))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Engine, Setting, dialect};

    fn vllm(line: &str) -> Config {
        let mut config = Config::default();
        from_command_line(dialect(Engine::Vllm), line, &mut config);
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
    fn a_broken_command_line_is_read_as_far_as_it_goes() {
        assert_eq!(vllm("vllm serve 'oops --max-num-seqs 4").number(Setting::MaxSequences), Some(4.0));
        assert_eq!(vllm("--max-num-seqs").number(Setting::MaxSequences), None);
        assert_eq!(vllm("--max-num-seqs --enforce-eager").switch(Setting::EagerMode), Some(true));
        assert_eq!(vllm("--max-num-seqs many").number(Setting::MaxSequences), None);
    }
}
