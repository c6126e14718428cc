//! What was collected and what was not: the inventory of a case.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Bytes, Seconds};

/// What one collector brought.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Collected {
    /// What it looks at, such as `gpu` or `/server_info`.
    pub what: String,
    /// How it went.
    pub outcome: Gathered,
    /// How long it took.
    pub took: Seconds,
    /// What it brought, before compression.
    pub size: Bytes,
    /// What it was allowed; absent in cases that do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
}

/// What a collector may take: it is cut where it wants more, and the others go on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Budget {
    /// Most time, from when it began.
    pub time: Seconds,
    /// Most it may bring, before compression.
    pub size: Bytes,
}

/// How a collector fared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "result")]
pub enum Gathered {
    /// All it looks for.
    Whole,
    /// A part.
    Partly {
        /// What is missing and why.
        why: String,
    },
    /// Nothing.
    Skipped {
        /// The reason, and what would help.
        why: String,
    },
}
