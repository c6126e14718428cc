//! What a change would do: the simulator calibrated on a case, and the case replayed with the change.
//!
//! [`calibrate`] reads arrivals, lengths, limits and step times off a case and fits the rest until the
//! replay shows what was measured; [`what_if`] replays with a [`Change`]; [`predict`] does both for the
//! primary finding of a diagnosis. All of it is pure: the same case gives the same figures anywhere.
//! Where the replay does not show what was measured there is no prediction, and the figures say why.

mod calibrate;
mod change;
mod foresee;
mod lengths;
mod measured;
mod predict;
mod replay;
mod setup;
mod step_fit;
mod traffic;
mod trials;
mod why_not;
mod window;

pub use calibrate::{Calibration, calibrate};
pub use change::Change;
pub use foresee::what_if;
pub use measured::Measured;
pub use predict::{Foresight, predict};
pub use traffic::Traffic;
pub use trials::{Trial, trials};
pub use why_not::WhyNot;
