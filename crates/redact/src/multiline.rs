//! What goes over several lines: private keys, and prompts that an engine logs as they came.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::below::Below;
use crate::colours;
use crate::held;
use crate::hits::{Hit, MASK, With, is_mask};
use crate::looks;
use crate::names::{self, Meaning};
use crate::prefixes::{Own, own_text};
use crate::records::Cut;
use crate::rules::Part;
use crate::scan::{Scope, rule_name};
use crate::spoken::Spoken;
use crate::yaml::{behind_marks, indent, is_block};

/// What the lines before have begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Within {
    /// Nothing.
    #[default]
    Nothing,
    /// A private key.
    PrivateKey,
    /// A prompt or an output in TGI's log.
    TgiText,
    /// The name of a secret, as Kubernetes writes it: its value is in the next line.
    SecretsName,
    /// A value that stands below its name.
    Below(Below),
    /// A prompt or an output that goes on in the lines behind it.
    Spoken(Spoken),
    /// A value that a container's runtime cut.
    Cut(Cut),
    /// What a Kubernetes Secret holds.
    Held,
}

/// Where something stands that only what follows it tells, in order: keys whose first lines are missing, and what
/// Secrets hold.
pub(crate) fn told_later(text: &str) -> Vec<(Range<usize>, Within)> {
    let keys = headless_keys(text).into_iter().map(|key| (key, Within::PrivateKey));
    let held = held::blocks(text).into_iter().map(|block| (block, Within::Held));
    let mut told: Vec<(Range<usize>, Within)> = keys.chain(held).collect();
    told.sort_by_key(|(at, _)| at.start);
    told.dedup_by(|next, before| next.0.start < before.0.end);
    told
}

const END: &str = "-----END";

/// Asked of every line.
static BEGIN: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("-----BEGIN "));
static TGI: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("text_generation_router"));

/// Hides what is between the first and the last line of a key, as far as it stands in this line; says where that ends.
pub(crate) fn private_key(line: &str, at: usize, hits: &mut Vec<Hit>) -> usize {
    let Some(from) = body_start(line, at) else { return at + 1 };
    let rest = &line[from..];
    let length = rest.find(END).or_else(|| rest.find(['"', '\''])).unwrap_or(rest.len());
    let body = rest[..length].trim();
    let end = from + length;
    // In docker's record this is the line's end.
    if !body.is_empty() && body != "\\n" {
        let start = from + rest[..length].len() - rest[..length].trim_start().len();
        let (end, rule) = (start + body.len(), rule_name(Part::PrivateKey));
        hits.push(Hit { start, end, with: With::Mask, rule });
    }
    end
}

/// Behind `-----BEGIN RSA PRIVATE KEY-----`.
fn body_start(line: &str, at: usize) -> Option<usize> {
    let header = line[at..].strip_prefix("-----BEGIN ")?;
    let length = header.bytes().take(48).take_while(|b| b.is_ascii_uppercase() || *b == b' ').count();
    let is_key = header[..length].contains("PRIVATE KEY") && header[length..].starts_with("-----");
    is_key.then(|| line.len() - header.len() + length + 5)
}

/// Most lines of a key whose beginning is missing; 16384 bits take some 200.
const LONGEST_KEY: usize = 256;

/// Where keys stand whose first lines are missing, as in a log that was cut: from their first line here to the `-----END`.
fn headless_keys(text: &str) -> Vec<Range<usize>> {
    let ends = text.match_indices(END).filter(|(at, _)| {
        let label = &text[at + END.len()..];
        let length = label.bytes().take(48).take_while(|b| b.is_ascii_uppercase() || *b == b' ').count();
        label[..length].contains("PRIVATE KEY")
    });
    ends.filter_map(|(end, _)| {
        let last = text[..end].rfind('\n').map_or(0, |at| at + 1);
        let mut start = last;
        for line in text[..last].rsplit_terminator('\n').take(LONGEST_KEY) {
            let plain = colours::blank(line);
            let body = own_text(&plain).trim();
            if line.contains("-----BEGIN ") {
                return None;
            }
            // What was hidden here before is still the key's, and no reason to hide more.
            if body == MASK {
                start -= line.len() + 1;
                break;
            }
            let word = last_word(body).filter(|word| start == last || word.len() >= 40);
            let is_part = is_body(body) || word.is_some_and(is_body);
            if !is_part {
                break;
            }
            start -= line.len() + 1;
        }
        (start < last).then_some(start..last)
    })
    .collect()
}

impl Within {
    /// Adds what of this line belongs to what was begun.
    pub(crate) fn find(self, line: &str, own: Own, hits: &mut Vec<Hit>) {
        match self {
            Self::Nothing => {}
            // A runtime cuts lines wherever they are long, and knows of no text in them.
            Self::Cut(cut) => cut.find(line, hits),
            Self::TgiText if is_record(line) => {}
            _ => {
                let before = hits.len();
                self.find_in(own, own.of(line), hits);
                for hit in &mut hits[before..] {
                    (hit.start, hit.end) = (hit.start + own.start, hit.end + own.start);
                }
            }
        }
    }

