//! The few styles used: they carry meaning, never decoration.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};

pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const UNSURE: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const HEAD: Style = Style::new().bold();
pub(crate) const QUIET: Style = Style::new().dimmed();
pub(crate) const BAR: Style = AnsiColor::Cyan.on_default();

/// Text in a style.
pub(crate) fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}
