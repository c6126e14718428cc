//! One pass over a line: every needle of every rule at once, then each rule where its needle stands.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::Regex;

use crate::hits::{Hit, With};
use crate::prefixes::Own;
use crate::rules::{Finds, NAME_NEEDLES, Part, RULES, Rule};
use crate::{
    access_log, accounts, addresses, assignments, command_line, held, homes, hosts, multiline, spoken,
    system_log, urls,
};

/// Room for what each shape remembers of a line; a test counts the shapes.
const MOST_SHAPES: usize = 112;

/// What is wanted of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scope {
    /// Prompts and outputs are left as they are.
    pub(crate) keep_prompts: bool,
    /// Host names are looked for in plain text; not where the text is a model's name.
    pub(crate) host_names: bool,
}

/// Adds what the rules find in a line.
pub(crate) fn scan(line: &str, own: Own, scope: Scope, hits: &mut Vec<Hit>) {
    addresses::find(line, hits);
    if scope.host_names {
        system_log::find(line, hits);
        access_log::find(line, hits);
    }
    accounts::find(line, own, hits);
    let mut names = assignments::Names::new(line, own.start, scope);
    let mut texts = spoken::Texts::new(line, own);
    let mut shapes_done = [0_usize; MOST_SHAPES];
    let mut keys_done = 0;
    let mut programs_done = false;
    let mut secrets_done = false;
    for found in NEEDLES.automaton.find_overlapping_iter(line) {
        match NEEDLES.leads_to[found.pattern().as_usize()] {
            Lead::Name => names.at(found.start(), hits),
            Lead::Shape(index)
                if found.start() >= shapes_done[index]
                    && !(scope.keep_prompts && NEEDLES.shapes[index].hides_a_text()) =>
            {
                shapes_done[index] = NEEDLES.shapes[index].find(line, found.start(), hits);
            }
            Lead::Part(Part::PrivateKey) if found.start() >= keys_done => {
                keys_done = multiline::private_key(line, found.start(), hits);
            }
            // All commands behind the first one are seen from there.
            Lead::Part(Part::Program) if !programs_done && begins(line, found.start()) => {
                command_line::in_text(line, found.start(), hits);
                programs_done = true;
            }
            // All that Secrets of one line hold is seen at once.
            Lead::Part(Part::SecretData) if !secrets_done && held::is_kind_at(line, found.start()) => {
                held::in_line(line, hits);
                secrets_done = true;
            }
            Lead::Part(Part::BarePrompt) if !scope.keep_prompts => {
                texts.named(found.start(), found.end(), hits);
            }
            Lead::Part(Part::Dialogue) if !scope.keep_prompts => {
                texts.said(found.start(), found.end(), hits);
            }
            Lead::Part(Part::NcclHost) => hosts::before_nccl(line, found.start(), hits),
            Lead::Part(Part::HostAndPort) if scope.host_names => {
                hosts::before_port(line, found.start(), hits);
            }
            Lead::Part(Part::UrlCredentials | Part::UrlHost) => urls::find(line, found.start(), hits),
            Lead::Part(Part::Mail) => homes::mail(line, found.start(), found.end(), hits),
            Lead::Part(Part::Home) => homes::home(line, found.end(), hits),
            Lead::Part(Part::FullHostName) if scope.host_names => hosts::in_text(line, found.start(), hits),
            Lead::Shape(_)
            | Lead::Part(
                Part::FullHostName
                | Part::PrivateKey
                | Part::Address
                | Part::Program
                | Part::HostAndPort
                | Part::LogHost
                | Part::AccessLog
                | Part::SecretData
                | Part::Below
                | Part::BarePrompt
                | Part::Dialogue
                | Part::Spoken
                | Part::Listed
                | Part::Cut,
            ) => {}
        }
    }
}

/// The row of a part that has code of its own.
pub(crate) fn rule_name(part: Part) -> &'static str {
    let is = |rule: &&Rule| matches!(rule.finds, Finds::Structure { part: own, .. } if own == part);
    RULES.iter().find(is).map_or("", |rule| rule.name)
}

#[derive(Clone, Copy)]
enum Lead {
    Name,
    Shape(usize),
    Part(Part),
}

