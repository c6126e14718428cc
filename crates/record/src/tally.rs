//! Adds up finished requests, in memory that does not grow with their number.

use std::collections::BTreeMap;

use intriage_case::{Nanos, Objective, ObjectiveMetric, Seconds, Tokens};

use crate::event::{Finished, Outcome};
use crate::figures::{Figures, gaps};
use crate::header::Declared;
use crate::spread::Spread;
use crate::steady::Second;
use crate::summary::Beside;

/// Which requests a group holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GroupKey {
    /// All that count.
    All,
    /// One class of the mix.
    Class(u16),
    /// One stage of the run.
    Stage(u16),
    /// First turns of sessions that have several.
    FirstTurn,
    /// Later turns.
    LaterTurn,
}

/// The sums and distributions of one group of requests.
#[derive(Debug, Clone, Default)]
pub(crate) struct GroupTally {
    pub outcomes: BTreeMap<Outcome, u64>,
    pub statuses: BTreeMap<u16, u64>,
    pub first_sent: Option<Nanos>,
    pub last_sent: Option<Nanos>,
    pub last_ended: Option<Nanos>,
    pub output_tokens: u64,
    pub wasted_tokens: u64,
    pub input_tokens: u64,
    pub cached_tokens: u64,
    pub cached_known: u64,
    /// Requests whose tokens were spread over their chunks because nobody told.
    pub guessed_tokens: u64,
    pub good: u64,
    /// Requests whose figure broke the objective, by its place.
    pub broken: Vec<u64>,
    pub ttfb: Spread,
    pub first_chunk: Spread,
    pub first_reasoning: Spread,
    pub first_content: Spread,
    pub ttft: Spread,
    pub planned_ttft: Spread,
    pub itl: Spread,
    pub gap: Spread,
    pub tpot: Spread,
    pub normalised_tpot: Spread,
    pub e2e: Spread,
    pub planned_e2e: Spread,
    pub late: Spread,
    pub begun_late: Spread,
    pub connect: Spread,
}

/// All that is summed up of a run.
#[derive(Debug, Clone)]
pub struct Tally {
    pub(crate) declared: Declared,
    pub(crate) groups: BTreeMap<GroupKey, GroupTally>,
    pub(crate) warmups: u64,
    /// Tokens of answers and prompts of everything that was sent, warm-up and failures included.
    pub(crate) all_output: u64,
    pub(crate) all_input: u64,
    /// First tokens of everything that was sent.
    pub(crate) all_ttft: Spread,
    pub(crate) all_ttfb: Spread,
    pub(crate) seconds: Vec<Second>,
    /// The client's own part in each first-token time.
    pub(crate) own: Spread,
    /// From sending to the first byte of an answer whose head came ahead of its first token.
    pub(crate) path: Spread,
    pub(crate) writing: Spread,
    pub(crate) lag: Spread,
    pub(crate) lengths: Lengths,
    pub(crate) errors: BTreeMap<(Outcome, String), u64>,
    pub(crate) late_merges: u64,
    pub(crate) generated_chunks: u64,
}

/// Declared lengths against those the server counted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lengths {
    pub requests: u64,
    pub declared_input: u64,
    pub counted_input: u64,
    pub least_extra: Option<i64>,
    pub most_extra: Option<i64>,
    pub outputs: u64,
    pub short_outputs: u64,
}

/// Chunks of one read that waited for less came together as far as anybody can tell, however fast the tokens.
const TOGETHER: Nanos = Nanos(2_000_000);
/// Different error texts kept; the rest is counted under the outcome alone.
const ERROR_TEXTS: usize = 50;

impl Tally {
    /// Nothing yet.
    pub fn new(declared: Declared) -> Self {
        Self {
            declared,
            groups: BTreeMap::new(),
            warmups: 0,
            all_output: 0,
            all_input: 0,
            all_ttft: Spread::default(),
            all_ttfb: Spread::default(),
            seconds: Vec::new(),
            own: Spread::default(),
            path: Spread::default(),
            writing: Spread::default(),
            lag: Spread::default(),
            lengths: Lengths::default(),
            errors: BTreeMap::new(),
            late_merges: 0,
            generated_chunks: 0,
        }
    }

