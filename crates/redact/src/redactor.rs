//! The redactor: what it knows, what it has given names to, and the texts it takes.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use memchr::memchr;

use crate::hits::{self, Hit, MASK, With};
use crate::known::Known;
use crate::multiline::{self, Within};
use crate::names::{Meaning, Named};
use crate::prefixes::{self, Own};
use crate::pseudonyms::{Kind, MapError, Pseudonyms};
use crate::renaming::standing_in;
use crate::rules::Extent;
use crate::scan::{Scope, scan};
use crate::seen::{self, Seen};
use crate::{PseudonymMap, assigned, colours, command_line, environment, exposition, json, names};

/// Times a line is looked at until nothing more is found. What one look uncovers the next one sees; a line that is not
/// done by then is hidden whole.
const LOOKS: usize = 8;

/// Hides what must not leave its owner's hands; see the crate's own page.
///
/// One redactor is meant for all texts of a case, so that the same host has the same pseudonym in all of them. It can be
/// shared between threads.
///
/// ```
/// let redactor = intriage_redact::Redactor::new();
/// let line = "10.1.2.3:80 - \"GET /v1/models?api_key=letmein HTTP/1.1\" 200 OK";
/// assert_eq!(redactor.text(line), "ip-1:80 - \"GET /v1/models?api_key=[redacted] HTTP/1.1\" 200 OK");
/// ```
#[derive(Default)]
pub struct Redactor {
    known: Known,
    keep_prompts: bool,
    keep_names: bool,
    given: Mutex<Given>,
}

#[derive(Default)]
struct Given {
    pseudonyms: Pseudonyms,
    found: BTreeMap<&'static str, u64>,
    /// Hosts and users that are looked for once more, everywhere.
    again: BTreeSet<(Kind, String)>,
}

/// Looks for more in a line than the rules do.
pub(crate) type Extra = fn(&str, &mut Vec<Hit>);

impl Redactor {
    /// A redactor that knows the rules alone.
    pub fn new() -> Self {
        Self::default()
    }

    /// A redactor that goes on from the pseudonyms of an earlier one, so that merged cases agree.
    pub fn from_map(map: PseudonymMap) -> Result<Self, MapError> {
        let given = Given { pseudonyms: Pseudonyms::from_map(map)?, ..Given::default() };
        Ok(Self { given: Mutex::new(given), ..Self::default() })
    }

    /// Hides these secrets wherever they stand, such as the key the caller was given. Those shorter than four bytes are
    /// left to the rules.
    #[must_use]
    pub fn with_known(mut self, secrets: impl IntoIterator<Item = String>) -> Self {
        self.known.add_secrets(secrets);
        self
    }

    /// Gives these hosts pseudonyms wherever they stand.
    #[must_use]
    pub fn known_hosts(mut self, hosts: impl IntoIterator<Item = String>) -> Self {
        self.known.add_hosts(hosts);
        self
    }

    /// Leaves prompts and outputs in, because the owner asked for it. Secrets in them are still hidden.
    #[must_use]
    pub fn keep_prompts(mut self) -> Self {
        self.keep_prompts = true;
        self
    }

    /// Leaves hosts, addresses and people in, for messages that only the owner reads. Secrets are still hidden.
    #[must_use]
    pub fn keep_names(mut self) -> Self {
        self.keep_names = true;
        self
    }

