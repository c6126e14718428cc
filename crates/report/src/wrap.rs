//! Wrapping at words, with a hanging indent.

/// Columns of a page unless the terminal is narrower.
pub(crate) const WIDTH: usize = 100;

/// Breaks `text` at spaces into lines of at most `width` columns.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let needed = line.chars().count() + usize::from(!line.is_empty()) + word.chars().count();
        if needed > width && !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// `first` in front of the first line, the same width of space in front of the others.
pub(crate) fn hang(first: &str, text: &str) -> String {
    hang_within(WIDTH, first, text)
}

/// [`hang`] in a page of `width` columns.
pub(crate) fn hang_within(width: usize, first: &str, text: &str) -> String {
    let indent = " ".repeat(first.chars().count());
    let lines = wrap(text, width.saturating_sub(first.chars().count()));
    let mut out = String::new();
    for (i, line) in lines.iter().enumerate() {
        out.push_str(if i == 0 { first } else { &indent });
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// Cuts to `width` columns, with an ellipsis where something was cut.
pub(crate) fn shorten(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_words_and_hang() {
        assert_eq!(wrap("a bb ccc dddd", 6), ["a bb", "ccc", "dddd"]);
        assert_eq!(hang("  - ", "x"), "  - x\n");
        assert_eq!(wrap("toolongword x", 4), ["toolongword", "x"]);
        assert_eq!(shorten("abcdef", 4), "abc…");
    }
}
