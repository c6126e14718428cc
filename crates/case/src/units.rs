//! Numbers that carry their unit. No bare `f64` crosses a crate boundary where one of these exists.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The units a fact can be measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Model tokens (never blocks).
    Tokens,
    /// Bytes.
    Bytes,
    /// A share or fraction, 1.0 being the whole.
    Ratio,
    /// Requests.
    Requests,
    /// Occurrences of something: preemptions, failures, restarts.
    Events,
    /// Requests per second.
    RequestsPerSecond,
    /// Tokens per second.
    TokensPerSecond,
    /// Bytes per second.
    BytesPerSecond,
    /// Events per minute.
    EventsPerMinute,
    /// Watts.
    Watts,
    /// Hertz.
    Hertz,
    /// Degrees Celsius.
    Celsius,
    /// Floating-point operations.
    Flop,
    /// A plain count with no better name, such as blocks or scrapes.
    Count,
}

/// One number with its unit; shows itself the way a person would write it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Quantity {
    /// The number, in `unit`.
    pub value: f64,
    /// The unit of `value`.
    pub unit: Unit,
}

impl Quantity {
    /// A number in a unit.
    pub const fn new(value: f64, unit: Unit) -> Self {
        Self { value, unit }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An empty sum is -0.0.
        let v = self.value + 0.0;
        match self.unit {
            Unit::Seconds => f.write_str(&duration_text(v)),
            Unit::Ratio => write!(f, "{} %", trimmed(v * 100.0)),
            Unit::Bytes => f.write_str(&bytes_text(v)),
            Unit::Tokens => write!(f, "{} tokens", grouped(v)),
            Unit::Requests => write!(f, "{} requests", grouped(v)),
            Unit::Events | Unit::Count => f.write_str(&grouped(v)),
            Unit::RequestsPerSecond => write!(f, "{} req/s", grouped(v)),
            Unit::TokensPerSecond => write!(f, "{} tokens/s", grouped(v)),
            Unit::BytesPerSecond => write!(f, "{}/s", bytes_text(v)),
            Unit::EventsPerMinute => write!(f, "{}/min", grouped(v)),
            Unit::Watts => write!(f, "{v:.0} W"),
            Unit::Hertz => write!(f, "{:.0} MHz", v / 1e6),
            Unit::Celsius => write!(f, "{v:.0} °C"),
            Unit::Flop => write!(f, "{v:.3e} FLOP"),
        }
    }
}

/// `18.9 s`, `137 ms`, `52 µs`: three significant figures, the unit a person would choose.
fn duration_text(seconds: f64) -> String {
    let magnitude = seconds.abs();
    let (scaled, unit) = if magnitude >= 1.0 || magnitude == 0.0 {
        (seconds, "s")
    } else if magnitude >= 0.001 {
        (seconds * 1e3, "ms")
    } else {
        (seconds * 1e6, "µs")
    };
    format!("{} {unit}", three_figures(scaled))
}

fn three_figures(v: f64) -> String {
    match v.abs() {
        m if m >= 99.95 || m == 0.0 => format!("{v:.0}"),
        m if m >= 9.995 => format!("{v:.1}"),
        _ => format!("{v:.2}"),
    }
}

fn bytes_text(v: f64) -> String {
    const STEPS: [(&str, f64); 4] =
        [("GiB", 1_073_741_824.0), ("MiB", 1_048_576.0), ("KiB", 1024.0), ("B", 1.0)];
    let (unit, scale) = STEPS.into_iter().find(|(_, scale)| v.abs() >= *scale).unwrap_or(("B", 1.0));
    format!("{} {unit}", three_figures(v / scale))
}

