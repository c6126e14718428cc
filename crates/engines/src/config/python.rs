//! Python reprs in logs: `key=value, …` lists and `{'key': value, …}` dicts.

use intriage_case::Source;

use super::{Asked, Config, Setting, SettingValue};
use crate::dialect::{Dialect, FlagValue};

/// Splits `a=1, b=[1, 2], c='x, y'` or `'a': 1, 'b': {…}` into `(key, value text)` at the top level.
pub(crate) fn field_list(text: &str) -> Vec<(&str, &str)> {
    let mut fields = Vec::new();
    let (mut depth, mut quote, mut start) = (0_u32, None, 0);
    let mut chars = text.char_indices();
    while let Some((i, c)) = chars.next() {
        match (quote, c) {
            // A text with both kinds of quotes has one of them escaped.
            (Some(_), '\\') => drop(chars.next()),
            (Some(q), c) if c == q => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '(' | '[' | '{' | '<') => depth += 1,
            // The bracket that was opened before the list began ends it.
            (None, ')' | ']' | '}' | '>') if depth == 0 => {
                fields.extend(key_value(&text[start..i]));
                return fields;
            }
            (None, ')' | ']' | '}' | '>') => depth -= 1,
            (None, ',') if depth == 0 => {
                fields.extend(key_value(&text[start..i]));
                start = i + 1;
            }
            _ => {}
        }
    }
    fields.extend(key_value(&text[start..]));
    fields
}

fn key_value(field: &str) -> Option<(&str, &str)> {
    let cut = field.find(['=', ':'])?;
    let key = field[..cut].trim().trim_matches(['\'', '"']);
    (!key.is_empty() && !key.contains(' ')).then(|| (key, field[cut + 1..].trim()))
}

/// What a list of fields is: what was asked for, or what the engine made of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Asked(Asked),
    Resolved,
}

/// Takes the fields whose name is a flag's name with underscores, or one of the engine's own names.
pub(crate) fn from_fields<'a>(
    dialect: &Dialect,
    fields: impl IntoIterator<Item = (&'a str, &'a str)>,
    source: &Source,
    role: Role,
    config: &mut Config,
) {
    for (key, text) in fields {
        let value = SettingValue::read(text).or_else(|| off(key, text, role));
        let Some(value) = value else { continue };
        state_field(dialect, key, value, source, role, config);
    }
}

/// What the engine made is none: drafts that are configured nowhere are off.
fn off(key: &str, text: &str, role: Role) -> Option<SettingValue> {
    let none = role == Role::Resolved && key == "speculative_config" && text == "None";
    none.then_some(SettingValue::Switch(false))
}

/// States a field under the setting its name stands for; unknown names are left alone.
pub(super) fn state_field(
    dialect: &Dialect,
    key: &str,
    value: SettingValue,
    source: &Source,
    role: Role,
    config: &mut Config,
) {
    let dashed = format!("--{}", key.replace('_', "-"));
    let Some(flag) = dialect.flags.iter().find(|f| f.names.iter().any(|n| *n == dashed || *n == key)) else {
        return;
    };
    let value = match (flag.value, value) {
        // A field carries the setting's own truth; a `--no-…` or `--disable-…` switch the opposite.
        (FlagValue::Switch(on), SettingValue::Switch(given)) => SettingValue::Switch(given == on),
        (FlagValue::Switch(_), _) => return,
        (FlagValue::Number, value) if value.number().is_none() => return,
        (FlagValue::Text, SettingValue::Text(name)) if flag.setting == Setting::Dtype => {
            SettingValue::Text(name.trim_start_matches("torch.").to_owned())
        }
        (FlagValue::Text, SettingValue::Text(name)) if flag.setting == Setting::LoadFormat => {
            SettingValue::Text(name.trim_start_matches("LoadFormat.").to_ascii_lowercase())
        }
        (FlagValue::Text, SettingValue::Number(n)) => SettingValue::Text(n.to_string()),
        (_, value) => value,
    };
    match role {
        Role::Asked(by) => config.request(flag.setting, value, source.clone(), by),
        Role::Resolved => config.state(flag.setting, value, source.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Engine, dialect};

    #[test]
    fn a_config_dump_is_split_at_its_own_commas_only() {
        let text = "model='a, b', x=Config(y='1', z=[1, 2]), enforce_eager=True, mode=<Mode.A: 3>, n=4";
        let fields = field_list(text);
        assert_eq!(
            fields.iter().map(|f| f.0).collect::<Vec<_>>(),
            ["model", "x", "enforce_eager", "mode", "n"]
        );
        assert_eq!(fields[1].1, "Config(y='1', z=[1, 2])");
    }

    #[test]
    fn an_escaped_quote_does_not_end_its_text() {
        let text = r#"'chat_template': '{% if a %}it\'s "x" {{ b > 2 }}', 'path': "C:\\", 'max_num_seqs': 16} and 'more'"#;
        let keys: Vec<&str> = field_list(text).into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["chat_template", "path", "max_num_seqs"]);
        assert_eq!(field_list(text)[2].1, "16");
        assert_eq!(field_list("a='\\").len(), 1);
    }

    proptest::proptest! {
        #[test]
        fn what_stands_behind_a_text_is_found_whatever_the_text_holds(inside in "[a-z '\"{}()<>,:=\\\\]{0,20}") {
            let quoted = inside.replace('\\', "\\\\").replace('\'', "\\'");
            let line = format!("'chat_template': '{quoted}', 'max_num_seqs': 16}}");
            proptest::prop_assert_eq!(field_list(&line).last().copied(), Some(("max_num_seqs", "16")));
        }
    }

    #[test]
    fn the_log_tells_what_was_not_default() {
        let args = "'model': 'l8b', 'max_num_seqs': 4, 'enable_prefix_caching': False, 'load_format': 'dummy'} and more";
        let mut config = Config::default();
        let source = Source::Log { file: "server.log".into(), line: 7 };
        from_fields(dialect(Engine::Vllm), field_list(args), &source, Role::Resolved, &mut config);
        assert_eq!(config.number(Setting::MaxSequences), Some(4.0));
        assert_eq!(config.switch(Setting::PrefixCaching), Some(false));
        assert_eq!(config.text(Setting::LoadFormat), Some("dummy"));
    }
}
