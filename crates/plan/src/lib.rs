//! Capacity planning: from a model, a GPU and a load to memory, limits and a number of machines.
//!
//! [`plan`] is a pure function of an [`Ask`]: physics gives memory and speed, the simulator gives the
//! rate at which one instance still holds its objectives, arithmetic gives the fleet. The same ask and
//! seed give the same plan on any machine. Whatever was not told is assumed, and every assumption is a
//! sentence in the plan.

mod alternatives;
mod ask;
mod assumptions;
mod capacity;
mod combinations;
mod deployed;
mod estimate;
mod fleet;
mod formats;
mod instance;
mod limits;
mod measured;
mod memory;
mod notes;
mod pace;
mod plan;
mod search;

pub use alternatives::Alternative;
pub use ask::{Ask, AskError, EngineLimits, Headroom, Traffic};
pub use capacity::{Binding, Capacity, Limit, Pace, RatePoint, rate_text};
pub use combinations::Combination;
pub use deployed::{Deployed, Layout, Release};
pub use estimate::Saturated;
pub use fleet::{Count, Fleet, Misread, OneLost};
pub use formats::unsupported;
pub use limits::{Ceiling, CeilingOf};
pub use measured::{Measured, MeasuredError};
pub use memory::{MemoryAccount, MemoryPart, Pool};
pub use plan::{Asked, Plan, SCHEMA, Verdict, plan};
