//! The labels of a sample: checked once while reading, unescaped only when asked for.

use std::borrow::Cow;
use std::fmt;

use super::cursor::{Cursor, Stop, is_label_byte};
use super::problem::ProblemKind;

/// The labels of one series, in the order they were written.
///
/// This borrows the text between the braces. Most callers look at one or two labels of a few series, so
/// splitting and unescaping is left until then; the text is known to be well formed.
#[derive(Clone, Copy, Default)]
pub struct Labels<'a>(&'a str);

impl<'a> Labels<'a> {
    /// The value of the label called `name`, unescaped. The first one, should the server repeat a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Cow<'a, str>> {
        self.pairs().find(|(label, _)| *label == name).map(|(_, value)| unescape(value))
    }

    /// All labels, as `(name, unescaped value)`. A quoted name with escapes in it is given as it was written.
    #[must_use]
    pub fn iter(&self) -> LabelIter<'a> {
        LabelIter(self.pairs())
    }

    /// The number of labels. Counts them: not a constant-time operation.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pairs().count()
    }

    /// Whether there are no labels.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pairs().next().is_none()
    }

    /// The text between the braces, untouched. Servers write the labels of a series the same way at every
    /// scrape, so name and this text make a cheap key for finding a series again in the next scrape.
    #[must_use]
    pub fn as_written(&self) -> &'a str {
        self.0
    }

    fn pairs(&self) -> Pairs<'a> {
        Pairs(Cursor::new(self.0))
    }
}

impl fmt::Debug for Labels<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Equal names and values in the same order; blanks, trailing commas and the choice of escapes do not count.
impl PartialEq for Labels<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 || self.iter().eq(other.iter())
    }
}

impl Eq for Labels<'_> {}

impl<'a> IntoIterator for Labels<'a> {
    type Item = (&'a str, Cow<'a, str>);
    type IntoIter = LabelIter<'a>;

    fn into_iter(self) -> LabelIter<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &Labels<'a> {
    type Item = (&'a str, Cow<'a, str>);
    type IntoIter = LabelIter<'a>;

    fn into_iter(self) -> LabelIter<'a> {
        self.iter()
    }
}

/// Iterator over labels, made by [`Labels::iter`].
#[derive(Debug, Clone)]
pub struct LabelIter<'a>(Pairs<'a>);

impl<'a> Iterator for LabelIter<'a> {
    type Item = (&'a str, Cow<'a, str>);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(name, value)| (name, unescape(value)))
    }
}

/// Names and values as written. The text was accepted by [`read`], so a failure cannot happen and need not be
/// told from the end.
#[derive(Debug, Clone)]
struct Pairs<'a>(Cursor<'a>);

impl<'a> Iterator for Pairs<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.skip_blanks();
        let pair = read_pair(&mut self.0).ok()?;
        self.0.skip_blanks();
        self.0.eat(b',');
        Some(pair)
    }
}

/// Reads labels from behind the `{` to behind the `}`.
#[inline]
pub(super) fn read<'a>(cursor: &mut Cursor<'a>) -> Result<Labels<'a>, Stop> {
    let start = cursor.position();
    loop {
        cursor.skip_blanks();
        let labels = cursor.since(start);
        if cursor.eat(b'}') {
            return Ok(Labels(labels));
        }
        read_pair(cursor)?;
        cursor.skip_blanks();
        match cursor.peek() {
            Some(b'}') => {}
            Some(b',') => {
                cursor.eat(b',');
            }
            Some(_) => return Err(cursor.stop(ProblemKind::LabelSeparatorExpected)),
            None => return Err(cursor.stop(ProblemKind::LabelsNotClosed)),
        }
    }
}

/// Reads `name="value"`, returning both as written.
#[inline]
fn read_pair<'a>(cursor: &mut Cursor<'a>) -> Result<(&'a str, &'a str), Stop> {
    let name = read_label_name(cursor)?;
    cursor.skip_blanks();
    if !cursor.eat(b'=') {
        return Err(cursor.stop(ProblemKind::LabelEqualsExpected));
    }
    cursor.skip_blanks();
    let quote = cursor.position();
    if !cursor.eat(b'"') {
        return Err(cursor.stop(ProblemKind::LabelValueExpected));
    }
    let value = cursor.take_quoted().ok_or(Stop { at: quote, what: ProblemKind::LabelValueNotClosed })?;
    Ok((name, value))
}

#[inline]
fn read_label_name<'a>(cursor: &mut Cursor<'a>) -> Result<&'a str, Stop> {
    let start = cursor.position();
    let name = match cursor.peek() {
        None => return Err(cursor.stop(ProblemKind::LabelsNotClosed)),
        Some(b'"') => {
            cursor.eat(b'"');
            cursor.take_quoted().ok_or(Stop { at: start, what: ProblemKind::NameNotClosed })?
        }
        Some(b'0'..=b'9') => "",
        Some(_) => cursor.take_while(is_label_byte),
    };
    if name.is_empty() {
        return Err(Stop { at: start, what: ProblemKind::LabelNameExpected });
    }
    Ok(name)
}

/// Resolves `\\`, `\"` and `\n`. Any other escape stands for itself, backslash included, as Prometheus has it.
pub(super) fn unescape(written: &str) -> Cow<'_, str> {
    if memchr::memchr(b'\\', written.as_bytes()).is_none() {
        return Cow::Borrowed(written);
    }
    let mut text = String::with_capacity(written.len());
    let mut characters = written.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        match characters.next() {
            Some('n') => text.push('\n'),
            Some(escaped @ ('\\' | '"')) => text.push(escaped),
            other => {
                text.push('\\');
                text.extend(other);
            }
        }
    }
    Cow::Owned(text)
}
