//! The configuration in columns, from whole cases.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

use std::path::{Path, PathBuf};

use intriage_case::{
    Case, HostSnapshot, LogText, ManifestText, Millis, Scrape, ScrapeOutcome, Source, layout,
};
use intriage_engines::{ConfigAnswer, ConfigRow, Observed, RowVerdict, Setting, SettingValue, read};

/// A busy vLLM 0.32 on CPU with this `cache_config_info`.
fn vllm(labels: &str) -> Case {
    let mut case = Case::default();
    for i in 0..4_u64 {
        let page = format!(
            "process_start_time_seconds 1700000000\nvllm:num_requests_running{{engine=\"0\"}} 2\nvllm:num_requests_waiting{{engine=\"0\"}} 5\nvllm:prompt_tokens_total{{engine=\"0\"}} {}\nvllm:prefix_cache_queries_total{{engine=\"0\"}} 0\nvllm:cache_config_info{{{labels}}} 1\n",
            100 * i
        );
        let at = Millis(1_700_000_100_000 + 1000 * i);
        case.scrapes.push(Scrape { at, outcome: ScrapeOutcome::Body(page.into_bytes()) });
    }
    case.endpoints.insert("/version".into(), r#"{"version":"0.32.0"}"#.into());
    case.endpoints.insert("/v1/models".into(), r#"{"data":[{"id":"m","max_model_len":8192}]}"#.into());
    case
}

fn unit(text: &str) -> ManifestText {
    ManifestText { name: "vllm.service".into(), changed: Some(Millis(1_700_000_050_000)), text: text.into() }
}

fn started(case: &mut Case, line: &str, environment: &str) {
    let stat = "7 (vllm) S 1 7 7 0 -1 4194304 300 0 7 0 250 50 0 0 20 0 9 0 8851 1000 200 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 5 0 0 0 0 0";
    let files = [
        ("proc/7/stat", stat.to_owned()),
        ("proc/7/cmdline", line.replace(' ', "\0")),
        ("proc/7/environ", environment.to_owned()),
    ];
    let files = files.into_iter().map(|(name, text)| (name.to_owned(), text)).collect();
    case.host = vec![HostSnapshot { at: Millis(1_700_000_100_000), files }];
}

fn row<'a>(observed: &'a Observed, name: &str) -> &'a ConfigRow {
    observed
        .table
        .rows
        .iter()
        .find(|row| row.name == name)
        .unwrap_or_else(|| panic!("{name}: {:#?}", observed.table))
}

#[test]
fn a_process_started_with_another_value_than_its_unit_has_is_stale() {
    let mut case = vllm("block_size=\"128\"");
    case.manifests = vec![unit(
        "[Service]\nExecStart=/opt/bin/vllm serve m \\\n --max-num-seqs 32 \\\n --max-model-len 8192\n",
    )];
    started(&mut case, "python3 /opt/bin/vllm serve m --max-num-seqs 2 --max-model-len 8192", "");
    let observed = read(&case);
    let stale = row(&observed, "--max-num-seqs");
    assert_eq!(stale.verdict, RowVerdict::Stale, "{stale:#?}");
    let asked = stale.requested.as_ref().unwrap();
    assert_eq!(asked.value, SettingValue::Number(32.0));
    assert_eq!(asked.from, Source::Manifest { file: "vllm.service".into(), line: 3 });
    assert_eq!(stale.observed.as_ref().unwrap().value, SettingValue::Number(2.0));
    assert_eq!(row(&observed, "--max-model-len").verdict, RowVerdict::Agrees);
    assert!(observed.table.start.unwrap().is_older_than_manifest());
}