    /// One more finished request.
    pub fn add(&mut self, finished: &Finished) {
        let request = &finished.request;
        if !self.declared.without_starts {
            Second::count(&mut self.seconds, finished);
        }
        let figures = Figures::of(finished);
        self.all_output += u64::from(figures.tokens.number());
        self.all_input += u64::from(request.prompt_tokens.unwrap_or(0));
        add(&mut self.all_ttft, figures.ttft);
        add(&mut self.all_ttfb, figures.ttfb);
        if request.warmup {
            self.warmups += 1;
            return;
        }
        self.client_side(finished, &figures);
        self.lengths.add(finished);
        if request.outcome.is_failure() {
            let text = if self.errors.len() < ERROR_TEXTS { request.error.clone() } else { String::new() };
            *self.errors.entry((request.outcome, text)).or_default() += 1;
        }
        let objectives = self.declared.objectives_of(request.class).to_vec();
        let turn = if request.turn == 0 { GroupKey::FirstTurn } else { GroupKey::LaterTurn };
        let keys = [
            Some(GroupKey::All),
            (self.declared.classes.len() > 1).then_some(GroupKey::Class(request.class)),
            (self.declared.stages.len() > 1).then_some(GroupKey::Stage(request.stage)),
            self.declared.sessions.then_some(turn),
        ];
        for key in keys.into_iter().flatten() {
            self.groups.entry(key).or_default().add(finished, &figures, &objectives);
        }
    }

    /// Requests that ended so far, warm-up included.
    pub fn ended(&self) -> u64 {
        self.warmups + self.groups.get(&GroupKey::All).map_or(0, |g| g.outcomes.values().sum())
    }

    /// The client's side of what the server counted: `server_ttft` is the server's mean, then its sums; `scrape` is
    /// the mean time of a scrape of its metrics beside the load, `front_end_waited` how long its front end was kept from a
    /// CPU in all.
    pub fn beside(
        &self,
        server_ttft: Option<Seconds>,
        output: Option<Tokens>,
        input: Option<Tokens>,
        scrape: Option<Seconds>,
        front_end_waited: Option<Seconds>,
    ) -> Beside {
        let client_ttft = self.all_ttft.mean();
        let all = self.groups.get(&GroupKey::All);
        let life = all.and_then(|all| all.e2e.mean());
        let run =
            all.and_then(|all| Some(all.last_ended?.since(all.first_sent?).seconds())).filter(|s| s.0 > 0.0);
        Beside {
            server_ttft,
            client_ttft,
            between: client_ttft.zip(server_ttft).map(|(c, s)| c - s),
            path: self.all_ttfb.mean(),
            scrape,
            // All of its waiting, of which each request in flight had a part: by Little's law this much of a life.
            cpu_wait: front_end_waited
                .zip(life.zip(run))
                .map(|(waited, (life, run))| Seconds(waited.0 * life.0 / run.0)),
            server_output_tokens: output,
            client_output_tokens: Tokens(self.all_output as f64),
            server_input_tokens: input,
            client_input_tokens: Tokens(self.all_input as f64),
        }
    }

    /// What the client itself added or may have added.
    fn client_side(&mut self, finished: &Finished, figures: &Figures) {
        if finished.request.outcome == Outcome::NeverSent {
            return;
        }
        self.writing.add(figures.writing);
        if figures.ttft.is_some() {
            let early = match figures.first_early {
                // Read in time: they left together, or within a few tokens' time.
                Nanos(0) => figures.tpot().map_or(0, |t| t.0 * u64::from(figures.first_with)),
                Nanos(early) => early,
            };
            self.own.add(Nanos(figures.writing.0 + early));
            add(&mut self.path, figures.ttfb.filter(|_| figures.head_ahead));
        }
        let mut before = None;
        for chunk in finished.chunks.iter().filter(|c| c.kind.is_generated()) {
            self.generated_chunks += 1;
            if before == Some(chunk.at) {
                // Several chunks of one read: they waited for each other only if the client was late.
                let limit = figures.tpot().map_or(u64::MAX, |t| (t.0 / 2).max(TOGETHER.0));
                self.late_merges += u64::from(u64::from(chunk.lag) > limit);
            } else {
                self.lag.add(Nanos(u64::from(chunk.lag)));
            }
            before = Some(chunk.at);
        }
    }
}

