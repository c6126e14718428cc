//! What a rule sees of one server, and what it says.

use intriage_case::Source;
use intriage_case::gpu::GpuCard;
use intriage_case::surroundings::{ModelFound, ModelPlace, Surroundings};
use intriage_engines::{GivenFlag, MeantStart, MeantVariable, Setting, Version, VersionRange};
use intriage_physics::{Gpu, ModelShape, gpu, known};

use super::{AdviceFinding, AdviceRule, AdviceSurroundings, Severity};
use crate::preflight::Said;
use crate::preflight::facts::Facts;

/// One server with everything known of it.
pub(super) struct Scene<'a> {
    /// The server.
    pub(super) start: &'a MeantStart,
    /// All servers, this one among them.
    pub(super) all: &'a [MeantStart],
    pub(super) around: &'a AdviceSurroundings,
    /// The facts that checks before a start see.
    pub(super) facts: Facts<'a>,
    /// The model's shape, where its configuration tells it.
    pub(super) shape: Option<ModelShape>,
}

/// What is known of the card and the model, as the checks before a start read it.
pub(super) fn surroundings(start: &MeantStart, around: &AdviceSurroundings) -> Surroundings {
    let named = || start.line.model().and_then(known::config);
    let config = around.model_config.clone().or_else(named);
    let model = config.map(|text| ModelFound {
        asked: start.line.model().unwrap_or_default().to_owned(),
        place: ModelPlace::Folder(String::new()),
        config: Some(text),
        ..ModelFound::default()
    });
    Surroundings {
        model,
        variables: start.variables.iter().map(|v| (v.name.clone(), v.value.clone())).collect(),
        ..Surroundings::default()
    }
}

impl<'a> Scene<'a> {
    pub(super) fn new(
        start: &'a MeantStart,
        all: &'a [MeantStart],
        around: &'a AdviceSurroundings,
        surroundings: &'a Surroundings,
    ) -> Self {
        let facts = Facts::new(&start.line, surroundings);
        let text = surroundings.model.as_ref().and_then(|model| model.config.as_deref());
        let shape = text.and_then(|text| ModelShape::from_config_json(text).ok());
        Self { start, all, around, facts, shape }
    }

    /// The card.
    pub(super) fn gpu(&self) -> Option<&'a Gpu> {
        self.around.gpu.as_ref()
    }

    /// The card as a check before a start is told it.
    pub(super) fn card(&self) -> Option<GpuCard> {
        let gpu = self.gpu()?;
        Some(GpuCard {
            name: Some(gpu::short(gpu).to_owned()),
            memory: Some(gpu.memory),
            ..GpuCard::default()
        })
    }

    /// The release: the image's, else the server's.
    pub(super) fn release(&self) -> Option<&'a Version> {
        self.start.version.as_ref().or(self.around.version.as_ref())
    }

    /// Whether the release is this one or newer; `None` where it is not known.
    pub(super) fn is_from(&self, since: &'static str) -> Option<bool> {
        self.release().map(|release| VersionRange { since, until: "" }.holds(release))
    }

    /// A flag by name, whose value, if any, stands in the file itself.
    pub(super) fn flag(&self, name: &str) -> Option<&'a GivenFlag> {
        let flag = self.start.line.flag(&[name])?;
        flag.values.iter().all(|value| MeantStart::is_written(value)).then_some(flag)
    }

    /// The flag that sets something, where it is given.
    pub(super) fn setting(&self, setting: Setting) -> Option<&'a GivenFlag> {
        let rows = self.start.dialect().flags.iter().filter(|flag| flag.setting == setting);
        rows.flat_map(|row| row.names).filter(|name| name.starts_with('-')).find_map(|name| self.flag(name))
    }

    /// Whether a switch stands as `--no-NAME`, or as its opposite by value.
    pub(super) fn switched(&self, name: &str) -> Option<(bool, &'a GivenFlag)> {
        let flag = self.flag(name)?;
        let said = flag.values.first().map(|value| !value.eq_ignore_ascii_case("false"));
        Some((said.unwrap_or(true) != flag.name.starts_with("--no-"), flag))
    }

    /// A variable whose value stands in the file itself.
    pub(super) fn variable(&self, name: &str) -> Option<&'a MeantVariable> {
        self.start.variable(name).filter(|variable| MeantStart::is_written(&variable.value))
    }
}

/// What a rule says: severity, setting, value, place, reason, change.
pub(super) struct Hit {
    severity: Severity,
    setting: String,
    value: Option<String>,
    place: Source,
    reason: String,
    change: String,
}

impl Hit {
    /// Of a flag.
    pub(super) fn flag(
        scene: &Scene<'_>,
        severity: Severity,
        flag: &GivenFlag,
        reason: String,
        change: String,
    ) -> Self {
        let value = (!flag.values.is_empty()).then(|| flag.values.join(" "));
        let place = scene.start.place(flag).clone();
        Self { severity, setting: flag.written.clone(), value, place, reason, change }
    }

    /// Of a variable.
    pub(super) fn variable(severity: Severity, of: &MeantVariable, reason: String, change: String) -> Self {
        let (setting, value, place) = (of.name.clone(), Some(of.value.clone()), of.source.clone());
        Self { severity, setting, value, place, reason, change }
    }

    /// Of the first of these flags that is given, else of the command as a whole under the name of the first.
    pub(super) fn first_of(
        scene: &Scene<'_>,
        severity: Severity,
        names: &[&str],
        reason: String,
        change: String,
    ) -> Self {
        if let Some(flag) = names.iter().find_map(|name| scene.flag(name)) {
            return Self::flag(scene, severity, flag, reason, change);
        }
        let setting = names.first().copied().unwrap_or_default().to_owned();
        Self { severity, setting, value: None, place: scene.start.source.clone(), reason, change }
    }

    /// What a check before a start found wrong, as findings of these flags.
    pub(super) fn of_check(scene: &Scene<'_>, names: &[&str], said: Vec<Said>) -> Vec<Self> {
        let wrong = said.into_iter().filter_map(|said| match said {
            Said::Wrong(_, says, change) => Some((says, change)),
            Said::Fine(_) | Said::Unknown(_) => None,
        });
        wrong.map(|(says, change)| Self::first_of(scene, Severity::Error, names, says, change)).collect()
    }

    pub(super) fn told(self, rule: &AdviceRule, start: &MeantStart) -> AdviceFinding {
        AdviceFinding {
            rule: rule.id.into(),
            severity: self.severity,
            setting: self.setting,
            value: self.value,
            place: self.place,
            server: start.name.clone(),
            reason: self.reason,
            change: self.change,
            source: rule.source.into(),
        }
    }
}
