//! The facts a check sees, with the model's configuration read.

use intriage_case::surroundings::{EnginePackage, ModelFound, ModelPlace, Surroundings};
use intriage_engines::{LaunchLine, Setting, dialect};
use serde_json::{Map, Value};

/// What every check is given.
pub(crate) struct Facts<'a> {
    pub(crate) line: &'a LaunchLine,
    pub(crate) around: &'a Surroundings,
    /// `config.json`, where it is an object.
    pub(crate) config: Option<Map<String, Value>>,
}

impl<'a> Facts<'a> {
    pub(crate) fn new(line: &'a LaunchLine, around: &'a Surroundings) -> Self {
        let text = around.model.as_ref().and_then(|model| model.config.as_deref());
        Self { line, around, config: text.and_then(|text| serde_json::from_str(text).ok()) }
    }

    /// The engine's name.
    pub(crate) fn engine(&self) -> &'static str {
        dialect(self.line.engine).name
    }

    pub(crate) fn package(&self) -> Option<&'a EnginePackage> {
        self.around.package.as_ref()
    }

    /// Whether it runs on the processor alone.
    pub(crate) fn on_cpu(&self) -> bool {
        self.package().is_some_and(|package| package.cpu_only)
    }

    /// The model, where its files lie here.
    pub(crate) fn model(&self) -> Option<&'a ModelFound> {
        self.around.model.as_ref().filter(|m| matches!(m.place, ModelPlace::Folder(_) | ModelPlace::File(_)))
    }

    /// The number of a setting on the command line, by whatever flag the engine has for it.
    pub(crate) fn number(&self, setting: Setting) -> Option<f64> {
        self.line.number(&self.names(setting))
    }

    /// The text of a setting on the command line.
    pub(crate) fn text(&self, setting: Setting) -> Option<&str> {
        self.line.value(&self.names(setting))
    }

    fn names(&self, setting: Setting) -> Vec<&'static str> {
        let flags = dialect(self.line.engine).flags.iter().filter(|flag| flag.setting == setting);
        flags.flat_map(|flag| flag.names.iter().copied()).filter(|name| name.starts_with('-')).collect()
    }

    /// A whole number of the configuration, here or in the language part of a multimodal model.
    pub(crate) fn config_number(&self, names: &[&str]) -> Option<u64> {
        self.config_value(names)?.as_u64()
    }

    /// A text of the configuration.
    pub(crate) fn config_text(&self, names: &[&str]) -> Option<&str> {
        self.config_value(names)?.as_str()
    }

    /// A value of the configuration.
    pub(crate) fn config_value(&self, names: &[&str]) -> Option<&Value> {
        let config = self.config.as_ref()?;
        let inner = ["text_config", "llm_config", "language_config"].into_iter();
        let inner = inner.filter_map(|name| config.get(name)?.as_object());
        std::iter::once(config)
            .chain(inner)
            .find_map(|map| names.iter().find_map(|name| map.get(*name).filter(|value| !value.is_null())))
    }

    /// How the weights are quantized by the model's own word, such as `fp8`.
    pub(crate) fn quantized(&self) -> Option<&str> {
        self.config_value(&["quantization_config", "compression_config"])?.get("quant_method")?.as_str()
    }

    /// Whether a variable of the environment is set to something that means yes.
    pub(crate) fn is_on(&self, variable: &str) -> bool {
        let value = self.around.variables.get(variable).map(|value| value.to_ascii_lowercase());
        value.is_some_and(|value| ["1", "true", "yes", "on"].contains(&value.as_str()))
    }

    /// GPUs on which one copy of the model is divided.
    pub(crate) fn ranks(&self) -> (u64, u64) {
        let size = |setting| self.number(setting).filter(|n| *n >= 1.0).map_or(1, |n| n as u64);
        (size(Setting::TensorParallel), size(Setting::PipelineParallel))
    }
}
