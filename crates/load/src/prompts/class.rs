//! Requests of one kind.

use intriage_case::{Objective, ObjectiveParseError, Ratio, Seconds};
use intriage_simulate::{Lengths, Nanos, Random};

use super::prefix::Prefix;

/// Sessions of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// How often, against the other classes.
    pub weight: f64,
    /// Tokens of a first turn, the shared beginning included.
    pub input: Lengths,
    /// Tokens of what the user says on later turns; as on the first where not given.
    pub later: Option<Lengths>,
    /// The most tokens asked for, each turn.
    pub output: Lengths,
    /// Text its prompts begin with.
    pub prefix: Option<Prefix>,
    /// Fewest and most turns of a session; any number between is as likely.
    pub turns: (u32, u32),
    /// Pause between an answer and the next turn.
    pub think: Think,
    /// Share of requests that the client gives up halfway.
    pub abort_share: Ratio,
    /// Objectives as `ttft.p99=200ms`.
    pub objectives: Vec<String>,
}

/// How long a user thinks between turns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Think {
    /// Always as long.
    Fixed(Seconds),
    /// Exponential with this mean.
    Exponential(Seconds),
}

impl Class {
    /// Single requests with these lengths and nothing special about them.
    pub fn plain(name: &str, input: Lengths, output: Lengths) -> Self {
        Self {
            name: name.to_owned(),
            weight: 1.0,
            input,
            later: None,
            output,
            prefix: None,
            turns: (1, 1),
            think: Think::Fixed(Seconds(0.0)),
            abort_share: Ratio(0.0),
            objectives: Vec::new(),
        }
    }

    /// Its objectives, read.
    pub fn objectives(&self) -> Result<Vec<Objective>, ObjectiveParseError> {
        self.objectives.iter().map(|text| text.parse()).collect()
    }
}

impl Think {
    /// Draws a pause.
    pub(super) fn draw(self, random: &mut Random) -> Nanos {
        Nanos::from_seconds(match self {
            Self::Fixed(time) => time,
            Self::Exponential(mean) => Seconds(mean.0 * random.exponential()),
        })
    }
}
