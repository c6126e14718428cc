//! Metric families, and which sample belongs to which.

use std::borrow::Cow;
use std::collections::HashMap;

use super::labels::unescape;

/// A metric as its server declares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Family<'a> {
    /// The declared name. The text format declares a counter with its `_total`, OpenMetrics without.
    pub name: &'a str,
    /// The declared type; [`Kind::Unknown`] if there is no `# TYPE` line.
    pub kind: Kind,
    /// The help text as written; [`Family::help_text`] resolves its escapes.
    pub help: Option<&'a str>,
    /// The unit, such as `seconds` (OpenMetrics only).
    pub unit: Option<&'a str>,
}

impl<'a> Family<'a> {
    /// The help text with `\\`, `\"` and `\n` resolved.
    #[must_use]
    pub fn help_text(&self) -> Option<Cow<'a, str>> {
        self.help.map(unescape)
    }
}

/// The type of a metric, as declared by `# TYPE`: never guessed from the name, because a histogram may well be
/// called `vllm:iteration_tokens_total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Kind {
    /// Only grows, and starts again at zero with the server.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Cumulative buckets, a sum and a count, all counters.
    Histogram,
    /// Quantiles worked out by the server, a sum and a count.
    Summary,
    /// Buckets that go up and down (OpenMetrics).
    GaugeHistogram,
    /// One boolean for each named state (OpenMetrics).
    StateSet,
    /// A constant 1, of which the labels matter (OpenMetrics).
    Info,
    /// Not declared, or declared as `untyped` or `unknown`.
    #[default]
    Unknown,
}

impl Kind {
    /// The type that a `# TYPE` line means by this word. Prometheus does not mind the case, nor do we.
    pub(super) fn from_word(word: &str) -> Option<Self> {
        const WORDS: [(&str, Kind); 9] = [
            ("gauge", Kind::Gauge),
            ("counter", Kind::Counter),
            ("histogram", Kind::Histogram),
            ("summary", Kind::Summary),
            ("untyped", Kind::Unknown),
            ("unknown", Kind::Unknown),
            ("info", Kind::Info),
            ("stateset", Kind::StateSet),
            ("gaugehistogram", Kind::GaugeHistogram),
        ];
        WORDS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).map(|&(_, kind)| kind)
    }

    /// Whether a family of this type has samples of its own name with this suffix.
    fn has_suffix(self, suffix: &str) -> bool {
        match self {
            Self::Counter => matches!(suffix, "_total" | "_created"),
            Self::Histogram => matches!(suffix, "_bucket" | "_count" | "_sum" | "_created"),
            Self::Summary => matches!(suffix, "_count" | "_sum" | "_created"),
            // The last two where a gauge histogram is written in the text format.
            Self::GaugeHistogram => {
                matches!(suffix, "_bucket" | "_gcount" | "_gsum" | "_created" | "_count" | "_sum")
            }
            Self::Info => suffix == "_info",
            Self::Gauge | Self::StateSet | Self::Unknown => false,
        }
    }
}

/// The families declared so far.
///
/// The samples of a family follow its declaration, so nearly every lookup ends at the last name or at `current`.
/// The map is for text that does not keep to this: it must not cost a search of the whole list for each line.
#[derive(Debug, Default)]
pub(super) struct Families<'a> {
    list: Vec<Family<'a>>,
    by_name: HashMap<&'a str, usize>,
    current: usize,
    /// The last sample's name and what came of it, as long as no declaration can have changed that.
    last: Option<(&'a str, Option<usize>)>,
}

impl<'a> Families<'a> {
    /// The family of this name, added if it is new, to be filled in; it becomes the current one.
    pub(super) fn declare(&mut self, name: &'a str) -> &mut Family<'a> {
        self.last = None;
        if self.list.get(self.current).is_none_or(|family| family.name != name) {
            self.current = *self.by_name.entry(name).or_insert_with(|| {
                self.list.push(Family { name, kind: Kind::Unknown, help: None, unit: None });
                self.list.len() - 1
            });
        }
        &mut self.list[self.current]
    }

    /// The index of the family that a sample of this name belongs to.
    #[inline]
    pub(super) fn of_sample(&mut self, name: &'a str) -> Option<u32> {
        let index = match self.last {
            Some((last, index)) if last == name => index,
            _ => self.search(name),
        };
        self.last = Some((name, index));
        u32::try_from(index?).ok()
    }

    fn search(&self, name: &str) -> Option<usize> {
        let family = self.list.get(self.current)?;
        let suffix = name.strip_prefix(family.name);
        if suffix.is_some_and(|suffix| suffix.is_empty() || family.kind.has_suffix(suffix)) {
            return Some(self.current);
        }
        if let Some(&index) = self.by_name.get(name) {
            return Some(index);
        }
        // No suffix has a second underscore, so there is one place to cut.
        let (base, suffix) = name.split_at(name.rfind('_')?);
        let &index = self.by_name.get(base)?;
        self.list.get(index).filter(|family| family.kind.has_suffix(suffix)).map(|_| index)
    }

    pub(super) fn into_list(self) -> Vec<Family<'a>> {
        self.list
    }
}
