//! A log line to look for: what it means, its words, and who has seen them.

use super::meaning::Meaning;
use crate::{Engine, VersionRange};

/// A log line to look for. Rows of every table are looked for in every log: an engine's log holds its libraries' lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature {
    /// What it means.
    pub meaning: Meaning,
    /// The text that marks it, at least four bytes.
    pub text: &'static str,
    /// A text the same line must hold too; empty for none.
    pub with: &'static str,
    /// A text the same line must not hold; empty for none.
    pub without: &'static str,
    /// Whether the text must be all of its line: a shell's word for what happened to a program.
    pub alone: bool,
    /// What the whole number behind the text is.
    pub numbered: Numbered,
    /// Whether the last such line counts: what is loaded again replaces what was loaded before.
    pub latest: bool,
    /// Who writes it.
    pub log: LogKind,
    /// The releases it was seen in. A line found outside them still counts: tables are younger than logs.
    pub range: VersionRange,
    /// Where the wording was found.
    pub source: Wording,
    /// Why it means nothing, where it is [`Meaning::Harmless`]; empty elsewhere.
    pub reason: &'static str,
    /// A line it must find.
    pub example: &'static str,
    /// A similar line it must not find.
    pub not: &'static str,
}

/// What the whole number behind a signature's text is. Where there should be one, zero or none is no event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbered {
    /// None is read.
    No,
    /// It tells events apart, as the number of an Xid does.
    Kind,
    /// It counts; the latest stays.
    Amount,
}

/// Who writes a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogKind {
    /// An engine, or what wraps it.
    Engine(Engine),
    /// PyTorch and Python below an engine.
    Torch,
    /// The CUDA runtime.
    Cuda,
    /// What loads models: the hub's client, Transformers, safetensors.
    Hub,
    /// What starts and ends servers: a shell, a container runtime, Kubernetes, Ray.
    Launcher,
    /// NCCL.
    Nccl,
    /// The kernel, its drivers and its accounting files.
    Kernel,
    /// A router in front of engines.
    Router,
}

/// Where a wording was found. No wording comes from memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wording {
    /// In a recording's log, by its path below `fixtures/`; the example is one of its lines.
    Recording(&'static str),
    /// In the knowledge the tables are made from, by file and section. Figures in the example are filled in.
    Knowledge(&'static str),
    /// Quoted in a public thread, such as `vllm-project/vllm#9920`. The quotes are condensed, so only a short
    /// part of them is looked for.
    Incident(&'static str),
    /// In the source of who writes it, as `repository:path`. Values in the example are filled in.
    Code(&'static str),
    /// In the strings of a library whose source is not public, by its file name.
    Library(&'static str),
}

impl Wording {
    /// The address of a public thread or source.
    pub fn url(self) -> Option<String> {
        let id = match self {
            Self::Incident(id) => id,
            Self::Code(place) => {
                let (repository, path) = place.split_once(':')?;
                return Some(format!("https://github.com/{repository}/blob/HEAD/{path}"));
            }
            Self::Recording(_) | Self::Knowledge(_) | Self::Library(_) => return None,
        };
        let (repository, thread) = id.split_once('#')?;
        let is_number = thread.bytes().all(|byte| byte.is_ascii_digit());
        Some(if is_number {
            format!("https://github.com/{repository}/issues/{thread}")
        } else {
            format!("https://github.com/{repository}")
        })
    }
}

impl Signature {
    /// A row with its words; `from` adds where they were found.
    pub(super) const fn new(log: LogKind, meaning: Meaning, text: &'static str) -> Self {
        Self {
            meaning,
            text,
            with: "",
            without: "",
            alone: false,
            numbered: Numbered::No,
            latest: false,
            log,
            range: VersionRange::ALL,
            source: Wording::Knowledge(""),
            reason: "",
            example: "",
            not: "",
        }
    }

    /// Only in lines that hold this too.
    #[must_use]
    pub(super) const fn with(mut self, text: &'static str) -> Self {
        self.with = text;
        self
    }

    /// Only in lines that do not hold this.
    #[must_use]
    pub(super) const fn without(mut self, text: &'static str) -> Self {
        self.without = text;
        self
    }

    /// Only where the text is all of its line.
    #[must_use]
    pub(super) const fn alone(mut self) -> Self {
        self.alone = true;
        self
    }

    /// With a number behind the text.
    #[must_use]
    pub(super) const fn numbered(mut self, numbered: Numbered) -> Self {
        self.numbered = numbered;
        self
    }

    /// The last such line counts.
    #[must_use]
    pub(super) const fn latest(mut self) -> Self {
        self.latest = true;
        self
    }

    /// From a release on.
    #[must_use]
    pub(super) const fn since(mut self, since: &'static str) -> Self {
        self.range.since = since;
        self
    }

    /// Up to and including a release.
    #[must_use]
    pub(super) const fn until(mut self, until: &'static str) -> Self {
        self.range.until = until;
        self
    }

    /// Where it was found, a line it must find and one it must not.
    #[must_use]
    pub(super) const fn from(mut self, source: Wording, example: &'static str, not: &'static str) -> Self {
        self.source = source;
        self.example = example;
        self.not = not;
        self
    }

    /// Why it means nothing.
    #[must_use]
    pub(super) const fn because(mut self, reason: &'static str) -> Self {
        self.reason = reason;
        self
    }

    /// Whether a line that holds [`text`](Self::text) is this one.
    pub(super) fn fits(&self, line: &str) -> bool {
        (self.with.is_empty() || line.contains(self.with))
            && (self.without.is_empty() || !line.contains(self.without))
            && (!self.alone || line.trim() == self.text)
    }

    /// The whole number behind the text. What stands in brackets or is punctuation between them is skipped: drivers
    /// put the device there.
    pub(super) fn number(&self, line: &str) -> Option<u32> {
        let (_, mut rest) = line.split_once(self.text)?;
        rest = rest.trim_start();
        if let Some(bracketed) = rest.strip_prefix('(') {
            rest = bracketed.split_once(')')?.1;
        }
        let rest = rest.trim_start_matches([' ', ':', '=', '(']);
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        // Kinds have few digits; a long number is something else, and must not become an event each.
        rest[..end].parse().ok().filter(|number| self.numbered != Numbered::Kind || *number < 10_000)
    }
}
