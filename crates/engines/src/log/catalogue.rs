//! Every text looked for in a log, from all tables, behind one scanner.

use std::sync::LazyLock;

use super::periodic::{PERIODIC, Periodic};
use super::scan::Scanner;
use super::signature::Signature;
use super::{kernel, llamacpp, nccl, sglang, tgi, torch, trtllm, vllm, vllm_host};
use crate::Engine;
use crate::dialect::{LogValue, dialect};

/// Marks an access line of an inference request.
const ANSWER: &str = "\"POST /";

/// What opens a dump of the configuration: what was asked for, then what the engine made of it.
pub(super) const DUMPS: [&str; 3] = ["non-default args: {", "with config: ", "server_args=ServerArgs("];

/// The place in [`DUMPS`] of what was asked for.
pub(super) const ASKED: usize = 0;

static SIGNATURES: [&[Signature]; 9] = [
    vllm::SIGNATURES,
    vllm_host::SIGNATURES,
    sglang::SIGNATURES,
    llamacpp::SIGNATURES,
    tgi::SIGNATURES,
    trtllm::SIGNATURES,
    torch::SIGNATURES,
    nccl::SIGNATURES,
    kernel::SIGNATURES,
];

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(Catalogue::new);

/// What a line that holds a text is read for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Target {
    /// The signature at this place of [`signatures`].
    Signature(usize, &'static Signature),
    /// Signals.
    Periodic(&'static Periodic),
    /// The value at this place of an engine's table.
    Value(Engine, usize, &'static LogValue),
    /// The dump at this place of [`DUMPS`].
    Dump(usize),
    /// An answer's status.
    Answer,
}

/// The texts and what each is looked for.
pub(super) struct Catalogue {
    pub(super) scanner: Scanner,
    texts: Vec<&'static str>,
    targets: Vec<Vec<Target>>,
}

/// Every signature, engine by engine.
pub fn signatures() -> impl Iterator<Item = &'static Signature> {
    SIGNATURES.iter().copied().flatten()
}

/// Every line that carries signals.
pub fn periodic_lines() -> &'static [Periodic] {
    PERIODIC
}

/// Every text a log is searched for, each once.
pub fn log_texts() -> &'static [&'static str] {
    &CATALOGUE.texts
}

/// The one catalogue.
pub(super) fn catalogue() -> &'static Catalogue {
    &CATALOGUE
}

impl Catalogue {
    fn new() -> Self {
        let (mut texts, mut targets) = (Vec::new(), Vec::<Vec<Target>>::new());
        for (text, target) in rows() {
            if let Some(known) = texts.iter().position(|known| *known == text) {
                targets[known].push(target);
            } else {
                texts.push(text);
                targets.push(vec![target]);
            }
        }
        Self { scanner: Scanner::new(&texts), texts, targets }
    }

    /// What the text of this index is looked for.
    pub(super) fn targets(&self, text: usize) -> &[Target] {
        &self.targets[text]
    }
}

fn rows() -> impl Iterator<Item = (&'static str, Target)> {
    let signatures = signatures().enumerate().map(|(i, s)| (s.text, Target::Signature(i, s)));
    let periodic = PERIODIC.iter().map(|p| (p.text, Target::Periodic(p)));
    let values = Engine::ALL.iter().flat_map(|engine| {
        let values = dialect(*engine).log_values.iter().enumerate();
        values.map(|(i, value)| (value.line, Target::Value(*engine, i, value)))
    });
    let dumps = DUMPS.iter().enumerate().map(|(i, text)| (*text, Target::Dump(i)));
    signatures.chain(periodic).chain(values).chain(dumps).chain([(ANSWER, Target::Answer)])
}
