//! The limits a run is judged by, each with its reason.

/// The error given holds for this share of the requests: a 99th percentile is made by the worst hundredth, so the error
/// must reach beyond it.
pub(super) const REACH: f64 = 0.999;
/// The client's own part of a first-token time, as a share of it, beyond which the figure says more about the client.
pub(super) const OWN_SHARE: f64 = 0.05;
/// Own parts below are no reason to complain, however short the time itself.
pub(super) const OWN_LEAST: f64 = 0.001;
/// A loop that is busy for more of its time queues what arrives (M/D/1: twice the service time at 2/3, five times at 0.9).
pub(super) const BUSY: f64 = 0.85;
/// Time waited for a core, as a share of the time, beyond which another process decides when we look.
pub(super) const WAITED: f64 = 0.05;
/// A hypervisor that takes more makes every clock reading late.
pub(super) const STOLEN: f64 = 0.05;
/// Sends later than this at the 99th percentile, or than this share of the gap between sends, are not the plan.
pub(super) const LATE: f64 = 0.001;
pub(super) const LATE_SHARE: f64 = 0.1;
/// But later than this they never are, however slow the plan.
pub(super) const LATE_MOST: f64 = 0.010;
/// With a smaller share of the requests answered, the figures are those of a minority.
pub(super) const ANSWERED: f64 = 0.5;
/// Places of a closed loop may stand empty for so large a share of the time.
pub(super) const IDLE: f64 = 0.02;
/// The rate may miss the plan by so much.
pub(super) const RATE: f64 = 0.005;
/// Reading later than this at the 99th percentile lets chunks pile up.
pub(super) const LAG: f64 = 0.005;
/// Chunks that piled up because they were read late, as a share of all.
pub(super) const PILED: f64 = 0.01;
/// Prompt lengths may miss the declared ones by so much on average.
pub(super) const LENGTH: f64 = 0.02;
/// The hit ratio may miss the declared one by so much.
pub(super) const HITS: f64 = 0.05;
/// What the kernel's stamp and the offset between its clock and ours leave open.
pub(super) const STAMP: f64 = 5e-6;
