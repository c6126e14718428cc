//! What is commented out in a manifest, and the lines around it.

use intriage_redact::Redactor;

use super::MASK;

/// What was commented out is read by nobody: what stands behind the marks is hidden as a text, and as command lines.
pub(super) fn hidden(text: &str, redactor: &Redactor) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut open: Vec<(&str, &str)> = Vec::new();
    for line in text.split('\n') {
        if is_comment(line) {
            let body = line.trim_start().trim_start_matches(['#', ';']);
            open.push(line.split_at(line.len() - body.len()));
            continue;
        }
        close(&mut open, &mut lines, redactor);
        lines.push(line.to_owned());
    }
    close(&mut open, &mut lines, redactor);
    lines.join("\n")
}

/// The text hidden line by line; comments, which are safe by now, are no part of what runs over lines around them.
pub(super) fn around(text: &str, redactor: &Redactor) -> Option<String> {
    let bare: Vec<&str> = text.split('\n').map(|line| if is_comment(line) { "" } else { line }).collect();
    let safe = redactor.text(&bare.join("\n")).into_owned();
    let safe: Vec<&str> = safe.split('\n').collect();
    let lines = text.split('\n').zip(&safe).map(|(line, safe)| if is_comment(line) { line } else { safe });
    (safe.len() == bare.len()).then(|| lines.collect::<Vec<_>>().join("\n"))
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with(['#', ';'])
}

/// Ends a run of comments: a secret of several lines is seen once the marks are off.
fn close(open: &mut Vec<(&str, &str)>, lines: &mut Vec<String>, redactor: &Redactor) {
    if open.is_empty() {
        return;
    }
    let spaced = open.iter().all(|(_, body)| body.is_empty() || body.starts_with(' '));
    let space = if spaced { " " } else { "" };
    let bodies: Vec<&str> = open.iter().map(|(_, body)| body.strip_prefix(space).unwrap_or(body)).collect();
    let text = redactor.text(&bodies.join("\n")).into_owned();
    let lines_hidden: Vec<&str> = text.split('\n').collect();
    // As many lines as before, or none of them can be told apart.
    let whole = lines_hidden.len() == open.len();
    for (i, (mark, body)) in open.drain(..).enumerate() {
        let safe = if whole { redactor.command_line(lines_hidden[i]) } else { MASK.to_owned() };
        lines.push([mark, if body.is_empty() { "" } else { space }, &safe].concat());
    }
}
