//! From a case to a verdict: where the time went, why, and what to change.
//!
//! [`diagnose`] is a pure function: no I/O, no clock, no randomness. It accounts for the time first
//! (`account`), then holds every aspect of the service against a yardstick (`symptoms`), then asks every cause
//! of the [catalogue](causes) to weigh the evidence, then ranks those that explain what hurts (`rank`), and
//! says it in one sentence (`verdict`).

mod account;
mod benign;
mod calibration;
pub mod causes;
mod clients;
mod config_advice;
mod contents;
mod context;
mod diagnosis;
mod difference;
mod evidence;
mod few_long;
mod floor;
mod health;
mod judge;
mod lately;
mod log_alone;
mod notes;
mod objectives;
mod past;
mod paths;
mod prediction;
mod preflight;
mod rank;
mod remedies;
mod segments;
mod silence;
mod symptoms;
#[cfg(test)]
mod testing;
mod thresholds;
mod timeline;
mod verdict;
mod weighing;

pub use benign::{Benign, benign_catalogue};
pub use causes::{Cause, Class, Layer, LookAlike, Probe, Remedy, catalogue, find};
pub use config_advice::{
    AdviceFinding, AdviceRule, AdviceSurroundings, ConfigAdvice, Severity, advice_rules, advise,
};
pub use contents::{
    CONTENTS_SCHEMA, Contents, GpuEntry, HostEntry, LogEntry, PathEntry, ReplicaEntry, contents,
};
pub use context::{Context, Level, Quantile, Spread};
pub use diagnosis::{
    Candidate, Diagnosis, EngineSummary, Finding, Impact, ImpactOn, Named, ObjectiveResult, Outcome, Primary,
    RemedyOut, RuledOut, SCHEMA, Segment, SegmentOf, Status, Unjudged, Verdict, WindowSummary,
};
pub use difference::{Area, DIFFERENCE_SCHEMA, Difference, Row, Side, Weight, difference};
pub use evidence::Evidence;
pub use health::{Check, HEALTH_SCHEMA, Health, State, health};
pub use judge::{diagnose, diagnose_observed};
pub use prediction::{Estimate, Fit, Foreseen, Prediction, Times};
pub use preflight::{
    PREFLIGHT_SCHEMA, Preflight, PreflightCheck, PreflightFinding, PreflightVerdict, preflight,
};
pub use symptoms::{Aspect, Harm, Symptom, Yardstick};
pub use thresholds::{Limit, ThresholdError, Thresholds};
pub use timeline::{Event, EventKind};
pub use weighing::{Advice, Judgement, Test, Weighing};
