//! The user in a line of an access log: `ADDRESS - USER [16/Nov/2026:07:40:21 +0000]`.

use crate::hits::{Hit, With};
use crate::homes::is_user;
use crate::pseudonyms::Kind;
use crate::rules::Part;
use crate::scan::rule_name;

/// Looks at the third word of a line, where a time in brackets is the fourth.
pub(crate) fn find(line: &str, hits: &mut Vec<Hit>) {
    // Most lines have no such beginning, and this is asked of each.
    if !line.bytes().take(256).skip_while(|byte| *byte != b' ').take(3).eq(*b" - ") {
        return;
    }
    let mut words = line.splitn(4, ' ');
    let (Some(address), Some("-"), Some(name), Some(rest)) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return;
    };
    let [b'[', day, _, b'/', ..] = rest.as_bytes() else { return };
    if day.is_ascii_digit() && is_user(name) {
        let start = address.len() + " - ".len();
        let (end, with) = (start + name.len(), With::Pseudonym(Kind::User));
        hits.push(Hit { start, end, with, rule: rule_name(Part::AccessLog) });
    }
}
