//! Puts the numbers of a file's lines back into what was read from its plain form.

use intriage_case::Source;

use super::Pasted;
use crate::log::LogReadings;
use crate::observed::Observed;

impl Pasted {
    /// Every place a case's readings name.
    pub(crate) fn renumber(&self, observed: &mut Observed) {
        if self.numbers.is_empty() {
            return;
        }
        self.renumber_log(&mut observed.log);
        observed.identity.version_from.iter_mut().for_each(|source| self.source(source));
        observed.config.sources().for_each(|source| self.source(source));
        observed.table.sources().for_each(|source| self.source(source));
        if let Some(before) = &mut observed.before {
            before.config.sources().for_each(|source| self.source(source));
        }
        for report in &mut observed.gpu.reports {
            report.line = self.number(&report.file, report.line);
        }
    }

    /// Every place in a log's readings.
    pub(crate) fn renumber_log(&self, log: &mut LogReadings) {
        for event in &mut log.events {
            for line in [&mut event.line, &mut event.last_line, &mut event.told_line] {
                *line = self.number(&event.file, *line);
            }
        }
        for series in &mut log.series {
            series.line = self.number(&series.file, series.line);
        }
    }

    fn source(&self, source: &mut Source) {
        if let Source::Log { file, line } = source {
            *line = self.number(file, *line);
        }
    }
}