#[test]
fn a_flag_the_unit_does_not_have_and_one_the_process_does_not_have_are_stale_too() {
    let mut case = vllm("block_size=\"128\"");
    case.manifests = vec![unit("[Service]\nExecStart=vllm serve m --max-num-seqs 32\n")];
    started(&mut case, "python3 /opt/bin/vllm serve m --max-num-batched-tokens 512", "");
    let observed = read(&case);
    assert_eq!(row(&observed, "--max-num-seqs").verdict, RowVerdict::Stale);
    assert_eq!(row(&observed, "--max-num-batched-tokens").verdict, RowVerdict::Stale);
    // A variable filled in elsewhere may hold it.
    case.manifests = vec![unit("[Service]\nExecStart=vllm serve m --max-num-seqs 32 $MORE\n")];
    assert_ne!(row(&read(&case), "--max-num-batched-tokens").verdict, RowVerdict::Stale);
}

#[test]
fn flags_given_by_hand_are_compared_with_the_process_too() {
    let mut case = vllm("block_size=\"128\"");
    case.command_line = Some("--max-num-seqs 32".into());
    started(&mut case, "python3 /opt/bin/vllm serve m --max-num-seqs 2 --max-model-len 8192", "");
    let observed = read(&case);
    assert_eq!(row(&observed, "--max-num-seqs").verdict, RowVerdict::Stale);
    assert_eq!(row(&observed, "--max-model-len").verdict, RowVerdict::Agrees);
}

#[test]
fn a_log_that_names_only_what_is_no_default_proves_no_absence() {
    let mut case = vllm("block_size=\"128\"");
    case.manifests =
        vec![unit("[Service]\nExecStart=vllm serve m --scheduling-policy fcfs --stream-interval 4\n")];
    let log = "INFO non-default args: {'model': 'm', 'max_model_len': 8192}\n";
    case.logs = vec![LogText { name: "server.log".into(), text: log.into() }];
    let observed = read(&case);
    assert_ne!(row(&observed, "--scheduling-policy").verdict, RowVerdict::Stale);
    assert_eq!(row(&observed, "--stream-interval").verdict, RowVerdict::Stale);
    assert_eq!(row(&observed, "--max-model-len").verdict, RowVerdict::Stale);
}

#[test]
fn a_variable_that_beats_a_flag_is_named() {
    let mut case = vllm("block_size=\"128\",kv_cache_memory_bytes=\"1073741824\"");
    started(
        &mut case,
        "python3 /opt/bin/vllm serve m --kv-cache-memory-bytes 4G",
        "VLLM_CPU_KVCACHE_SPACE=1\nVLLM_ATTENTION_BACKEND=FLASHINFER\n",
    );
    let observed = read(&case);
    let memory = row(&observed, "--kv-cache-memory-bytes");
    assert_eq!(memory.verdict, RowVerdict::Overridden, "{memory:#?}");
    assert!(memory.says.contains("VLLM_CPU_KVCACHE_SPACE beats it"), "{}", memory.says);
    let gone = row(&observed, "VLLM_ATTENTION_BACKEND");
    assert_eq!(gone.verdict, RowVerdict::Dropped);
    assert!(gone.says.contains("0.15.0") && gone.says.contains("--attention-backend"), "{}", gone.says);
    // Nobody asked for it: the process has it.
    let variable = row(&observed, "VLLM_CPU_KVCACHE_SPACE");
    assert_eq!((variable.verdict, &variable.requested), (RowVerdict::Default, &None));
    assert!(variable.started_with.is_some());
}

#[test]
fn a_feature_that_was_asked_for_and_is_off_is_auto_disabled() {
    let mut case = vllm("enable_prefix_caching=\"False\"");
    case.command_line = Some("vllm serve m --enable-prefix-caching --block-size 64".into());
    let observed = read(&case);
    let caching = row(&observed, "--enable-prefix-caching");
    assert_eq!(caching.verdict, RowVerdict::AutoDisabled);
    assert_eq!(caching.observed.as_ref().unwrap().value, SettingValue::Switch(false));
    // Nothing of the server shows it.
    assert_eq!(row(&observed, "--block-size").verdict, RowVerdict::Unknown);
}

