//! Every text looked for in a log, from all tables, behind one scanner.

use std::sync::LazyLock;

use super::dumps::DUMPS;
use super::periodic::{PERIODIC, Periodic};
use super::scan::Scanner;
use super::sieve::gap;
use super::signature::{LogKind, Signature};
use super::starts::{STARTS, StartLine};
use super::thrown::{THROWS, Throws};
use super::{
    cuda, dynamo_start, harmless, hub, kernel, kubernetes, launch, llamacpp, llamacpp_start, lmdeploy_start,
    nccl, ollama_start, sglang, sglang_start, tgi, tgi_start, torch, trtllm, trtllm_start, vllm, vllm_host,
    vllm_start,
};
use crate::Engine;
use crate::dialect::{LogValue, dialect};

/// Marks an access line of an inference request.
const ANSWER: &str = "\"POST /";

static SIGNATURES: [&[Signature]; 22] = [
    vllm::SIGNATURES,
    vllm_host::SIGNATURES,
    vllm_start::SIGNATURES,
    sglang::SIGNATURES,
    llamacpp::SIGNATURES,
    tgi::SIGNATURES,
    trtllm::SIGNATURES,
    sglang_start::SIGNATURES,
    harmless::SIGNATURES,
    llamacpp_start::SIGNATURES,
    ollama_start::SIGNATURES,
    tgi_start::SIGNATURES,
    trtllm_start::SIGNATURES,
    lmdeploy_start::SIGNATURES,
    dynamo_start::SIGNATURES,
    torch::SIGNATURES,
    cuda::SIGNATURES,
    hub::SIGNATURES,
    launch::SIGNATURES,
    kubernetes::SIGNATURES,
    nccl::SIGNATURES,
    kernel::SIGNATURES,
];

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(Catalogue::new);

/// What a line that holds a text is read for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Target {
    /// The signature at this place of [`signatures`].
    Signature(usize, &'static Signature),
    /// The beginning of a start.
    Start(&'static StartLine),
    /// Signals.
    Periodic(&'static Periodic),
    /// The value at this place of an engine's table.
    Value(Engine, usize, &'static LogValue),
    /// The dump at this place of [`DUMPS`].
    Dump(usize),
    /// An answer's status.
    Answer,
    /// What a program threw.
    Thrown(Throws),
    /// What lines that were left out counted.
    Gap,
}

impl Target {
    /// Whether only an engine writes such a line.
    pub(super) fn is_engines(self) -> bool {
        match self {
            Self::Signature(_, signature) => matches!(signature.log, LogKind::Engine(_)),
            Self::Start(_) | Self::Periodic(_) | Self::Value(..) | Self::Dump(_) => true,
            Self::Answer | Self::Thrown(_) | Self::Gap => false,
        }
    }
}

/// The texts and what each is looked for.
pub(super) struct Catalogue {
    pub(super) scanner: Scanner,
    texts: Vec<&'static str>,
    targets: Vec<Vec<Target>>,
    /// The index of the text that marks an answer.
    pub(super) answer: usize,
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
        let answer = texts.iter().position(|text| *text == ANSWER).unwrap_or(usize::MAX);
        Self { scanner: Scanner::new(&texts), texts, targets, answer }
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
    let dumps = DUMPS.iter().enumerate().map(|(i, dump)| (dump.text, Target::Dump(i)));
    // First: what else the same line says is of the start it begins.
    let starts = STARTS.iter().map(|start| (start.text, Target::Start(start)));
    let thrown = THROWS.iter().map(|(text, throws)| (*text, Target::Thrown(*throws)));
    let marks = [(ANSWER, Target::Answer), (gap::MARK, Target::Gap)];
    starts.chain(signatures).chain(periodic).chain(values).chain(dumps).chain(marks).chain(thrown)
}