    /// Free text: a log, a note, an error. As many lines as before.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.lines(text, self.scope(), |_, _| {})
    }

    /// A JSON body. Only texts change, and numbers behind a secret's name; what is no JSON is taken as text.
    pub fn json(&self, body: &str) -> String {
        json::redact(self, body).unwrap_or_else(|| self.text(body).into_owned())
    }

    /// A command line, as a shell takes it or as the kernel gives it (words apart by NUL).
    pub fn command_line(&self, line: &str) -> String {
        command_line::redact(self, line)
    }

    /// An environment: `NAME=value` by line, or apart by NUL.
    pub fn environment(&self, environment: &str) -> String {
        environment::redact(self, environment)
    }

    /// A metrics page in Prometheus' text format. Only values of labels and secrets in descriptions change; a page with
    /// nothing to hide comes back byte for byte.
    pub fn exposition(&self, page: &[u8]) -> Vec<u8> {
        exposition::redact(self, page)
    }

    /// Hosts and users that were found so far by where they stood, to be looked for everywhere else: a log names its
    /// host before its lines, and then in a sentence.
    pub fn seen(&self) -> Seen {
        let mut given = self.given();
        let Given { pseudonyms, again, .. } = &mut *given;
        let names: Vec<(Kind, String, String)> =
            again.iter().map(|(kind, name)| (*kind, name.clone(), pseudonyms.of(*kind, name))).collect();
        Seen::new(&names)
    }

    /// Keeps what reads like a pseudonym in a text from being given to somebody else. For all texts of a case before
    /// the first is redacted; each is looked at again when its turn comes.
    pub fn keep_free(&self, text: &str) {
        let mut standing = standing_in(text).peekable();
        if standing.peek().is_some() {
            let mut given = self.given();
            standing.for_each(|pseudonym| given.pseudonyms.keep_free(pseudonym));
        }
    }

    /// Which pseudonym stands for what. This belongs to the owner and into no case.
    pub fn map(&self) -> PseudonymMap {
        self.given().pseudonyms.map().clone()
    }

    /// How often each rule hid something so far, by the rule's name.
    pub fn found(&self) -> BTreeMap<&'static str, u64> {
        self.given().found.clone()
    }

    fn given(&self) -> MutexGuard<'_, Given> {
        // Whatever panicked elsewhere left a map that is whole: nothing in between can fail.
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn scope(&self) -> Scope {
        Scope { keep_prompts: self.keep_prompts, host_names: true }
    }

    /// Goes through a text line by line.
    pub(crate) fn lines<'a>(&self, text: &'a str, scope: Scope, extra: Extra) -> Cow<'a, str> {
        self.keep_free(text);
        let mut written: Option<String> = None;
        let mut within = Within::default();
        let mut hits = Vec::new();
        let mut start = 0;
        // A label or a description is one line: nothing follows that could tell of it, or be told by it.
        let several = memchr(b'\n', text.as_bytes()).is_some();
        let told = if several { multiline::told_later(text) } else { Vec::new() };
        let mut told = told.into_iter().peekable();
        for whole in text.split_inclusive('\n') {
            let line = whole.strip_suffix('\n').unwrap_or(whole);
            while let Some((at, _)) = told.next_if(|(at, _)| at.end <= start) {
                if at.end == start {
                    within = Within::Nothing;
                }
            }
            if let Some((_, what)) = told.peek().filter(|(at, _)| at.contains(&start)) {
                within = *what;
            }
            let (changed, own) = self.line(line, within, scope, extra, &mut hits);
            if several {
                within = within.after(&colours::blank(changed.as_deref().unwrap_or(line)), own, scope);
            }
            if let Some(changed) = changed {
                let written = written.get_or_insert_with(|| {
                    let mut before = String::with_capacity(text.len());
                    before.push_str(&text[..start]);
                    before
                });
                written.push_str(&changed);
                written.push_str(&whole[line.len()..]);
            } else if let Some(written) = &mut written {
                written.push_str(whole);
            }
            start += whole.len();
        }
        written.map_or(Cow::Borrowed(text), Cow::Owned)
    }

    fn keeps(&self, hit: &Hit) -> bool {
        self.keep_names && matches!(hit.with, With::Pseudonym(_))
    }

    /// One line, looked at until nothing more is found, and where its program's own text stands then.
    fn line(
        &self,
        line: &str,
        within: Within,
        scope: Scope,
        extra: Extra,
        hits: &mut Vec<Hit>,
    ) -> (Option<String>, Own) {
        let mut changed: Option<String> = None;
        for _ in 0..LOOKS {
            let text = changed.as_deref().unwrap_or(line);
            let plain = colours::blank(text);
            let own = prefixes::own(&plain);
            hits.clear();
            within.find(&plain, own, hits);
            self.known.find(&plain, hits);
            extra(&plain, hits);
            scan(&plain, own, scope, hits);
            hits.retain(|hit| !self.keeps(hit));
            if hits.is_empty() {
                return (changed, own);
            }
            let mut given = self.given();
            let Some(next) = hits::replace(text, &plain, hits, &mut given.pseudonyms) else {
                return (changed, own);
            };
            for hit in hits.iter() {
                *given.found.entry(hit.rule).or_default() += 1;
                given.again.extend(seen::worth(hit, &plain));
            }
            changed = Some(next);
        }
        (Some(MASK.to_owned()), prefixes::own(MASK))
    }

    /// What a name says of its value in JSON or a label, where every prompt's name is one.
    pub(crate) fn meaning(&self, name: &str) -> Option<Named> {
        names::meaning(name, |meaning| match meaning {
            Meaning::Prompt { extent, .. } => !self.keep_prompts && extent != Extent::Rest,
            _ => true,
        })
    }

    /// A text whose name is known, as in JSON or a label; `None` where it stays as it is.
    pub(crate) fn named(&self, named: Option<Named>, value: &str, scope: Scope) -> Option<String> {
        let mut changed: Option<String> = None;
        for _ in 0..LOOKS {
            let text = changed.as_deref().unwrap_or(value);
            let replaced = named.and_then(|named| self.whole(named, text));
            let next = match self.lines(replaced.as_deref().unwrap_or(text), scope, |_, _| {}) {
                Cow::Owned(text) => Some(text),
                Cow::Borrowed(_) => replaced,
            };
            match next {
                None => return changed,
                Some(next) => changed = Some(next),
            }
        }
        Some(MASK.to_owned())
    }

    /// What a value's name alone makes of it.
    fn whole(&self, named: Named, value: &str) -> Option<String> {
        let hit = assigned::whole(named, value).filter(|hit| !self.keeps(hit))?;
        let mut given = self.given();
        let text = hits::replace(value, &colours::blank(value), &mut vec![hit], &mut given.pseudonyms)?;
        *given.found.entry(hit.rule).or_default() += 1;
        given.again.extend(seen::worth(&hit, value));
        Some(text)
    }
}

impl fmt::Debug for Redactor {
    /// Neither secrets nor originals: this ends up in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("keep_prompts", &self.keep_prompts).finish_non_exhaustive()
    }
}
