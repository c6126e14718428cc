//! One file a command: call, print.

pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod explain;
pub(crate) mod plan;
mod print;
pub(crate) mod scoreboard;
pub(crate) mod simulate;
mod watching;