#[test]
fn the_log_tells_what_was_asked_for_apart_from_what_came_of_it() {
    let mut case = vllm("block_size=\"16\",enable_prefix_caching=\"True\"");
    let log = "INFO non-default args: {'model': 'm', 'block_size': 64, 'max_num_seqs': 4}\n\
               INFO Initializing a V1 LLM engine (v0.32.0) with config: model='m', device_config=cpu, enable_prefix_caching=True\n";
    case.logs = vec![LogText { name: "server.log".into(), text: log.into() }];
    let observed = read(&case);
    let size = row(&observed, "--block-size");
    assert_eq!(
        (size.verdict, size.started_with.as_ref().unwrap().value.number()),
        (RowVerdict::Overridden, Some(64.0))
    );
    assert_eq!(size.requested, None);
    // Two ran at once, which a cap of 4 allows and does not show.
    assert_eq!(row(&observed, "--max-num-seqs").verdict, RowVerdict::Unknown);
    assert_eq!(row(&observed, "--enable-prefix-caching").verdict, RowVerdict::Default);
}

#[test]
fn a_flag_given_twice_is_overridden_by_the_last() {
    let mut case = vllm("block_size=\"128\"");
    case.command_line = Some("vllm serve m --max-num-seqs 32 --max-num-seqs 2".into());
    let observed = read(&case);
    let twice = row(&observed, "--max-num-seqs");
    assert_eq!(twice.verdict, RowVerdict::Overridden);
    assert_eq!(twice.requested.as_ref().unwrap().value, SettingValue::Number(32.0));
}

#[test]
fn a_flag_the_log_says_was_refused_is_a_row_of_its_own() {
    let mut case = vllm("block_size=\"16\"");
    case.command_line = Some("vllm serve m --preemption-mode swap".into());
    let text = "WARNING 05-14 10:00:00 [arg_utils.py:1658] --preemption-mode is not supported by the V1 Engine. Falling back to V0. \n";
    case.logs = vec![LogText { name: "server.log".into(), text: text.into() }];
    let observed = read(&case);
    let refused = row(&observed, "--preemption-mode");
    assert_eq!(refused.verdict, RowVerdict::Overridden, "{refused:#?}");
    assert!(refused.says.contains("Falling back to V0"), "{}", refused.says);
    case.logs.clear();
    assert!(read(&case).table.rows.iter().all(|row| row.name != "--preemption-mode"));
}

#[test]
fn an_image_of_another_release_than_the_one_that_runs_is_stale() {
    let mut case = vllm("block_size=\"128\"");
    let text = "services:\n  llm:\n    image: vllm/vllm-openai:v0.31.0\n    command: [--max-num-seqs, '4']\n";
    case.manifests = vec![ManifestText { name: "compose.yaml".into(), changed: None, text: text.into() }];
    assert_eq!(row(&read(&case), "version").verdict, RowVerdict::Stale);
    case.manifests[0].text = text.replace("v0.31.0", "v0.32.0");
    assert_eq!(row(&read(&case), "version").verdict, RowVerdict::Agrees);
}

#[test]
fn a_log_of_another_release_is_the_time_before() {
    let mut case = vllm("block_size=\"128\"");
    let old = "INFO Initializing a V1 LLM engine (v0.19.1) with config: model='m', max_seq_len=4096\n";
    case.logs = vec![LogText { name: "old.log".into(), text: old.into() }];
    let observed = read(&case);
    let before = observed.before.unwrap();
    assert_eq!((before.version.to_string().as_str(), before.file.as_str()), ("0.19.1", "old.log"));
    assert_eq!(before.config.number(intriage_engines::Setting::ContextWindow), Some(4096.0));
    assert!(!observed.log.present);
    assert_eq!(observed.config.number(intriage_engines::Setting::ContextWindow), Some(8192.0));
}

