//! Counts over a set of draws.

use intriage_diagnose::Status;
use serde::Serialize;

use super::{DrawRow, Truth};

/// How a set of draws was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Score {
    /// Draws.
    pub draws: usize,
    /// Draws whose users were hurt.
    pub hurt: usize,
    /// Of these, called healthy.
    pub healthy: usize,
    /// Of the hurt, those of which nothing could be told.
    pub cannot_tell: usize,
    /// Of the hurt, those with a finding, whatever its cause.
    pub finding: usize,
    /// Of the hurt, those whose first cause is true.
    pub top1: usize,
    /// Of the hurt, those with a true cause among the first three.
    pub top3: usize,
    /// Draws in which nothing hurt.
    pub calm: usize,
    /// Of these, draws without any fault.
    pub without_fault: usize,
    /// Of the calm, alarms.
    pub alarms: usize,
    /// Of the calm, those of which nothing could be told.
    pub calm_cannot_tell: usize,
}

impl Score {
    /// Counts these draws.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a DrawRow>) -> Self {
        let mut score = Self::default();
        for row in rows {
            let cannot_tell = usize::from(row.status == Status::CannotTell);
            score.draws += 1;
            match row.truth {
                Truth::Hurt => {
                    score.hurt += 1;
                    score.healthy += usize::from(row.status == Status::Healthy);
                    score.finding += usize::from(row.status == Status::Finding);
                    score.cannot_tell += cannot_tell;
                    score.top1 += usize::from(row.is_named());
                    score.top3 += usize::from(row.is_among_three());
                }
                Truth::Calm => {
                    score.calm += 1;
                    score.without_fault += usize::from(row.faults.is_empty());
                    score.alarms += usize::from(row.is_alarm());
                    score.calm_cannot_tell += cannot_tell;
                }
                Truth::Between => {}
            }
        }
        score
    }
}
