//! What a Kubernetes Secret holds, where `kubectl get secret` printed it into a log: secrets whatever they are called.

use std::ops::Range;

use memchr::memmem;

use crate::colours;
use crate::hits::{Hit, With};
use crate::looks;
use crate::prefixes::own_text;
use crate::rules::Part;
use crate::scan::rule_name;
use crate::values::{self, Quote};
use crate::yaml::{behind_marks, indent, is_block};

/// Most lines on either side of `kind: Secret` that are looked at for what it holds.
const MOST_LINES: usize = 400;

/// Where the lines stand that are held by Secrets, in order.
pub(crate) fn blocks(text: &str) -> Vec<Range<usize>> {
    let mut blocks: Vec<Range<usize>> = Vec::new();
    for at in memmem::find_iter(text.as_bytes(), b"Secret") {
        let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let end = text[at..].find('\n').map_or(text.len(), |length| at + length + 1);
        let plain = colours::blank(&text[start..end]);
        let line = own_text(&plain);
        let word: String =
            line.chars().filter(|c| !matches!(c, '"' | ',' | ' ' | '-' | '\n' | '\r')).collect();
        if word == "kind:Secret" {
            let depth = indent(line);
            let first = first_line(text, start, depth, line);
            held(&text[first..], first, depth, &mut blocks);
        }
    }
    blocks.sort_by_key(|block| block.start);
    blocks.dedup_by(|next, block| next.start < block.end);
    blocks
}

/// Where the object begins whose kind stands in a line.
fn first_line(text: &str, start: usize, depth: usize, line: &str) -> usize {
    if line.trim_start().starts_with("- ") {
        return start;
    }
    let mut first = start;
    for whole in text[..start].split_inclusive('\n').rev().take(MOST_LINES) {
        let plain = colours::blank(whole);
        let line = own_text(&plain);
        let body = line.trim();
        if body == "---" || !body.is_empty() && indent(line) < depth || is_kind(body) && indent(line) == depth
        {
            break;
        }
        first -= whole.len();
        if body.starts_with("- ") && indent(line) == depth {
            break;
        }
    }
    first
}

fn is_kind(body: &str) -> bool {
    body.trim_start_matches(['-', ' ', '"']).starts_with("kind")
}

/// Adds the blocks below `data:` and `stringData:` of an object.
fn held(text: &str, offset: usize, depth: usize, blocks: &mut Vec<Range<usize>>) {
    let (mut at, mut open, mut kinds) = (offset, None, 0);
    for (number, whole) in text.split_inclusive('\n').take(2 * MOST_LINES).enumerate() {
        let plain = colours::blank(whole);
        let line = own_text(&plain);
        let body = line.trim();
        let deeper = body.is_empty() || line.len() - line.trim_start().len() >= depth && indent(line) > depth;
        if let Some(start) = open.filter(|_| !deeper) {
            blocks.push(start..at);
            open = None;
        }
        // The next object, or the one around this.
        let next = number > 0 && body.starts_with("- ") && indent(line) <= depth;
        kinds += usize::from(is_kind(body) && indent(line) == depth);
        if body == "---" || !body.is_empty() && indent(line) < depth || next || kinds > 1 {
            return;
        }
        let name = body.trim_start_matches(['-', ' ']).trim_end_matches(['{', ' ']);
        if indent(line) == depth
            && matches!(name.trim_matches(['"', ':']), "data" | "stringData")
            && name.ends_with(':')
        {
            open = Some(at + whole.len());
        }
        at += whole.len();
    }
    blocks.extend(open.map(|start| start..at));
}

/// Adds what a line of such a block holds: what stands behind its name, or all of it.
pub(crate) fn find(line: &str, hits: &mut Vec<Hit>) {
    let end = line.trim_end().trim_end_matches(',').len();
    // YAML may write a name as `? name`, and its value in the next line as `: value`.
    if line.trim_start().starts_with("? ") {
        return;
    }
    let from = match line.find(':') {
        Some(colon) if is_key(&line[..colon]) || line[..colon].trim().is_empty() => colon + 1,
        _ => line.len() - line.trim_start().len(),
    };
    let value = line.get(from..end).unwrap_or_default().trim_start_matches(' ');
    let value = behind_marks(value).trim_matches(['"', '\'']);
    if looks::empty(value)
        || is_block(value)
        || value.bytes().all(|b| b"{}[], ".contains(&b))
        || value.starts_with('#')
    {
        return;
    }
    let end = line[..end].trim_end_matches(['"', '\'']).len();
    hits.push(Hit { start: end - value.len(), end, with: With::Mask, rule: rule_name(Part::SecretData) });
}