#[test]
fn a_cap_that_only_the_unit_has_is_contradicted_by_a_smaller_batch_and_is_not_in_force() {
    let mut case = vllm("block_size=\"128\"");
    case.manifests = vec![unit("[Service]\nExecStart=vllm serve m --max-num-seqs 64\n")];
    let observed = read(&case);
    assert_eq!(
        observed.config.number(Setting::MaxSequences),
        observed.config.default_of(Setting::MaxSequences).and_then(|s| s.value.number())
    );
    // What held the batch at two may have been the pool.
    assert_eq!(row(&observed, "--max-num-seqs").verdict, RowVerdict::Unknown);
    for scrape in &mut case.scrapes {
        let ScrapeOutcome::Body(page) = &mut scrape.outcome else { continue };
        page.extend_from_slice(b"vllm:kv_cache_usage_perc{engine=\"0\"} 0.06\n");
    }
    let observed = read(&case);
    let cap = row(&observed, "--max-num-seqs");
    assert!(cap.is_off(), "{cap:#?}");
    assert!(cap.says.contains("64") && cap.says.contains("2 ran at once"), "{}", cap.says);
}

#[test]
fn what_one_source_says_alone_is_unseen() {
    let mut case = vllm("block_size=\"128\"");
    case.manifests = vec![unit("[Service]\nExecStart=vllm serve m --stream-interval 4 --block-size 128\n")];
    let observed = read(&case);
    assert_eq!(row(&observed, "--stream-interval").verdict, RowVerdict::Unknown);
    assert_eq!(row(&observed, "--block-size").verdict, RowVerdict::Agrees);
    assert_eq!(observed.table.answer(), ConfigAnswer::InForce);
}

#[test]
fn a_manifest_of_which_nothing_is_seen_is_not_in_force() {
    let mut case = vllm("block_size=\"128\"");
    let log = "INFO non-default args: {'model': 'm', 'block_size': 128}\n";
    case.logs = vec![LogText { name: "server.log".into(), text: log.into() }];
    assert_eq!(read(&case).table.answer(), ConfigAnswer::InForce);
    case.manifests = vec![unit("[Service]\nExecStart=/opt/start-vllm.sh\n")];
    let table = read(&case).table;
    assert_eq!((table.answer(), table.manifest.as_deref()), (ConfigAnswer::Nothing, Some("vllm.service")));
}

#[test]
fn a_variable_of_the_unit_is_a_wish_too() {
    let mut case = vllm("block_size=\"128\",kv_cache_memory_bytes=\"1073741824\"");
    case.manifests = vec![unit("[Service]\nEnvironment=VLLM_CPU_KVCACHE_SPACE=4\nExecStart=vllm serve m\n")];
    let observed = read(&case);
    assert_eq!(observed.config.number(Setting::KvBytes), Some(1_073_741_824.0));
    assert!(row(&observed, "--kv-cache-memory-bytes").is_off());
    started(&mut case, "python3 /opt/bin/vllm serve m", "VLLM_CPU_KVCACHE_SPACE=1\n");
    let observed = read(&case);
    let pool = row(&observed, "--kv-cache-memory-bytes");
    assert_eq!(pool.verdict, RowVerdict::Stale, "{pool:#?}");
    assert!(pool.says.contains("has VLLM_CPU_KVCACHE_SPACE for 4.00 GiB"), "{}", pool.says);
    assert!(!observed.table.rows.iter().any(|row| row.name == "VLLM_CPU_KVCACHE_SPACE"));
    case.host.clear();
    case.scrapes = vllm("block_size=\"128\"").scrapes;
    assert_eq!(read(&case).config.number(Setting::KvBytes), None);
}

