use std::fs;

use intriage_case::surroundings::{ModelPlace, WeightsFault};

use super::*;

fn line(words: &str) -> LaunchLine {
    LaunchLine::read(&words.split(' ').collect::<Vec<_>>()).unwrap()
}

fn safetensors(end: usize) -> Vec<u8> {
    let header = format!(r#"{{"w":{{"dtype":"BF16","shape":[2],"data_offsets":[0,{end}]}}}}"#);
    let mut bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat();
    bytes.resize(bytes.len() + end, 0);
    bytes
}

#[test]
fn a_folder_is_read_with_what_its_files_lack() {
    let dir = tempfile::tempdir().unwrap();
    let model = dir.path().join("m");
    fs::create_dir(&model).unwrap();
    fs::write(model.join("config.json"), r#"{"model_type":"llama"}"#).unwrap();
    let whole = safetensors(1000);
    fs::write(model.join("a.safetensors"), &whole).unwrap();
    fs::write(model.join("b.safetensors"), &whole[..whole.len() - 1]).unwrap();
    fs::write(model.join("c.safetensors"), "version https://git-lfs.github.com/spec/v1\n").unwrap();
    let index = r#"{"weight_map":{"x":"a.safetensors","y":"d.safetensors"}}"#;
    fs::write(model.join("model.safetensors.index.json"), index).unwrap();
    let asked = model.display().to_string();
    let found = files::look(&asked, &line(&format!("vllm serve {asked}")));
    assert_eq!(found.place, ModelPlace::Folder(asked));
    let faults: Vec<_> = found.weights.iter().map(|file| file.fault.clone()).collect();
    assert_eq!(faults[0], None);
    assert!(matches!(faults[1], Some(WeightsFault::Cut { .. })), "{faults:?}");
    assert_eq!(faults[2], Some(WeightsFault::Pointer));
    assert_eq!(found.missing, ["d.safetensors"]);
}

#[test]
fn a_path_that_leads_nowhere_and_a_name_of_the_hub_are_two_things() {
    let look = |asked: &str| files::look(asked, &line(&format!("vllm serve {asked}"))).place;
    assert_eq!(look("/no/such/model"), ModelPlace::Nowhere);
    assert_eq!(look("./no/such"), ModelPlace::Nowhere);
    assert_eq!(look("no-such-org/no-such-model"), ModelPlace::NotCached);
    assert_eq!(look("no-such-model-of-old"), ModelPlace::NotCached);
    let line = line("llama-server -m no-such-model");
    assert_eq!(files::look("no-such-model", &line).place, ModelPlace::Nowhere);
    assert_eq!(look("no/such.gguf"), ModelPlace::Nowhere);
}

#[test]
fn adapters_and_files_of_flags_are_looked_at() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("adapter_config.json"), r#"{"r": 64}"#).unwrap();
    let path = dir.path().display();
    let line = line(&format!("vllm serve m --lora-modules a={path} --chat-template {path}/no.jinja"));
    assert_eq!(adapters(&line), [AdapterFound { name: "a".into(), rank: Some(64) }]);
    assert_eq!(named_files(&line, None), [("--chat-template".to_owned(), format!("{path}/no.jinja"), false)]);
}

#[test]
fn an_installed_package_tells_its_release_and_what_it_knows() {
    let dir = tempfile::tempdir().unwrap();
    let site = dir.path().join("lib/python3.12/site-packages");
    for folder in
        ["vllm/model_executor/models", "transformers/models/auto", "torch", "vllm-0.32.0+cpu.dist-info"]
    {
        fs::create_dir_all(site.join(folder)).unwrap();
    }
    fs::create_dir(dir.path().join("bin")).unwrap();
    fs::write(dir.path().join("bin/vllm"), "#!/x\n").unwrap();
    fs::write(
        site.join("vllm/model_executor/models/registry.py"),
        "    \"LlamaForCausalLM\": (\"llama\", …),\n",
    )
    .unwrap();
    fs::write(site.join("transformers/models/auto/configuration_auto.py"), "(\"llama\", \"LlamaConfig\")\n")
        .unwrap();
    fs::write(site.join("torch/version.py"), "cuda: Optional[str] = '13.0'\n").unwrap();
    let words = ["llama", "newmodel"].map(str::to_owned);
    let found = package::of(&dir.path().join("bin/vllm"), intriage_engines::Engine::Vllm, &words).unwrap();
    assert_eq!(
        (found.version.as_str(), found.cpu_only, found.cuda.as_deref()),
        ("0.32.0", true, Some("13.0"))
    );
    assert_eq!((found.knows.get("llama"), found.knows.get("newmodel")), (Some(&true), Some(&false)));
    assert!(!found.plugins);
}

#[test]
fn this_machine_has_memory_and_a_processor() {
    let words = ["ls".to_owned()];
    let around = surroundings(&words);
    assert!(around.program.is_some() && around.memory.is_some() && around.cpu.is_some());
    assert!(around.gpus.is_some() != around.no_gpus.is_some());
}