struct Needles {
    automaton: AhoCorasick,
    leads_to: Vec<Lead>,
    shapes: Vec<Shape>,
}

struct Shape {
    rule: &'static str,
    pattern: Regex,
    check: fn(&str) -> bool,
    with: With,
}

impl Shape {
    /// Whether what it finds was asked or answered, which stays where the owner wants it.
    fn hides_a_text(&self) -> bool {
        matches!(self.with, With::Characters { .. } | With::Ids { .. })
    }

    /// Looks at one place; says up to where nothing of this kind can begin any more.
    fn find(&self, line: &str, at: usize, hits: &mut Vec<Hit>) -> usize {
        if !begins(line, at) {
            return 0;
        }
        let Some(found) = self.pattern.captures(&line[at..]) else { return 0 };
        let Some(hidden) = found.get(1).or(found.get(0)) else { return 0 };
        let (start, end) = (at + hidden.start(), at + hidden.end());
        if (self.check)(hidden.as_str()) {
            hits.push(Hit { start, end, with: self.with, rule: self.rule });
        }
        end
    }
}

/// Whether a word begins here; `%20` and the like before it are no part of it.
fn begins(line: &str, at: usize) -> bool {
    let (before, behind) = line.as_bytes().split_at(at);
    // What begins with a mark ends the word before it.
    if behind.first().is_some_and(|byte| !byte.is_ascii_alphanumeric()) {
        return true;
    }
    let escaped = |hex: &[u8]| hex[0] == b'%' && hex[1..].iter().all(u8::is_ascii_hexdigit);
    match before.last() {
        Some(byte) if byte.is_ascii_alphanumeric() || *byte == b'_' => {
            // `\n` in quoted text is an escape, too.
            before.len() >= 3 && escaped(&before[before.len() - 3..])
                || matches!(before, [.., b'\\', b'n' | b't' | b'r'])
        }
        _ => true,
    }
}

#[expect(clippy::expect_used, reason = "the patterns are constants, and a test compiles them all")]
static NEEDLES: LazyLock<Needles> = LazyLock::new(|| {
    let mut texts: Vec<String> = NAME_NEEDLES.split_whitespace().map(str::to_owned).collect();
    let mut leads_to = vec![Lead::Name; texts.len()];
    let mut shapes = Vec::new();
    for rule in RULES {
        match rule.finds {
            Finds::Shape { needles, pattern, check, with } => {
                let pattern = Regex::new(&["^(?:", pattern, ")"].concat()).expect("a pattern");
                texts.extend(needles.split_whitespace().map(|needle| needle.replace('␣', " ")));
                leads_to.resize(texts.len(), Lead::Shape(shapes.len()));
                shapes.push(Shape { rule: rule.name, pattern, check, with });
            }
            Finds::Structure { needles, part } => {
                texts.extend(needles.split_whitespace().map(|needle| needle.replace('␣', " ")));
                leads_to.resize(texts.len(), Lead::Part(part));
            }
            _ => {}
        }
    }
    let automaton = AhoCorasick::builder()
        .kind(Some(AhoCorasickKind::DFA))
        .ascii_case_insensitive(true)
        .build(&texts)
        .expect("few needles");
    Needles { automaton, leads_to, shapes }
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_every_shape() {
        assert!(NEEDLES.shapes.len() <= MOST_SHAPES);
    }

    #[test]
    fn every_name_of_the_table_has_a_needle_in_it() {
        for rule in RULES {
            let (Finds::Secret { names, .. }
            | Finds::Text { names }
            | Finds::HostField { names }
            | Finds::UserField { names }
            | Finds::Prompt { names, .. }
            | Finds::Perhaps { last: names, .. }
            | Finds::Last { last: names, .. }) = rule.finds
            else {
                continue;
            };
            for name in names.split_whitespace() {
                // The needle must lie within one word: `api_key` is also written `apiKey` and `api-key`.
                let found = name
                    .split('_')
                    .any(|word| NAME_NEEDLES.split_whitespace().any(|needle| word.contains(needle)));
                assert!(found, "{}: {name}", rule.name);
            }
        }
    }
}
