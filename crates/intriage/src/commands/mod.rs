//! One file a command: call, print.

mod access;
pub(crate) mod bench;
mod budgets;
pub(crate) mod case;
pub(crate) mod check;
pub(crate) mod collect;
mod collecting;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod explain;
mod given;
mod ground_truth;
pub(crate) mod host;
mod keeping;
mod machine;
pub(crate) mod plan;
mod preflight;
mod print;
pub(crate) mod scoreboard;
pub(crate) mod simulate;
mod starting;
mod target;
mod watching;
mod ways;
