//! What is looked for: one row a rule, in a table for each kind.

mod accounts;
mod forms;
mod headers;
mod names;
mod owners;
mod plain_text;
mod prompts;
mod sessions;
mod several_lines;
mod shells;
mod spoken;
mod system_log;
mod told;
mod unreached;
mod vendors;

use crate::hits::With;
use crate::homes::is_user;
use crate::pseudonyms::Kind;

/// The tables, in the order in which rules are tried.
const TABLES: [&[Rule]; 15] = [
    vendors::VENDORS,
    forms::FORMS,
    names::NAMES,
    headers::HEADERS,
    prompts::PROMPTS,
    spoken::SPOKEN,
    owners::OWNERS,
    plain_text::PLAIN_TEXT,
    told::TOLD,
    accounts::ACCOUNTS,
    system_log::SYSTEM_LOG,
    sessions::SESSIONS,
    shells::SHELLS,
    unreached::UNREACHED,
    several_lines::SEVERAL_LINES,
];

/// Every rule.
pub static RULES: &[Rule] = &joined::<{ length() }>();

/// One thing that is looked for.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// A short name in lower case.
    pub name: &'static str,
    /// What it hides.
    pub what: &'static str,
    /// How it is found.
    pub(crate) finds: Finds,
    /// Where the form is known from.
    pub source: &'static str,
    /// A line with something to hide, between « and ».
    pub hides: &'static str,
    /// A look-alike that stays as it is.
    pub keeps: &'static str,
}

impl Rule {
    /// What the row goes by: a pattern, names, or words that lead to code of its own.
    pub fn pattern(&self) -> &'static str {
        match self.finds {
            Finds::Shape { pattern, .. } => pattern,
            Finds::Secret { names, .. }
            | Finds::Text { names }
            | Finds::HostField { names }
            | Finds::UserField { names }
            | Finds::Prompt { names, .. } => names,
            Finds::Perhaps { last, .. } | Finds::Last { last, .. } => last,
            Finds::Structure { needles: "", .. } => "code of its own",
            Finds::Structure { needles, .. } => needles,
        }
    }
}

/// How a row finds its own. Names, words, marks and needles are apart by blanks; a blank in one is written `␣`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Finds {
    /// By its shape: the pattern holds from a needle on, and its group, else all of it, passes the check and is hidden.
    Shape { needles: &'static str, pattern: &'static str, check: fn(&str) -> bool, with: With },
    /// By a name, or a part of one, that belongs to a secret.
    Secret { names: &'static str, extent: Extent },
    /// By the last word of a name, where the value looks random or stands in a query; never behind a benign name.
    Perhaps { last: &'static str, benign: &'static str },
    /// By the last word of a name of several that belongs to a secret; never behind a benign name.
    Last { last: &'static str, benign: &'static str },
    /// By a name that is a secret's where it has a text, and something else where it has a number.
    Text { names: &'static str },
    /// By the name of a field that holds a host.
    HostField { names: &'static str },
    /// By the name of a field that holds a user.
    UserField { names: &'static str },
    /// By the name of a field that holds a prompt or an output, on lines with one of the marks; none stands for all.
    Prompt { names: &'static str, mark: &'static str, extent: Extent },
    /// By code of its own, wherever a needle stands.
    Structure { needles: &'static str, part: Part },
}

/// How far a value reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// A quoted text, a list, or a word.
    Value,
    /// The same; a flag of this name takes several words.
    Several,
    /// A quoted text, or a list of texts; objects in a list have names of their own.
    Listed,
    /// The rest of the line, or of the quoted text the name stands in.
    Rest,
}

/// What has code of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    UrlCredentials,
    UrlHost,
    Mail,
    Home,
    FullHostName,
    PrivateKey,
    Address,
    Program,
    NcclHost,
    HostAndPort,
    LogHost,
    AccessLog,
    SecretData,
    Below,
    Cut,
    BarePrompt,
    Dialogue,
    Spoken,
    Listed,
}

const fn length() -> usize {
    let (mut sum, mut table) = (0, 0);
    while table < TABLES.len() {
        sum += TABLES[table].len();
        table += 1;
    }
    sum
}

const fn joined<const N: usize>() -> [Rule; N] {
    let mut rules = [TABLES[0][0]; N];
    let (mut at, mut table) = (0, 0);
    while table < TABLES.len() {
        let mut row = 0;
        while row < TABLES[table].len() {
            rules[at] = TABLES[table][row];
            (at, row) = (at + 1, row + 1);
        }
        table += 1;
    }
    rules
}

/// A shape whose every match is one.
const fn shape(needles: &'static str, pattern: &'static str) -> Finds {
    Finds::Shape { needles, pattern, check: |_| true, with: With::Mask }
}

/// A shape that needs a second look.
const fn shape_if(check: fn(&str) -> bool, needles: &'static str, pattern: &'static str) -> Finds {
    Finds::Shape { needles, pattern, check, with: With::Mask }
}

/// A shape that has the name of a host in it.
const fn host(check: fn(&str) -> bool, needles: &'static str, pattern: &'static str) -> Finds {
    Finds::Shape { needles, pattern, check, with: With::Pseudonym(Kind::Host) }
}

/// A shape that has the name of a user in it.
const fn user(needles: &'static str, pattern: &'static str) -> Finds {
    Finds::Shape { needles, pattern, check: is_user, with: With::Pseudonym(Kind::User) }
}

const fn secret(names: &'static str) -> Finds {
    Finds::Secret { names, extent: Extent::Value }
}

const fn prompt(names: &'static str, mark: &'static str) -> Finds {
    Finds::Prompt { names, mark, extent: Extent::Value }
}

fn has_digit(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
}

/// Behind `Bearer `: a token, not the word `authentication`.
fn bearer(token: &str) -> bool {
    has_digit(token) || token.len() >= 24
}

/// Words that begin a name's way into the table; each name there has one of them in it.
pub(crate) const NAME_NEEDLES: &str = "key token secret pass pwd cred auth cookie bearer sig jwt conn dsn sid session host \
    node addr user uid logname login prompt text content input output generated completion reasoning arguments instance \
    peer fqdn server header pw instruct query document question answer messages srf hmac oidc";

#[cfg(test)]
mod tests;