/// Percent without useless digits: `97`, `99.8`, `0.6`.
fn trimmed(v: f64) -> String {
    let text = if v.abs() >= 10.0 { format!("{v:.0}") } else { format!("{v:.1}") };
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// Thousands separated, decimals only where they matter: `11,086`, `14`, `5.7`, `0.42`.
fn grouped(v: f64) -> String {
    if !v.is_finite() {
        return v.to_string();
    }
    if v.abs() < 100.0 && v.fract() != 0.0 {
        return if v.abs() < 1.0 { format!("{v:.2}") } else { format!("{v:.1}") };
    }
    let digits = format!("{:.0}", v.abs());
    let mut out = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if v < 0.0 {
        out.push('-');
    }
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// Declares a newtype over `f64` whose unit is fixed.
macro_rules! unit {
    ($(#[$doc:meta])* $name:ident => $unit:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub f64);

        impl $name {
            /// The bare number, for arithmetic inside one crate.
            pub const fn get(self) -> f64 {
                self.0
            }
        }

        impl From<$name> for Quantity {
            fn from(value: $name) -> Self {
                Self::new(value.0, Unit::$unit)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                Quantity::from(*self).fmt(f)
            }
        }

        impl std::ops::Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl std::ops::Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }
    };
}

unit!(
    /// A length of time in seconds.
    Seconds => Seconds
);
unit!(
    /// A number of model tokens.
    Tokens => Tokens
);
unit!(
    /// A number of bytes.
    Bytes => Bytes
);
unit!(
    /// A share, 1.0 being the whole.
    Ratio => Ratio
);
unit!(
    /// A number of requests.
    Requests => Requests
);
unit!(
    /// A number of occurrences: faults, switches, overflows.
    Events => Events
);

unit!(
    /// Electric power in watts.
    Watts => Watts
);
unit!(
    /// A frequency in hertz.
    Hertz => Hertz
);
unit!(
    /// A temperature in degrees Celsius.
    Celsius => Celsius
);

impl Ratio {
    /// `part / whole`, or `None` where the whole is zero or either is not a number.
    pub fn of(part: f64, whole: f64) -> Option<Self> {
        let ratio = part / whole;
        (whole != 0.0 && ratio.is_finite()).then_some(Self(ratio))
    }
}

/// A rate: so many of the inner quantity per second.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
pub struct PerSecond<T>(pub T);

impl From<PerSecond<Requests>> for Quantity {
    fn from(rate: PerSecond<Requests>) -> Self {
        Self::new(rate.0.0, Unit::RequestsPerSecond)
    }
}

impl From<PerSecond<Bytes>> for Quantity {
    fn from(rate: PerSecond<Bytes>) -> Self {
        Self::new(rate.0.0, Unit::BytesPerSecond)
    }
}

impl From<PerSecond<Tokens>> for Quantity {
    fn from(rate: PerSecond<Tokens>) -> Self {
        Self::new(rate.0.0, Unit::TokensPerSecond)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_as_a_person_would_write_them() {
        let shown = |v, u| Quantity::new(v, u).to_string();
        assert_eq!(shown(18.899, Unit::Seconds), "18.9 s");
        assert_eq!(shown(0.1369, Unit::Seconds), "137 ms");
        assert_eq!(shown(0.0052, Unit::Seconds), "5.20 ms");
        assert_eq!(shown(0.000_052, Unit::Seconds), "52.0 µs");
        assert_eq!(shown(0.0, Unit::Seconds), "0 s");
        assert_eq!(shown(0.998, Unit::Ratio), "100 %");
        assert_eq!(shown(0.0061, Unit::Ratio), "0.6 %");
        assert_eq!(shown(11_086.27, Unit::Tokens), "11,086 tokens");
        assert_eq!(shown(5.69, Unit::Requests), "5.7 requests");
        assert_eq!(shown(14.0, Unit::Count), "14");
        assert_eq!(shown(1_073_741_824.0 * 4.46, Unit::Bytes), "4.46 GiB");
        assert_eq!(shown(-1234.0, Unit::Count), "-1,234");
    }

    #[test]
    fn a_ratio_of_nothing_is_not_a_number() {
        assert_eq!(Ratio::of(1.0, 0.0), None);
        assert_eq!(Ratio::of(1.0, 4.0), Some(Ratio(0.25)));
    }
}
