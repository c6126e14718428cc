//! The KV pool of V0, which tells of it in blocks.

use intriage_case::Source;

use crate::config::{Config, Setting, SettingValue};

/// Adds the pool in tokens where a log tells its blocks and their size, and nothing tells its tokens.
pub(crate) fn state_pool(config: &mut Config) {
    let Some(blocks) = config.get(Setting::KvBlocks) else { return };
    let from_log = matches!(blocks.source, Source::Log { .. });
    let (source, blocks) = (blocks.source.clone(), blocks.value.number());
    if let (true, None, Some(blocks), Some(size)) =
        (from_log, config.get(Setting::KvCapacity), blocks, config.number(Setting::KvBlockSize))
    {
        config.state(Setting::KvCapacity, SettingValue::Number(blocks * size), source);
    }
}

#[cfg(test)]
mod tests {
    use intriage_case::{Case, LogText};

    use crate::{Setting, read};

    #[test]
    fn blocks_and_their_size_make_a_pool() {
        let of = |text: &str| {
            let log =
                LogText { name: "server.log".into(), text: format!("vLLM API server version 0.6.3\n{text}") };
            read(&Case { logs: vec![log], ..Case::default() }).config.number(Setting::KvCapacity)
        };
        assert_eq!(of("args: Namespace(block_size=16)\n# GPU blocks: 100, # CPU blocks: 5\n"), Some(1600.0));
        assert_eq!(of("args: Namespace(block_size=None)\n# GPU blocks: 100, # CPU blocks: 5\n"), None);
        assert_eq!(of("# GPU blocks: 100\nargs: Namespace(block_size=16)\n"), None);
    }
}
