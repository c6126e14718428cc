//! What the server does, and the keys that change it.

use std::time::Duration;

use crate::fault::Fault;

/// When tokens leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// By the schedule of `ttft`, `itl` and `jitter`.
    Paced,
    /// As fast as the socket takes them.
    Flood,
}

/// Where the chunk that names the role comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// In the write of the first token.
    First,
    /// When the request arrives.
    Early,
    /// Nowhere.
    None,
}

/// When the response head leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Headers {
    /// When the request arrives.
    Early,
    /// In the write of the first token.
    First,
}

/// What the tokens are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Text {
    /// Plain letters.
    Ascii,
    /// Characters of two to four bytes.
    Utf8,
    /// JSON escapes: `\uXXXX` (pairs too), `\"`, `\\`.
    Escaped,
}

/// What the server does. A request in flight keeps the configuration it arrived under.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// When tokens leave.
    pub mode: Mode,
    /// From the arrival of a request to its first token.
    pub ttft: Duration,
    /// Between tokens; an event of several waits for all of them.
    pub itl: Duration,
    /// Every deadline is later by up to this much, drawn evenly.
    pub jitter: Duration,
    /// Decides the draws.
    pub seed: u64,
    /// Tokens in one write(2) of a flood; 0 for the whole answer.
    pub flood_batch: u32,
    /// Tokens of an answer to a request that does not limit them.
    pub default_tokens: u32,
    /// Tokens in one event.
    pub tokens_per_event: u32,
    /// Where the role chunk comes.
    pub role: Role,
    /// When the response head leaves.
    pub headers: Headers,
    /// How many of the first tokens are reasoning.
    pub reasoning: u32,
    /// Prompt tokens beyond the words of the prompt.
    pub template_tokens: u32,
    /// Share of the prompt that usage calls cached, 0 to 1; `None` says nothing of a cache.
    pub cached_share: Option<f64>,
    /// Bytes in one write(2) at most; 0 for no such limit.
    pub split: usize,
    /// What the tokens are made of.
    pub text: Text,
    /// Lines of events end with CR LF.
    pub crlf: bool,
    /// A comment line goes before every event.
    pub comments: bool,
    /// Whether `/tokenize` exists.
    pub tokenize: bool,
    /// What goes wrong.
    pub fault: Option<Fault>,
    /// With every how many-th inference request.
    pub fault_every: u32,
    /// The name of the model.
    pub model: String,
    /// Longest answer that may be asked for, in tokens.
    pub max_model_len: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mode: Mode::Paced,
            ttft: Duration::from_millis(50),
            itl: Duration::from_millis(5),
            jitter: Duration::ZERO,
            seed: 1,
            flood_batch: 0,
            default_tokens: 128,
            tokens_per_event: 1,
            role: Role::First,
            headers: Headers::First,
            reasoning: 0,
            template_tokens: 0,
            cached_share: None,
            split: 0,
            text: Text::Ascii,
            crlf: false,
            comments: false,
            tokenize: true,
            fault: None,
            fault_every: 1,
            model: "truth".into(),
            max_model_len: 131_072,
        }
    }
}

/// Why a configuration cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Keys that nobody knows.
    #[error("unknown: {}; known are {}", .0.join(", "), known())]
    Unknown(Vec<String>),
    /// A value that does not fit its key.
    #[error("{key}={value}: wants {wants}")]
    Value {
        /// The key.
        key: String,
        /// What it was set to.
        value: String,
        /// What would be right.
        wants: &'static str,
    },
}

/// Every key, and what it takes.
pub const KEYS: [(&str, &str); 22] = [
    ("mode", "paced or flood"),
    ("ttft_ms", "milliseconds, up to 3600000"),
    ("itl_ms", "milliseconds, up to 3600000"),
    ("jitter_ms", "milliseconds, up to 3600000"),
    ("seed", "a whole number"),
    ("flood_batch", "tokens a write, 0 for all"),
    ("default_tokens", "1 to 1000000 tokens"),
    ("tokens_per_event", "1 to 10000 tokens"),
    ("role", "first, early or none"),
    ("headers", "early or first"),
    ("reasoning", "tokens, 0 for none"),
    ("template_tokens", "0 to 1000000 tokens"),
    ("cached_share", "a share from 0 to 1, or none"),
    ("split", "bytes a write, 0 for no limit"),
    ("text", "ascii, utf8 or escaped"),
    ("crlf", "true or false"),
    ("comments", "true or false"),
    ("tokenize", "on or off"),
    ("fault", "none, or the name of a fault"),
    ("fault_every", "1 for every request, N for every Nth"),
    ("model", "a name"),
    ("max_model_len", "1 to 1000000 tokens"),
];

fn known() -> String {
    KEYS.map(|(key, _)| key).join(", ")
}

/// Longest answer that can be allowed, in tokens.
const MOST_TOKENS: u32 = 1_000_000;