#[test]
fn flags_no_setting_stands_for_are_named_or_compared_as_they_are_written() {
    let mut case = vllm("block_size=\"128\"");
    let text =
        "[Service]\nExecStart=vllm serve m --api-key a --swap-space 4 --trust-remote-code --no-such-flag 3\n";
    case.manifests = vec![unit(text)];
    let observed = read(&case);
    let named = ["--api-key", "--no-such-flag", "--swap-space", "--trust-remote-code"];
    assert_eq!(observed.table.not_compared, named);
    started(
        &mut case,
        "python3 /opt/bin/vllm serve m --api-key b --swap-space 8 --trust-remote-code --seed 1",
        "",
    );
    let observed = read(&case);
    assert!(observed.table.not_compared.is_empty());
    let verdict = |name| row(&observed, name).verdict;
    assert_eq!(
        (verdict("--api-key"), verdict("--trust-remote-code")),
        (RowVerdict::Agrees, RowVerdict::Agrees)
    );
    for stale in ["--swap-space", "--no-such-flag", "--seed"] {
        assert_eq!(verdict(stale), RowVerdict::Stale, "{stale}");
    }
    let told = serde_json::to_string(&observed.table).unwrap();
    assert!(!told.contains("\"a\"") && !told.contains("\"b\""), "{told}");
}

#[test]
fn data_type_served_name_and_drafts_are_compared_with_the_log_and_the_models() {
    let mut case = vllm("block_size=\"128\"");
    let asked = |flags: &str| unit(&format!("[Service]\nExecStart=vllm serve x {flags}\n"));
    let log = "INFO Initializing a V1 LLM engine (v0.32.0) with config: model='x', speculative_config=None, dtype=torch.bfloat16, served_model_name=m\n";
    case.logs = vec![LogText { name: "server.log".into(), text: log.into() }];
    case.manifests =
        vec![asked("--dtype float16 --served-model-name n --speculative-config '{\"method\": \"ngram\"}'")];
    let observed = read(&case);
    for name in ["--dtype", "--served-model-name", "--speculative-config"] {
        assert!(row(&observed, name).is_off(), "{:#?}", row(&observed, name));
    }
    case.manifests = vec![asked("--dtype bfloat16 --served-model-name m alias")];
    let observed = read(&case);
    for name in ["--dtype", "--served-model-name"] {
        assert_eq!(row(&observed, name).verdict, RowVerdict::Agrees, "{name}");
    }
    case.logs.clear();
    case.manifests = vec![asked("--dtype half --served-model-name m")];
    let observed = read(&case);
    assert_eq!(row(&observed, "--dtype").verdict, RowVerdict::Unknown);
    assert_eq!(row(&observed, "--served-model-name").verdict, RowVerdict::Agrees);
}

#[test]
fn what_only_the_process_has_is_not_asked_for() {
    let mut case = vllm("block_size=\"128\"");
    case.manifests = vec![unit("[Service]\nExecStart=vllm serve m --max-model-len 8192\n")];
    started(&mut case, "python3 /opt/bin/vllm serve m --max-model-len 8192 --enforce-eager", "VLLM_X=1\n");
    let observed = read(&case);
    let eager = row(&observed, "--enforce-eager");
    assert_eq!((eager.verdict, &eager.requested), (RowVerdict::Stale, &None));
    assert_eq!(eager.started_with.as_ref().unwrap().value, SettingValue::Switch(true));
}

#[test]
fn what_a_script_adds_is_not_stale() {
    let mut case = vllm("block_size=\"128\"");
    started(&mut case, "python3 /opt/bin/vllm serve m --max-model-len 8192 --enforce-eager", "");
    let compose = |entry: &str| ManifestText {
        name: "compose.yaml".into(),
        changed: None,
        text: format!(
            "services:\n  llm:\n    image: vllm/vllm-openai\n    {entry}\n    command: --max-model-len 8192\n"
        ),
    };
    case.manifests = vec![compose("entrypoint: /start.sh")];
    assert_ne!(row(&read(&case), "--enforce-eager").verdict, RowVerdict::Stale);
    case.manifests = vec![compose("ports: []")];
    assert_eq!(row(&read(&case), "--enforce-eager").verdict, RowVerdict::Stale);
}

