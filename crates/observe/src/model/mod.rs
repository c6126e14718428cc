//! The model's files on this machine: found by the serving process's command line, or in a folder that is named.
//!
//! Small files of JSON are kept whole; of the others the size or a hash is enough to tell two apart. Nothing is asked
//! of a hub, and weights are never opened.

mod find;
mod folder;
mod template;

use std::path::Path;

use intriage_case::model::ModelFiles;
use thiserror::Error;

pub use find::find_model;

/// Most bytes read of one file: the largest published `tokenizer.json` have about 35 MB.
const MAX_HASHED: u64 = 64 << 20;
/// Most bytes read in all.
const MAX_READ: u64 = 128 << 20;
/// Most files listed.
const MAX_FILES: usize = 2048;

/// Why there are no files of a model.
#[derive(Debug, Error)]
pub enum ModelFilesError {
    /// Nothing serves here.
    #[error("no serving process on this machine tells its model; name its folder with --model-path DIR")]
    NoProcess,
    /// A name that is in no cache.
    #[error("{model} is in no folder that can be read here ({tried}); name it with --model-path DIR")]
    NotFound {
        /// The model as the server was told it.
        model: String,
        /// Where it was looked for.
        tried: String,
    },
    /// A folder that cannot be read.
    #[error("{path}: {why}")]
    Io {
        /// The folder.
        path: String,
        /// The reason.
        why: String,
    },
    /// A folder of something else.
    #[error("{0} holds no model: expected config.json, *.safetensors, *.bin or *.gguf in it")]
    NoModel(String),
}

/// Reads a model's folder, or the folder of a file of weights.
pub fn read_model_files(path: &Path) -> Result<ModelFiles, ModelFilesError> {
    let io = |e: std::io::Error| ModelFilesError::Io { path: path.display().to_string(), why: e.to_string() };
    let kind = std::fs::metadata(path).map_err(io)?;
    let mut files =
        if kind.is_dir() { folder::read(path).map_err(io)? } else { folder::one_file(path, &kind) };
    if files.texts.is_empty() && files.summary.weights.is_empty() {
        return Err(ModelFilesError::NoModel(path.display().to_string()));
    }
    files.summary.folder = Some(path.display().to_string());
    files.summary.revision = find::revision_of(path);
    Ok(files)
}

#[cfg(test)]
mod tests;
