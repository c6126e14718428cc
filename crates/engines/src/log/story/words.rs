//! The story of a log in words.

use intriage_case::{Requests, Seconds};

use super::{LogEnd, LogStory};

impl LogStory {
    /// The story in two to four lines.
    pub fn lines(&self) -> Vec<String> {
        let mut what: Vec<String> =
            [&self.engine, &self.model, &self.card].into_iter().flatten().cloned().collect();
        what.extend(self.began.as_ref().map(|began| format!("began {began}")));
        if self.starts > 1 {
            what.push(format!("start {} of {}", self.starts, self.starts));
        }
        what.extend((!self.flags.is_empty()).then(|| self.flags.join(", ")));
        let mut lines = vec![what.join(", ")];
        lines.push(self.life().join("; "));
        lines.extend(self.error());
        lines.retain(|line| !line.is_empty());
        lines
    }

    fn life(&self) -> Vec<String> {
        let mut life = Vec::new();
        life.push(match (self.came_up, self.seconds_to_ready) {
            (Some(true), Some(seconds)) => format!("came up after {}", Seconds(seconds)),
            (Some(true), None) => "came up".to_owned(),
            (Some(false), _) => "did not come up".to_owned(),
            (None, _) => "whether it came up is not told".to_owned(),
        });
        let (good, bad) = self.answers.iter().partition::<Vec<_>, _>(|(status, _)| **status < 400);
        let good: u64 = good.iter().map(|(_, count)| **count).sum();
        if !self.answers.is_empty() {
            let failed: Vec<String> =
                bad.iter().map(|(status, count)| format!("{count} × {status}")).collect();
            let failed = if failed.is_empty() { String::new() } else { format!(", {}", failed.join(", ")) };
            life.push(format!("answered {good} requests{failed}"));
        }
        let peak = |most: Option<f64>, does: &str| {
            most.filter(|most| *most > 0.0).map(|most| format!("at most {} {does}", Requests(most)))
        };
        life.extend(peak(self.peak_running, "running"));
        life.extend(peak(self.peak_waiting, "waiting"));
        life.extend(self.tokens_per_second.map(|pace| format!("{pace:.0} tokens/s")));
        let heard = self.last_heard.as_ref().map_or(String::new(), |at| format!(" (last line {at})"));
        life.push(match self.end {
            LogEnd::Unknown => format!("no line tells of its end{heard}"),
            LogEnd::Stopped => format!("was stopped{heard}"),
            LogEnd::Killed => format!("was killed{heard}"),
            LogEnd::Crashed => format!("died{heard}"),
            LogEnd::FailedStart => format!("ended at its start{heard}"),
        });
        life
    }

    fn error(&self) -> Option<String> {
        if let Some(root) = &self.root {
            let place = root.place.as_ref().map_or(String::new(), |place| format!(", {place}"));
            let by = root.rank.as_ref().or(root.process.as_ref());
            let by = by.map_or(String::new(), |by| format!(", said by {by}"));
            return Some(format!("first error, line {}: {}{place}{by}", root.line, root.says));
        }
        let fatal = self.first_fatal.as_ref()?;
        Some(format!("first fatal line, {}: {}", fatal.line, fatal.says))
    }
}
