//! What was rolled out, made up for tests.

use intriage_case::{LogText, ManifestText, Millis};

use super::Given;

impl Given {
    /// A file that says how the server is meant to be started.
    pub(crate) fn manifest(mut self, name: &str, text: &str) -> Self {
        let changed = Some(Millis(1_700_000_000_000));
        self.case.manifests = vec![ManifestText { name: name.to_owned(), changed, text: text.to_owned() }];
        self
    }

    /// A log by another name than the server's own.
    pub(crate) fn log_named(mut self, name: &str, text: &str) -> Self {
        self.case.logs.push(LogText { name: name.to_owned(), text: text.to_owned() });
        self
    }

    /// A card of 24 GiB.
    pub(crate) fn small_gpu(mut self) -> Self {
        self.case.gpu.smi_q = Some(
            "Attached GPUs : 1\nGPU 00000000:00:06.0\n    Product Name : NVIDIA L4\n    FB Memory Usage\n        Total : 23034 MiB\n".into(),
        );
        self
    }
}