fn is_key(name: &str) -> bool {
    let name = name.trim().trim_matches(['"', '\'']);
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-./".contains(&b))
}

/// Whether a word of JSON is an object's kind.
pub(crate) fn is_kind_at(line: &str, at: usize) -> bool {
    let name = line[..at].trim_end_matches(['"', '\\', ' ']).strip_suffix(':');
    name.is_some_and(|name| name.trim_end_matches(['"', '\\', ' ']).ends_with("kind"))
}

/// Adds what Secrets hold that stand in one line of JSON, at any depth of quoting.
pub(crate) fn in_line(line: &str, hits: &mut Vec<Hit>) {
    for found in memmem::find_iter(line.as_bytes(), b"ata") {
        let Some((_, next)) = Quote::open(line, found + 3) else { continue };
        let before =
            line[..found + 3].strip_suffix("stringData").or_else(|| line[..found + 3].strip_suffix("data"));
        let named = before.is_some_and(|before| before.ends_with('"'));
        let rest = line[next..].trim_start_matches([':', ' ']);
        if !named || !rest.starts_with('{') || !line[next..].starts_with(':') {
            continue;
        }
        let open = line.len() - rest.len();
        let close = values::close_bracket(line, open);
        // Names and values by turns.
        for (start, end) in values::strings_in(line, open, close).into_iter().skip(1).step_by(2) {
            if start < end {
                hits.push(Hit { start, end, with: With::Mask, rule: rule_name(Part::SecretData) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Redactor;

    #[test]
    fn what_a_secret_holds_is_hidden_wherever_its_kind_stands() {
        for (text, safe) in [
            (
                "+ kubectl get secret hub -o yaml\napiVersion: v1\ndata:\n  foo: bGV0\n  more: |\n    bWVpbg==\nkind: Secret\nmetadata:\n  name: hub\n",
                "+ kubectl get secret hub -o yaml\napiVersion: v1\ndata:\n  foo: [redacted]\n  more: |\n    [redacted]\nkind: Secret\nmetadata:\n  name: hub\n",
            ),
            (
                "{\n    \"data\": {\n        \"foo\": \"bGV0\"\n    },\n    \"kind\": \"Secret\"\n}\n",
                "{\n    \"data\": {\n        \"foo\": \"[redacted]\"\n    },\n    \"kind\": \"Secret\"\n}\n",
            ),
            (
                "items:\n- data:\n    a: b1\n  kind: Secret\n- kind: ConfigMap\n  data:\n    SEQS: eight\n",
                "items:\n- data:\n    a: [redacted]\n  kind: Secret\n- kind: ConfigMap\n  data:\n    SEQS: eight\n",
            ),
            (
                "kind: Secret\nstringData:\n  ? complex\n  : let\n  m: let\n    mein\n",
                "kind: Secret\nstringData:\n  ? complex\n  : [redacted]\n  m: [redacted]\n    [redacted]\n",
            ),
            (
                "applied {\"data\":{\"foo\":\"bGV0\"},\"kind\":\"Secret\",\"metadata\":{\"name\":\"hub\"}}",
                "applied {\"data\":{\"foo\":\"[redacted]\"},\"kind\":\"Secret\",\"metadata\":{\"name\":\"hub\"}}",
            ),
        ] {
            assert_eq!(Redactor::new().text(text), safe);
            assert_eq!(Redactor::new().text(safe), safe);
        }
    }

    #[test]
    fn what_is_no_secret_keeps_its_data() {
        for text in [
            "data:\n  SEQS: eight\nkind: ConfigMap\n",
            "kind: ConfigMap\ndata:\n  SEQS: eight\n---\nkind: Secret\nmetadata:\n  name: hub\n",
            "{\"data\":{\"foo\":\"bar\"},\"kind\":\"ConfigMap\"}",
        ] {
            assert_eq!(Redactor::new().text(text), text);
        }
    }
}
