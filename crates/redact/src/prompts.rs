//! Prompts and outputs behind their names.

use crate::assigned::Assigned;
use crate::assignments::By;
use crate::hits::{Hit, With};
use crate::names::is_variable;
use crate::quotations::quotation;
use crate::rules::Extent;
use crate::values::{self, Quote};

/// Adds the prompt or output behind a name; says where it ends.
pub(crate) fn find(
    line: &str,
    rule: &'static str,
    found: Assigned<'_>,
    extent: Extent,
    hits: &mut Vec<Hit>,
) -> Option<usize> {
    let at = found.at;
    // A variable's value has no quotes where it is listed, and no end but the line's.
    let listed = found.by == By::Equals && is_variable(found.name) && Quote::open(line, at).is_none();
    if extent == Extent::Rest || listed {
        let end = found.around.map_or(line.len(), |quote| quote.close(line, at).0);
        let text = line[at..end].trim_end();
        if !text.is_empty() {
            hits.push(Hit {
                start: at,
                end: at + text.len(),
                with: With::Characters { quoted: false },
                rule,
            });
        }
        return Some(end);
    }
    let mut at = at;
    loop {
        let Written { start, end, with, next } = text_or_list(line, at, found.json)?;
        if extent == Extent::Listed && line[start..end].contains('{') && !line[..start].ends_with(['"', '\''])
        {
            return None;
        }
        if start < end {
            hits.push(Hit { start, end, with, rule });
        }
        // SGLang cuts long ones in the middle: 'the beginning' ... 'the end'.
        match line[next..].strip_prefix(" ... ") {
            Some(rest) if rest.starts_with(['\'', '"', '[', '{']) => at = line.len() - rest.len(),
            _ => return Some(next),
        }
    }
}

/// A quoted text or a list: what of it is hidden, and where the line goes on.
struct Written {
    start: usize,
    end: usize,
    with: With,
    next: usize,
}

fn text_or_list(line: &str, at: usize, json: bool) -> Option<Written> {
    if let Some(quoted) = quotation(line, at) {
        let with = With::Characters { quoted: false };
        return Some(Written { start: quoted.start, end: quoted.end, with, next: quoted.next });
    }
    let bytes = line.as_bytes();
    if !matches!(bytes.get(at)?, b'[' | b'{') {
        return None;
    }
    let next = values::close_bracket(line, at);
    let closed = next > at + 1 && matches!(bytes[next - 1], b']' | b'}');
    let inside = &line[at + 1..if closed { next - 1 } else { next }];
    if inside.trim().is_empty() {
        return None;
    }
    let ids = inside.bytes().all(|byte| byte.is_ascii_digit() || b" ,[]-".contains(&byte));
    // JSON stays JSON: what stands in the brackets becomes one text.
    let quoted = json && closed && bytes[at] == b'[';
    let with = if ids { With::Ids { quoted } } else { With::Characters { quoted } };
    let (start, end) = if quoted { (at + 1, next - 1) } else { (at, next) };
    Some(Written { start, end, with, next })
}
