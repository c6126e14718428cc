//! Sessions made up to given lengths.

use std::sync::Arc;

use intriage_case::ObjectiveParseError;
use intriage_simulate::{Nanos, Random};

use super::class::Class;
use super::prefix::MOST_GROUPS;
use super::text::{Key, Kind, Text};
use super::vocabulary::Vocabulary;
use super::{Session, Turn};

/// The most turns of a session.
const MOST_TURNS: u32 = 10_000;
/// Groups of all classes are numbered through, each class with room for [`MOST_GROUPS`].
const CLASS_BITS: u32 = 24;

/// Why classes cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SyntheticError {
    /// No class, or more than can be numbered.
    #[error("{0} classes; between 1 and 65535 are possible")]
    Classes(usize),
    /// Weights that are no weights.
    #[error("class {0}: its weight must be a positive number")]
    Weight(String),
    /// Groups out of range.
    #[error("class {name}: {groups} prefix groups; between 1 and {MOST_GROUPS} are possible")]
    Groups {
        /// The class.
        name: String,
        /// Groups asked for.
        groups: u32,
    },
    /// Turns out of range.
    #[error(
        "class {name}: from {least} to {most} turns; at least 1 and at most {MOST_TURNS}, the fewer first"
    )]
    Turns {
        /// The class.
        name: String,
        /// Fewest.
        least: u32,
        /// Most.
        most: u32,
    },
    /// An objective that cannot be read.
    #[error("class {name}: {why}")]
    Objective {
        /// The class.
        name: String,
        /// What is wrong.
        why: ObjectiveParseError,
    },
}

/// Sessions drawn from classes.
#[derive(Debug, Clone)]
pub struct Synthetic {
    classes: Arc<[Class]>,
    vocabulary: Arc<Vocabulary>,
    key: Key,
    template: u32,
    weights: f64,
}

/// A session in numbers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    pub(super) class: u16,
    pub(super) group: Option<u32>,
    pub(super) shared: u32,
    pub(super) turns: Vec<PlannedTurn>,
}

/// A turn in numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PlannedTurn {
    pub(super) input: u32,
    pub(super) output: u32,
    think: Nanos,
    abort_after: Option<u32>,
}

impl Synthetic {
    /// Sessions of these classes, in these words. `seed` decides what is drawn, `salt` (another one each run)
    /// only what the words are.
    pub fn new(
        classes: Vec<Class>,
        vocabulary: Arc<Vocabulary>,
        seed: u64,
        salt: u64,
    ) -> Result<Self, SyntheticError> {
        if classes.is_empty() || classes.len() > usize::from(u16::MAX) {
            return Err(SyntheticError::Classes(classes.len()));
        }
        classes.iter().try_for_each(check)?;
        let weights = classes.iter().map(|c| c.weight).sum();
        Ok(Self { classes: classes.into(), vocabulary, key: Key { seed, salt }, template: 0, weights })
    }

    /// Takes the tokens that the server's chat template puts around a first turn off its text, so that the whole
    /// prompt has the length drawn.
    #[must_use]
    pub const fn with_template(mut self, tokens: u32) -> Self {
        self.template = tokens;
        self
    }

    /// Its classes, in the order of [`Session::class`].
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// Its words.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// Tokens of the chat template that are taken off each first turn.
    pub const fn template(&self) -> u32 {
        self.template
    }

    /// The session of this number.
    pub fn session(&self, index: u64) -> Session {
        let plan = self.plan(index);
        let mut later = None;
        let mut turns: Vec<Turn> = Vec::with_capacity(plan.turns.len());
        for turn in &plan.turns {
            let first = turns.is_empty();
            let shared = if first { plan.shared } else { 0 };
            let words = self.vocabulary.words_for(turn.input - shared);
            let text = Text::new(&self.vocabulary, words);
            turns.push(Turn {
                system: plan.group.filter(|_| first).map(|group| self.prefix(plan.class, group, shared)),
                user: if first {
                    text.named(self.key, Kind::Own, index, words)
                } else {
                    text.unnamed(later.get_or_insert_with(|| self.key.random(Kind::Own, !index)), words)
                },
                input: Some(turn.input),
                shared,
                group: plan.group,
                output: turn.output,
                think: turn.think,
                abort_after: turn.abort_after,
            });
        }
        Session { class: plan.class, turns }
    }

    fn prefix(&self, class: u16, group: u32, tokens: u32) -> String {
        let words = self.vocabulary.words_for(tokens);
        let number = u64::from(class) << CLASS_BITS | u64::from(group);
        Text::new(&self.vocabulary, words).named(self.key, Kind::Group, number, words)
    }

    /// What the session of this number is like; no text is made.
    pub(super) fn plan(&self, index: u64) -> Plan {
        let mut random = Random::of(self.key.seed, "session", index);
        let number = self.pick(&mut random);
        let Some(class) = self.classes.get(number) else {
            return Plan { class: 0, group: None, shared: 0, turns: Vec::new() };
        };
        let own = self.vocabulary.salt_words();
        let input = class.input.draw(&mut random).saturating_sub(self.template).max(1);
        let drawn = class.prefix.and_then(|p| Some((p.draw(&mut random)?, p.within(input, own))));
        let grouped = drawn.filter(|(_, shared)| *shared > 0);
        let (least, most) = class.turns;
        let turns = least + random.below(u64::from(most - least) + 1) as u32;
        let turn = |number: u32| {
            let output = class.output.draw(&mut random);
            let gives_up = class.abort_share.0 > 0.0 && random.chance(class.abort_share.0);
            PlannedTurn {
                input: match number {
                    0 => input,
                    _ => class.later.as_ref().unwrap_or(&class.input).draw(&mut random),
                },
                output,
                think: if number == 0 { Nanos::ZERO } else { class.think.draw(&mut random) },
                abort_after: gives_up.then(|| 1 + random.below(u64::from(output - 1)) as u32),
            }
        };
        Plan {
            class: number as u16,
            group: grouped.map(|(group, _)| group),
            shared: grouped.map_or(0, |(_, shared)| shared),
            turns: (0..turns).map(turn).collect(),
        }
    }

    fn pick(&self, random: &mut Random) -> usize {
        if self.classes.len() == 1 {
            return 0;
        }
        let mut left = random.unit() * self.weights;
        let found = self.classes.iter().position(|c| {
            left -= c.weight;
            left < 0.0
        });
        found.unwrap_or(self.classes.len() - 1)
    }
}

fn check(class: &Class) -> Result<(), SyntheticError> {
    let name = || class.name.clone();
    if !(class.weight > 0.0 && class.weight.is_finite()) {
        return Err(SyntheticError::Weight(name()));
    }
    if let Some(prefix) = class.prefix
        && !(1..=MOST_GROUPS).contains(&prefix.groups)
    {
        return Err(SyntheticError::Groups { name: name(), groups: prefix.groups });
    }
    let (least, most) = class.turns;
    if least == 0 || least > most || most > MOST_TURNS {
        return Err(SyntheticError::Turns { name: name(), least, most });
    }
    let read = class.objectives();
    read.map(|_| ()).map_err(|why| SyntheticError::Objective { name: name(), why })
}
