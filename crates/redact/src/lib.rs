//! Makes the text of a case safe to hand to a stranger, before it is written.
//!
//! Who should use this crate: whoever puts outside text into a case, a report or an error. A [`Redactor`] takes logs,
//! JSON bodies, command lines, environments and metrics pages, hides keys, tokens, passwords, cookies and credentials
//! behind `[redacted]`, prompts and outputs behind their length (`[412 characters]`), and addresses, hosts, e-mail and
//! user names behind pseudonyms (`ip-1`, `host-1`, `mail-1`, `user-1`). What a diagnosis reads stays: numbers, versions,
//! metric names, flags, models, lines.
//!
//! What holds for every text:
//! - the number of lines stays;
//! - redacting what was redacted changes nothing;
//! - the work is linear in the text's length;
//! - one original has one pseudonym in all texts of a redactor, and [`Redactor::map`] tells the owner which.
//!
//! What is looked for is a table, [`RULES`]; every row has an example of what it hides and of what it leaves alone.
//! No files, no sockets, no clock here.

mod access_log;
mod accounts;
mod addresses;
mod assigned;
mod assignments;
mod below;
mod colours;
mod command_line;
mod domains;
mod environment;
mod exposition;
mod headers;
mod held;
mod hits;
mod homes;
mod hosts;
mod json;
mod known;
mod looks;
mod multiline;
mod names;
mod prefixes;
mod prompts;
mod pseudonyms;
mod quotations;
mod records;
mod redactor;
mod renaming;
mod rules;
mod scan;
mod seen;
mod spoken;
mod system_log;
mod trade;
mod unify;
mod urls;
mod values;
mod yaml;

pub use pseudonyms::{MapError, PseudonymMap};
pub use redactor::Redactor;
pub use renaming::{pseudonyms_in, rename};
pub use rules::{RULES, Rule};
pub use seen::Seen;
pub use unify::Unifier;
