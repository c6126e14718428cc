//! Given a model's folder or a process that serves it, its files are found, and nothing large or strange is read.

use std::fs;
use std::os::unix::fs::symlink;

use intriage_case::Bytes;

use super::*;

fn model_folder(path: &Path) {
    fs::create_dir_all(path).unwrap();
    fs::write(path.join("config.json"), r#"{"torch_dtype":"bfloat16"}"#).unwrap();
    fs::write(path.join("model.safetensors"), vec![0; 100]).unwrap();
    fs::write(path.join("tokenizer.json"), "abc").unwrap();
    fs::write(path.join("tokenizer_config.json"), r#"{"chat_template":"abc"}"#).unwrap();
    fs::write(path.join("notes.txt"), "nobody's business").unwrap();
}

/// The standard's own example: SHA-256 of `abc`.
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

#[test]
fn a_folder_gives_texts_sizes_and_hashes_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    model_folder(dir.path());
    let files = read_model_files(dir.path()).unwrap();
    assert_eq!(files.texts.keys().collect::<Vec<_>>(), ["config.json"]);
    assert_eq!((files.summary.weights.len(), files.summary.weights[0].size), (1, Bytes(100.0)));
    assert_eq!(files.summary.hashes["tokenizer.json"], ABC);
    // The same text in a file of its own is the same template.
    let inside = &files.summary.templates[0];
    assert_eq!((inside.from.as_str(), inside.sha256.as_str()), ("tokenizer_config.json", ABC));
    fs::write(dir.path().join("chat_template.jinja"), "abc").unwrap();
    let both = read_model_files(dir.path()).unwrap().summary.templates;
    assert!(both.len() == 2 && both.iter().all(|t| t.sha256 == ABC), "{both:?}");
}

#[test]
fn several_templates_have_their_names() {
    let dir = tempfile::tempdir().unwrap();
    let list =
        r#"{"chat_template":[{"name":"default","template":"abc"},{"name":"tool_use","template":"x"}]}"#;
    fs::write(dir.path().join("config.json"), "{}").unwrap();
    fs::write(dir.path().join("tokenizer_config.json"), list).unwrap();
    let found = read_model_files(dir.path()).unwrap().summary.templates;
    let names: Vec<&str> = found.iter().filter_map(|t| t.name.as_deref()).collect();
    assert_eq!(names, ["default", "tool_use"]);
    assert_eq!(found[0].sha256, ABC);
}

#[test]
fn a_pipe_and_a_file_too_large_are_left_out_with_their_reason() {
    let dir = tempfile::tempdir().unwrap();
    model_folder(dir.path());
    let pipe = dir.path().join("tokenizer.model");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
        .unwrap();
    fs::write(dir.path().join("config.json"), vec![b' '; (1 << 20) + 1]).unwrap();
    let files = read_model_files(dir.path()).unwrap();
    let told = files.summary.left_out.join("\n");
    assert!(
        files.texts.is_empty() && told.contains("config.json") && told.contains("tokenizer.model"),
        "{told}"
    );
}

/// A `/proc` with one server in it.
fn proc_with(dir: &Path, command_line: &str, environ: &str) -> std::path::PathBuf {
    let process = dir.join("proc/77");
    fs::create_dir_all(&process).unwrap();
    fs::write(process.join("cmdline"), command_line.replace(' ', "\0")).unwrap();
    fs::write(process.join("environ"), environ).unwrap();
    symlink(dir.join("work"), process.join("cwd")).unwrap();
    fs::create_dir_all(dir.join("work")).unwrap();
    symlink("/", process.join("root")).unwrap();
    dir.join("proc")
}

#[test]
fn a_name_on_a_hub_is_found_in_the_cache_at_the_revision_that_main_is() {
    let dir = tempfile::tempdir().unwrap();
    let entry = dir.path().join("hf/hub/models--org--m");
    model_folder(&entry.join("snapshots/0ld"));
    model_folder(&entry.join("snapshots/c0ffee"));
    fs::create_dir_all(entry.join("refs")).unwrap();
    fs::write(entry.join("refs/main"), "c0ffee\n").unwrap();
    let home = format!("PATH=/bin\0HF_HOME={}\0", dir.path().join("hf").display());
    let proc = proc_with(dir.path(), "vllm serve org/m --port 1", &home);
    let found = find_model(&proc, None).unwrap().summary;
    assert_eq!((found.asked.as_deref(), found.revision.as_deref()), (Some("org/m"), Some("c0ffee")));
    let folder = found.folder.unwrap();
    assert!(folder.ends_with("snapshots/c0ffee") && !folder.contains("/proc/"), "{folder}");

    fs::write(entry.join("refs/main"), "../../../elsewhere").unwrap();
    let error = find_model(&proc, None).unwrap_err().to_string();
    assert!(error.contains("org/m"), "{error}");
}

#[test]
fn a_relative_folder_is_the_processs_own() {
    let dir = tempfile::tempdir().unwrap();
    model_folder(&dir.path().join("work/models/m"));
    let proc = proc_with(dir.path(), "vllm serve ./models/m", "");
    assert_eq!(find_model(&proc, None).unwrap().summary.weights.len(), 1);
}

#[test]
fn what_is_not_there_is_said_with_what_helps() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("none")).unwrap();
    let error = find_model(&dir.path().join("none"), None).unwrap_err().to_string();
    assert!(error.contains("--model-path"), "{error}");
    let proc = proc_with(dir.path(), "vllm serve org/gone", "");
    let error = find_model(&proc, None).unwrap_err().to_string();
    assert!(error.contains("org/gone") && error.contains("--model-path"), "{error}");
    let error = read_model_files(&dir.path().join("none")).unwrap_err().to_string();
    assert!(error.contains("holds no model"), "{error}");
}
