//! The model's folder: whether it is there, whole, and readable.

use intriage_case::Bytes;
use intriage_case::surroundings::{ModelFound, ModelPlace, WeightsFault, WeightsFound};

use super::Said;
use super::facts::Facts;

/// How many files are named.
const MOST_NAMED: usize = 3;

pub(super) fn judge(facts: &Facts<'_>) -> Vec<Said> {
    let Some(model) = &facts.around.model else {
        return vec![Said::Unknown("the command line names no model".into())];
    };
    match &model.place {
        ModelPlace::NotCached => return Vec::new(),
        ModelPlace::Nowhere => {
            return vec![wrong(
                format!("there is no {}", model.asked),
                "give the path of the model as the server sees it; in a container, mount its folder".into(),
            )];
        }
        ModelPlace::Folder(_) | ModelPlace::File(_) => {}
    }
    let mut said = Vec::new();
    if matches!(model.place, ModelPlace::Folder(_)) {
        said.extend(configuration(facts, model));
    }
    said.extend(weights(facts, model));
    if said.is_empty() {
        let size: f64 = model.weights.iter().map(|file| file.size.get()).sum();
        said.push(Said::Fine(format!(
            "{} of weights in {}, as long as the header says",
            Bytes(size),
            files(model.weights.len())
        )));
    }
    said
}

fn configuration(facts: &Facts<'_>, model: &ModelFound) -> Option<Said> {
    let folder = &model.asked;
    // A GGUF file and Mistral's form bring their own.
    if model.has_params || model.weights.iter().any(|file| is_gguf(&file.name)) {
        return None;
    }
    let again = "download the model again (hf download MODEL --local-dir FOLDER), or give the folder config.json lies in";
    match (&model.config, &facts.config) {
        (None, _) => Some(wrong(format!("{folder} has no config.json"), again.into())),
        (Some(text), None) => Some(wrong(
            format!("config.json of {folder} is no JSON object: its {} bytes may be cut", text.len()),
            again.into(),
        )),
        (Some(_), Some(_)) => None,
    }
}

fn weights(facts: &Facts<'_>, model: &ModelFound) -> Vec<Said> {
    // Random weights are made, not read.
    if facts.line.value(&["--load-format"]) == Some("dummy") {
        return Vec::new();
    }
    let mut said = Vec::new();
    if model.weights.is_empty() && model.missing.is_empty() {
        said.push(wrong(
            format!("{} has no file of weights (*.safetensors, *.bin, *.pt, *.gguf)", model.asked),
            "download the weights as well (hf download MODEL --local-dir FOLDER)".into(),
        ));
    }
    if !model.missing.is_empty() {
        said.push(wrong(
            format!(
                "the index names {} of weights that are not there: {}",
                files(model.missing.len()),
                named(&model.missing)
            ),
            "download the missing files (hf download goes on where it stopped)".into(),
        ));
    }
    said.extend(model.weights.iter().filter_map(fault).take(MOST_NAMED));
    said
}

fn fault(file: &WeightsFound) -> Option<Said> {
    let again = || format!("download {} again", file.name);
    Some(match file.fault.as_ref()? {
        WeightsFault::Pointer => wrong(
            format!("{} is a Git LFS pointer of {}, not weights", file.name, file.size),
            "git lfs pull in the folder, or hf download".into(),
        ),
        WeightsFault::Cut { needs } => {
            wrong(format!("{} has {} and its header needs {needs}: it is cut", file.name, file.size), again())
        }
        WeightsFault::Foreign => wrong(format!("{} does not begin as such a file does", file.name), again()),
        WeightsFault::Unreadable(why) => Said::Wrong(
            "permission-denied",
            format!("{} cannot be read: {why}", file.name),
            "let the user who starts the server read it (chmod, chown), or start it as its owner".into(),
        ),
    })
}

fn files(count: usize) -> String {
    if count == 1 { "1 file".into() } else { format!("{count} files") }
}

/// Whether a file brings its own configuration.
fn is_gguf(name: &str) -> bool {
    std::path::Path::new(name).extension().is_some_and(|end| end.eq_ignore_ascii_case("gguf"))
}

fn named(files: &[String]) -> String {
    let more = files.len().saturating_sub(MOST_NAMED);
    let names = files.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{names} and {more} more") } else { names }
}

fn wrong(says: String, change: String) -> Said {
    Said::Wrong("model-files-damaged", says, change)
}
