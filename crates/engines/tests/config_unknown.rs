//! What is not known of a configuration is not compared: variables set elsewhere, logs cut at their start, flags no setting
//! stands for.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

use intriage_case::{Case, LogText, ManifestText, Source};
use intriage_engines::{ConfigRow, Engine, Observed, RowVerdict, Setting, SettingValue, read};

const STARTED: &str = "vLLM API server version 0.32.0\n\
    non-default args: {'model': 'm', 'max_num_seqs': 16, 'max_model_len': 8192}\n\
    Using max model len 8192\n";

fn case(manifest: &str, log: &str) -> Case {
    let name = if manifest.starts_with('[') { "llm.service" } else { "llm.yaml" };
    let mut case = Case::default();
    if !manifest.is_empty() {
        case.manifests = vec![ManifestText { name: name.into(), changed: None, text: manifest.into() }];
    }
    case.logs = vec![LogText { name: "server.log".into(), text: log.into() }];
    case
}

fn row<'a>(observed: &'a Observed, name: &str) -> &'a ConfigRow {
    let found = observed.table.rows.iter().find(|row| row.name == name);
    found.unwrap_or_else(|| panic!("{name}: {:#?}", observed.table))
}

#[test]
fn a_variable_that_stands_elsewhere_is_not_compared() {
    for manifest in [
        "[Service]\nEnvironmentFile=/etc/vllm\nExecStart=vllm serve m --max-num-seqs ${SEQS} --max-model-len 8192\n",
        "[Service]\nExecStart=vllm serve m --max-num-seqs $SEQS --max-model-len 8192\n",
        "services:\n  llm:\n    image: vllm/vllm-openai\n    command: --model m --max-num-seqs ${SEQS:-64} --max-model-len 8192\n",
        "kind: Pod\nspec: {containers: [{name: a, image: vllm/vllm-openai, args: [--model, m, --max-num-seqs=$(SEQS), --max-model-len, '8192']}]}\n",
        "[Service]\nExecStart=bash -c 'source /etc/x; vllm serve m --max-num-seqs ${SEQS:-64} --max-model-len 8192'\n",
    ] {
        let observed = read(&case(manifest, STARTED));
        let seqs = row(&observed, "--max-num-seqs");
        assert!(!seqs.is_off() && seqs.requested.is_none(), "{manifest}{seqs:#?}");
        assert_eq!(row(&observed, "--max-model-len").verdict, RowVerdict::Agrees, "{manifest}");
        assert!(observed.table.not_compared.contains(&"--max-num-seqs".to_owned()), "{manifest}");
        assert!(observed.notes.iter().any(|note| note.contains("stands elsewhere")), "{:?}", observed.notes);
    }
}

#[test]
fn a_variable_whose_value_stands_here_is_compared() {
    let filled = |value: u32| {
        [
            format!("[Service]\nEnvironment=SEQS={value}\nExecStart=vllm serve m --max-num-seqs ${{SEQS}}\n"),
            format!(
                "[Service]\nEnvironment=SEQS={value}\nExecStart=bash -c 'vllm serve m --max-num-seqs ${{SEQS:-64}}'\n"
            ),
            format!(
                "services:\n  llm:\n    image: vllm/vllm-openai\n    environment: {{SEQS: {value}}}\n    entrypoint: [sh, -c]\n    command: ['vllm serve m --max-num-seqs $${{SEQS}}']\n"
            ),
            format!(
                "kind: ConfigMap\nmetadata: {{name: c}}\ndata: {{SEQS: '{value}'}}\n---\nkind: Pod\nspec: {{containers: [{{name: a, image: vllm/vllm-openai, envFrom: [{{configMapRef: {{name: c}}}}], args: [--model, m, --max-num-seqs=$(SEQS)]}}]}}\n"
            ),
        ]
    };
    for (value, is_off) in [(16, false), (64, true)] {
        for manifest in filled(value) {
            let observed = read(&case(&manifest, STARTED));
            let seqs = row(&observed, "--max-num-seqs");
            assert_eq!(
                seqs.requested.as_ref().map(|said| said.value.clone()),
                Some(SettingValue::Number(f64::from(value)))
            );
            assert_eq!(seqs.is_off(), is_off, "{manifest}{seqs:#?}");
        }
    }
}