impl Config {
    /// Reads `key=value` pairs with commas (or `&`) between them, on top of this configuration.
    pub fn with(&self, pairs: &str) -> Result<Self, ConfigError> {
        let pairs = pairs.split([',', '&']).map(str::trim).filter(|pair| !pair.is_empty());
        self.with_pairs(pairs.map(|pair| pair.split_once('=').unwrap_or((pair, ""))))
    }

    /// The same with pairs that are split already.
    pub fn with_pairs<'a>(
        &self,
        pairs: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, ConfigError> {
        let mut changed = self.clone();
        let mut unknown = Vec::new();
        for (key, value) in pairs {
            let Some((_, wants)) = KEYS.iter().find(|(name, _)| *name == key) else {
                unknown.push(key.to_owned());
                continue;
            };
            if changed.set(key, value.trim()).is_none() {
                return Err(ConfigError::Value { key: key.into(), value: value.into(), wants });
            }
        }
        if unknown.is_empty() { Ok(changed) } else { Err(ConfigError::Unknown(unknown)) }
    }

    /// `None` where the value does not fit.
    fn set(&mut self, key: &str, value: &str) -> Option<()> {
        match key {
            "mode" => self.mode = one_of(value, &[("paced", Mode::Paced), ("flood", Mode::Flood)])?,
            "ttft_ms" => self.ttft = millis(value)?,
            "itl_ms" => self.itl = millis(value)?,
            "jitter_ms" => self.jitter = millis(value)?,
            "seed" => self.seed = value.parse().ok()?,
            "flood_batch" => self.flood_batch = number(value, 0, MOST_TOKENS)?,
            "default_tokens" => self.default_tokens = number(value, 1, MOST_TOKENS)?,
            "tokens_per_event" => self.tokens_per_event = number(value, 1, 10_000)?,
            "role" => {
                let known = [("first", Role::First), ("early", Role::Early), ("none", Role::None)];
                self.role = one_of(value, &known)?;
            }
            "headers" => {
                self.headers = one_of(value, &[("early", Headers::Early), ("first", Headers::First)])?;
            }
            "reasoning" => self.reasoning = number(value, 0, MOST_TOKENS)?,
            "template_tokens" => self.template_tokens = number(value, 0, MOST_TOKENS)?,
            "cached_share" if value == "none" => self.cached_share = None,
            "cached_share" => {
                self.cached_share = Some(value.parse().ok().filter(|share| (0.0..=1.0).contains(share))?);
            }
            "split" => self.split = number(value, 0, u32::MAX)? as usize,
            "text" => {
                let known = [("ascii", Text::Ascii), ("utf8", Text::Utf8), ("escaped", Text::Escaped)];
                self.text = one_of(value, &known)?;
            }
            "crlf" => self.crlf = switch(value)?,
            "comments" => self.comments = switch(value)?,
            "tokenize" => self.tokenize = switch(value)?,
            "fault" if value == "none" => self.fault = None,
            "fault" => self.fault = Some(value.parse().ok()?),
            "fault_every" => self.fault_every = number(value, 1, u32::MAX)?,
            "model" if !value.is_empty() && value.len() <= 200 => value.clone_into(&mut self.model),
            "max_model_len" => self.max_model_len = number(value, 1, MOST_TOKENS)?,
            _ => return None,
        }
        Some(())
    }
}

fn one_of<T: Copy>(value: &str, known: &[(&str, T)]) -> Option<T> {
    known.iter().find(|(name, _)| *name == value).map(|(_, meaning)| *meaning)
}

fn switch(value: &str) -> Option<bool> {
    one_of(
        value,
        &[("true", true), ("on", true), ("1", true), ("false", false), ("off", false), ("0", false)],
    )
}

fn number(value: &str, least: u32, most: u32) -> Option<u32> {
    value.parse().ok().filter(|number| (least..=most).contains(number))
}

fn millis(value: &str) -> Option<Duration> {
    let millis: f64 = value.parse().ok()?;
    (0.0..=3_600_000.0).contains(&millis).then(|| Duration::from_nanos((millis * 1e6).round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_can_be_set_and_nonsense_is_named() {
        let base = Config::default();
        let set = base.with("ttft_ms=1.5, itl_ms=0.25,mode=flood,fault=half_utf8,cached_share=0.5").unwrap();
        assert_eq!((set.ttft, set.itl), (Duration::from_micros(1500), Duration::from_micros(250)));
        assert_eq!((set.mode, set.fault), (Mode::Flood, Some(Fault::HalfUtf8)));
        let ConfigError::Unknown(keys) = base.with("tpot=3,ttft_ms=1,x").unwrap_err() else { panic!() };
        assert_eq!(keys, ["tpot", "x"]);
        for (key, _) in KEYS {
            let error = base.with(&format!("{key}=")).unwrap_err();
            assert!(error.to_string().starts_with(&format!("{key}=: wants")), "{error}");
        }
        for bad in
            ["ttft_ms=-1", "itl_ms=NaN", "ttft_ms=1e300", "default_tokens=0", "cached_share=1.1", "fault=x"]
        {
            assert!(base.with(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn every_fault_has_a_name_of_its_own() {
        for fault in Fault::all() {
            assert_eq!(fault.name().parse(), Ok(fault));
        }
    }
}
