//! Which model a serving process was told to load, from its command line.

use super::serving::recognise_process;

/// What a command line says of the model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelArgument {
    /// A folder, a file, or a name on a hub such as `Qwen/Qwen3-8B`.
    pub model: String,
    /// The revision asked for.
    pub revision: Option<String>,
    /// The folder models are downloaded to, where it is not the hub's cache.
    pub download_to: Option<String>,
}

/// Flags whose value is the model, in every engine's spelling.
const MODEL: &[&str] = &["--model", "--model-path", "--model-id", "--model-name-or-path", "-m"];
const REVISION: &[&str] = &["--revision"];
const DOWNLOAD: &[&str] = &["--download-dir", "--huggingface-hub-cache"];

/// Words after which the model may stand without a flag: `vllm serve M`, `trtllm-serve M`, `lmdeploy serve api_server M`.
const BEFORE_MODEL: &[&str] = &["serve", "api_server", "trtllm-serve"];

/// Reads a `/proc/<pid>/cmdline`, arguments parted by NUL; `None` where it is no server's or names no model.
pub fn model_argument(command_line: &str) -> Option<ModelArgument> {
    recognise_process(command_line)?;
    let words: Vec<&str> = command_line.split('\0').filter(|w| !w.is_empty()).collect();
    let model = flagged(&words, MODEL).or_else(|| positional(&words))?;
    let owned = |flags| flagged(&words, flags).map(str::to_owned);
    Some(ModelArgument { model: model.to_owned(), revision: owned(REVISION), download_to: owned(DOWNLOAD) })
}

fn flagged<'a>(words: &[&'a str], flags: &[&str]) -> Option<&'a str> {
    words.iter().enumerate().find_map(|(i, word)| {
        // `python -m module` names a module, not a model.
        if *word == "-m" && i > 0 && base_name(words[i - 1]).starts_with("python") {
            return None;
        }
        let (name, attached) = word.split_once('=').map_or((*word, None), |(n, v)| (n, Some(v)));
        // vLLM takes underscores for dashes.
        let dashed = name.replace('_', "-");
        if !flags.contains(&name) && !flags.contains(&dashed.as_str()) {
            return None;
        }
        attached.or_else(|| words.get(i + 1).copied()).filter(|value| !value.starts_with('-'))
    })
}

fn positional<'a>(words: &[&'a str]) -> Option<&'a str> {
    words.iter().enumerate().find_map(|(i, word)| {
        let next = words.get(i + 1)?;
        let begins = BEFORE_MODEL.contains(&base_name(word));
        (begins && !next.starts_with('-') && !BEFORE_MODEL.contains(next)).then_some(*next)
    })
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn model(line: &str) -> Option<String> {
        model_argument(&line.replace(' ', "\0")).map(|found| found.model)
    }

    #[test]
    fn every_engines_way_of_naming_a_model_is_read() {
        for (line, expected) in [
            ("python3 /opt/bin/vllm serve Qwen/Qwen3-8B --port 1", "Qwen/Qwen3-8B"),
            ("vllm serve --model /models/x", "/models/x"),
            ("python3 -m vllm.entrypoints.openai.api_server --model=org/m", "org/m"),
            ("python3 -m sglang.launch_server --model-path org/m", "org/m"),
            ("python3 -m sglang.launch_server --model_path org/m", "org/m"),
            ("/app/llama-server -m /models/x.gguf", "/models/x.gguf"),
            ("/usr/bin/python3 /usr/local/bin/trtllm-serve org/m --tp_size 2", "org/m"),
            ("trtllm-serve serve org/m", "org/m"),
            ("lmdeploy serve api_server org/m", "org/m"),
            ("text-generation-launcher --model-id org/m", "org/m"),
        ] {
            assert_eq!(model(line).as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn what_serves_nothing_names_no_model() {
        for line in [
            "VLLM::EngineCore",
            "vllm serve",
            "vllm serve --port 1",
            "grep --model x",
            "vllm serve --model --port",
        ] {
            assert_eq!(model(line), None, "{line}");
        }
    }

    #[test]
    fn a_revision_and_a_folder_for_downloads_come_with_it() {
        let line = "vllm serve org/m --revision abc --download-dir /data".replace(' ', "\0");
        let found = model_argument(&line).unwrap();
        assert_eq!((found.revision.as_deref(), found.download_to.as_deref()), (Some("abc"), Some("/data")));
    }

    proptest! {
        #[test]
        fn any_command_line_is_survived(line in "(vllm\0serve\0)?[a-z=\0/-]{0,60}") {
            let _ = model_argument(&line);
        }
    }
}