    /// The same in a program's own text.
    fn find_in(self, own: Own, line: &str, hits: &mut Vec<Hit>) {
        match self {
            Self::Nothing | Self::Cut(_) => {}
            Self::PrivateKey => {
                let part = line.find(END).map_or(line, |end| &line[..end]);
                let body = part.trim();
                let whole = part.len() < line.len() || is_body(body);
                let hidden = if whole { body } else { last_word(body).filter(|w| is_body(w)).unwrap_or("") };
                if !hidden.is_empty() {
                    let end = part.trim_end().len();
                    let (start, rule) = (end - hidden.len(), rule_name(Part::PrivateKey));
                    hits.push(Hit { start, end, with: With::Mask, rule });
                }
            }
            Self::Below(below) => below.find(line, hits),
            Self::Spoken(spoken) => spoken.find(own, line, hits),
            Self::Held => held::find(line, hits),
            Self::SecretsName => {
                let value = line.trim_start().strip_prefix("value:").map_or("", str::trim);
                let value = behind_marks(value).trim_matches(['"', '\'']);
                // A block stands in the lines below, an alias where its anchor is.
                if !looks::empty(value) && !is_block(value) && !value.starts_with(['*', '!', '&']) {
                    let end = line.trim_end().trim_end_matches(['"', '\'']).len();
                    hits.push(Hit { start: end - value.len(), end, with: With::Mask, rule: "environment" });
                }
            }
            Self::TgiText => {
                let text = line.trim();
                if !text.is_empty() && !own.record {
                    let end = line.trim_end().len();
                    let with = With::Characters { quoted: false };
                    hits.push(Hit { start: end - text.len(), end, with, rule: "tgi-text" });
                }
            }
        }
    }

    /// What holds behind a line, judged by the line as it is written: so a second time gives the same.
    pub(crate) fn after(self, written: &str, own: Own, scope: Scope) -> Self {
        let line = own.of(written);
        let text = line.trim();
        let goes_on = match self {
            Self::Nothing | Self::Held => false,
            Self::Cut(cut) => cut.goes_on(written),
            Self::Below(below) => match below.after(line) {
                Some(open) => return Self::Below(open),
                None => false,
            },
            Self::Spoken(spoken) => match spoken.after(own, line) {
                Some(open) => return Self::Spoken(open),
                None => false,
            },
            Self::SecretsName if is_open_value(text) => {
                return Self::Below(Below::Block { indent: indent(line) });
            }
            Self::SecretsName => text.is_empty() || text.starts_with('#'),
            Self::PrivateKey => {
                !line.contains(END)
                    && (text.is_empty()
                        || is_mask(text)
                        || is_body(text)
                        || last_word(text).is_some_and(|w| is_mask(w) || is_body(w)))
            }
            Self::TgiText => !own.record && !is_record(written),
        };
        if goes_on {
            return self;
        }
        let opens_key = || {
            BEGIN.find(line.as_bytes())?;
            let at = line.rfind("-----BEGIN ")?;
            let rest = &line[body_start(line, at)?..];
            let blank = rest.trim_matches(|c: char| c.is_whitespace() || c == '"' || c == '\'' || c == '|');
            Some(!rest.contains(END) && (blank.is_empty() || is_mask(blank)))
        };
        let opens_text = || {
            let message = &written[TGI.find(written.as_bytes())? + TGI.needle().len()..];
            let at = message.find("Input: ").or_else(|| message.find("Output: "))?;
            Some(!message[..at].ends_with('"'))
        };
        let secrets_name = || {
            let name = text.trim_start_matches(['-', ' ']).strip_prefix("name:")?;
            let named = names::meaning(name.trim().trim_matches(['"', '\'']), |_| true)?;
            Some(matches!(named.meaning, Meaning::Secret(_) | Meaning::Text))
        };
        if secrets_name() == Some(true) {
            Self::SecretsName
        } else if opens_key() == Some(true) {
            Self::PrivateKey
        } else if !scope.keep_prompts && opens_text() == Some(true) {
            Self::TgiText
        } else if let Some(below) = Below::opened(line, scope.keep_prompts) {
            Self::Below(below)
        } else if let Some(cut) = Cut::opened(written) {
            Self::Cut(cut)
        } else {
            Spoken::opened(own, line).filter(|_| !scope.keep_prompts).map_or(Self::Nothing, Self::Spoken)
        }
    }
}

/// `value: |`, or a quote that is not closed in its line.
fn is_open_value(text: &str) -> bool {
    let Some(value) = text.strip_prefix("value:").map(behind_marks) else { return false };
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    is_block(value) || quote.is_some_and(|quote| value.len() == 1 || !value.ends_with(quote))
}

/// A line of a key: base64, or one of the headers of an old form.
fn is_body(text: &str) -> bool {
    let base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    let header =
        ["Proc-Type:", "DEK-Info:", "Version:", "Comment:"].iter().any(|name| text.starts_with(name));
    !text.is_empty() && (header || text.bytes().all(base64))
}

/// The last word of a line that has others before it, such as a logger's prefix, where it is long enough for a key.
fn last_word(text: &str) -> Option<&str> {
    let (_, word) = text.rsplit_once([' ', '\t', ':'])?;
    (word.len() >= 10).then_some(word)
}

/// Whether a line begins with a logger's time or as JSON.
fn is_record(line: &str) -> bool {
    let text = line.trim_start();
    let date = text.as_bytes().first_chunk::<5>();
    text.starts_with("{\"timestamp")
        || date.is_some_and(|date| date[..4].iter().all(u8::is_ascii_digit) && date[4] == b'-')
}