#[test]
fn of_several_services_that_cannot_be_told_apart_none_is_compared() {
    let mut case = vllm("block_size=\"128\"");
    let text = "services:\n  a: {image: vllm/vllm-openai, command: --model big --max-num-seqs 512}\n  b: {image: vllm/vllm-openai, command: --model other --max-num-seqs 2}\n";
    case.manifests = vec![ManifestText { name: "two.yml".into(), changed: None, text: text.into() }];
    let observed = read(&case);
    assert_eq!(
        (&observed.table.manifest, &observed.table.left_out[..]),
        (&None, &["two.yml".to_owned()][..])
    );
    assert!(observed.notes.iter().any(|n| n.contains("a in two.yml, b in two.yml")), "{:?}", observed.notes);
    case.manifests[0].text = text.replace("--model other", "--model other --served-model-name m");
    let observed = read(&case);
    assert_eq!(observed.table.manifest.as_deref(), Some("two.yml"));
    assert_eq!(row(&observed, "--max-num-seqs").requested.as_ref().unwrap().value, SettingValue::Number(2.0));
}

#[test]
fn a_drop_in_of_variables_is_laid_over_its_unit() {
    let mut case = vllm("block_size=\"128\"");
    let drop_in = ManifestText {
        name: "override.conf".into(),
        changed: Some(Millis(1_700_000_060_000)),
        text: "[Service]\nEnvironment=VLLM_X=2\n".into(),
    };
    case.manifests = vec![
        unit("[Service]\nEnvironment=VLLM_X=1\nExecStart=vllm serve m --max-num-seqs 4\n"),
        drop_in.clone(),
    ];
    started(&mut case, "python3 /opt/bin/vllm serve m --max-num-seqs 4", "VLLM_X=1\n");
    let observed = read(&case);
    let table = &observed.table;
    assert_eq!(
        (table.manifest.as_deref(), &table.overrides[..]),
        (Some("vllm.service"), &["override.conf".to_owned()][..])
    );
    assert_eq!(table.start.unwrap().manifest, Millis(1_700_000_060_000));
    assert_eq!(row(&observed, "--max-num-seqs").verdict, RowVerdict::Agrees);
    let stale = row(&observed, "VLLM_X");
    assert_eq!(stale.verdict, RowVerdict::Stale);
    let from = Source::Manifest { file: "override.conf".into(), line: 2 };
    assert_eq!(stale.requested.as_ref().unwrap().from, from);
    // Alone it starts nothing.
    case.manifests = vec![drop_in];
    assert_eq!(read(&case).table.left_out, ["override.conf"]);
}

/// Every recorded server did what it was asked to.
#[test]
fn no_recording_has_a_setting_that_is_not_in_force() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let (mut seen, mut wrong) = (0, Vec::new());
    for group in ["lab", "recordings", "h200"] {
        for folder in std::fs::read_dir(fixtures.join(group)).unwrap().map(|e| e.unwrap().path()) {
            if !folder.join("truth.json").is_file() || about_configuration(&folder) {
                continue;
            }
            let mut case = Case::default();
            for file in files(&folder) {
                let name = file.strip_prefix(&folder).unwrap().to_str().unwrap();
                if layout::wants(name) {
                    layout::add(&mut case, name, std::fs::read(&file).unwrap());
                }
            }
            let observed = read(&case);
            seen += usize::from(observed.table.asked);
            let off = observed.table.rows.iter().filter(|row| row.is_off());
            wrong.extend(off.map(|row| format!("{}: {}", folder.display(), row.says)));
        }
    }
    assert_eq!(wrong, [""; 0]);
    assert!(seen >= 20, "{seen}");
}

fn about_configuration(folder: &Path) -> bool {
    std::fs::read_to_string(folder.join("truth.json")).unwrap().contains("config-not-applied")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}
