//! Lines of what loads models: the hub's client, Transformers and safetensors.

use super::signature::{LogKind, Signature, Wording};
use crate::Meaning::{self, *};

const CLIENT: Wording = Wording::Code("huggingface/huggingface_hub:src/huggingface_hub/utils/_http.py");
const DOWNLOAD: Wording = Wording::Code("huggingface/huggingface_hub:src/huggingface_hub/file_download.py");
const TRANSFORMERS: Wording = Wording::Code("huggingface/transformers:src/transformers/utils/hub.py");
const REMOTE_CODE: Wording =
    Wording::Code("huggingface/transformers:src/transformers/dynamic_module_utils.py");
const SAFETENSORS: Wording = Wording::Code("huggingface/safetensors:bindings/python/src/lib.rs");

const FETCHES: &str = "Fetching 12 files: 100%|##########| 12/12 [00:00<00:00, 11.8it/s]";
const ANONYMOUS: &str = "Warning: You are sending unauthenticated requests to the HF Hub. Please set a HF_TOKEN to enable higher rate limits and faster downloads.";
const SHARDS: &str = "Loading safetensors checkpoint shards: 100% Completed | 4/4 [00:02<00:00,  1.45it/s]";

const fn row(meaning: Meaning, text: &'static str) -> Signature {
    Signature::new(LogKind::Hub, meaning, text)
}

pub(super) const SIGNATURES: &[Signature] = &[
    row(HubAuth, "You are trying to access a gated repo").from(
        TRANSFORMERS,
        "OSError: You are trying to access a gated repo.",
        ANONYMOUS,
    ),
    row(HubAuth, "Cannot access gated repo for url").from(
        CLIENT,
        "Cannot access gated repo for url https://huggingface.co/a/b/resolve/main/config.json.",
        ANONYMOUS,
    ),
    row(HubAuth, "is a gated repository. Make sure to request access").from(
        TRANSFORMERS,
        "a/b is a gated repository. Make sure to request access at https://huggingface.co/a/b and pass a token",
        ANONYMOUS,
    ),
    row(HubAuth, "Repository Not Found for url").from(
        CLIENT,
        "Repository Not Found for url: https://huggingface.co/api/models/a/b.",
        FETCHES,
    ),
    row(HubAuth, "is not a local folder and is not a valid model identifier").from(
        TRANSFORMERS,
        "OSError: a/b is not a local folder and is not a valid model identifier listed on 'https://huggingface.co/models'",
        FETCHES,
    ),
    row(HubAuth, "Client Error: Unauthorized for url: https://huggingface.co").from(
        CLIENT,
        "requests.exceptions.HTTPError: 401 Client Error: Unauthorized for url: https://huggingface.co/a/b/resolve/main/config.json",
        "404 Client Error: Entry Not Found for url: https://huggingface.co/a/b/resolve/main/generation_config.json.",
    ),
    row(HubUnreachable, "We couldn't connect to '").from(
        TRANSFORMERS,
        "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cached files.",
        FETCHES,
    ),
    row(HubUnreachable, "outgoing traffic has been disabled").from(
        DOWNLOAD,
        "huggingface_hub.errors.LocalEntryNotFoundError: Cannot find the requested files in the disk cache and outgoing traffic has been disabled.",
        FETCHES,
    ),
    row(HubUnreachable, "check your connection and try again or make sure your Internet connection is on").from(
        DOWNLOAD,
        "An error happened while trying to locate the file on the Hub and we cannot find the requested files in the local cache. Please check your connection and try again or make sure your Internet connection is on.",
        FETCHES,
    ),
    row(HubUnreachable, "Max retries exceeded with url").with("huggingface.co").from(
        Wording::Code("urllib3/urllib3:src/urllib3/exceptions.py"),
        "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded with url: /a/b/resolve/main/config.json",
        FETCHES,
    ),
    row(HubUnreachable, ": offline mode is enabled").from(
        CLIENT,
        "huggingface_hub.errors.OfflineModeIsEnabled: Cannot reach https://huggingface.co/api/models/a/b: offline mode is enabled. To disable it, please unset the `HF_HUB_OFFLINE` environment variable.",
        FETCHES,
    ),
    row(ModelFiles, "does not appear to have a file named").from(
        TRANSFORMERS,
        "OSError: /models/m does not appear to have a file named config.json. Checkout 'https://huggingface.co//models/m/main' for available files.",
        FETCHES,
    ),
    row(ModelFiles, "It looks like the config file at").from(
        Wording::Code("huggingface/transformers:src/transformers/configuration_utils.py"),
        "OSError: It looks like the config file at '/models/m/config.json' is not a valid JSON file.",
        FETCHES,
    ),
    row(ModelFiles, "Error while deserializing header").from(
        SAFETENSORS,
        "safetensors_rust.SafetensorError: Error while deserializing header: incomplete metadata, file not fully covered",
        SHARDS,
    ),
    row(ModelFiles, "PytorchStreamReader failed").from(
        Wording::Code("pytorch/pytorch:caffe2/serialize/inline_container.cc"),
        "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory",
        SHARDS,
    ),
    row(ModelFiles, "No such file or directory: ").with(".safetensors").from(
        Wording::Code("python/cpython:Lib/pathlib.py"),
        "FileNotFoundError: No such file or directory: \"/models/m/model-00002-of-00004.safetensors\"",
        SHARDS,
    ),
    row(ModelUnknown, "Transformers does not recognize this architecture").from(
        Wording::Code("huggingface/transformers:src/transformers/models/auto/configuration_auto.py"),
        "The checkpoint you are trying to load has model type `qwen9` but Transformers does not recognize this architecture. This could be because of an issue with the checkpoint, or because your version of Transformers is out of date.",
        FETCHES,
    ),
    row(RemoteCode, "contains custom code which must be executed").from(
        REMOTE_CODE,
        "ValueError: The repository a/b contains custom code which must be executed to correctly load the model.",
        FETCHES,
    ),
    row(RemoteCode, "requires you to execute the configuration file in that repo").from(
        REMOTE_CODE,
        "ValueError: Loading a/b requires you to execute the configuration file in that repo on your local machine.",
        FETCHES,
    ),
    row(RemoteCode, "references custom code contained in").from(
        REMOTE_CODE,
        "ValueError: The repository a/b references custom code contained in c/d which must be executed to correctly load the model.",
        FETCHES,
    ),
];