#[test]
fn a_log_cut_at_its_start_tells_nothing_of_what_was_set() {
    let cut = "INFO [core.py:1] vllm\nUsing max model len 8192\nGPU KV cache size: 931,584 tokens\n";
    let mut given = case("", cut);
    given.endpoints.insert("/version".into(), r#"{"version":"0.32.0"}"#.into());
    let observed = read(&given);
    assert_eq!(observed.config.number(Setting::ContextWindow), Some(8192.0));
    assert!(!observed.config.is_told());
    assert_eq!(observed.config.text(Setting::LoadFormat), None);
    assert_eq!(read(&case("", STARTED)).config.text(Setting::LoadFormat), Some("auto"));
    given.command_line = Some("vllm serve m".into());
    assert!(read(&given).config.is_told());
    // A file of settings may say more.
    given.command_line = Some("vllm serve m --config /etc/vllm.yaml".into());
    assert!(!read(&given).config.is_told());
}

#[test]
fn a_flag_that_switches_something_off_is_on_where_it_is_given() {
    let log = "[2025-06-01 10:00:00] server_args=ServerArgs(model_path='m', disable_radix_cache=True, disable_overlap_schedule=False, mem_fraction_static=0.95)\n";
    let mut given = case("", log);
    given.command_line = Some("python3 -m sglang.launch_server --model-path m --disable-radix-cache".into());
    let observed = read(&given);
    assert_eq!(observed.identity.engine, Some(Engine::Sglang));
    assert_eq!(observed.config.switch(Setting::PrefixCaching), Some(false));
    assert_eq!(observed.config.number(Setting::MemoryFraction), Some(0.95));
    let radix = row(&observed, "--disable-radix-cache");
    assert_eq!(radix.requested.as_ref().map(|said| &said.value), Some(&SettingValue::Switch(true)));
    assert_eq!(radix.resolved.as_ref().map(|said| &said.value), Some(&SettingValue::Switch(true)));
    assert_eq!(radix.verdict, RowVerdict::Agrees);
    assert_eq!(radix.of_setting(radix.resolved.as_ref().unwrap()), SettingValue::Switch(false));
    let overlap = row(&observed, "--disable-overlap-schedule");
    assert_eq!(overlap.resolved.as_ref().map(|said| &said.value), Some(&SettingValue::Switch(false)));
}

#[test]
fn flags_given_by_hand_that_no_setting_stands_for_are_named() {
    let mut given = case("", STARTED);
    given.command_line = Some("vllm serve m --max-num-seqs 16 --swap_space 4 --max-nm-seqs 4".into());
    assert_eq!(read(&given).table.not_compared, ["--max-nm-seqs", "--swap-space"]);
}

#[test]
fn of_two_deployments_each_is_named() {
    let of = |name: &str, seqs: u32| {
        format!(
            "kind: Deployment\nmetadata: {{name: {name}}}\nspec: {{template: {{spec: {{containers: [{{name: vllm, image: vllm/vllm-openai, args: [--model, m, --max-num-seqs, '{seqs}']}}]}}}}}}\n"
        )
    };
    let observed = read(&case(&format!("{}---\n{}", of("prefill", 8), of("decode", 16)), STARTED));
    let told = "vllm of Deployment prefill in llm.yaml, vllm of Deployment decode in llm.yaml";
    assert!(observed.notes.iter().any(|note| note.contains(told)), "{:?}", observed.notes);
}

#[test]
fn a_release_is_told_by_who_told_it() {
    let manifest = "services: {llm: {image: 'vllm/vllm-openai:v0.9.1', command: --model m}}\n";
    let observed = read(&case(manifest, STARTED));
    let version = row(&observed, "version");
    assert_eq!(version.verdict, RowVerdict::Stale);
    let log = Source::Log { file: "server.log".into(), line: 1 };
    assert_eq!(version.resolved.as_ref().unwrap().from, log);
    let mut with_endpoint = case(manifest, STARTED);
    with_endpoint.endpoints.insert("/version".into(), r#"{"version":"0.32.0"}"#.into());
    let endpoint = Source::Endpoint { path: "/version".into() };
    assert_eq!(row(&read(&with_endpoint), "version").resolved.as_ref().unwrap().from, endpoint);
}