impl Declared {
    /// The objectives a request of this class must hold to be a good one.
    pub fn objectives_of(&self, class: u16) -> &[Objective] {
        match self.classes.get(usize::from(class)) {
            Some((_, own)) if !own.is_empty() => own,
            _ => &self.objectives,
        }
    }
}

impl GroupTally {
    fn add(&mut self, finished: &Finished, figures: &Figures, objectives: &[Objective]) {
        let request = &finished.request;
        *self.outcomes.entry(request.outcome).or_default() += 1;
        if request.outcome == Outcome::NeverSent {
            return;
        }
        if request.status != 0 {
            *self.statuses.entry(request.status).or_default() += 1;
        }
        self.first_sent = Some(self.first_sent.map_or(request.sent, |t| t.min(request.sent)));
        self.last_sent = self.last_sent.max(Some(request.sent));
        self.last_ended = self.last_ended.max(Some(request.ended));
        self.late.add(figures.late);
        self.begun_late.add(figures.begun_late);
        add(&mut self.connect, figures.connect);
        if request.outcome != Outcome::Ok {
            self.wasted_tokens += u64::from(figures.tokens.number());
            return;
        }
        self.output_tokens += u64::from(figures.tokens.number());
        self.input_tokens += u64::from(request.prompt_tokens.unwrap_or(0));
        if let Some(cached) = request.cached_tokens {
            self.cached_tokens += u64::from(cached);
            self.cached_known += u64::from(request.prompt_tokens.unwrap_or(0));
        }
        add(&mut self.ttfb, figures.ttfb);
        add(&mut self.first_chunk, figures.first_chunk);
        add(&mut self.first_reasoning, figures.first_reasoning);
        add(&mut self.first_content, figures.first_content);
        add(&mut self.ttft, figures.ttft);
        add(&mut self.planned_ttft, figures.ttft.map(|t| t + figures.late));
        add(&mut self.tpot, figures.tpot());
        add(&mut self.normalised_tpot, figures.normalised_tpot());
        add(&mut self.e2e, figures.e2e);
        add(&mut self.planned_e2e, figures.e2e.map(|t| t + figures.late));
        self.guessed_tokens += u64::from(!gaps(finished, |gap, tokens| {
            self.gap.add(gap);
            if tokens > 0.0 {
                self.itl.add_many(Nanos((gap.0 as f64 / tokens) as u64), (tokens.round() as u64).max(1));
            }
        }));
        self.broken.resize(objectives.len().max(self.broken.len()), 0);
        let mut good = true;
        for (place, objective) in objectives.iter().enumerate() {
            if !holds(objective, figures) {
                self.broken[place] += 1;
                good = false;
            }
        }
        self.good += u64::from(good);
    }
}

fn add(to: &mut Spread, time: Option<Nanos>) {
    if let Some(time) = time {
        to.add(time);
    }
}

/// Whether a request holds an objective on its own: its first token, its mean token, its end. From the planned
/// instant, because its user waits from then.
fn holds(objective: &Objective, figures: &Figures) -> bool {
    let figure = match objective.metric {
        ObjectiveMetric::Ttft => figures.ttft.map(|t| t + figures.late),
        // An answer of one token has no pace to break.
        ObjectiveMetric::Itl | ObjectiveMetric::Tpot => figures.tpot().or(Some(Nanos::ZERO)),
        ObjectiveMetric::E2e => figures.e2e.map(|t| t + figures.late),
        ObjectiveMetric::Queue | ObjectiveMetric::Errors => Some(Nanos::ZERO),
    };
    figure.is_some_and(|f| f.seconds().0 <= objective.limit)
}

impl Lengths {
    fn add(&mut self, finished: &Finished) {
        let request = &finished.request;
        if request.outcome != Outcome::Ok {
            return;
        }
        if let (Some(declared), Some(counted), 0) = (request.input, request.prompt_tokens, request.turn) {
            self.requests += 1;
            self.declared_input += u64::from(declared);
            self.counted_input += u64::from(counted);
            let extra = i64::from(counted) - i64::from(declared);
            self.least_extra = Some(self.least_extra.map_or(extra, |e| e.min(extra)));
            self.most_extra = Some(self.most_extra.map_or(extra, |e| e.max(extra)));
        }
        if let Some(counted) = request.completion_tokens {
            self.outputs += 1;
            self.short_outputs += u64::from(counted != request.output);
        }
    }
}
